"""Kernel regression: the mean, or the line, of the values around a point, and what it is without a row of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist

from mercer._memory import refuse_beyond_memory
from mercer._threads import blas_for, row_blocks
from mercer.smoothing.bandwidth import Bandwidth
from mercer.smoothing.kernels import SmoothingKernel
from mercer.smoothing.mixed import PAIRS, MixedSums, Rows, shares
from mercer.smoothing.windows import Windows

Array = NDArray[Any]

#: moments of points around queries that are held together
MOMENTS = 1 << 22
#: a direction in which points in reach differ by less than the root of this, in units of how far away they are, has no
#: slope: a thousandth of the digits would be left of it
FLAT = 1e-12


class LocalFit(ABC):
    """Rows with values and a kernel around each, whose heights at a point are weights of the values.

    Parameters
    ----------
    kernel : SmoothingKernel
        What is laid around each row.
    bandwidth : Bandwidth or None
        How wide; None if there are no numbers, only categories.
    rows : Rows
        What the values belong to.
    values : array of shape (n, outputs)
        Values.
    weight : array of shape (n,)
        Of each row, positive.
    mismatch, levels : arrays of shape (q,), default=None
        λ of each category, and how many levels it has.
    """

    #: whether values are taken from their mean, so that a constant is reproduced to the last digit
    centred: ClassVar[bool] = True

    def __init__(
        self,
        kernel: SmoothingKernel,
        bandwidth: Bandwidth | None,
        rows: Rows,
        values: Array,
        weight: Array,
        *,
        mismatch: Array | None = None,
        levels: Array | None = None,
    ) -> None:
        self.bandwidth, self.weight, self.mismatch = bandwidth, weight, mismatch
        # differences of numbers far from 0 are exact, their quotients by the bandwidth are not
        self._centre = _mean(rows.numbers, weight)
        self._origin = _mean(values, weight) if self.centred else np.zeros(values.shape[1])
        self._values = values - self._origin
        points, factors = self._in_bandwidths(rows), None
        if bandwidth is not None and bandwidth.sensitivity > 0:
            factors = Windows(kernel, bandwidth, rows.numbers - self._centre, weight).sums.factors
        self._sums = MixedSums(kernel, points, weight, factors, mismatch=mismatch, levels=levels)

    @property
    def count(self) -> int:
        return len(self.weight)

    @property
    def outputs(self) -> int:
        return int(self._values.shape[1])

    @property
    def values(self) -> Array:
        """As they were given."""
        return np.asarray(self._values + self._origin)

    def numbers(self) -> Array:
        """Of the rows, as they were given but for rounding."""
        numbers = self._sums.points.numbers
        return numbers[:, :0] if self.bandwidth is None else self.bandwidth.coloured(numbers) + self._centre

    def at(self, rows: Rows) -> Array:
        """The answer for each row, of shape (m, outputs); NaN where no point is in reach."""
        return self._answer(self._in_bandwidths(rows), False) + self._origin

    def left_out(self) -> Array:
        """The answer for each row of the fit from all others; NaN where none of these is in reach."""
        return self._answer(self._sums.points, True) + self._origin

    @abstractmethod
    def _answer(self, queries: Rows, leave_out: bool) -> Array:
        """For centred values."""

    # Weights, which are a matrix.

    def weights(self, rows: Rows) -> Array:
        """The weight of every value in every answer, of shape (m, n): rows sum to 1, or are NaN out of reach."""
        out = np.empty((rows.count, self.count))
        for block, weights, _ in self.weight_blocks(rows):
            out[block] = weights
        return out

    def weight_blocks(self, rows: Rows) -> Iterator[tuple[slice, Array, Array]]:
        """Some rows after the other: the weights of the answers, and those of the local means."""
        queries = self._in_bandwidths(rows)
        for block in row_blocks(rows.count, max(1, PAIRS // self.count)):
            some = queries.take(block)
            of_mean = shares(self._sums.log_terms(some))
            yield block, self._weights(some, of_mean), of_mean

    @abstractmethod
    def _weights(self, queries: Rows, of_mean: Array) -> Array:
        """Weights of the answers, from those of the means."""

    # Out of reach.

    def nearest(self, rows: Rows) -> Array:
        """The value of the nearest row of the fit, in units of the bandwidth, for each row.

        Where there are categories, it is one of those that agree in most of them.
        """
        queries = self._in_bandwidths(rows)
        if queries.codes is None:
            _, index = self._tree.query(queries.numbers)
        else:
            index = self._nearest_mixed(queries, None)
        return np.asarray(self._values[index] + self._origin)

    def nearest_left_out(self, index: Array) -> Array:
        """The value of the row nearest to each of these rows of the fit, other than itself."""
        queries = self._sums.points.take(index)
        if queries.codes is not None:
            return np.asarray(self._values[self._nearest_mixed(queries, index)] + self._origin)
        pair = np.asarray(self._tree.query(queries.numbers, k=2)[1])
        other = np.where(pair[:, 0] == index, pair[:, 1], pair[:, 0])
        return np.asarray(self._values[other] + self._origin)

    def mean(self) -> Array:
        """Of all values."""
        return self._origin + _mean(self._values, self.weight)

    def mean_left_out(self, index: Array) -> Array:
        """Of all values but that of each of these rows."""
        mean, share = self.mean(), (self.weight[index] / self.weight.sum())[:, None]
        return np.asarray(mean - share / (1 - share) * (self._values[index] + self._origin - mean))

    @cached_property
    def _tree(self) -> KDTree:
        return KDTree(self._sums.points.numbers)

    def _nearest_mixed(self, queries: Rows, itself: Array | None) -> Array:
        points, found = self._sums.points, np.empty(queries.count, dtype=np.intp)
        for block in row_blocks(queries.count, max(1, PAIRS // self.count)):
            different = _unequal(queries.take(block), points)
            if itself is not None:
                different[np.arange(len(different)), itself[block]] = np.inf
            away = cdist(queries.numbers[block], points.numbers, "sqeuclidean")
            found[block] = np.where(different == different.min(axis=1, keepdims=True), away, np.inf).argmin(axis=1)
        return found

    def _in_bandwidths(self, rows: Rows) -> Rows:
        if self.bandwidth is None:
            return Rows(np.zeros((rows.count, 1)), rows.codes)
        return Rows(self.bandwidth.whiten(rows.numbers - self._centre), rows.codes)


class LocalMeans(LocalFit):
    """Σ_j w_j(x) y_j, w_j(x) ∝ K_h(x − x_j): Nadaraya and Watson's."""

    def _answer(self, queries: Rows, leave_out: bool) -> Array:
        return self._sums.means(queries, self._values, leave_out=leave_out)

    def _weights(self, queries: Rows, of_mean: Array) -> Array:
        return of_mean


class LocalVotes(LocalMeans):
    """Local means of shares, in which the digits of the smallest count."""

    centred: ClassVar[bool] = False


class LocalLines(LocalFit):
    """The value at x of the line, or plane, that fits the values best with the weights K_h(x − x_j).

    A direction in which the points in reach do not differ has the slope 0, so that the answer is their mean where there
    is but one of them.
    """

    def slopes(self, rows: Rows) -> Array:
        """∂/∂x_j of each line, of shape (m, outputs, d), in units of the columns; NaN where no point is in reach."""
        slope, _, _ = self._lines(self._in_bandwidths(rows), False)
        return _uncoloured(self.bandwidth, np.swapaxes(slope, 1, 2))

    def _answer(self, queries: Rows, leave_out: bool) -> Array:
        size = (queries.numbers.shape[1] + 1) ** 2
        if not leave_out and queries.count * size > MOMENTS:
            blocks = row_blocks(queries.count, max(1, MOMENTS // size))
            return np.concatenate([self._answer(queries.take(block), False) for block in blocks])
        refuse_beyond_memory(
            32.0 * queries.count * size,
            f"leaving out each of {queries.count:,} rows of {queries.numbers.shape[1]:,} columns, with a matrix of all "
            "pairs of columns for each row,",
            "use fewer columns, or NadarayaWatson",
        )
        slope, mean, z = self._lines(queries, leave_out)
        return np.asarray(mean - np.einsum("md,mdk->mk", z, slope))

    def _lines(self, queries: Rows, leave_out: bool) -> tuple[Array, Array, Array]:
        """Slopes, means of the values, and means of the points from the query: all by local weights."""
        S, T, _ = self._sums.local_moments(queries, self._values, leave_out=leave_out)
        inverse, z = _inverse_spread(S)
        moments = T / _total(S)
        mean = moments[:, 0]
        return inverse @ (moments[:, 1:] - z[:, :, None] * mean[:, None, :]), mean, z

    def _weights(self, queries: Rows, of_mean: Array) -> Array:
        """w_j (1 − z̄ᵀ C⁺ (z_j − z̄)) for points at z_j from the query, C their covariance."""
        S, _, _ = self._sums.local_moments(queries, self._values[:, :1])
        inverse, z = _inverse_spread(S)
        lever = np.einsum("md,mde->me", z, inverse)
        shift = np.einsum("md,md->m", queries.numbers + z, lever)
        return np.asarray(of_mean * (1 + shift[:, None] - lever @ self._sums.points.numbers.T))


def answers(fit: LocalFit, rows: Rows, out_of_reach: str) -> Array:
    """The answer for each row; where no point is in reach the nearest value, the mean of all, or NaN."""
    found = fit.at(rows)
    lost = np.flatnonzero(np.isnan(found[:, 0]))
    if lost.size and out_of_reach in ("nearest", "mean"):
        found[lost] = fit.nearest(rows.take(lost)) if out_of_reach == "nearest" else fit.mean()
    return found


def answers_left_out(fit: LocalFit, out_of_reach: str) -> Array:
    """The answer for each row of the fit from all others; NaN if there are none."""
    if fit.count == 1:
        return np.full((1, fit.outputs), np.nan)
    found = fit.left_out()
    lost = np.flatnonzero(np.isnan(found[:, 0]))
    if lost.size and out_of_reach in ("nearest", "mean"):
        found[lost] = fit.nearest_left_out(lost) if out_of_reach == "nearest" else fit.mean_left_out(lost)
    return found


def left_out_error(fit: LocalFit, values: Array, units: Array, out_of_reach: str) -> float:
    """Weighted mean over rows of the squared error without them, summed over outputs, each in its unit.

    A row that has no answer is answered with the mean of the others.
    """
    found = answers_left_out(fit, "nearest" if out_of_reach == "nearest" else "mean")
    errors = np.square((values - found) / units).sum(axis=1)
    return float(np.average(errors, weights=fit.weight))


def _inverse_spread(S: Array) -> tuple[Array, Array]:
    """C⁺ of the covariance of points in reach, directions without spread left out, and their mean from the query.

    Axes are in units of the distances along them first, however small the bandwidth makes these.
    """
    moments = S[:, 1:] / _total(S)
    z, squares = moments[:, :, 0], moments[:, :, 1:]
    size = np.sqrt(np.einsum("mdd->md", squares))
    unit = np.where(size > 0, size, 1.0)
    C = (squares - z[:, :, None] * z[:, None, :]) / unit[:, :, None] / unit[:, None, :]
    there: Array = np.asarray(np.isfinite(C).all(axis=(1, 2)))
    with blas_for(C.shape[1]):
        spread, axes = np.linalg.eigh(np.where(there[:, None, None], C, 0.0))
        kept: Array = np.asarray(spread > FLAT)
        scaled = axes / unit[:, :, None]
        halves = scaled * np.where(kept, 1 / np.where(kept, spread, 1.0), 0.0)[:, None, :]
        return halves @ np.swapaxes(scaled, 1, 2), z


def _total(S: Array) -> Array:
    """Weight of all points, NaN where none is in reach."""
    total = S[:, :1, :1]
    return np.asarray(np.where(total > 0, total, np.nan))


def _unequal(queries: Rows, points: Rows) -> Array:
    """In how many categories each pair differs."""
    assert queries.codes is not None
    assert points.codes is not None
    total = np.zeros((queries.count, points.count))
    for query, point in zip(queries.codes.T, points.codes.T, strict=True):
        total += query[:, None] != point
    return total


def _uncoloured(bandwidth: Bandwidth | None, slope: Array) -> Array:
    """L⁻ᵀ b for slopes b in units of the bandwidth."""
    if bandwidth is None:
        return slope[:, :, :0]
    L = bandwidth.root
    return np.asarray(slope @ np.linalg.inv(L) if L.ndim == 2 else slope / L)


def _mean(values: Array, weight: Array) -> Array:
    """Weighted mean of every column, exact where a column is constant."""
    first = values[0]
    return np.asarray(first + (weight / weight.sum()) @ (values - first))
