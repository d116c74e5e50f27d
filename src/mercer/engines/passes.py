"""A pass that goes on: what is done to every chunk, what came of the pieces so far, and who is told of it."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from mercer.data.sources.base import Chunk, Mapped, Piece, Source

# What goes on around the passes of a fit: how many there were, what was skipped, who is told, what is kept.

#: called after every piece with the number of the pass, and of its pieces that are done
Told = Callable[[int, int], None]


class Journal(Protocol):
    """Keeps the results of passes, so that a fit that was killed finds them again: see `mercer.files.checkpoints`.

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


S = TypeVar("S")


class PassPart(NamedTuple):
    """What came of some pieces that follow one another."""

    #: None where all of them were skipped
    result: Any
    #: that were read
    rows: int
    skipped: list[str]
    pieces: int = 1


def joined(merge: Callable[[Any, Any], Any], *parts: PassPart) -> PassPart:
    """What came of earlier and later pieces together."""
    return functools.reduce(functools.partial(_both, merge), parts)


def _both(merge: Callable[[Any, Any], Any], before: PassPart, more: PassPart) -> PassPart:
    if before.result is None or more.result is None:
        result = more.result if before.result is None else before.result
    else:
        result = merge(before.result, more.result)
    return PassPart(result, before.rows + more.rows, before.skipped + more.skipped, before.pieces + more.pieces)


@dataclass(frozen=True)
class Fold(Generic[S]):
    """What is done on the way; the functions can be pickled, and change nothing."""

    summarise: Callable[[Chunk], S]
    merge: Callable[[S, S], S]
    #: what a chunk goes through before it is summarised
    maps: tuple[Callable[[Chunk], Chunk], ...] = ()

    def of_piece(self, piece: Piece) -> PassPart:
        """One piece, chunk by chunk."""
        result: S | None = None
        rows, skipped = 0, list[str]()
        for chunk in piece.chunks(skipped):
            rows += chunk.n_rows
            summary = self.summarise(functools.reduce(lambda made, function: function(made), self.maps, chunk))
            result = summary if result is None else self.merge(result, summary)
        return PassPart(result, rows, skipped)


class Pass:
    """One pass of a run, for the engine that makes it.

    The functions of a mapped source are taken out of it: an engine that sends pieces elsewhere sends them once.
    """

    def __init__(self, fold: Fold[Any], source: Source, run: Run, number: int) -> None:
        maps = list[Callable[[Chunk], Chunk]]()
        while type(source) is Mapped:
            maps.insert(0, source.function)
            source = source.source
        self.fold, self.source, self.number = Fold(fold.summarise, fold.merge, (*maps, *fold.maps)), source, number
        self._run = run
        kept = None if run.journal is None else run.journal.finished(number, source)
        self.finished = kept is not None
        if run.journal is not None and not self.finished:
            kept = run.journal.begun(number, source)
        #: what came of the first pieces
        self.total = PassPart(None, 0, [], 0) if kept is None else PassPart(*kept)
        run.pieces, run.rows = self.total.pieces, self.total.rows
        run.skipped.extend(self.total.skipped)

    @contextmanager
    def pieces(self) -> Iterator[Iterator[Piece]]:
        """Those that are not done; what they are read from is closed at the end, and when the pass fails."""
        pieces = iter(self.source.pieces())
        try:
            yield itertools.islice(pieces, self.total.pieces, None)
        finally:
            if isinstance(pieces, Generator):
                pieces.close()

    def add(self, part: PassPart) -> None:
        """What came of the pieces after those of `total`."""
        self.total = joined(self.fold.merge, self.total, part)
        self._run.rows = self.total.rows
        self._run.skipped.extend(part.skipped)
        self._keep()

    def tell(self, pieces: int = 1) -> None:
        """So many more pieces are done, in any order."""
        self._run.pieces += pieces
        if self._run.told is not None:
            self._run.told(self.number, self._run.pieces)

    def finish(self) -> None:
        """All pieces are added."""
        self.finished = True
        self._keep()

    def _keep(self) -> None:
        if self._run.journal is not None:
            self._run.journal.keep(self.number, self.source, tuple(self.total), finished=self.finished)
