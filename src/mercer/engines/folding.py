"""A pass over a source: every chunk summarised, the summaries merged. All that streams is made of these."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mercer._errors import EmptyDataError
from mercer.data.sources.base import Chunk, Source
from mercer.engines.engines import engine_for
from mercer.engines.passes import Fold, Pass, current_run

S = TypeVar("S")


def fold(summarise: Callable[[Chunk], S], source: Source, merge: Callable[[S, S], S]) -> S:
    """`summarise(chunk)` of all chunks of a source, merged in their order: one pass over the data.

    Where it runs (threads, a Dask cluster) is chosen by `mercer.engine`; results differ by rounding alone. `summarise`
    and `merge` must be functions that can be pickled (of a module, or `functools.partial` of one).

    Parameters
    ----------
    summarise : callable
        Takes a `Chunk`.
    source : Source
        What to read.
    merge : callable
        Takes the summaries of earlier and of later rows.

    Returns
    -------
    summary : object
        Of all rows.

    Raises
    ------
    EmptyDataError
        If there is no row.

    Examples
    --------
    >>> import operator
    >>> import numpy as np
    >>> from mercer.data.sources.memory import InMemory
    >>> source = InMemory(np.arange(6.0).reshape(3, 2), rows=2)
    >>> fold(lambda chunk: chunk.X.sum(axis=0), source, operator.add)
    array([6., 9.])
    """
    run = current_run()
    number, run.passes = run.passes, run.passes + 1
    going = Pass(Fold(summarise, merge), source, run, number)
    if not going.finished:
        engine = engine_for(going.source)
        engine.fold(going)
        run.cluster = engine.described
        if going.total.result is None:
            raise EmptyDataError(f"There are no rows in {source.described}.")
        going.finish()
    summary: S = going.total.result
    return summary
