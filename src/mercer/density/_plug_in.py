"""Plug-in bandwidth rules: direct plug-in, and improved Sheather–Jones, which assumes no Gaussian reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import exp, factorial, inf, isnan, log, log2, nan, pi, prod, sqrt
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy.fft import dctn
from scipy.optimize import brentq
from scipy.special import genlaguerre

from mercer._errors import BandwidthError
from mercer._stored import stored
from mercer._typing import Array
from mercer.density._bandwidth import Bandwidth
from mercer.density._kernels import SmoothingKernel
from mercer.density._rules import Rule, SampleSpread, ShapedRule, canonical_factor, shape_bandwidth

# Integrals of derivatives of a density, estimated from points, which plug-in rules insert into the asymptotic error.
#
# θ_r(g) = ΣΣ w_i w_j Δʳφ_g(x_i − x_j), with weights that sum to one, Δ the Laplacian and φ_g the Gaussian of variance
# g². It estimates ∫ p Δʳp, which is ∫(Δp)² for r = 2.

#: values of a block, which bound its memory
FUNCTIONAL_BLOCK = 1 << 18
#: least number of cells of a grid per axis, by number of dimensions
FEWEST_CELLS_PER_AXIS = {1: 1 << 14, 2: 1 << 8, 3: 1 << 6}
#: largest number of cells of a grid per axis, by number of dimensions
MOST_CELLS_PER_AXIS = {1: 1 << 20, 2: 1 << 10, 3: 192}
#: cells have at most this width, in units of the least relevant bandwidth
COARSEST_CELL = 0.25
#: share of the points that may be left out to obtain finer cells
LEFT_OUT_SHARE = 0.02
#: terms below e^(−this) are negligible in a sum
NEGLIGIBLE_EXPONENT = 200.0


class Functional(Protocol):
    """θ_r(g) as a function of r and g."""

    def __call__(self, order: int, width: float) -> float: ...


class CosineFunctional:
    """θ_r of points on a grid, from the squares of their cosine transform (Botev, Grotowski & Kroese 2010).

    Parameters
    ----------
    points : array of shape (n, d), d ≤ 3
        Points, binned linearly on a grid that extends beyond them by the reach of the kernels.
    share : array of shape (n,) or None
        Weights that sum to one.
    fine : float
        The least relevant bandwidth: cells are a fraction of it, unless that would take too many.
    wide : float
        The greatest relevant bandwidth: kernels of this width do not reach the borders, which act as mirrors.
    """

    def __init__(self, points: Array, share: Array | None, fine: float, wide: float) -> None:
        self.columns = points.shape[1]
        points, share = _keep_central_points(points, share, COARSEST_CELL * fine * MOST_CELLS_PER_AXIS[self.columns])
        low, high = points.min(axis=0), points.max(axis=0)
        length = float((high - low).max() + 8 * wide)
        cells = _count_cells(length / fine, self.columns)
        self.step = length / cells
        binned = bin_linearly(points, (low + high - length) / 2, self.step, cells, share)
        frequency = np.pi / length * np.arange(cells + 1)
        # undo the mean effect of linear binning on a cosine; every cosine but the first stands for two waves
        undo = np.where(frequency > 0, 2.0, 1.0) * np.sinc(frequency * self.step / (2 * np.pi)) ** -4.0 / length
        power = np.square(dctn(binned, type=1) / 2**self.columns)
        self._power = (power * _combine_axes(np.multiply, [undo] * self.columns)).ravel()
        self._square = _combine_axes(np.add, [np.square(frequency)] * self.columns).ravel()
        with np.errstate(divide="ignore"):
            self._log_square = np.log(self._square)

    def __call__(self, order: int, width: float) -> float:
        kept = len(self._square)
        if self.columns == 1:
            kept = int(np.searchsorted(self._square, 2 * NEGLIGIBLE_EXPONENT / width**2))
        logs = order * self._log_square[:kept]
        logs -= 0.5 * width**2 * self._square[:kept]
        return float((-1) ** order * (np.exp(logs, out=logs) @ self._power[:kept]))


class PairFunctional:
    """θ_r as a sum over all pairs of points, in blocks.

    Parameters
    ----------
    points : array of shape (n, d)
        The points, centred at their mean.
    share : array of shape (n,) or None
        Weights that sum to one.
    block_size : int, default=2¹⁸
        Pairs of a block.
    """

    def __init__(self, points: Array, share: Array | None, *, block_size: int = FUNCTIONAL_BLOCK) -> None:
        self.points, self.block_size = points, block_size
        self.share = np.full(len(points), 1 / len(points)) if share is None else share
        self.norms = np.square(points).sum(axis=1)

    def __call__(self, order: int, width: float) -> float:
        """Return θ_r by Δʳφ(u) = (−2)ʳ r! L_r(½‖u‖²) φ(u), with Laguerre polynomials of index ½d − 1."""
        columns = self.points.shape[1]
        polynomial = genlaguerre(order, columns / 2 - 1).coef
        rows = max(1, self.block_size // len(self.points))
        total = sum(self._block(start, start + rows, polynomial, width) for start in range(0, len(self.points), rows))
        scale = np.exp(-columns * (log(width) + 0.5 * log(2 * pi)))
        return float((-2 / width**2) ** order * factorial(order) * scale * total)

    def _block(self, start: int, stop: int, polynomial: Array, width: float) -> float:
        """Return the sum over pairs of these rows and of these with all later ones, which count twice."""
        half = self.points[start:stop] @ self.points[start:].T
        half = np.maximum((0.5 * self.norms[start:stop, None] + 0.5 * self.norms[start:] - half) / width**2, 0)
        sums = self.share[start:stop] @ (np.polyval(polynomial, half) * np.exp(-half))
        size = stop - start
        return float(sums[:size] @ self.share[start:stop] + 2 * (sums[size:] @ self.share[stop:]))


def bin_linearly(
    points: Array,
    low: Array,
    step: float,
    cells: int,
    share: Array | None = None,
    *,
    block_size: int = FUNCTIONAL_BLOCK,
) -> Array:
    """Distribute the weight of each point linearly over the corners of its cell, on a grid with `cells` per axis.

    Points are processed in blocks of `block_size`.
    """
    columns = points.shape[1]
    strides = (cells + 1) ** np.arange(columns - 1, -1, -1)
    binned = np.zeros((cells + 1) ** columns)
    for start in range(0, len(points), block_size):
        rows = slice(start, start + block_size)
        places = (points[rows].T - low[:, None]) / step
        corner = np.minimum(places.astype(np.intp), cells - 1)
        sides = np.stack([corner + 1 - places, places - corner])
        lowest = strides @ corner
        for up in product((0, 1), repeat=columns):
            near = np.prod([sides[side, axis] for axis, side in enumerate(up)], axis=0)
            added = np.bincount(lowest, near if share is None else near * share[rows])
            binned[strides @ up :][: len(added)] += added
    return binned.reshape((cells + 1,) * columns) / (len(points) if share is None else share.sum())


def _keep_central_points(points: Array, share: Array | None, length: float) -> tuple[Array, Array | None]:
    """Return the points of a cube around the medians; a few distant ones would make all cells too wide."""
    if (np.ptp(points, axis=0) <= length).all():
        return points, share
    away = np.abs(points - np.quantile(points, 0.5, axis=0, method="inverted_cdf")).max(axis=1)
    # if more than a few are distant, wide cells do less harm
    kept = away <= max(length / 2, np.quantile(away, 1 - LEFT_OUT_SHARE))
    return points[kept], None if share is None else share[kept] / share[kept].sum()


def _combine_axes(operation: Any, axes: list[Array]) -> Array:
    """Combine the entries of all axes."""
    result = axes[0]
    for axis in axes[1:]:
        result = operation.outer(result, axis)
    return np.asarray(result)


def _count_cells(widths: float, columns: int) -> int:
    """Return the cells per axis, a power of two: 64 per bandwidth in one dimension, 16 in more."""
    wanted = widths * (64 if columns == 1 else 16)
    return int(np.clip(2 ** np.ceil(log2(wanted)), FEWEST_CELLS_PER_AXIS[columns], MOST_CELLS_PER_AXIS[columns]))


@stored()
@dataclass(frozen=True)
class PlugIn(ShapedRule):
    """Two-stage direct plug-in rule (Sheather & Jones 1991; Wand & Jones 1995, sections 3.6.1 and 4.7).

    The data are divided by their spread, and a single width h is chosen that minimises the asymptotic error,
    (d R(K)/(n ∫(Δp)²))^(1/(d+4)) for the Gaussian. ∫(Δp)² is estimated from pairs with a width that depends on the next
    such integral, which in turn is estimated with a width that is optimal for Gaussian data.

    Parameters
    ----------
    shape : {"axes", "one", "matrix"}, default="axes"
        The measure of spread: a robust deviation of each column, their mean, or the covariance matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.density import Gaussian
    >>> X = np.random.default_rng(1).normal(size=(200, 1))
    >>> print(PlugIn().choose(X, None, Gaussian()))
    h = 0.306, by plugin
    """

    #: number of points, of several columns, up to which sums over pairs are as fast as binning
    paired_points: ClassVar[int] = 2000

    def choose(
        self, X: Array, weight: Array | None, kernel: SmoothingKernel, *, names: Sequence[str] | None = None
    ) -> Bandwidth:
        spread = SampleSpread(X, weight, names)
        unit = shape_bandwidth(spread, self.shape, 1.0, robust=True, method="plugin")
        points = unit.whiten(spread.centred)
        width = _optimal_width(self._make_functional(points, spread), spread.count, spread.columns)
        return unit.scaled(width * canonical_factor(kernel, spread.columns))

    def _make_functional(self, points: Array, spread: SampleSpread) -> Functional:
        if spread.columns > 3 or (spread.columns > 1 and len(points) <= self.paired_points):
            return PairFunctional(points, spread.share)
        # integrals of higher derivatives need widths between the optimal one for a Gaussian and that of the first stage
        fine = 0.5 * spread.count ** (-1 / (spread.columns + 4))
        return CosineFunctional(points, spread.share, fine, _first_width(spread.count, spread.columns))


def _optimal_width(theta: Functional, count: float, columns: int) -> float:
    """Return h from two stages, in units of the spread."""
    third = theta(3, _first_width(count, columns))
    second = theta(2, _width_for(2, third, count, columns))
    roughness = (4 * pi) ** (-columns / 2)
    return float((columns * roughness / (count * second)) ** (1 / (columns + 4)))


def _first_width(count: float, columns: int) -> float:
    """Return the width for θ₃ if ∫ p Δ⁴p is that of the standard Gaussian."""
    return _width_for(3, laplacian_at_zero(4, columns) * 2 ** (-(columns + 8) / 2), count, columns)


def _width_for(order: int, next_integral: float, count: float, columns: int) -> float:
    """Return the width for which the two leading errors of θ_r, from diagonal terms and from smoothing, cancel."""
    return float((-2 * laplacian_at_zero(order, columns) / (count * next_integral)) ** (1 / (columns + 2 * order + 2)))


def laplacian_at_zero(order: int, columns: int) -> float:
    """Return Δʳφ(0) of the standard Gaussian: (−1)ʳ (2π)^(−d/2) d(d + 2)…(d + 2r − 2)."""
    moments = np.prod([columns + 2.0 * j for j in range(order)])
    return float((-1) ** order * (2 * pi) ** (-columns / 2) * moments)


#: stages of the fixed point, as in the paper
ISJ_STAGES = 7
#: cells that a bandwidth has to span; then a finer grid would not change it
LEAST_SPANNED_CELLS = 8
#: least widths, relative to the range, of the grids tried in turn until a bandwidth spans enough cells
GRID_WIDTHS = tuple(2.0**-power for power in range(8, 60, 4))
#: greatest width of each grid, in units of its least width
WIDTH_RANGE = 32
#: gaps between points are shortened to this multiple of the greatest width, beyond which kernels do not reach
GAP_WIDTHS = 12
#: log of the ratio of neighbouring variances between which the first root is bracketed
BRACKET_RATIO = 0.7


@stored()
@dataclass(frozen=True)
class ImprovedSheatherJones(Rule):
    """Improved Sheather–Jones rule for one column: the fixed point t = ξγ⁽⁷⁾(t) of Botev, Grotowski & Kroese (2010).

    It is algorithm 1 of the paper. Several distant modes do not mislead it. Points are binned, so that ten million take
    a moment. The authors' program counts repeated values once, which makes the density of rounded numbers far too
    smooth; here all of them count, and no bandwidth below half the usual gap between different values is considered.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.density import Gaussian
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
        spread = SampleSpread(X, weight, names)
        width = _find_fixed_point(spread)
        return Bandwidth(width * canonical_factor(kernel, 1), method="isj")


def _find_fixed_point(spread: SampleSpread) -> float:
    points, share = _sort_points(spread)
    low, length = points[0], points[-1] - points[0]
    points -= low
    points /= length
    finest = 0.5 * _typical_gap(points)
    for fine in GRID_WIDTHS:
        cosines = CosineFunctional(
            _close_gaps(points, GAP_WIDTHS * WIDTH_RANGE * fine)[:, None], share, fine, WIDTH_RANGE * fine
        )
        root = _find_first_root(cosines, spread.count, finest)
        if root >= LEAST_SPANNED_CELLS * cosines.step:
            return float(root * length)
        if isnan(root):
            break
    raise BandwidthError(
        f'"isj" finds no bandwidth for {spread.name(0)}: its different values are too few, or too far apart. Use '
        '"silverman-scaled", or give a number.'
    )


def _sort_points(spread: SampleSpread) -> tuple[Array, Array | None]:
    """Return a copy of the points in ascending order, which speeds up binning, and their weights."""
    if spread.share is None:
        return np.sort(spread.X[:, 0]), None
    order = np.argsort(spread.X[:, 0])
    return spread.X[order, 0], spread.share[order]


def _close_gaps(points: Array, longest: float) -> Array:
    """Shift groups of points such that no gap is longer than `longest`, beyond which kernels do not reach."""
    gaps = np.diff(points)
    far = np.flatnonzero(gaps > longest)
    if not far.size:
        return points
    moved = np.zeros(len(points))
    moved[far + 1] = gaps[far] - longest
    return np.asarray(points - np.cumsum(moved))


def _find_first_root(cosines: CosineFunctional, count: float, finest: float) -> float:
    """Return √t of the least t, up to the square of the range, where t − ξγ⁽⁷⁾(t) rises through 0, or NaN.

    Where values are repeated, widths below half their usual gap are skipped: they would turn the density into a comb.
    """

    def excess(logarithm: float) -> float:
        return exp(logarithm) - _apply_stages(cosines, count, exp(logarithm))

    low = 2 * log(max(cosines.step, finest))
    above = excess(low) > 0
    if above and finest < cosines.step:
        return 0.0  # the root lies below the step of this grid
    for high in np.arange(low, BRACKET_RATIO, BRACKET_RATIO)[1:].tolist():
        below, above = not above, excess(high) > 0
        if below and above:
            return exp(0.5 * brentq(excess, high - BRACKET_RATIO, high, xtol=1e-12, rtol=1e-12))
    return nan


def _apply_stages(cosines: CosineFunctional, count: float, t: float) -> float:
    """Return ξγ⁽⁷⁾(t): from the norm of the seventh derivative down to the variance implied by the second."""
    norm = _derivative_norm(cosines, ISJ_STAGES, t)
    for s in range(ISJ_STAGES - 1, 1, -1):
        if norm == 0:
            return inf
        moments = prod(range(1, 2 * s, 2)) / sqrt(2 * pi)
        t = (2 / 3 * (1 + 0.5 ** (s + 0.5)) * moments / (count * norm)) ** (2 / (3 + 2 * s))
        norm = _derivative_norm(cosines, s, t)
    return inf if norm == 0 else float((2 * count * sqrt(pi) * norm) ** -0.4)


def _derivative_norm(cosines: CosineFunctional, s: int, t: float) -> float:
    """Return ∫ (p̂⁽ˢ⁾)² of the density with a Gaussian kernel of variance t."""
    return abs(cosines(s, sqrt(2 * t)))


def _typical_gap(ordered: Array) -> float:
    """Return the typical distance of neighbouring values if some are repeated, and 0 otherwise."""
    if (ordered[1:] != ordered[:-1]).all():
        return 0.0
    return float(np.median(np.diff(np.unique(ordered))))
