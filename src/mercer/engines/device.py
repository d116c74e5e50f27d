"""Reduce a source of tensors on the device where they lie."""

from __future__ import annotations

from typing import TypeVar

from mercer._gpu.chunks import in_chunks
from mercer.data.blocks import RowBlocks
from mercer.engines.reducing import Mergeable

S = TypeVar("S", bound=Mergeable)


def reduce(statistic: S, source: RowBlocks) -> S:
    """Add every row of `source` to `statistic`, block by block; blocks become smaller if memory runs out."""
    empty, total = statistic.empty(), statistic

    def add(rows: slice) -> None:
        nonlocal total
        total = total.merge(empty.update(*source.batch(rows)))

    in_chunks(len(source), source.block_rows, add, "sums of squares")
    return total
