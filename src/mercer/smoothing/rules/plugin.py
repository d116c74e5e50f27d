"""The direct plug-in rule: the bandwidth of least asymptotic error, with an estimate for what is unknown in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi

import numpy as np

from mercer._stored import stored
from mercer._typing import Array
from mercer.smoothing.bandwidth import Bandwidth
from mercer.smoothing.kernels import SmoothingKernel
from mercer.smoothing.rules.functionals import Cosines, Functional, Pairs
from mercer.smoothing.rules.reference import shaped
from mercer.smoothing.rules.rule import ShapedRule, canonical
from mercer.smoothing.rules.spread import Spread

#: pairs of as many points are summed as fast as they are binned
FEW_POINTS = 2000


@stored()
@dataclass(frozen=True)
class PlugIn(ShapedRule):
    """The two-stage direct plug-in rule (Sheather & Jones 1991; Wand & Jones 1995, sections 3.6.1 and 4.7).

    The data are divided by their spread, and one width h is chosen for what is left: the one of least asymptotic error,
    (d R(K)/(n ∫(Δp)²))^(1/(d+4)) for the Gaussian. ∫(Δp)² is estimated from pairs with a width that needs the next such
    integral, and that one with a width that would be right for Gaussian data.

    Parameters
    ----------
    shape : {"axes", "one", "matrix"}, default="axes"
        What the spread is: a robust deviation of each column, their mean, or the covariance matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.smoothing import Gaussian
    >>> X = np.random.default_rng(1).normal(size=(200, 1))
    >>> print(PlugIn().choose(X, None, Gaussian()))
    h = 0.306, by plugin
    """

    def choose(
        self, X: Array, weight: Array | None, kernel: SmoothingKernel, *, names: Sequence[str] | None = None
    ) -> Bandwidth:
        spread = Spread(X, weight, names)
        unit = shaped(spread, self.shape, 1.0, robust=True, method="plugin")
        points = unit.whiten(spread.centred)
        width = _least_error(_functional(points, spread), spread.count, spread.columns)
        return unit.scaled(width * canonical(kernel, spread.columns))


def _functional(points: Array, spread: Spread) -> Functional:
    if spread.columns > 3 or (spread.columns > 1 and len(points) <= FEW_POINTS):
        return Pairs(points, spread.share)
    # integrals of higher derivatives take widths above what would be right for a Gaussian, up to the first stage's
    fine = 0.5 * spread.count ** (-1 / (spread.columns + 4))
    return Cosines(points, spread.share, fine, _first_width(spread.count, spread.columns))


def _least_error(theta: Functional, count: float, columns: int) -> float:
    """h from two stages, in units of the spread."""
    third = theta(3, _first_width(count, columns))
    second = theta(2, _width_for(2, third, count, columns))
    roughness = (4 * pi) ** (-columns / 2)
    return float((columns * roughness / (count * second)) ** (1 / (columns + 4)))


def _first_width(count: float, columns: int) -> float:
    """The width for θ₃ if ∫ p Δ⁴p is that of the standard Gaussian."""
    return _width_for(3, at_zero(4, columns) * 2 ** (-(columns + 8) / 2), count, columns)


def _width_for(order: int, next_integral: float, count: float, columns: int) -> float:
    """The width for which the first two errors of θ_r cancel: of pairs of a point with itself, and of smoothing."""
    return float((-2 * at_zero(order, columns) / (count * next_integral)) ** (1 / (columns + 2 * order + 2)))


def at_zero(order: int, columns: int) -> float:
    """Δʳφ(0) of the standard Gaussian: (−1)ʳ (2π)^(−d/2) d(d + 2)…(d + 2r − 2)."""
    moments = np.prod([columns + 2.0 * j for j in range(order)])
    return float((-1) ** order * (2 * pi) ** (-columns / 2) * moments)
