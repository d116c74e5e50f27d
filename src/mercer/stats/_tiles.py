"""Cutting a block of rows into tiles that stay in the cache while they are multiplied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np

from mercer._jit import gram
from mercer._jit.product import square
from mercer._jit.stats import moments as moment_loops
from mercer._jit.stats import scatter as loops
from mercer._threads import row_blocks
from mercer._typing import Array
from mercer.stats.base import as_weight

#: bytes of a tile for BLAS: stays in the L2 cache while it is filled and multiplied
TILE = 1 << 20
#: bytes that a tile may grow to so that each group has enough rows in it
LARGEST_TILE = 1 << 24
#: rows per group below which adding up the product costs more than the product
ROWS_PER_GROUP = 256


def tile_rows(groups: int, columns: int) -> int:
    """Rows of a tile: few enough for the cache, enough for every group, and never more than LARGEST_TILE bytes."""
    row = 8 * max(1, columns)
    return max(ROWS_PER_GROUP, min(max(TILE // row, ROWS_PER_GROUP * groups), LARGEST_TILE // row))


class GroupSums(NamedTuple):
    """Rows, weight and Σw(x−pilot) of each group, filled while the rows go by."""

    pilot: Array
    rows: Array
    weight: Array
    first: Array

    @classmethod
    def about_pilot(cls, block: Array, groups: Array, weight: Array, n_groups: int) -> Self:
        pilot = moment_loops.pilot(block, groups, weight, n_groups)
        return cls(pilot, np.zeros(n_groups, dtype=np.int64), np.zeros(n_groups), np.zeros_like(pilot))


def squares_by_loops(block: Array, groups: Array, weight: Array | None, n_groups: int) -> tuple[GroupSums, Array]:
    """Sums of each group, and Σw(x−pilot)(x−pilot)ᵀ: for few columns."""
    d, weight = block.shape[1], as_weight(weight)
    sums = GroupSums.about_pilot(block, groups, weight, n_groups)
    width = gram.padded(d)
    tile = gram.new_tile(d, min(n_groups * gram.ROWS, LARGEST_TILE // (8 * width)))
    second = np.zeros((n_groups, width, width))
    loops.add_scatter(block, groups, weight, sums.pilot, tile, *sums[1:], second)
    return sums, second[:, :d, :d].copy()


def squares_by_blas(block: Array, groups: Array, weight: Array | None, n_groups: int) -> tuple[GroupSums, Array]:
    """The same, for many columns."""
    d, tiles = block.shape[1], Tiles(block, groups, weight, n_groups)
    second = np.zeros((n_groups, d, d))
    for group, rows in tiles:
        second[group] += square(rows)
    return tiles.sums, second


class Tiles:
    """The rows of a block, tile by tile and group by group, as √weight · (x − pilot)."""

    def __init__(self, block: Array, groups: Array, weight: Array | None, n_groups: int) -> None:
        self._block, self._groups = block, groups
        self._weight = as_weight(weight)
        self.sums = GroupSums.about_pilot(block, groups, self._weight, n_groups)
        self._rows = min(tile_rows(n_groups, block.shape[1]), len(block))

    def __iter__(self) -> Iterator[tuple[int, Array]]:
        """Group and its rows in a tile; the rows are overwritten by the next tile. Ends at a sum that is not finite."""
        pilot, *sums = self.sums
        tile = np.empty((self._rows, pilot.shape[1]))
        ends = np.empty(len(pilot), dtype=np.int64)
        for rows in row_blocks(len(self._block), max(1, self._rows)):
            loops.sort_into_tile(
                self._block, self._groups, self._weight, pilot, rows.start, rows.stop, tile, ends, *sums
            )
            if not np.isfinite(self.sums.first).all():
                return
            begin = 0
            for group, end in enumerate(ends.tolist()):
                if end > begin:
                    yield group, tile[begin:end]
                begin = end
