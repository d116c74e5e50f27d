"""Which engine a pass runs on: the threads of this process, unless `mercer.engine` or the data say otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from mercer._threads import bounded
from mercer.data.sources.base import Source
from mercer.engines.running import Run


class Engine(Protocol):
    """Where passes run."""

    def fold(self, fold: Any, source: Source, run: Run, number: int) -> Any:
        """The `Fold` of all pieces of a source in their order; None where there is no row.

        `run` is told of every piece and of what was skipped, and its journal of pass `number`.
        """


_engine: ContextVar[Engine | None] = ContextVar("mercer_engine", default=None)


@contextmanager
def engine(where: Any = None, *, threads: int | None = None) -> Iterator[None]:
    """Say where fits run inside the `with` block.

    Parameters
    ----------
    where : "threads", "dask" or a dask.distributed.Client, default=None
        "dask" is the cluster of the current client, or one of processes on this machine where there is none. Only what
        streams is spread over a cluster: fits of a `Source` or of a Dask collection. None changes nothing.
    threads : int, default=None
        Most threads that this process uses.

    Examples
    --------
    >>> import mercer
    >>> with mercer.engine(threads=1):
    ...     pass
    """
    with bounded(threads):
        token = _engine.set(_engine.get() if where is None else _made(where))
        try:
            yield
        finally:
            _engine.reset(token)


def engine_for(source: Source) -> Engine:
    """The engine asked for, or the one that the data live on."""
    from mercer.engines.here import Threads

    chosen = _engine.get()
    implied = getattr(source, "engine", None)
    return chosen or (_made(implied) if implied is not None else Threads())


def _made(where: Any) -> Engine:
    from mercer.engines.here import Threads

    if where == "threads":
        return Threads()
    from mercer.engines.dask import Dask

    return Dask.of(where)
