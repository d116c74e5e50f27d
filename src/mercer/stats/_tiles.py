"""Cutting a block of rows into tiles that stay in the cache while BLAS multiplies them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mercer._jit import moments as moment_loops
from mercer._jit import scatter as loops
from mercer._threads import row_blocks
from mercer.stats._base import Array, as_weight

#: bytes of a tile: stays in the L2 cache while it is filled and multiplied
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
    """Rows, weight and Σw(x−pilot) of each group, filled while the tiles go by."""

    pilot: Array
    rows: Array
    weight: Array
    first: Array


class Tiles:
    """The rows of a block, tile by tile and group by group, as √weight · (x − pilot)."""

    def __init__(self, block: Array, groups: Array, weight: Array | None, n_groups: int) -> None:
        self._block, self._groups = block, groups
        self._weight = as_weight(weight)
        d = block.shape[1]
        pilot = moment_loops.pilot(block, groups, self._weight, n_groups)
        self.sums = GroupSums(pilot, np.zeros(n_groups, dtype=np.int64), np.zeros(n_groups), np.zeros((n_groups, d)))
        self._rows = min(tile_rows(n_groups, d), len(block))

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
