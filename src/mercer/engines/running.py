"""What goes on around the passes of a fit: how many there were, what was skipped, who is told, what is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol

#: called after every piece with the number of the pass, and of its pieces that are done
Told = Callable[[int, int], None]


class Journal(Protocol):
    """Keeps the results of passes, so that a fit that was killed finds them again: see `mercer.engines.checkpoints`.

    A result is a tuple of what the pass came to, the rows read, the names of what was skipped, and the pieces done.
    """

    def enter(self, model: Any, source: Any) -> None:
        """Whose passes follow."""

    def finished(self, number: int, source: Any) -> Any:
        """The result of that pass over these rows, if it was done before; else None."""

    def begun(self, number: int, source: Any) -> Any:
        """The result of its first pieces, if some were done before; else None."""

    def keep(self, number: int, source: Any, result: Any, *, finished: bool) -> None:
        """The result of a pass so far."""


@dataclass
class Run:
    """The passes of one fit."""

    told: Told | None = None
    journal: Journal | None = None
    passes: int = 0
    #: of the last pass
    pieces: int = 0
    rows: int = 0
    #: where it ran, if not in this process
    cluster: str | None = None
    #: what could not be read and was left out, by name: by every pass again
    skipped: list[str] = field(default_factory=list)


_current: ContextVar[Run | None] = ContextVar("mercer_run", default=None)


def current_run() -> Run:
    """The fit that is going on; a new one that nobody looks at where none is."""
    return _current.get() or Run()


@contextmanager
def running(run: Run) -> Iterator[Run]:
    """Passes inside belong to `run`."""
    token = _current.set(run)
    try:
        yield run
    finally:
        _current.reset(token)


@contextmanager
def own_or_outer_run() -> Iterator[Run]:
    """The run that was begun around this fit, by whoever wants to be told or to keep its passes, or a new one."""
    outer = _current.get()
    with nullcontext(outer) if outer is not None else running(Run()) as run:
        yield run
