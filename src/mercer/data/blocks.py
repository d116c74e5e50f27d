"""Rows in memory, cut into blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy.typing import NDArray

from mercer._threads import row_blocks

#: size in bytes of a block that has to be copied out of its container; it stays in the L2 cache
COPIED_BLOCK = 1 << 22
#: size in bytes of a block that is only read
VIEWED_BLOCK = 1 << 25


class Batch(NamedTuple):
    """Rows with their groups and weights, the argument of a statistic's `update`."""

    x: Any
    groups: NDArray[Any]
    weight: NDArray[Any] | None


@dataclass(frozen=True)
class RowBlocks:
    """Rows in memory, read by `read(rows)`; `groups` are class codes."""

    read: Callable[[slice], Any]
    groups: NDArray[Any]
    weight: NDArray[Any] | None
    block_rows: int

    def __len__(self) -> int:
        return len(self.groups)

    def blocks(self) -> list[slice]:
        return row_blocks(len(self), self.block_rows)

    def batch(self, rows: slice) -> Batch:
        weight = None if self.weight is None else self.weight[rows]
        return Batch(self.read(rows), self.groups[rows], weight)

    def __iter__(self) -> Iterator[Batch]:
        return map(self.batch, self.blocks())


def rows_per_block(columns: int, size: int = VIEWED_BLOCK) -> int:
    """Return the number of rows for which a block of float64 columns has about `size` bytes."""
    return max(1024, size // (8 * max(1, columns)))
