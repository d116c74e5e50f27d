"""Counts of rows in bins, of each column or of a grid over several columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from mercer._errors import MergeError, SupportError, UnequalEdgesError
from mercer._stored import floats, part_of, reals, sequence, stored
from mercer._typing import Array
from mercer.families.bins import BinAxis, check_number_of_bins
from mercer.families.losses import as_weight
from mercer.stats import _tally_loops as loops
from mercer.stats.base import Statistic, as_block, check_same_shape, divide, subtract_rows, subtract_weight


@stored(edges=floats("d e", order=None), rows=reals("g d n"), counts=reals("g d n"))
@dataclass(frozen=True)
class BinCounts(Statistic):
    """`rows` and weighted `counts` in the bins of each column, both (groups, columns, bins).

    `edges` are (columns, bins + 1). A bin contains its left edge, the last one both. Values beyond the edges are
    counted in the outermost bins.
    """

    edges: Array
    rows: Array
    counts: Array

    grouped: ClassVar[tuple[str, ...]] = ("rows", "counts")

    @classmethod
    def zero(cls, groups: int, columns: int, *, edges: Array) -> Self:
        """Return an empty statistic; `edges` of one dimension hold for all columns."""
        edges = np.asarray(edges, dtype=float)
        edges = np.broadcast_to(edges, (columns, edges.shape[-1])).copy()
        shape = (groups, columns, edges.shape[1] - 1)
        return cls(edges, np.zeros(shape, dtype=np.int64), np.zeros(shape))

    @property
    def groups(self) -> int:
        return len(self.rows)

    @property
    def weight(self) -> Array:
        """Weight of the values that are not missing: (groups, columns)."""
        return np.asarray(self.counts.sum(axis=-1))

    @property
    def mean(self) -> Array:
        """Share of each bin; 0 where there are no values."""
        return divide(self.counts, self.weight[..., None])

    @property
    def finite(self) -> bool:
        return bool(np.isfinite(self.counts).all())

    def update(self, x: Any, groups: Array, weight: Array | None = None) -> Self:
        rows, counts = loops.tally_bins(as_block(x), self.edges, groups, as_weight(weight), self.groups)
        return self.merge(replace(self, rows=rows, counts=counts))

    def merge(self, other: Self) -> Self:
        self._check(other)
        return replace(self, rows=self.rows + other.rows, counts=self.counts + other.counts)

    def subtract(self, other: Self) -> Self:
        self._check(other)
        rows = subtract_rows(self.rows, other.rows)
        return replace(self, rows=rows, counts=subtract_weight(self.counts, other.counts, rows))

    def _check(self, other: Self) -> None:
        check_same_shape("histograms", self.rows.shape, other.rows.shape)
        if not np.array_equal(self.edges, other.edges):
            raise MergeError("cannot merge histograms with different edges; give both the same edges as `bins`.")


@stored(
    lambda own: own.rows.shape == own.counts.shape == _grid_shape(len(own.rows), own.axes),
    axes=sequence("d", part_of(BinAxis)),
    rows=reals(),
    counts=reals(),
)
@dataclass(frozen=True)
class GridCounts(Statistic):
    """`rows` and weighted `counts`, of shape (groups, bins of the first axis, bins of the second, …).

    Rows with a missing value are left out. A row beyond the edges raises an error, unless `covering` has added bins
    before, which requires equal widths. Grids can be merged if their axes have the same edges or lie on the same
    lattice.
    """

    axes: tuple[BinAxis, ...]
    rows: Array
    counts: Array

    grouped: ClassVar[tuple[str, ...]] = ("rows", "counts")

    @classmethod
    def zero(cls, groups: int, axes: tuple[BinAxis, ...]) -> Self:
        shape = _grid_shape(groups, axes)
        return cls(axes, np.zeros(shape, dtype=np.int64), np.zeros(shape))

    @property
    def groups(self) -> int:
        return len(self.rows)

    @property
    def weight(self) -> Array:
        """Weight of each group."""
        return np.asarray(self.counts.reshape(self.groups, -1).sum(axis=1))

    def contents(self) -> dict[str, Any]:
        return {"edges": tuple(axis.edges for axis in self.axes), "rows": self.rows, "counts": self.counts}

    def update(self, x: Any, groups: Array, weight: Array | None = None) -> Self:
        block = as_block(x)
        absent = np.isnan(block)
        if absent.any() or (weight is not None and not weight.all()):
            kept = ~absent.any(axis=1) if weight is None else ~absent.any(axis=1) & (weight != 0)
            block, groups, weight = block[kept], groups[kept], None if weight is None else weight[kept]
        cells, size = self._find_cells(block, groups), self.rows.size
        rows = np.bincount(cells, minlength=size).reshape(self.rows.shape)
        counts = rows.astype(float) if weight is None else np.bincount(cells, weight, size).reshape(rows.shape)
        return replace(self, rows=self.rows + rows, counts=self.counts + counts)

    def _find_cells(self, block: Array, groups: Array) -> Array:
        """Return the index of each row among all groups and cells."""
        places: Array = np.zeros(1, dtype=np.intp) if self.groups == 1 else groups.astype(np.intp)
        for j, axis in enumerate(self.axes):
            # a copy unless the column is contiguous float64: NumPy would compute in float32 otherwise
            x = np.ascontiguousarray(block[:, j], dtype=float)
            if not (inside := axis.holds(x)).all():
                raise SupportError(
                    f"the value {x[np.argmin(inside)]:g} lies beyond the edges of axis {j}, which go from "
                    f"{axis.edges[0]:g} to {axis.edges[-1]:g}; give wider edges, or leave such rows out."
                )
            places = places * axis.bins + axis.codes(x) if j or self.groups > 1 else axis.codes(x)
        return places

    def covering(self, lowest: Array, highest: Array) -> Self:
        """Add bins such that rows between these corners have a cell; axes without a lattice are unchanged."""
        ends = zip(self.axes, np.asarray(lowest).tolist(), np.asarray(highest).tolist(), strict=True)
        return self.among(tuple(axis.covering(low, high) for axis, low, high in ends))

    def among(self, axes: tuple[BinAxis, ...]) -> Self:
        """Return the same counts on extended axes."""
        if axes == self.axes:
            return self
        shape = _grid_shape(self.groups, axes)
        starts = [int(np.searchsorted(new.edges, old.edges[0])) for old, new in zip(self.axes, axes, strict=True)]
        place = (slice(None), *(slice(k, k + axis.bins) for k, axis in zip(starts, self.axes, strict=True)))
        rows, counts = np.zeros(shape, dtype=np.int64), np.zeros(shape)
        rows[place], counts[place] = self.rows, self.counts
        return replace(self, axes=axes, rows=rows, counts=counts)

    def merge(self, other: Self) -> Self:
        mine, theirs = self._align(other)
        return replace(mine, rows=mine.rows + theirs.rows, counts=mine.counts + theirs.counts)

    def subtract(self, other: Self) -> Self:
        mine, theirs = self._align(other)
        rows = subtract_rows(mine.rows, theirs.rows)
        return replace(mine, rows=rows, counts=subtract_weight(mine.counts, theirs.counts, rows))

    def _align(self, other: Self) -> tuple[Self, Self]:
        """Return both on axes that contain the bins of both."""
        mine, theirs = (len(grid.axes) for grid in (self, other))
        check_same_shape("grids", (self.groups, mine), (other.groups, theirs))
        axes = join_axes(self.axes, other.axes, [f"axis {j}" for j in range(mine)])
        return self.among(axes), other.among(axes)


def join_axes(mine: Sequence[BinAxis], theirs: Sequence[BinAxis], names: Sequence[str]) -> tuple[BinAxis, ...]:
    """Return axes that contain the bins of both; raise an error with the name of an axis whose edges differ."""
    axes = []
    for name, one, another in zip(names, mine, theirs, strict=True):
        if (both := one.joined(another)) is None:
            raise UnequalEdgesError(
                f"cannot merge histograms whose edges differ on {name}: {one.bins} bins from {one.edges[0]:g} to "
                f"{one.edges[-1]:g} and {another.bins} from {another.edges[0]:g} to {another.edges[-1]:g}. Give both "
                "the same edges as `bins`, or the same Width(…), whose edges do not depend on the data."
            )
        axes.append(both)
    return tuple(axes)


def _grid_shape(groups: int, axes: tuple[BinAxis, ...]) -> tuple[int, ...]:
    """Return the shape of the arrays of a grid; raise an error if it has too many cells."""
    shape = (groups, *(axis.bins for axis in axes))
    check_number_of_bins(math.prod(shape), f"a grid of {' × '.join(map(str, shape[1:]))} cells would")
    return shape
