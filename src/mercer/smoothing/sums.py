"""Sums of smoothing kernels over points, Σ_j w_j k(x − x_j): what densities and kernel regression have in common.

Coordinates are in units of the bandwidth. Points and queries are put in order in blocks, and blocks too far from each
other to matter are never compared: what they would add is less than rounding, or, of a compact kernel, nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mercer._jit.scalar import LOG2_E
from mercer._jit.smoothing.near_blocks import ABSOLUTES, GREATEST, SQUARES, Shape, near_blocks
from mercer._jit.smoothing.parzen import (
    SIZE,
    Absolutes,
    Products,
    Squares,
    WideSquares,
    add_moments,
    add_sums,
    nearest,
)
from mercer._jit.smoothing.profiles import Laplace
from mercer._stored import floats, optional, part_of, stored
from mercer._threads import ordered_map, row_blocks
from mercer._typing import Array
from mercer.smoothing._blocks import Blocks, in_blocks, padded
from mercer.smoothing.kernels import SmoothingKernel
from mercer.smoothing.tolerance import Sources, Tolerance, has_grid

EXACT = Tolerance()
#: queries that are compared with the same blocks, if there are many or few of them, and from when on they are many
MANY_TOGETHER, FEW_TOGETHER, MANY = 64, 8, 1024
#: groups of them that a thread takes at a time
TURN = 8
#: log₂ of the share of a sum that may be left out: rounding loses as much
ROUNDING = 60.0
#: sums below this have lost digits, or are 0: they are taken again, as multiples of what is nearest
TINY = 2.0**-800
#: exponents so large that the rounding of their last digit decides between a term of 1 and one of 0
VAGUE = 1e12


@stored(
    kernel=part_of(SmoothingKernel), points=floats("nd", finite=True), weight=floats("n"), factors=optional(floats("n"))
)
class KernelSums:
    """Points in units of the bandwidth, with weights, and a kernel around each.

    Parameters
    ----------
    kernel : SmoothingKernel
        What is laid around each point; its constant is left out of all sums.
    points : array of shape (n, d)
        Where, in units of the bandwidth.
    weight : array of shape (n,), default=None
        How much of it; 1 if not given.
    factors : array of shape (n,), default=None
        How much wider than the bandwidth the kernel of each point is; its height is λ⁻ᵈ times the usual one.
    """

    def __init__(
        self, kernel: SmoothingKernel, points: Array, weight: Array | None = None, factors: Array | None = None
    ) -> None:
        self.kernel, self.points, self.weight, self.factors = kernel, points, weight, factors

    def log_sums(self, queries: Array, *, leave_out: bool = False, tolerance: Tolerance = EXACT) -> Array:
        """log Σ_j w_j λ_j⁻ᵈ k((x − x_j)/λ_j) for every query; −inf only where no point is in reach.

        With `leave_out` the queries are the points in their order, and none counts itself.
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
        """The points as a grid takes them."""
        corners = self.points.min(axis=0), self.points.max(axis=0)
        return Sources(self.points, self.weight, np.ones(self.points.shape[1]), corners)

    def _own(self, queries: Array) -> Array:
        """What each query gets from the point of its number."""
        own = np.exp(-np.square(queries - self.points).sum(axis=1) / 2)
        return own if self.weight is None else np.asarray(own * self.weight)

    def _log_sums(self, queries: Array, leave_out: bool, some: Array | None = None) -> Array:
        return self._logs(*self._sums(queries, self._masses, leave_out, some=some))

    def _logs(self, sums: Array, lifts: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(sums[:, 0]) - np.log(2) * lifts + self._ordered.log_heaviest)

    def means(self, queries: Array, values: Array, *, leave_out: bool = False, some: Array | None = None) -> Array:
        """Σ_j w_j k_j(x) y_j / Σ_j w_j k_j(x), of shape (queries, outputs); NaN where no point is in reach.

        If `some` are given, only of the queries of these numbers.
        """
        return self.means_and_log_sums(queries, values, leave_out=leave_out, some=some)[0]

    def means_and_log_sums(
        self, queries: Array, values: Array, *, leave_out: bool = False, some: Array | None = None
    ) -> tuple[Array, Array]:
        """`means`, and the logarithms of what they are divided by."""
        sums, lifts = self._sums(queries, self._sides(values), leave_out, some=some)
        with np.errstate(invalid="ignore"):
            return np.asarray(sums[:, 1:] / sums[:, :1]), self._logs(sums, lifts)

    def local_moments(
        self, queries: Array, values: Array, *, leave_out: bool = False, some: Array | None = None
    ) -> tuple[Array, Array, Array]:
        """S = Σ_j w_j k_j z̃z̃ᵀ and T = Σ_j w_j k_j z̃y_jᵀ with z̃ = (1, x_j − x), both times e^(−scale), and the scale.

        Of shapes (queries, d + 1, d + 1) and (queries, d + 1, outputs): what a local line needs. Where no point is in
        reach the scale is −inf, and S and T are 0. If `some` are given, only of the queries of these numbers.
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
        scale = np.where(sums[:, 0] > 0, self._ordered.log_heaviest - np.log(2) * lifts, -np.inf)
        return S, np.ascontiguousarray(first[:, 1:].transpose(0, 2, 1)), scale

    @cached_property
    def _ordered(self) -> Ordered:
        return Ordered.of(self.kernel, self.points, self.weight, self.factors)

    @cached_property
    def _masses(self) -> Array:
        """The first of the sides: (blocks, 1, SIZE)."""
        return self._ordered.sides(np.ones((len(self.points), 1)))

    def _sides(self, values: Array) -> Array:
        return np.concatenate([self._masses, self._ordered.sides(values)], axis=1)

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
        """2^lift Σ_j k_j(x) side_j, and the lifts, of all queries or some; the first side are the masses."""
        asked = np.arange(len(queries)) if some is None else some
        queries = queries[asked]
        ordered, order = self._ordered, in_blocks(queries, _group(queries))
        own = ordered.places(asked[order] if leave_out else None)
        task = Task(ordered, sides, queries[order], own, loop, numbers or sides.shape[1])
        sums, lifts = np.empty((len(queries), task.numbers)), np.empty(len(queries))
        sums[order], lifts[order] = task.done()
        return sums, lifts


class Ordered(NamedTuple):
    """Points that weigh something, in the order of their blocks."""

    lowered: Lowered
    blocks: Blocks
    #: their numbers among all points, and how many these are
    numbers: Array
    n_points: int
    #: w λ⁻ᵈ of each, as a part of the greatest, and the logarithm of that
    masses: Array
    log_heaviest: float

    @classmethod
    def of(cls, kernel: SmoothingKernel, points: Array, weight: Array | None, factors: Array | None) -> Ordered:
        numbers = np.arange(len(points)) if weight is None else np.flatnonzero(weight)
        numbers = numbers[in_blocks(points[numbers], SIZE)]
        log_mass = np.zeros(len(numbers))
        if weight is not None:
            log_mass += np.log(weight[numbers])
        if factors is not None:
            log_mass -= points.shape[1] * np.log(factors[numbers])
        masses, lowered = np.exp(log_mass - log_mass.max()), Lowered.of(kernel, factors is not None)
        blocks = Blocks.of(points[numbers], masses, lowered.spread(len(numbers), factors, numbers))
        return cls(lowered, blocks, numbers, len(points), masses, float(log_mass.max()))

    def sides(self, values: Array) -> Array:
        """Masses times values in blocks: (blocks, outputs, SIZE)."""
        return np.stack([padded(self.masses * y[self.numbers], 0.0) for y in values.T], axis=1)

    def places(self, order: Array | None) -> Array:
        """Where in the blocks each of some points is, −1 where it weighs nothing; empty if they are not points."""
        if order is None:
            return np.empty(0, dtype=np.intp)
        places = np.full(self.n_points, -1, dtype=np.intp)
        places[self.numbers] = np.arange(len(self.numbers))
        return places[order]


class Lowered(NamedTuple):
    """A kernel as compiled loops take it: its profile, of which distance, and how it falls off."""

    profile: Any
    distance: Any
    shape: Shape

    @classmethod
    def of(cls, kernel: SmoothingKernel, adaptive: bool) -> Lowered:
        product = kernel.form == "product"
        squares = WideSquares() if adaptive else Squares()
        if kernel.name == "gaussian":
            return cls(kernel.lower(), squares, Shape(SQUARES, True, 0.5 * LOG2_E, False))
        if kernel.name == "exponential" and product:
            return cls(Laplace(), Absolutes(), Shape(ABSOLUTES, True, LOG2_E, False))
        if kernel.name == "exponential":
            return cls(kernel.lower(), squares, Shape(SQUARES, True, LOG2_E, True))
        if product:
            return cls(kernel.lower(), Products(), Shape(GREATEST, False, 0.0, False))
        return cls(kernel.lower(), squares, Shape(SQUARES, False, 0.0, False))

    def spread(self, n: int, factors: Array | None, numbers: Array) -> Array | None:
        """What the distances from each of n points are multiplied by; None if it is never looked at."""
        if isinstance(self.distance, Squares):
            return None
        if factors is None:
            return np.ones(n)
        wider = factors[numbers]
        return 1 / wider if isinstance(self.distance, Absolutes) else 1 / wider**2


class Task(NamedTuple):
    """Sums to be taken for queries in order."""

    points: Ordered
    sides: Array
    queries: Array
    own: Array
    #: what takes the sums of some queries, and how many for each
    loop: Any
    numbers: int

    def done(self) -> tuple[Array, Array]:
        """Sums and lifts of all queries."""
        lifts = np.full((len(self.queries), 1), -1.0)
        sums = self._summed(lifts)
        if self.points.lowered.shape.endless and (lost := np.flatnonzero(sums[:, 0] < TINY)).size:
            sums[lost], lifts[lost] = self._among(lost)._once_more()
        return sums, lifts[:, 0]

    def _once_more(self) -> tuple[Array, Array]:
        """Sums as multiples of the kernel of the nearest point."""
        sums, lifts = np.zeros((len(self.queries), self.numbers)), np.empty((len(self.queries), 1))
        self._each(lambda task, some: task._find_nearest(lifts[some]))
        # as far away as that, rounding decides which point is nearest: all that it could be count alike
        lifts[lifts > VAGUE] *= 1 + (8 + self.queries.shape[1]) * np.finfo(float).eps
        some = np.flatnonzero(np.isfinite(lifts[:, 0]))  # not so where a point is alone, and is left out
        sums[some] = self._among(some)._summed(lifts[some])
        return sums, lifts

    def _summed(self, lifts: Array) -> Array:
        sums = np.zeros((len(self.queries), self.numbers))
        self._each(lambda task, some: task._add(lifts[some], sums[some]))
        return sums

    def _add(self, lifts: Array, sums: Array) -> None:
        (profile, distance, shape), blocks = self.points[:2]
        chosen = np.empty(len(blocks.points), dtype=np.intp)
        count = near_blocks(shape, blocks.boxes, self.queries, ROUNDING, lifts, chosen)
        near = chosen[:count]
        self.loop(
            profile, distance, blocks.points, blocks.spread, self.sides, near, self.queries, self.own, lifts, sums
        )

    def _find_nearest(self, exponents: Array) -> None:
        (_, distance, shape), (points, spread, boxes) = self.points[:2]
        nearest(shape, distance, points, spread, boxes.corners, boxes.spreads, self.queries, self.own, exponents)

    def _among(self, some: Any) -> Task:
        return self._replace(queries=self.queries[some], own=self.own[some] if len(self.own) else self.own)

    def _each(self, work: Callable[[Task, slice], None]) -> None:
        """Work on groups of queries, each with its part of the task."""
        groups = row_blocks(len(self.queries), _group(self.queries))

        def take_turn(turn: slice) -> None:
            for some in groups[turn]:
                work(self._among(some), some)

        ordered_map(take_turn, row_blocks(len(groups), TURN))


def _group(queries: Array) -> int:
    """How many queries are taken together: few of them are far apart, so that all blocks would matter to many."""
    return MANY_TOGETHER if len(queries) >= MANY else FEW_TOGETHER
