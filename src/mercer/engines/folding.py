"""A fold: one pass over a source, in which chunks are summarised and merged. All streaming fits consist of folds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mercer._errors import EmptyDataError
from mercer.data.sources.base import Chunk, Source
from mercer.engines.engines import engine_for
from mercer.engines.passes import Fold, Pass, current_run

S = TypeVar("S")


def fold(summarise: Callable[[Chunk], S], source: Source, merge: Callable[[S, S], S]) -> S:
    """Merge `summarise(chunk)` of all chunks of a source in their order, in one pass over the data.

    The engine (threads, a Dask cluster) is chosen by `mercer.engine`; results differ by rounding only. `summarise`
    and `merge` must be functions that can be pickled (of a module, or `functools.partial` of one).

    Parameters
    ----------
    summarise : callable
        Takes a `Chunk`.
    source : Source
        The source to be read.
    merge : callable
        Takes the summaries of earlier and of later rows.

    Returns
    -------
    summary : object
        Summary of all rows.

    Raises
    ------
    EmptyDataError
        If there are no rows.

    Examples
    --------
    >>> import operator
    >>> import numpy as np
    >>> from mercer.data.sources.memory import MemorySource
    >>> source = MemorySource(np.arange(6.0).reshape(3, 2), rows=2)
    >>> fold(lambda chunk: chunk.X.sum(axis=0), source, operator.add)
    array([6., 9.])
    """
    run = current_run()
    number, run.passes = run.passes, run.passes + 1
    current = Pass(Fold(summarise, merge), source, run, number)
    if not current.is_finished:
        engine = engine_for(current.source)
        engine.fold(current)
        run.cluster = engine.described
        if current.total.result is None:
            raise EmptyDataError(f"There are no rows in {source.described}.")
        current.finish()
    summary: S = current.total.result
    return summary
