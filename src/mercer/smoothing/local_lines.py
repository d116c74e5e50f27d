"""Kernel regression by lines: local means are flat where the line that fits the values around a point best is not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mercer._memory import refuse_beyond_memory
from mercer._stored import floats, optional, part_of, stored
from mercer._threads import blas_for, row_blocks
from mercer._typing import Array
from mercer.smoothing.bandwidth import Bandwidth
from mercer.smoothing.kernels import SmoothingKernel
from mercer.smoothing.mixed import MixedSums, Rows
from mercer.smoothing.regression import FAR, LocalFit

#: moments of points around queries that are held together
MOMENTS = 1 << 22
#: a direction in which points in reach differ by less than the root of this, in units of how far away they are, has no
#: slope: a thousandth of the digits would be left of it
FLAT = 1e-12
#: sums of squared weights are taken from sums of squared kernels if a line is prolonged by no more than this: beyond,
#: digits cancel
PROLONGED = 1e3


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
    """The value at x of the line, or plane, that fits the values best with the weights K_h(x − x_j).

    A direction in which the points in reach do not differ has the slope 0, so that the answer is their mean where there
    is but one of them.
    """

    def slopes(self, rows: Rows) -> Array:
        """∂/∂x_j of each line, of shape (m, outputs, d), in units of the columns; NaN where no point is in reach."""
        found = np.empty((rows.count, self.outputs, self._sums.points.numbers.shape[1]))
        for block, slope, _, _, unit in self._lines(self._in_bandwidths(rows), None):
            found[block] = np.swapaxes(slope / unit[:, :, None], 1, 2)
        return _uncoloured(self.bandwidth, found)

    def _answer(self, queries: Rows, itself: Array | None) -> Array:
        found = np.empty((queries.count, self.outputs))
        for block, slope, mean, z, _ in self._lines(queries, itself):
            found[block] = mean - np.einsum("md,mdk->mk", z, slope)
        return found

    def _lines(self, queries: Rows, itself: Array | None) -> Iterator[tuple[slice, Array, Array, Array, Array]]:
        """Some queries after the other: slopes, means of the values, means of the points from the query, and units.

        Slopes and points are in these units, one for each axis.
        """
        for block in self._moment_blocks(queries):
            own = None if itself is None else itself[block]
            S, T, _ = self._sums.local_moments(queries.take(block), self._values, itself=own)
            inverse, z, unit = _inverse_spread(S)
            moments = T / _total(S)
            mean = moments[:, 0]
            yield block, inverse @ (moments[:, 1:] / unit[:, :, None] - z[:, :, None] * mean[:, None, :]), mean, z, unit

    def _moment_blocks(self, queries: Rows) -> list[slice]:
        """Queries whose matrices of all pairs of columns are held together."""
        size = (queries.numbers.shape[1] + 1) ** 2
        if size > MOMENTS:
            refuse_beyond_memory(
                32.0 * size,
                f"a matrix of all pairs of {queries.numbers.shape[1]:,} columns for each row",
                "use fewer columns, or NadarayaWatson",
            )
        return row_blocks(queries.count, max(1, MOMENTS // size))

    def _weights(self, queries: Rows, of_mean: Array) -> Array:
        """w_j (1 − z̄ᵀ C⁺ (z_j − z̄)) for points at z_j from the query, C their covariance."""
        S, _, _ = self._sums.local_moments(queries, self._values[:, :1])
        inverse, z, unit = _inverse_spread(S)
        lever = np.einsum("md,mde->me", z, inverse) / unit
        shift = np.einsum("md,md->m", queries.numbers + z * unit, lever)
        return np.asarray(of_mean * (1 + shift[:, None] - lever @ self._sums.points.numbers.T))

    def _from_squares(self, queries: Rows, squares: MixedSums) -> tuple[Array, Array]:
        found, vague = np.empty(queries.count), np.empty(queries.count, dtype=bool)
        values = self._values[:, :1]
        for block in self._moment_blocks(queries):
            some = queries.take(block)
            S, _, scale = self._sums.local_moments(some, values)
            squared, _, twice = squares.local_moments(some.times(squares.narrower), values)
            inverse, z, unit = _inverse_spread(S)
            lever = np.einsum("md,mde->me", z, inverse)
            prolonged = np.einsum("md,md->m", z, lever)
            line = np.column_stack([1 + prolonged, -lever / unit / squares.narrower])
            total, of_squares = _total(S)[:, 0, 0], _total(squared)
            with np.errstate(invalid="ignore"):
                ratio = np.exp(twice + np.log(of_squares[:, 0, 0]) - 2 * (scale + np.log(total)))
            found[block] = ratio * np.einsum("ma,mab,mb->m", line, squared / of_squares, line)
            vague[block] = np.isfinite(scale) & ~((twice > -FAR) & (prolonged < PROLONGED))
        return found, vague


def _inverse_spread(S: Array) -> tuple[Array, Array, Array]:
    """C⁺ of the covariance of points in reach, directions without spread left out; their mean from the query; units.

    C⁺ and the mean are in these units, the distances along each axis: a bandwidth may make distances so small that C⁺
    would be beyond all floats.
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
        halves = axes * np.where(kept, 1 / np.where(kept, spread, 1.0), 0.0)[:, None, :]
        return halves @ np.swapaxes(axes, 1, 2), z / unit, unit


def _total(S: Array) -> Array:
    """Weight of all points, NaN where none is in reach."""
    total = S[:, :1, :1]
    return np.asarray(np.where(total > 0, total, np.nan))


def _uncoloured(bandwidth: Bandwidth | None, slope: Array) -> Array:
    """L⁻ᵀ b for slopes b in units of the bandwidth."""
    if bandwidth is None:
        return slope[:, :, :0]
    L = bandwidth.root
    return np.asarray(slope @ np.linalg.inv(L) if L.ndim == 2 else slope / L)
