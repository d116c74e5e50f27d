"""Add up a statistic over rows: those in memory on threads of this process, those of a source wherever it is read."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol, Self, TypeVar

from mercer._threads import ordered_stream
from mercer.data.sources.base import Chunk
from mercer.data.sources.streamed import Streamed
from mercer.engines.folding import fold


class Mergeable(Protocol):
    """What can be reduced: a summary that starts empty, takes a batch of rows, and adds up."""

    def empty(self) -> Self: ...

    @property
    def update(self) -> Any: ...

    def merge(self, other: Self) -> Self: ...


class BatchSource(Protocol):
    """Rows that can be read block by block, as often as needed; a batch is what the statistic's `update` takes."""

    def blocks(self) -> list[slice]: ...

    def batch(self, rows: slice) -> Any: ...


S = TypeVar("S", bound=Mergeable)


def reduce(statistic: S, source: BatchSource | Streamed) -> S:
    """`statistic` with every row of `source` added; the same to the last bit for any number of threads.

    Blocks are merged as they come, in their order: only a few of them are in memory beside the result.
    """
    empty = statistic.empty()
    if isinstance(source, Streamed):
        return statistic.merge(fold(functools.partial(_updated, empty, source.prepare), source.source, _merged))

    def summarise(rows: slice) -> S:
        statistic: S = empty.update(*source.batch(rows))
        return statistic

    return functools.reduce(lambda a, b: a.merge(b), ordered_stream(summarise, source.blocks()), statistic)


def _updated(empty: S, prepare: Callable[[Chunk], tuple[Any, ...]], chunk: Chunk) -> S:
    statistic: S = empty.update(*prepare(chunk))
    return statistic


def _merged(mine: S, theirs: S) -> S:
    return mine.merge(theirs)
