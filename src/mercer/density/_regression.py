"""Local fits of kernel regression: means, votes and lines, with and without a row of the fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist

from mercer._memory import check_memory
from mercer._stored import floats, optional, part_of, stored
from mercer._threads import blas_for, row_blocks
from mercer._typing import Array
from mercer.density._bandwidth import Bandwidth
from mercer.density._kernels import SmoothingKernel
from mercer.density._mixed import TERM_PAIRS, MixedRows, MixedSums, normalize_terms
from mercer.density._windows import Windows

#: largest −log of a sum of squared weights that is computed from squared kernels; beyond, digits cancel
LEAST_LOG_SQUARES = 1e6
#: distances in the search for the nearest point are clipped at this, in units of the furthest point
FARTHEST_NEIGHBOUR = 1e6


def _has_query_width(fit: Any) -> bool:
    """Return whether queries have as many columns as the points, which is one without a bandwidth."""
    return fit.bandwidth is not None or fit._sums.points.numbers.shape[1] == 1


@stored(_has_query_width, tag=None)
class LocalFit(ABC):
    """Base class of local fits: rows with values, weighted by the kernels of the rows at a query.

    Parameters
    ----------
    kernel : SmoothingKernel
        Kernel centred on each row.
    bandwidth : Bandwidth or None
        Width of the kernel; None if there are only categories.
    rows : MixedRows
        Rows of the fit.
    values : array of shape (n, outputs)
        Values of the rows.
    weight : array of shape (n,)
        Positive weight of each row.
    mismatch, levels : arrays of shape (q,), default=None
        λ of each category, and its number of levels.
    """

    #: whether values are centred, so that a constant is reproduced exactly
    centred: ClassVar[bool] = True

    def __init__(
        self,
        kernel: SmoothingKernel,
        bandwidth: Bandwidth | None,
        rows: MixedRows,
        values: Array,
        weight: Array,
        *,
        mismatch: Array | None = None,
        levels: Array | None = None,
    ) -> None:
        self.kernel, self.bandwidth, self.weight, self.mismatch = kernel, bandwidth, weight, mismatch
        # differences of numbers far from 0 are exact, their quotients by the bandwidth are not
        self.centre = _weighted_mean(rows.numbers, weight)
        self.origin = _weighted_mean(values, weight) if self.centred else np.zeros(values.shape[1])
        self._values = values - self.origin
        points, factors = self._in_bandwidths(rows), None
        if bandwidth is not None and bandwidth.sensitivity > 0:
            factors = Windows(kernel, bandwidth, rows.numbers - self.centre, weight).sums.factors
        # scaled so that squares of weights do not overflow; the scale cancels
        self._sums = MixedSums(kernel, points, weight / weight.max(), factors, mismatch=mismatch, levels=levels)

    def __getstate__(self) -> dict[str, Any]:
        """Return the arguments and the sums; everything else is recomputed on demand."""
        recomputed = ("device_copies", "_squares", "_tree")
        return {name: value for name, value in self.__dict__.items() if name not in recomputed}

    @cached_property
    def device_copies(self) -> dict[Any, Any]:
        """Copies of the rows on devices, for `_tensor_sums`; never saved."""
        return {}

    @property
    def points(self) -> MixedRows:
        """The rows in units of the bandwidth, relative to the `centre`."""
        return self._sums.points

    @property
    def count(self) -> int:
        return len(self.weight)

    @property
    def outputs(self) -> int:
        return int(self._values.shape[1])

    @property
    def values(self) -> Array:
        """The values, uncentred."""
        return np.asarray(self._values + self.origin)

    def numbers(self) -> Array:
        """The numbers of the rows in their original units, up to rounding."""
        numbers = self._sums.points.numbers
        return numbers[:, :0] if self.bandwidth is None else self.bandwidth.coloured(numbers) + self.centre

    def at(self, rows: MixedRows) -> Array:
        """Return the result for each row, of shape (m, outputs); NaN where no point is in reach."""
        return self._answer(self._in_bandwidths(rows), None) + self.origin

    def left_out(self, index: Array) -> Array:
        """Return the result for each of these rows of the fit from all others; NaN where none of these is in reach."""
        return self._answer(self._sums.points.take(index), index) + self.origin

    @abstractmethod
    def _answer(self, queries: MixedRows, itself: Array | None) -> Array:
        """Return the results for centred values; `itself` as in `MixedSums.means`."""

    # The weights as a matrix.

    def weights(self, rows: MixedRows) -> Array:
        """Return the weight of every value in every result, of shape (m, n); rows sum to 1, or are NaN out of reach."""
        out = np.empty((rows.count, self.count))
        for block, weights in self._weight_blocks(self._in_bandwidths(rows)):
            out[block] = weights
        return out

    def _weight_blocks(self, queries: MixedRows) -> Iterator[tuple[slice, Array]]:
        """Yield blocks of queries with their weights."""
        for block in row_blocks(queries.count, max(1, TERM_PAIRS // self.count)):
            some = queries.take(block)
            yield block, self._weights(some, normalize_terms(self._sums.log_terms(some)))

    @abstractmethod
    def _weights(self, queries: MixedRows, of_mean: Array) -> Array:
        """Return the weights of the results, from those of the means."""

    def variances(self, rows: MixedRows, noise: Array) -> Array:
        """Return Σ_j ℓ_j² times the local mean of the noise, for weights ℓ, of shape (m, outputs); NaN out of reach."""
        queries = self._in_bandwidths(rows)
        squares = np.maximum(self._squared_weights(queries), 0.0)
        return np.asarray(squares[:, None] * self._sums.means(queries, noise))

    def _squared_weights(self, queries: MixedRows) -> Array:
        """Return the sums of the squares of all weights, by squared kernels where that is possible and accurate."""
        if self._squares is None:
            result, vague = np.empty(queries.count), np.arange(queries.count)
        else:
            result, unsure = self._from_squares(queries, self._squares)
            vague = np.flatnonzero(unsure)
        for block, weights in self._weight_blocks(queries.take(vague)):
            result[vague[block]] = np.square(weights).sum(axis=1)
        return result

    @abstractmethod
    def _from_squares(self, queries: MixedRows, squares: MixedSums) -> tuple[Array, Array]:
        """Return the sums of squared weights from squared kernels, and a mask of those that are inaccurate."""

    @cached_property
    def _squares(self) -> MixedSums | None:
        return self._sums.square()

    # Queries out of reach.

    def nearest(self, rows: MixedRows) -> Array:
        """Return the value of the nearest row of the fit, in units of the bandwidth, for each row.

        With categories it is the nearest of the rows that agree in most of them.
        """
        queries = self._in_bandwidths(rows)
        if queries.codes is None:
            _, index = self._tree.query(self._within(queries.numbers))
        else:
            index = self._nearest_mixed(queries, None)
        return np.asarray(self._values[index] + self.origin)

    def nearest_left_out(self, index: Array) -> Array:
        """Return the value of the nearest other row for each of these rows of the fit."""
        queries = self._sums.points.take(index)
        if queries.codes is not None:
            return np.asarray(self._values[self._nearest_mixed(queries, index)] + self.origin)
        pair = np.asarray(self._tree.query(self._within(queries.numbers), k=2)[1])
        other = np.where(pair[:, 0] == index, pair[:, 1], pair[:, 0])
        return np.asarray(self._values[other] + self.origin)

    def mean(self) -> Array:
        """Return the weighted mean of the values."""
        return self.origin + _weighted_mean(self._values, self.weight)

    def mean_left_out(self, index: Array) -> Array:
        """Return the weighted mean of all other values for each of these rows."""
        mean, share = self.mean(), (self.weight[index] / self.weight.sum())[:, None]
        return np.asarray(mean - share / (1 - share) * (self._values[index] + self.origin - mean))

    @cached_property
    def _tree(self) -> KDTree:
        return KDTree(self._within(self._sums.points.numbers))

    def _within(self, numbers: Array) -> Array:
        """Scale by the furthest point and clip, so that squared distances do not overflow."""
        away = np.abs(self._sums.points.numbers).max()
        scaled = numbers / (away if away > 0 else 1.0)
        return np.asarray(scaled / np.maximum(np.abs(scaled).max(axis=1, keepdims=True) / FARTHEST_NEIGHBOUR, 1.0))

    def _nearest_mixed(self, queries: MixedRows, itself: Array | None) -> Array:
        points, nearest = self._sums.points, np.empty(queries.count, dtype=np.intp)
        for block in row_blocks(queries.count, max(1, TERM_PAIRS // self.count)):
            different = _count_differences(queries.take(block), points)
            if itself is not None:
                different[np.arange(len(different)), itself[block]] = np.inf
            away = cdist(self._within(queries.numbers[block]), self._within(points.numbers), "sqeuclidean")
            nearest[block] = np.where(different == different.min(axis=1, keepdims=True), away, np.inf).argmin(axis=1)
        return nearest

    def _in_bandwidths(self, rows: MixedRows) -> MixedRows:
        if self.bandwidth is None:
            return MixedRows(np.zeros((rows.count, 1)), rows.codes)
        return MixedRows(self.bandwidth.whiten(rows.numbers - self.centre), rows.codes)


@stored(
    weight=floats("n"),
    centre=floats("d"),
    origin=floats("t"),
    _values=floats("nt"),
    kernel=part_of(SmoothingKernel),
    bandwidth=optional(part_of(Bandwidth, d="d")),
    mismatch=optional(floats()),
    _sums=part_of(MixedSums, n="n", d="d"),
)
class LocalMeans(LocalFit):
    """Nadaraya–Watson means Σ_j w_j(x) y_j with w_j(x) ∝ K_h(x − x_j)."""

    def _answer(self, queries: MixedRows, itself: Array | None) -> Array:
        return self._sums.means(queries, self._values, itself=itself)

    def _weights(self, queries: MixedRows, of_mean: Array) -> Array:
        return of_mean

    def _from_squares(self, queries: MixedRows, squares: MixedSums) -> tuple[Array, Array]:
        logs, twice = self._sums.log_sums(queries), squares.log_sums(queries.times(squares.narrower))
        with np.errstate(invalid="ignore"):
            result = np.exp(twice - 2 * logs)
        return result, np.isfinite(logs) & ~(twice > -LEAST_LOG_SQUARES)


@stored(
    weight=floats("n"),
    centre=floats("d"),
    origin=floats("t"),
    _values=floats("nt"),
    kernel=part_of(SmoothingKernel),
    bandwidth=optional(part_of(Bandwidth, d="d")),
    mismatch=optional(floats()),
    _sums=part_of(MixedSums, n="n", d="d"),
)
class LocalVotes(LocalMeans):
    """Local means of class indicators, which are not centred so that small shares keep their digits."""

    centred: ClassVar[bool] = False


def evaluate(fit: LocalFit, rows: MixedRows, out_of_reach: str) -> Array:
    """Return the result for each row; where no point is in reach the nearest value, the mean of all, or NaN."""
    result = fit.at(rows)
    lost = np.flatnonzero(np.isnan(result[:, 0]))
    if lost.size and out_of_reach in ("nearest", "mean"):
        result[lost] = fit.nearest(rows.take(lost)) if out_of_reach == "nearest" else fit.mean()
    return result


def evaluate_left_out(fit: LocalFit, out_of_reach: str, index: Array | None = None) -> Array:
    """Return the result for rows of the fit from all others; NaN without others."""
    index = np.arange(fit.count) if index is None else index
    if fit.count == 1:
        return np.full((len(index), fit.outputs), np.nan)
    result = fit.left_out(index)
    lost = np.flatnonzero(np.isnan(result[:, 0]))
    if lost.size and out_of_reach in ("nearest", "mean"):
        result[lost] = (
            fit.nearest_left_out(index[lost]) if out_of_reach == "nearest" else fit.mean_left_out(index[lost])
        )
    return result


def compute_left_out_error(fit: LocalFit, units: Array, out_of_reach: str, index: Array | None = None) -> float:
    """Return the weighted mean, over rows of the fit, of the squared error without them, each output in its unit.

    Where the result is undefined, the mean of the others is used.
    """
    index = np.arange(fit.count) if index is None else index
    result = evaluate_left_out(fit, "nearest" if out_of_reach == "nearest" else "mean", index)
    errors = np.square((fit.values[index] - result) / units).sum(axis=1)
    return float(np.average(errors, weights=fit.weight[index]))


def _count_differences(queries: MixedRows, points: MixedRows) -> Array:
    """Return the number of categories in which each pair differs."""
    assert queries.codes is not None
    assert points.codes is not None
    total = np.zeros((queries.count, points.count))
    for query, point in zip(queries.codes.T, points.codes.T, strict=True):
        total += query[:, None] != point
    return total


def _weighted_mean(values: Array, weight: Array) -> Array:
    """Return the weighted mean of every column, exactly where a column is constant."""
    first = values[0]
    return np.asarray(first + (weight / weight.sum()) @ (values - first))


#: relative variance of the points in reach along a direction below which its slope is 0: fewer than a quarter of
#: the digits of the slope would be left
FLAT_LINE_DIRECTION = 1e-12
#: leverage up to which sums of squared weights are computed from squared kernels: beyond, digits cancel
MOST_PROLONGED = 1e3


@stored(
    weight=floats("n"),
    centre=floats("d"),
    origin=floats("t"),
    _values=floats("nt"),
    kernel=part_of(SmoothingKernel),
    bandwidth=optional(part_of(Bandwidth, d="d")),
    mismatch=optional(floats()),
    _sums=part_of(MixedSums, n="n", d="d"),
)
class LocalLines(LocalFit):
    """Values at x of the line, or plane, that fits the values best with the weights K_h(x − x_j).

    The slope is 0 in directions in which the points in reach do not differ, so that a single point in reach determines
    the result.
    """

    #: entries of the moment matrices of a block of queries
    block_entries: ClassVar[int] = 1 << 22

    def slopes(self, rows: MixedRows) -> Array:
        """Return ∂/∂x_j of each line, of shape (m, outputs, d), in units of the columns; NaN out of reach."""
        result = np.empty((rows.count, self.outputs, self._sums.points.numbers.shape[1]))
        for block, slope, _, _, unit in self._lines(self._in_bandwidths(rows), None):
            result[block] = np.swapaxes(slope / unit[:, :, None], 1, 2)
        return _transform_slopes(self.bandwidth, result)

    def _answer(self, queries: MixedRows, itself: Array | None) -> Array:
        result = np.empty((queries.count, self.outputs))
        for block, slope, mean, z, _ in self._lines(queries, itself):
            result[block] = mean - np.einsum("md,mdk->mk", z, slope)
        return result

    def _lines(self, queries: MixedRows, itself: Array | None) -> Iterator[tuple[slice, Array, Array, Array, Array]]:
        """Yield blocks of queries with slopes, means of the values, means of the points minus the query, and units.

        Slopes and points are in these units, one for each axis.
        """
        for block in self._moment_blocks(queries):
            own = None if itself is None else itself[block]
            S, T, _ = self._sums.local_moments(queries.take(block), self._values, itself=own)
            inverse, z, unit = _invert_spread(S)
            moments = T / _total_weight(S)
            mean = moments[:, 0]
            yield block, inverse @ (moments[:, 1:] / unit[:, :, None] - z[:, :, None] * mean[:, None, :]), mean, z, unit

    def _moment_blocks(self, queries: MixedRows) -> list[slice]:
        """Return blocks of queries whose moment matrices fit into memory together."""
        size = (queries.numbers.shape[1] + 1) ** 2
        if size > self.block_entries:
            check_memory(
                32.0 * size,
                f"a matrix of all pairs of {queries.numbers.shape[1]:,} columns for each row",
                "use fewer columns, or NadarayaWatson",
            )
        return row_blocks(queries.count, max(1, self.block_entries // size))

    def _weights(self, queries: MixedRows, of_mean: Array) -> Array:
        """Return w_j (1 − z̄ᵀ C⁺ (z_j − z̄)) for points z_j relative to the query and their covariance C."""
        S, _, _ = self._sums.local_moments(queries, self._values[:, :1])
        inverse, z, unit = _invert_spread(S)
        lever = np.einsum("md,mde->me", z, inverse) / unit
        shift = np.einsum("md,md->m", queries.numbers + z * unit, lever)
        return np.asarray(of_mean * (1 + shift[:, None] - lever @ self._sums.points.numbers.T))

    def _from_squares(self, queries: MixedRows, squares: MixedSums) -> tuple[Array, Array]:
        result, vague = np.empty(queries.count), np.empty(queries.count, dtype=bool)
        values = self._values[:, :1]
        for block in self._moment_blocks(queries):
            some = queries.take(block)
            S, _, scale = self._sums.local_moments(some, values)
            squared, _, twice = squares.local_moments(some.times(squares.narrower), values)
            inverse, z, unit = _invert_spread(S)
            lever = np.einsum("md,mde->me", z, inverse)
            prolonged = np.einsum("md,md->m", z, lever)
            line = np.column_stack([1 + prolonged, -lever / unit / squares.narrower])
            total, of_squares = _total_weight(S)[:, 0, 0], _total_weight(squared)
            with np.errstate(invalid="ignore"):
                ratio = np.exp(twice + np.log(of_squares[:, 0, 0]) - 2 * (scale + np.log(total)))
            result[block] = ratio * np.einsum("ma,mab,mb->m", line, squared / of_squares, line)
            vague[block] = np.isfinite(scale) & ~((twice > -LEAST_LOG_SQUARES) & (prolonged < MOST_PROLONGED))
        return result, vague


def _invert_spread(S: Array) -> tuple[Array, Array, Array]:
    """Return the pseudo-inverse C⁺ of the covariance of the points in reach, their mean minus the query, and units.

    Directions without spread are left out. C⁺ and the mean are in these units, the typical distances along each axis,
    because C⁺ may overflow in units of the bandwidth.
    """
    moments = S[:, 1:] / _total_weight(S)
    z, squares = moments[:, :, 0], moments[:, :, 1:]
    size = np.sqrt(np.einsum("mdd->md", squares))
    unit = np.where(size > 0, size, 1.0)
    C = (squares - z[:, :, None] * z[:, None, :]) / unit[:, :, None] / unit[:, None, :]
    is_finite: Array = np.asarray(np.isfinite(C).all(axis=(1, 2)))
    with blas_for(C.shape[1]):
        spread, axes = np.linalg.eigh(np.where(is_finite[:, None, None], C, 0.0))
        kept: Array = np.asarray(spread > FLAT_LINE_DIRECTION)
        halves = axes * np.where(kept, 1 / np.where(kept, spread, 1.0), 0.0)[:, None, :]
        return halves @ np.swapaxes(axes, 1, 2), z / unit, unit


def _total_weight(S: Array) -> Array:
    """Return the weight of all points, NaN where none is in reach."""
    total = S[:, :1, :1]
    return np.asarray(np.where(total > 0, total, np.nan))


def _transform_slopes(bandwidth: Bandwidth | None, slope: Array) -> Array:
    """Return L⁻ᵀ b for slopes b in units of the bandwidth."""
    if bandwidth is None:
        return slope[:, :, :0]
    L = bandwidth.root
    return np.asarray(slope @ np.linalg.inv(L) if L.ndim == 2 else slope / L)
