"""The improved Sheather–Jones rule, which does not start from the thought that data are Gaussian."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, isnan, log, nan, pi, prod, sqrt

import numpy as np
from scipy.optimize import brentq

from mercer._errors import BandwidthError
from mercer._stored import stored
from mercer._typing import Array
from mercer.smoothing.bandwidth import Bandwidth
from mercer.smoothing.kernels import SmoothingKernel
from mercer.smoothing.rules.functionals import Cosines
from mercer.smoothing.rules.rule import Rule, canonical
from mercer.smoothing.rules.spread import Spread

#: stages of the fixed point, as in the paper
STAGES = 7
#: cells that a bandwidth has to span; on a finer grid it would be the same
CELLS = 8
#: widths, in units of the range, that grids are made for, one after the other until a bandwidth spans enough cells
FINER = tuple(2.0**-power for power in range(8, 60, 4))
#: and the greatest that they have room for
WIDE = 32
#: gaps between points that are as good as any longer one, in units of that
GAP = 12
#: log of the ratio of neighbouring variances among which the first root is looked for
RATIO = 0.7


@stored()
@dataclass(frozen=True)
class ImprovedSheatherJones(Rule):
    """The fixed point t = ξγ⁽⁷⁾(t) of Botev, Grotowski & Kroese (2010, algorithm 1), for one column.

    Several modes, far apart, do not mislead it. Points are binned, so that ten million take a moment. The authors'
    program counts repeated values once, which makes the density of rounded numbers far too smooth; here they all count,
    and no bandwidth below half the usual gap between different values is considered.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.smoothing import Gaussian
    >>> X = np.random.default_rng(1).normal(size=(200, 1))
    >>> print(ImprovedSheatherJones().choose(X, None, Gaussian()))
    h = 0.3497, by isj
    """

    def choose(
        self, X: Array, weight: Array | None, kernel: SmoothingKernel, *, names: Sequence[str] | None = None
    ) -> Bandwidth:
        if X.shape[1] != 1:
            raise BandwidthError(
                f'"isj" is for one column, and there are {X.shape[1]}. Use "plugin" or "likelihood-cv" for several.'
            )
        spread = Spread(X, weight, names)
        width = _first_fixed_point(spread)
        return Bandwidth(width * canonical(kernel, 1), method="isj")


def _first_fixed_point(spread: Spread) -> float:
    points, share = _in_order(spread)
    low, length = points[0], points[-1] - points[0]
    points -= low
    points /= length
    finest = 0.5 * _usual_gap(points)
    for fine in FINER:
        cosines = Cosines(_closer(points, GAP * WIDE * fine)[:, None], share, fine, WIDE * fine)
        found = _first_root(cosines, spread.count, finest)
        if found >= CELLS * cosines.step:
            return float(found * length)
        if isnan(found):
            break
    raise BandwidthError(
        f'"isj" finds no bandwidth for {spread.name(0)}: its different values are too few, or too far apart. Use '
        '"silverman-scaled", or give a number.'
    )


def _in_order(spread: Spread) -> tuple[Array, Array | None]:
    """A copy of the points in ascending order, which are binned the faster, and their weights."""
    if spread.share is None:
        return np.sort(spread.X[:, 0]), None
    order = np.argsort(spread.X[:, 0])
    return spread.X[order, 0], spread.share[order]


def _closer(points: Array, longest: float) -> Array:
    """The points, groups of them moved together until no gap is longer: kernels do not reach across one of this."""
    gaps = np.diff(points)
    far = np.flatnonzero(gaps > longest)
    if not far.size:
        return points
    moved = np.zeros(len(points))
    moved[far + 1] = gaps[far] - longest
    return np.asarray(points - np.cumsum(moved))


def _first_root(cosines: Cosines, count: float, finest: float) -> float:
    """√t of the least t, up to the square of the range, where t − ξγ⁽⁷⁾(t) rises through 0; NaN if there is none.

    Where values are repeated, widths below half their usual gap are left out: they would make a comb of the density.
    """

    def excess(logarithm: float) -> float:
        return exp(logarithm) - _stages(cosines, count, exp(logarithm))

    low = 2 * log(max(cosines.step, finest))
    above = excess(low) > 0
    if above and finest < cosines.step:
        return 0.0  # somewhere below
    for high in np.arange(low, RATIO, RATIO)[1:].tolist():
        below, above = not above, excess(high) > 0
        if below and above:
            return exp(0.5 * brentq(excess, high - RATIO, high, xtol=1e-12, rtol=1e-12))
    return nan


def _stages(cosines: Cosines, count: float, t: float) -> float:
    """ξγ⁽⁷⁾(t): from the norm of the seventh derivative down to the variance that the second one asks for."""
    norm = _norm(cosines, STAGES, t)
    for s in range(STAGES - 1, 1, -1):
        if norm == 0:
            return inf
        moments = prod(range(1, 2 * s, 2)) / sqrt(2 * pi)
        t = (2 / 3 * (1 + 0.5 ** (s + 0.5)) * moments / (count * norm)) ** (2 / (3 + 2 * s))
        norm = _norm(cosines, s, t)
    return inf if norm == 0 else float((2 * count * sqrt(pi) * norm) ** -0.4)


def _norm(cosines: Cosines, s: int, t: float) -> float:
    """∫ (p̂⁽ˢ⁾)² of the density with a Gaussian kernel of variance t."""
    return abs(cosines(s, sqrt(2 * t)))


def _usual_gap(ordered: Array) -> float:
    """How far apart neighbouring values usually are, if some are repeated; else 0."""
    if (ordered[1:] != ordered[:-1]).all():
        return 0.0
    return float(np.median(np.diff(np.unique(ordered))))
