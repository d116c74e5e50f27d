"""Sums of smoothing kernels over points, Σ_j w_j k(x − x_j), on which densities and kernel regression are based.

Coordinates are in units of the bandwidth. Points and queries are sorted into blocks of nearby ones. Pairs of blocks
that are too far apart to matter are skipped: their contribution is below rounding or, for a compact kernel, zero.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mercer._jit.scalar import LOG2_E
from mercer._stored import floats, optional, part_of, stored
from mercer._threads import ordered_map, row_blocks
from mercer._typing import Array
from mercer.density._fourier_sums import PAIR_NS, FourierSums, plan_grid
from mercer.density._kernels import Gaussian, SmoothingKernel
from mercer.density.sum_loops import (
    BLOCK_POINTS,
    GREATEST_SQUARE,
    SUM_OF_ABSOLUTES,
    SUM_OF_SQUARES,
    AbsoluteDistances,
    Boxes,
    LaplaceProfile,
    ProductDistances,
    Shape,
    SquareDistances,
    WideSquareDistances,
    add_moments,
    add_sums,
    find_nearest,
    halve,
    select_blocks,
)

#: coordinate of the points that pad the last block: far away, but finite, so that its product with 0 is 0
PADDING_COORDINATE = 1e300


def sort_into_blocks(points: Array, size: int) -> Array:
    """Return an order of the points in which every `size` of them are close together."""
    if points.shape[1] == 1:
        return np.argsort(points[:, 0], kind="stable")
    return np.asarray(halve(points, size))


def pad_blocks(values: Array, filling: float) -> Array:
    """Arrange values of points in blocks, with padding: (points,) -> (blocks, BLOCK_POINTS)."""
    blocks = -(-len(values) // BLOCK_POINTS)
    full = np.full(blocks * BLOCK_POINTS, filling)
    full[: len(values)] = values
    return full.reshape(blocks, BLOCK_POINTS)


class Blocks(NamedTuple):
    """Points in blocks, stored by coordinate; padding is far away from all points."""

    #: coordinates, of shape (blocks, columns, BLOCK_POINTS)
    points: Array
    #: 1/λ² of each point (1/λ for sums of |u|): (blocks, BLOCK_POINTS), or (blocks, 0) if not needed
    spread: Array
    boxes: Boxes

    @classmethod
    def of(cls, points: Array, weight: Array, spread: Array | None) -> Blocks:
        """Build blocks from points that are sorted already."""
        columns = np.stack([pad_blocks(x, PADDING_COORDINATE) for x in points.T], axis=1)
        starts, weights = np.arange(0, len(points), BLOCK_POINTS), pad_blocks(weight, 0.0)
        around = np.empty((len(starts), 0)) if spread is None else pad_blocks(spread, 1.0)
        spreads = np.ones((len(starts), 2)) if spread is None else _find_extremes(spread, starts)
        mass = weights.sum(axis=1)
        sure = mass - weights.max(axis=1)
        boxes = Boxes(_find_extremes(points, starts), spreads, mass, sure, float(mass.sum()), float(weight.min()))
        return cls(columns, around, boxes)


def _find_extremes(values: Array, starts: Array) -> Array:
    """Return the least and the greatest value from each start to the next: (starts, 2, …)."""
    return np.stack([np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)], axis=1)


#: number of dimensions up to which sums can be taken on a grid
MOST_GRID_COLUMNS = 3
#: with a relative tolerance, sums of less than this share of the total weight are not taken on a grid
LEAST_COMMON_SHARE = 1e-5
#: bandwidths by which a grid extends beyond the points; queries further away are evaluated exactly
GRID_MARGIN = 8.0
#: estimated share of pairs that remain if blocks out of reach are skipped
REMAINING_PAIRS = 0.5
#: relative error of a sum due to rounded positions on a grid, per bandwidth of the length of the grid
POSITION_ROUNDING = 4 * float(np.finfo(float).eps)


def has_grid(kernel: SmoothingKernel, columns: int, *, adaptive: bool) -> bool:
    """Return whether sums can be taken on a grid, whose error is known for Gaussian kernels of constant width."""
    return isinstance(kernel, Gaussian) and not adaptive and columns <= MOST_GRID_COLUMNS


@stored()
class Tolerance(NamedTuple):
    """Tolerated error of a sum: `relative` times the sum plus `share` of the weight of all points."""

    relative: float = 0.0
    share: float = 0.0

    @property
    def is_none(self) -> bool:
        return self.relative == 0 and self.share == 0

    def allows(self, error: float, sums: Array, total: float) -> Array:
        """Return where an error of a sum is small enough."""
        return np.asarray(error <= self.relative * (sums - error) + self.share * total)


class Sources(NamedTuple):
    """Points of which sums are taken on a grid, and the bandwidth along each axis."""

    points: Array
    #: None means that all are 1
    weight: Array | None
    widths: Array
    #: corners of the box around all points
    corners: tuple[Array, Array]

    @property
    def total(self) -> float:
        return float(len(self.points) if self.weight is None else self.weight.sum())

    def sums(self, queries: Array, tolerance: Tolerance, *, own: Any = 0.0, small: bool = False) -> tuple[Array, Array]:
        """Return Σ_j w_j k(x − x_j) for every query, and a mask of the queries for which it is accurate enough.

        `own` is subtracted from each sum: the contribution of the query itself, if it is one of the points. With
        `small`, the mask includes sums that may consist only of error, whose logarithms would be meaningless.
        """
        sums, known = np.zeros(len(queries)), np.zeros(len(queries), dtype=bool)
        low, high = self.corners
        inside = (np.abs(queries - (low + high) / 2) <= (high - low) / 2 + GRID_MARGIN * self.widths).all(axis=1)
        near = queries if inside.all() else queries[inside]
        if not len(near):
            return sums, known
        low, high = np.minimum(low, near.min(axis=0)), np.maximum(high, near.max(axis=0))
        error = max(tolerance.relative * LEAST_COMMON_SHARE, tolerance.share)
        spans = (high - low) / self.widths
        if POSITION_ROUNDING * spans.max() > max(tolerance.relative, tolerance.share):
            return sums, known
        grid = plan_grid(len(self.points), len(near), spans, error)
        if grid is None or grid.nanoseconds > REMAINING_PAIRS * PAIR_NS * len(self.points) * len(near):
            return sums, known
        result = FourierSums(grid, self.points, self.weight, self.widths, low)(near)
        result -= np.broadcast_to(own, len(queries))[inside]
        error = grid.error * self.total
        good = tolerance.allows(error, result, self.total)
        sums[inside], known[inside] = np.maximum(result, 0.0), good if small else good & (result > 2 * error)
        return sums, known


EXACT_TOLERANCE = Tolerance()
#: number of queries from which groups are large
MANY_QUERIES = 1024
#: queries of a large group, which are compared with the same blocks
LARGE_GROUP = 64
#: queries of a small group: few queries are far apart, so that they share few blocks
SMALL_GROUP = 8
#: groups of queries that a thread takes at a time
GROUPS_PER_TURN = 8
#: −log₂ of the share of a sum that may be left out, below rounding
SUMS_ROUNDING = 60.0
#: smaller sums have lost digits, or are 0: they are computed again relative to the nearest point
LEAST_CERTAIN_SUM = 2.0**-800
#: exponents at which the rounding of their last digit decides between a term of 1 and one of 0
AMBIGUOUS_EXPONENT = 1e12


@stored(
    kernel=part_of(SmoothingKernel), points=floats("nd", finite=True), weight=floats("n"), factors=optional(floats("n"))
)
class KernelSums:
    """Sums over weighted points in units of the bandwidth, with a kernel centred on each.

    Parameters
    ----------
    kernel : SmoothingKernel
        Kernel centred on each point; its normalising constant is left out of all sums.
    points : array of shape (n, d)
        Points in units of the bandwidth.
    weight : array of shape (n,), default=None
        Weight of each point; 1 if not given.
    factors : array of shape (n,), default=None
        λ, the factor by which the kernel of each point is wider; its height is λ⁻ᵈ times the usual one.
    """

    def __init__(
        self, kernel: SmoothingKernel, points: Array, weight: Array | None = None, factors: Array | None = None
    ) -> None:
        self.kernel, self.points, self.weight, self.factors = kernel, points, weight, factors

    def log_sums(self, queries: Array, *, leave_out: bool = False, tolerance: Tolerance = EXACT_TOLERANCE) -> Array:
        """Return log Σ_j w_j λ_j⁻ᵈ k((x − x_j)/λ_j) for every query; −inf only where no point is in reach.

        With `leave_out` the queries are the points in their order, and each is left out of its own sum.
        """
        if tolerance.is_none or not has_grid(self.kernel, self.points.shape[1], adaptive=self.factors is not None):
            return self._log_sums(queries, leave_out)
        own = self._own(queries) if leave_out else 0.0
        sums, known = self.sources.sums(queries, tolerance, own=own)
        logs = np.log(np.where(known, sums, 1.0))
        if not known.all():
            logs[~known] = self._log_sums(queries, leave_out, np.flatnonzero(~known))
        return np.asarray(logs)

    @cached_property
    def sources(self) -> Sources:
        """The points in the form required by a grid."""
        corners = self.points.min(axis=0), self.points.max(axis=0)
        return Sources(self.points, self.weight, np.ones(self.points.shape[1]), corners)

    def _own(self, queries: Array) -> Array:
        """Return the contribution of each point to the query of the same index."""
        own = np.exp(-np.square(queries - self.points).sum(axis=1) / 2)
        return own if self.weight is None else np.asarray(own * self.weight)

    def _log_sums(self, queries: Array, leave_out: bool, some: Array | None = None) -> Array:
        return self._logs(*self._sums(queries, self._masses, leave_out, some=some))

    def _logs(self, sums: Array, lifts: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(sums[:, 0]) - np.log(2) * lifts + self._sorted_points.log_heaviest)

    def means(self, queries: Array, values: Array, *, leave_out: bool = False, some: Array | None = None) -> Array:
        """Return Σ_j w_j k_j(x) y_j / Σ_j w_j k_j(x), of shape (queries, outputs); NaN where no point is in reach.

        `some` restricts the result to the queries of these indices.
        """
        return self.means_and_log_sums(queries, values, leave_out=leave_out, some=some)[0]

    def means_and_log_sums(
        self, queries: Array, values: Array, *, leave_out: bool = False, some: Array | None = None
    ) -> tuple[Array, Array]:
        """Return `means` and the logarithms of their denominators."""
        sums, lifts = self._sums(queries, self._sides(values), leave_out, some=some)
        with np.errstate(invalid="ignore"):
            return np.asarray(sums[:, 1:] / sums[:, :1]), self._logs(sums, lifts)

    def local_moments(
        self, queries: Array, values: Array, *, leave_out: bool = False, some: Array | None = None
    ) -> tuple[Array, Array, Array]:
        """Return the moments S and T that determine a local line, both times e^(−scale), and the log scale.

        S = Σ_j w_j k_j z̃z̃ᵀ and T = Σ_j w_j k_j z̃y_jᵀ with z̃ = (1, x_j − x) have shapes (queries, d + 1, d + 1) and
        (queries, d + 1, outputs). Where no point is in reach the scale is −inf, and S and T are 0. `some` restricts the
        result to the queries of these indices.
        """
        d, k = queries.shape[1], values.shape[1]
        numbers = (k + 1) * (d + 1) + d * (d + 1) // 2
        sums, lifts = self._sums(queries, self._sides(values), leave_out, loop=add_moments, numbers=numbers, some=some)
        m = len(sums)
        first = sums[:, : (k + 1) * (d + 1)].reshape(m, k + 1, d + 1)
        S = np.empty((m, d + 1, d + 1))
        S[:, 0] = S[:, :, 0] = first[:, 0]
        rows, columns = np.tril_indices(d)
        S[:, rows + 1, columns + 1] = S[:, columns + 1, rows + 1] = sums[:, (k + 1) * (d + 1) :]
        scale = np.where(sums[:, 0] > 0, self._sorted_points.log_heaviest - np.log(2) * lifts, -np.inf)
        return S, np.ascontiguousarray(first[:, 1:].transpose(0, 2, 1)), scale

    @cached_property
    def _sorted_points(self) -> SortedPoints:
        return SortedPoints.of(self.kernel, self.points, self.weight, self.factors)

    @cached_property
    def _masses(self) -> Array:
        """The weights, as the first of the sides: (blocks, 1, BLOCK_POINTS)."""
        return self._sorted_points.sides(np.ones((len(self.points), 1)))

    def _sides(self, values: Array) -> Array:
        return np.concatenate([self._masses, self._sorted_points.sides(values)], axis=1)

    def _sums(
        self,
        queries: Array,
        sides: Array,
        leave_out: bool,
        *,
        loop: Any = add_sums,
        numbers: int | None = None,
        some: Array | None = None,
    ) -> tuple[Array, Array]:
        """Return 2^lift Σ_j k_j(x) side_j and the lifts, of all queries or some; the first side holds the masses."""
        selected = np.arange(len(queries)) if some is None else some
        queries = queries[selected]
        points, order = self._sorted_points, sort_into_blocks(queries, _group_size(queries))
        own = points.places(selected[order] if leave_out else None)
        task = SumTask(points, sides, queries[order], own, loop, numbers or sides.shape[1])
        sums, lifts = np.empty((len(queries), task.numbers)), np.empty(len(queries))
        sums[order], lifts[order] = task.run()
        return sums, lifts


class SortedPoints(NamedTuple):
    """Points of positive weight, sorted into blocks."""

    lowered: Lowered
    blocks: Blocks
    #: indices among all points, and number of all points
    numbers: Array
    n_points: int
    #: w λ⁻ᵈ of each, divided by the greatest, and the logarithm of the greatest
    masses: Array
    log_heaviest: float

    @classmethod
    def of(cls, kernel: SmoothingKernel, points: Array, weight: Array | None, factors: Array | None) -> SortedPoints:
        numbers = np.arange(len(points)) if weight is None else np.flatnonzero(weight)
        numbers = numbers[sort_into_blocks(points[numbers], BLOCK_POINTS)]
        log_mass = np.zeros(len(numbers))
        if weight is not None:
            log_mass += np.log(weight[numbers])
        if factors is not None:
            log_mass -= points.shape[1] * np.log(factors[numbers])
        masses, lowered = np.exp(log_mass - log_mass.max()), Lowered.of(kernel, factors is not None)
        blocks = Blocks.of(points[numbers], masses, lowered.spread(len(numbers), factors, numbers))
        return cls(lowered, blocks, numbers, len(points), masses, float(log_mass.max()))

    def sides(self, values: Array) -> Array:
        """Return masses times values in blocks: (blocks, outputs, BLOCK_POINTS)."""
        return np.stack([pad_blocks(self.masses * y[self.numbers], 0.0) for y in values.T], axis=1)

    def places(self, order: Array | None) -> Array:
        """Return the positions of some points in the blocks, −1 for those of zero weight; empty if `order` is None."""
        if order is None:
            return np.empty(0, dtype=np.intp)
        places = np.full(self.n_points, -1, dtype=np.intp)
        places[self.numbers] = np.arange(len(self.numbers))
        return places[order]


class Lowered(NamedTuple):
    """A kernel as compiled loops need it: its profile, its kind of distance, and how it decays."""

    profile: Any
    distance: Any
    shape: Shape

    @classmethod
    def of(cls, kernel: SmoothingKernel, adaptive: bool) -> Lowered:
        product = kernel.form == "product"
        squares = WideSquareDistances() if adaptive else SquareDistances()
        if kernel.name == "gaussian":
            return cls(kernel.lower(), squares, Shape(SUM_OF_SQUARES, True, 0.5 * LOG2_E, False))
        if kernel.name == "exponential" and product:
            return cls(LaplaceProfile(), AbsoluteDistances(), Shape(SUM_OF_ABSOLUTES, True, LOG2_E, False))
        if kernel.name == "exponential":
            return cls(kernel.lower(), squares, Shape(SUM_OF_SQUARES, True, LOG2_E, True))
        if product:
            return cls(kernel.lower(), ProductDistances(), Shape(GREATEST_SQUARE, False, 0.0, False))
        return cls(kernel.lower(), squares, Shape(SUM_OF_SQUARES, False, 0.0, False))

    def spread(self, n: int, factors: Array | None, numbers: Array) -> Array | None:
        """Return the factors of the distances from each of n points; None if the loops do not use them."""
        if isinstance(self.distance, SquareDistances):
            return None
        if factors is None:
            return np.ones(n)
        wider = factors[numbers]
        return 1 / wider if isinstance(self.distance, AbsoluteDistances) else 1 / wider**2


class SumTask(NamedTuple):
    """Sums to be computed for sorted queries."""

    points: SortedPoints
    sides: Array
    queries: Array
    own: Array
    #: loop that computes the sums of a group of queries, and numbers per query
    loop: Any
    numbers: int

    def run(self) -> tuple[Array, Array]:
        """Return sums and lifts of all queries."""
        lifts = np.full((len(self.queries), 1), -1.0)
        sums = self._sum_groups(lifts)
        if self.points.lowered.shape.endless and (lost := np.flatnonzero(sums[:, 0] < LEAST_CERTAIN_SUM)).size:
            sums[lost], lifts[lost] = self._among(lost)._recompute()
        return sums, lifts[:, 0]

    def _recompute(self) -> tuple[Array, Array]:
        """Recompute sums relative to the kernel of the nearest point."""
        sums, lifts = np.zeros((len(self.queries), self.numbers)), np.empty((len(self.queries), 1))
        self._for_each_group(lambda task, some: task._find_nearest(lifts[some]))
        # at this distance rounding decides which point is nearest: all candidates count equally
        lifts[lifts > AMBIGUOUS_EXPONENT] *= 1 + (8 + self.queries.shape[1]) * np.finfo(float).eps
        some = np.flatnonzero(np.isfinite(lifts[:, 0]))  # infinite where the only point is left out
        sums[some] = self._among(some)._sum_groups(lifts[some])
        return sums, lifts

    def _sum_groups(self, lifts: Array) -> Array:
        sums = np.zeros((len(self.queries), self.numbers))
        self._for_each_group(lambda task, some: task._add(lifts[some], sums[some]))
        return sums

    def _add(self, lifts: Array, sums: Array) -> None:
        (profile, distance, shape), blocks = self.points[:2]
        chosen = np.empty(len(blocks.points), dtype=np.intp)
        count = select_blocks(shape, blocks.boxes, self.queries, SUMS_ROUNDING, lifts, chosen)
        near = chosen[:count]
        self.loop(
            profile, distance, blocks.points, blocks.spread, self.sides, near, self.queries, self.own, lifts, sums
        )

    def _find_nearest(self, exponents: Array) -> None:
        (_, distance, shape), (points, spread, boxes) = self.points[:2]
        find_nearest(shape, distance, points, spread, boxes.corners, boxes.spreads, self.queries, self.own, exponents)

    def _among(self, some: Any) -> SumTask:
        return self._replace(queries=self.queries[some], own=self.own[some] if len(self.own) else self.own)

    def _for_each_group(self, work: Callable[[SumTask, slice], None]) -> None:
        """Apply a function to groups of queries, with the corresponding parts of the task."""
        groups = row_blocks(len(self.queries), _group_size(self.queries))

        def take_turn(turn: slice) -> None:
            for some in groups[turn]:
                work(self._among(some), some)

        ordered_map(take_turn, row_blocks(len(groups), GROUPS_PER_TURN))


def _group_size(queries: Array) -> int:
    """Return the number of queries per group; few queries are far apart, so that groups must be small."""
    return LARGE_GROUP if len(queries) >= MANY_QUERIES else SMALL_GROUP
