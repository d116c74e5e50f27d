"""Engines, on which passes over a source run: the threads of this process, or a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from mercer._threads import bounded, ordered_stream
from mercer.data.sources.base import Source

if TYPE_CHECKING:
    from mercer.engines.passes import Pass


class Engine(Protocol):
    """Interface of engines."""

    @property
    def described(self) -> str | None:
        """Description for users; None if it is this process."""

    def fold(self, current: Pass) -> None:
        """Add the remaining pieces of a pass in their order, and report the progress after each."""


_engine: ContextVar[Engine | None] = ContextVar("mercer_engine", default=None)


@contextmanager
def engine(where: Any = None, *, threads: int | None = None) -> Iterator[None]:
    """Choose the engine on which fits run inside the `with` block.

    Parameters
    ----------
    where : "threads", "dask", a dask.distributed.Client or the address of a scheduler, default=None
        "dask" is the cluster of the current client; if there is none, a cluster of processes on this machine, which is
        closed at the end of the block (a script that starts one needs ``if __name__ == "__main__":``, as every program
        that starts processes). An address has the form "tcp://host:8786". Only streaming fits run on a cluster: those
        of a `Source` or of a Dask collection. None changes nothing.
    threads : int, default=None
        Largest number of threads of this process, and of processes that "dask" starts. None changes nothing.

    Raises
    ------
    EngineError
        If there is no such engine, or the scheduler cannot be reached.

    Examples
    --------
    >>> import mercer
    >>> with mercer.engine(threads=1):
    ...     pass

    `mercer.engine("tcp://scheduler:8786")`, or an engine with a `Client`, spreads passes over a cluster, whose
    dashboard shows the progress of each.
    """
    with bounded(threads) if threads is not None else nullcontext(), _make_engine(where) as chosen:
        token = _engine.set(chosen)
        try:
            yield
        finally:
            _engine.reset(token)


def engine_for(source: Source) -> Engine:
    """Return the chosen engine, or the one on which the data lie."""
    if (chosen := _engine.get()) is not None:
        return chosen
    if (client := getattr(source, "client", None)) is not None:
        from mercer.engines.dask import Dask

        return Dask(client)
    return Threads()


@contextmanager
def _make_engine(where: Any) -> Iterator[Engine | None]:
    if where is None:
        yield _engine.get()
    elif isinstance(where, str) and where == "threads":
        yield Threads()
    else:
        from mercer.engines.dask import connect

        with connect(where) as cluster:
            yield cluster


class Threads:
    """The threads of this process: pieces are read and summarised in parallel, and merged in their order.

    The next pieces are read while others are summarised; at most two more of them than threads are in memory at once.
    """

    described: str | None = None

    def fold(self, current: Pass) -> None:
        """See `Engine.fold`."""
        with current.pieces() as pieces:
            for part in ordered_stream(current.fold.summarise_piece, pieces):
                current.add(part)
                current.report_progress()
