"""Reduce a source of tensors on the device where they lie."""

from __future__ import annotations

from typing import TypeVar

from mercer._gpu.chunks import in_chunks
from mercer.data.blocks import RowBlocks
from mercer.engines.reducing import Mergeable

S = TypeVar("S", bound=Mergeable)


def reduce(statistic: S, source: RowBlocks) -> S:
    """`statistic` with every row of `source` added, block after block; smaller ones where memory is short."""
    empty, total = statistic.empty(), statistic

    def add(rows: slice) -> None:
        nonlocal total
        total = total.merge(empty.update(*source.batch(rows)))

    in_chunks(len(source), source.block_rows, add, "sums of squares")
    return total
