"""Blocks of rows in tiles that stay in the cache while they are multiplied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np

from mercer._jit import gram
from mercer._jit.product import square
from mercer._threads import row_blocks
from mercer._typing import Array
from mercer.families.losses import as_weight
from mercer.stats import _moment_loops as moment_loops
from mercer.stats import _scatter_loops as loops

#: bytes of a tile for BLAS, which stays in the L2 cache while it is filled and multiplied
GROUPED_TILE_BYTES = 1 << 20
#: bytes up to which a tile may grow so that it has enough rows of each group
MAX_GROUPED_TILE_BYTES = 1 << 24
#: rows per group below which adding up the product takes longer than the product
MIN_ROWS_PER_GROUP = 256


def tile_rows(groups: int, columns: int) -> int:
    """Return the rows of a tile: few enough for the cache, enough for every group, and of limited size."""
    row = 8 * max(1, columns)
    return max(
        MIN_ROWS_PER_GROUP,
        min(max(GROUPED_TILE_BYTES // row, MIN_ROWS_PER_GROUP * groups), MAX_GROUPED_TILE_BYTES // row),
    )


class GroupSums(NamedTuple):
    """Rows, weight and Σw(x−pilot) of each group, accumulated in place."""

    pilot: Array
    rows: Array
    weight: Array
    first: Array

    @classmethod
    def about_pilot(cls, block: Array, groups: Array, weight: Array, n_groups: int) -> Self:
        pilot = moment_loops.pilot(block, groups, weight, n_groups)
        return cls(pilot, np.zeros(n_groups, dtype=np.int64), np.zeros(n_groups), np.zeros_like(pilot))


def squares_by_loops(block: Array, groups: Array, weight: Array | None, n_groups: int) -> tuple[GroupSums, Array]:
    """Return the sums of each group, and Σw(x−pilot)(x−pilot)ᵀ, by compiled loops; for few columns."""
    d, weight = block.shape[1], as_weight(weight)
    sums = GroupSums.about_pilot(block, groups, weight, n_groups)
    width = gram.padded(d)
    tile = gram.new_tile(d, min(n_groups * gram.MIN_GRAM_TILE_ROWS, MAX_GROUPED_TILE_BYTES // (8 * width)))
    second = np.zeros((n_groups, width, width))
    loops.add_scatter(block, groups, weight, sums.pilot, tile, *sums[1:], second)
    return sums, second[:, :d, :d].copy()


def squares_by_blas(
    block: Array, groups: Array, weight: Array | None, n_groups: int, *, size: int | None = None
) -> tuple[GroupSums, Array]:
    """Return the same by BLAS, for many columns; a tile has `size` rows, by default `tile_rows`."""
    d, tiles = block.shape[1], RowTiles(block, groups, weight, n_groups, size)
    second = np.zeros((n_groups, d, d))
    for group, rows in tiles:
        second[group] += square(rows)
    return tiles.sums, second


class RowTiles:
    """The rows of a block, tile by tile and group by group, as √weight · (x − pilot)."""

    def __init__(
        self, block: Array, groups: Array, weight: Array | None, n_groups: int, size: int | None = None
    ) -> None:
        self._block, self._groups = block, groups
        self._weight = as_weight(weight)
        self.sums = GroupSums.about_pilot(block, groups, self._weight, n_groups)
        self._rows = min(size or tile_rows(n_groups, block.shape[1]), len(block))

    def __iter__(self) -> Iterator[tuple[int, Array]]:
        """Yield groups and their rows in a tile, which the next tile overwrites; stop at a sum that is not finite."""
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


def factorize(A: Array) -> Array:
    """Return R of the QR factorisation of A."""
    return np.asarray(np.linalg.qr(A, mode="r"))
