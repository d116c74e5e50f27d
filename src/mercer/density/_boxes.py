"""Probabilities of boxes under kernel densities, and fast distribution functions of Gaussian kernels in one column."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr, owens_t

from mercer._errors import NoClosedFormError
from mercer._typing import Array
from mercer.density._kernels import Gaussian

if TYPE_CHECKING:
    from mercer.density._windows import Windows


# The probability of a box is a product over the columns, or Owen's function for two correlated columns.

#: number of points of one column from which sorting them pays off
MIN_SORTED_POINTS = 4096
#: e^(−r) counts as 0 beyond this many bandwidths
EXPONENTIAL_REACH = 40.0
#: pairs of a box and a point that are evaluated together
BOX_PAIRS = 1 << 20


def box_probability(windows: Windows, low: Array, high: Array) -> Array:
    """Return P(low ≤ x ≤ high) for every row of bounds, which may be infinite."""
    if not windows.is_separable and not (isinstance(windows.kernel, Gaussian) and windows.columns == 2):
        raise NoClosedFormError(
            f"the distribution function of {windows.columns} columns has no formula for the {windows.kernel.name} "
            f"kernel in its {windows.kernel.form} form and this bandwidth; use a single column, "
            f'{type(windows.kernel).__name__}(form="product") with a bandwidth per column, or count draws of `sample`.'
        )
    if is_worth_sorting(windows):
        bounds, which = np.unique(np.concatenate([low[:, 0], high[:, 0]]), return_inverse=True)
        below, upto = np.split(_cdf_of_one_column(windows, bounds)[which], 2)
        return np.asarray(np.maximum(upto - below, 0))
    of_windows = _by_columns if windows.is_separable else _of_two_columns
    result = np.empty(len(low))
    for rows in _blocks(len(low), len(windows.points)):
        masses = np.clip(of_windows(windows, low[rows], high[rows]), 0, 1)
        result[rows] = np.average(masses, axis=1, weights=windows.share)
    return result


def is_worth_sorting(windows: Windows) -> bool:
    """Return whether there are enough points of one column for sorting to pay off."""
    return windows.columns == 1 and windows.factors is None and len(windows.points) > MIN_SORTED_POINTS


def _blocks(boxes: int, points: int) -> Iterator[slice]:
    step = max(1, BOX_PAIRS // points)
    for start in range(0, boxes, step):
        yield slice(start, min(start + step, boxes))


def _by_columns(windows: Windows, low: Array, high: Array) -> Array:
    masses = np.ones((len(low), len(windows.points)))
    for column in range(windows.columns):
        upper, lower = (_in_bandwidths(windows, bound, column) for bound in (high, low))
        masses *= _cdf_difference(windows.kernel.cdf, lower, upper)
    return masses


def _cdf_of_one_column(windows: Windows, x: Array) -> Array:
    """Return F(x): the weight of the points far below, plus the part below x of the kernels within reach."""
    if isinstance(windows.kernel, Gaussian):
        return windows.normal_cells.cdf(x)
    points, up_to, weight = windows.ordered
    h = float(windows.scales[0])
    reach = h * min(windows.kernel.reach, EXPONENTIAL_REACH)
    first, last = np.searchsorted(points, x - reach), np.searchsorted(points, x + reach, side="right")
    result = up_to[first]
    for i, (a, b) in enumerate(zip(first, last, strict=True)):
        if b > a:
            result[i] += windows.kernel.cdf((x[i] - points[a:b]) / h) @ weight[a:b]
    return np.asarray(result / up_to[-1])


def _cdf_difference(cdf: Any, lower: Array, upper: Array) -> Array:
    """Return F(upper) − F(lower); where both bounds are above 0, that of their mirror images to avoid cancellation."""
    mirrored = lower > 0
    lower, upper = np.where(mirrored, -upper, lower), np.where(mirrored, -lower, upper)
    return np.asarray(cdf(upper) - cdf(lower))


def _of_two_columns(windows: Windows, low: Array, high: Array) -> Array:
    Sigma = np.asarray(windows.bandwidth.value)
    rho = Sigma[0, 1] / np.sqrt(Sigma[0, 0] * Sigma[1, 1])
    (a, c), (b, d) = ([_in_bandwidths(windows, bound, column) for column in (0, 1)] for bound in (low, high))
    return (
        bivariate_normal(b, d, rho)
        - bivariate_normal(a, d, rho)
        - bivariate_normal(b, c, rho)
        + bivariate_normal(a, c, rho)
    )


def _in_bandwidths(windows: Windows, bound: Array, column: int) -> Array:
    """Return the distance of a bound from each point, in units of the bandwidth of the point."""
    away = bound[:, None, column] - windows.points[:, column]
    units = windows.scales[column] * (1.0 if windows.factors is None else windows.factors)
    return np.asarray(away / units)


def bivariate_normal(h: Array, k: Array, rho: float) -> Array:
    """Return P(x ≤ h, y ≤ k) for standard normals with correlation ρ, by Owen's T (1956, eq. 2.1).

    Examples
    --------
    >>> float(bivariate_normal(np.array(0.0), np.array(0.0), 0.5).round(12))  # ¼ + arcsin(ρ)/2π
    0.333333333333
    """
    far = 40.0  # ndtr is 0 or 1 beyond
    h, k = np.clip(h, -far, far), np.clip(k, -far, far)
    tiny = np.finfo(float).tiny
    h, k = np.where(h == 0, tiny, h), np.where(k == 0, tiny, k)
    root = np.sqrt(1 - rho**2)
    with np.errstate(over="ignore"):
        from_h, from_k = (k / h - rho) / root, (h / k - rho) / root
    opposite = np.where(np.sign(h) != np.sign(k), 0.5, 0.0)
    return np.asarray(0.5 * (ndtr(h) + ndtr(k)) - owens_t(h, from_h) - owens_t(k, from_k) - opposite)


#: width of a cell, in bandwidths
CELL_WIDTH = 0.5
#: derivatives of Φ in the series: the next adds less than ¼¹⁷ max|Φ⁽¹⁷⁾|/17! < 1e-18
SERIES_ORDER = 16
#: Φ is 0 or 1 beyond this
NORMAL_REACH = 9.0
#: queries whose nearby cells are searched together
CELL_QUERIES = 64
#: pairs of a query and a cell that are evaluated together
CELL_PAIRS = 1 << 14


class NormalCells:
    """Σ_j w_j Φ((x − x_j)/h) by Taylor series around the middle of each cell (Greengard & Strain 1991).

    Parameters
    ----------
    points : array of shape (n,)
        Points in ascending order.
    weight : array of shape (n,)
        Weight of each point.
    h : float
        Bandwidth.
    """

    def __init__(self, points: Array, weight: Array, h: float) -> None:
        cells = np.floor((points - points[0]) / (CELL_WIDTH * h))
        starts = np.flatnonzero(np.append(True, np.diff(cells) > 0))
        self.h, self.middles = h, points[0] + (cells[starts] + 0.5) * CELL_WIDTH * h
        away = (np.repeat(self.middles, np.diff(np.append(starts, len(points)))) - points) / h
        self.moments = np.empty((SERIES_ORDER + 1, len(starts)))
        term = np.array(weight, dtype=float)
        for k in range(SERIES_ORDER + 1):
            self.moments[k] = np.add.reduceat(term, starts)
            term *= away / (k + 1)
        self.up_to = np.append(0.0, np.cumsum(self.moments[0]))

    def cdf(self, x: Array) -> Array:
        """Return the share of the weight below each x, with an absolute error of 1e-15."""

        def below(u: Array, near: slice) -> Array:
            values = self.up_to[near.start] + ndtr(u) @ self.moments[0, near]
            return np.asarray(values + _series(u, self.moments[1:, near]))

        return np.asarray(np.clip(self._sum_series(x, below) / self.up_to[-1], 0, 1))

    def density(self, x: Array) -> Array:
        """Return the derivative of `cdf`, with an error of 1e-15/h."""
        heights = self._sum_series(x, lambda u, near: _series(u, self.moments[:, near]))
        return np.asarray(np.maximum(heights, 0) / (self.h * self.up_to[-1]))

    def _sum_series(self, x: Array, sums: Callable[[Array, slice], Array]) -> Array:
        """Evaluate a series at every x; `sums` takes the distances from the middles of nearby cells and these cells."""
        x = np.clip(x, self.middles[0] - 40 * self.h, self.middles[-1] + 40 * self.h)
        result, order = np.empty(len(x)), np.argsort(x)
        waiting = [order[start : start + CELL_QUERIES] for start in range(0, len(x), CELL_QUERIES)]
        while waiting:
            rows = waiting.pop()
            near = self._near(x[rows[0]], x[rows[-1]])
            if len(rows) > 1 and len(rows) * (near.stop - near.start) > CELL_PAIRS:
                waiting += np.array_split(rows, 2)
                continue
            result[rows] = sums((x[rows, None] - self.middles[near]) / self.h, near)
        return result

    def _near(self, low: float, high: float) -> slice:
        reach = (NORMAL_REACH + CELL_WIDTH) * self.h
        return slice(*np.searchsorted(self.middles, [low - reach, high + reach]).tolist())


def _series(u: Array, moments: Array) -> Array:
    """Return Σ_k φ⁽ᵏ⁾(u) m_k over all cells, by the recurrence of the Hermite polynomials."""
    total, before, now = np.zeros(len(u)), np.zeros_like(u), np.exp(-0.5 * u**2) / np.sqrt(2 * np.pi)
    for k, moment in enumerate(moments):
        total += now @ moment
        before, now = now, -(u * now + k * before)
    return total
