"""Reductions of a statistic over rows: in memory on threads, on a device, or of a source on an engine."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol, Self, TypeVar

from mercer._threads import ordered_stream
from mercer.data.sources.base import Chunk, PreparedSource
from mercer.engines.folding import fold


class Mergeable(Protocol):
    """A summary that can be reduced: it starts empty, is updated with batches of rows, and can be merged."""

    def empty(self) -> Self: ...

    @property
    def update(self) -> Any: ...

    def merge(self, other: Self) -> Self: ...


class BatchSource(Protocol):
    """Rows that can be read repeatedly block by block; a batch holds the arguments of the statistic's `update`."""

    def blocks(self) -> list[slice]: ...

    def batch(self, rows: slice) -> Any: ...


S = TypeVar("S", bound=Mergeable)


def reduce(statistic: S, source: BatchSource | PreparedSource) -> S:
    """Add every row of `source` to `statistic`; the result is identical for any number of threads.

    Blocks are merged in their order as they arrive, so that only a few of them are in memory besides the result.
    """
    if isinstance(source, PreparedSource):
        empty = statistic.empty()
        return statistic.merge(fold(functools.partial(_summarise_chunk, empty, source.prepare), source.source, _merge))

    blocks = source.blocks()
    start = statistic if len(blocks) == 1 else statistic.empty()

    def summarise(rows: slice) -> S:
        summary: S = start.update(*source.batch(rows))
        return summary

    summaries = ordered_stream(summarise, blocks)
    if len(blocks) == 1:
        [summary] = summaries  # to its end: Ctrl-C would be lost in the end of a generator that is collected
        return summary
    return functools.reduce(lambda a, b: a.merge(b), summaries, statistic)


def _summarise_chunk(empty: S, prepare: Callable[[Chunk], tuple[Any, ...]], chunk: Chunk) -> S:
    statistic: S = empty.update(*prepare(chunk))
    return statistic


def _merge(mine: S, theirs: S) -> S:
    return mine.merge(theirs)
