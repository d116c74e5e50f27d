"""Passes on the threads of this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from mercer._threads import bounded, ordered_stream
from mercer.data.sources.base import Source
from mercer.engines.passes import Pass

if TYPE_CHECKING:
    from mercer.engines.passes import Pass


# Which engine a pass runs on: the threads of this process, unless `mercer.engine` or the data say otherwise.


class Engine(Protocol):
    """Where passes run."""

    @property
    def described(self) -> str | None:
        """In words, if that is not this process."""

    def fold(self, going: Pass) -> None:
        """Add every piece that is left to a pass, in their order, and tell it of each."""


_engine: ContextVar[Engine | None] = ContextVar("mercer_engine", default=None)


@contextmanager
def engine(where: Any = None, *, threads: int | None = None) -> Iterator[None]:
    """Say where fits run inside the `with` block.

    Parameters
    ----------
    where : "threads", "dask", a dask.distributed.Client or the address of a scheduler, default=None
        "dask" is the cluster of the current client; where there is none, one of processes on this machine, which is
        closed at the end of the block (a script that starts one needs ``if __name__ == "__main__":``, as every program
        that starts processes). An address is written "tcp://host:8786". Only what streams is spread over a cluster:
        fits of a `Source` or of a Dask collection. None changes nothing.
    threads : int, default=None
        Most threads that this process uses, and most processes that "dask" starts. None changes nothing.

    Raises
    ------
    EngineError
        If there is no such engine, or the scheduler cannot be reached.

    Examples
    --------
    >>> import mercer
    >>> with mercer.engine(threads=1):
    ...     pass

    `mercer.engine("tcp://scheduler:8786")`, or one with a `Client` of one's own, spreads passes over a cluster, whose
    dashboard shows how far each of them is.
    """
    with bounded(threads) if threads is not None else nullcontext(), _made(where) as chosen:
        token = _engine.set(chosen)
        try:
            yield
        finally:
            _engine.reset(token)


def engine_for(source: Source) -> Engine:
    """The engine asked for, or the one that the data live on."""

    if (chosen := _engine.get()) is not None:
        return chosen
    if (client := getattr(source, "client", None)) is not None:
        from mercer.engines.dask import Dask

        return Dask(client)
    return Threads()


@contextmanager
def _made(where: Any) -> Iterator[Engine | None]:

    if where is None:
        yield _engine.get()
    elif isinstance(where, str) and where == "threads":
        yield Threads()
    else:
        from mercer.engines.dask import connected

        with connected(where) as cluster:
            yield cluster


class Threads:
    """Pieces are read and summarised on several threads, and merged in their order as they come.

    The next pieces are asked for while others are worked on; no more of them than there are threads, and two, are in
    memory at once.
    """

    described = None

    def fold(self, going: Pass) -> None:
        """See `Engine.fold`."""
        with going.pieces() as pieces:
            for part in ordered_stream(going.fold.of_piece, pieces):
                going.add(part)
                going.tell()
