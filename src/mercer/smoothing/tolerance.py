"""Sums of Gaussian kernels that may be a little off: by a Fourier grid where that is cheaper and accurate enough."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._stored import stored
from mercer._typing import Array
from mercer.smoothing.fourier import PAIR, FourierSums, plan
from mercer.smoothing.kernels import Gaussian, SmoothingKernel

#: dimensions in which there are grids
MOST_COLUMNS = 3
#: sums of less than this share of all weight are taken without a grid, if a relative error is asked for
COMMON = 1e-5
#: a grid goes so many bandwidths beyond the points; what is asked further away is asked without it
MARGIN = 8.0
#: pairs that blocks out of reach spare, of all
SPARED = 0.5
#: relative error of a sum by places on a grid that rounding has moved, for every bandwidth that the grid is long
ROUNDING = 4 * float(np.finfo(float).eps)


def has_grid(kernel: SmoothingKernel, columns: int, *, adaptive: bool) -> bool:
    """Whether sums can be taken on a grid: its error is known of kernels that are Gaussian and of one width."""
    return isinstance(kernel, Gaussian) and not adaptive and columns <= MOST_COLUMNS


@stored()
class Tolerance(NamedTuple):
    """A sum may be off by `relative` times itself and by `share` of the weight of all points."""

    relative: float = 0.0
    share: float = 0.0

    @property
    def is_none(self) -> bool:
        return self.relative == 0 and self.share == 0

    def allows(self, error: float, sums: Array, total: float) -> Array:
        """Where an error of a sum is small enough."""
        return np.asarray(error <= self.relative * (sums - error) + self.share * total)


class Sources(NamedTuple):
    """Points of which sums are taken, and the bandwidth along each axis."""

    points: Array
    #: None means ones
    weight: Array | None
    widths: Array
    #: of the box around all points
    corners: tuple[Array, Array]

    @property
    def total(self) -> float:
        return float(len(self.points) if self.weight is None else self.weight.sum())

    def sums(self, queries: Array, tolerance: Tolerance, *, own: Any = 0.0, small: bool = False) -> tuple[Array, Array]:
        """Σ_j w_j k(x − x_j) of every query, and of which queries it is known as well as was asked for.

        `own` is how much of each sum is not to count: that of the query itself, if it is one of the points. With
        `small` also those sums are known that may be nothing but error; their logarithms would mean nothing.
        """
        sums, known = np.zeros(len(queries)), np.zeros(len(queries), dtype=bool)
        low, high = self.corners
        inside = (np.abs(queries - (low + high) / 2) <= (high - low) / 2 + MARGIN * self.widths).all(axis=1)
        near = queries if inside.all() else queries[inside]
        if not len(near):
            return sums, known
        low, high = np.minimum(low, near.min(axis=0)), np.maximum(high, near.max(axis=0))
        error = max(tolerance.relative * COMMON, tolerance.share)
        spans = (high - low) / self.widths
        if ROUNDING * spans.max() > max(tolerance.relative, tolerance.share):
            return sums, known
        grid = plan(len(self.points), len(near), spans, error)
        if grid is None or grid.nanoseconds > SPARED * PAIR * len(self.points) * len(near):
            return sums, known
        found = FourierSums(grid, self.points, self.weight, self.widths, low)(near)
        found -= np.broadcast_to(own, len(queries))[inside]
        error = grid.error * self.total
        good = tolerance.allows(error, found, self.total)
        sums[inside], known[inside] = np.maximum(found, 0.0), good if small else good & (found > 2 * error)
        return sums, known
