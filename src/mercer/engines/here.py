"""Reduce a source on the threads of this process."""

from __future__ import annotations

import functools
from typing import Any, Protocol, Self, TypeVar

from mercer._threads import ordered_stream


class Mergeable(Protocol):
    """What can be reduced: a summary that starts empty, takes a batch of rows, and adds up."""

    def empty(self) -> Self: ...

    @property
    def update(self) -> Any: ...

    def merge(self, other: Self) -> Self: ...


class Batches(Protocol):
    """Rows that can be read block by block, as often as needed; a batch is what the statistic's `update` takes."""

    def blocks(self) -> list[slice]: ...

    def batch(self, rows: slice) -> Any: ...


S = TypeVar("S", bound=Mergeable)


def reduce(statistic: S, source: Batches) -> S:
    """`statistic` with every row of `source` added; the same to the last bit for any number of threads.

    Blocks are merged as they come, in their order: only a few of them are in memory beside the result.
    """
    empty = statistic.empty()

    def summarise(rows: slice) -> S:
        statistic: S = empty.update(*source.batch(rows))
        return statistic

    return functools.reduce(lambda a, b: a.merge(b), ordered_stream(summarise, source.blocks()), statistic)
