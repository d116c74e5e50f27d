"""Reduce a source on the threads of this process."""

from __future__ import annotations

import functools
from typing import TypeVar

from mercer._threads import ordered_stream
from mercer.data.source import Source
from mercer.stats._base import Statistic

S = TypeVar("S", bound=Statistic)


def reduce(statistic: S, source: Source) -> S:
    """`statistic` with every row of `source` added; the same to the last bit for any number of threads.

    Blocks are merged as they come, in their order: only a few of them are in memory beside the result.
    """
    empty = statistic.empty()

    def summarise(rows: slice) -> S:
        return empty.update(*source.batch(rows))

    return functools.reduce(lambda a, b: a.merge(b), ordered_stream(summarise, source.blocks()), statistic)
