"""Passes over a source, the runs to which they belong, and the journal that keeps their results."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from mercer.data.sources.base import Chunk, Mapped, Piece, Source

#: called after every piece with the number of the pass and the number of its finished pieces
PieceCallback = Callable[[int, int], None]


class Journal(Protocol):
    """Stores the results of passes, so that an interrupted fit can be resumed: see `mercer.files.checkpoints`.

    A result is a tuple of the summary, the rows read, the names of skipped parts, and the number of finished pieces.
    """

    def enter(self, model: Any, source: Any) -> None:
        """Announce the model and the source of the following passes."""

    def find_result(self, number: int, source: Any) -> Any:
        """Return the result of a pass over this source if it was finished before, and None otherwise."""

    def find_partial_result(self, number: int, source: Any) -> Any:
        """Return the result of the first pieces of a pass if some were finished before, and None otherwise."""

    def keep(self, number: int, source: Any, result: Any, *, finished: bool) -> None:
        """Store the result of a pass so far."""


@dataclass
class Run:
    """The passes of one fit."""

    on_piece: PieceCallback | None = None
    journal: Journal | None = None
    passes: int = 0
    #: finished pieces of the last pass
    pieces: int = 0
    rows: int = 0
    #: description of the engine, if not this process
    cluster: str | None = None
    #: names of the parts that could not be read, listed again by every pass
    skipped: list[str] = field(default_factory=list)


_current: ContextVar[Run | None] = ContextVar("mercer_run", default=None)


def current_run() -> Run:
    """Return the active run, or a detached one."""
    return _current.get() or Run()


@contextmanager
def enter_run(run: Run) -> Iterator[Run]:
    """Assign the passes inside the `with` block to `run`."""
    token = _current.set(run)
    try:
        yield run
    finally:
        _current.reset(token)


@contextmanager
def ensure_run() -> Iterator[Run]:
    """Enter a new run, unless there is an active one around this fit, which is then used."""
    outer = _current.get()
    with nullcontext(outer) if outer is not None else enter_run(Run()) as run:
        yield run


S = TypeVar("S")


class PassPart(NamedTuple):
    """The result of consecutive pieces."""

    #: merged summary; None if all pieces were skipped
    result: Any
    #: number of rows read
    rows: int
    skipped: list[str]
    pieces: int = 1


def join_parts(merge: Callable[[Any, Any], Any], *parts: PassPart) -> PassPart:
    """Join the results of consecutive pieces."""
    return functools.reduce(functools.partial(_join_two, merge), parts)


def _join_two(merge: Callable[[Any, Any], Any], before: PassPart, more: PassPart) -> PassPart:
    if before.result is None or more.result is None:
        result = more.result if before.result is None else before.result
    else:
        result = merge(before.result, more.result)
    return PassPart(result, before.rows + more.rows, before.skipped + more.skipped, before.pieces + more.pieces)


@dataclass(frozen=True)
class Fold(Generic[S]):
    """The functions of a pass, which can be pickled and have no side effects."""

    summarise: Callable[[Chunk], S]
    merge: Callable[[S, S], S]
    #: applied to a chunk before it is summarised
    maps: tuple[Callable[[Chunk], Chunk], ...] = ()

    def summarise_piece(self, piece: Piece) -> PassPart:
        """Summarise a piece chunk by chunk."""
        result: S | None = None
        rows, skipped = 0, list[str]()
        for chunk in piece.chunks(skipped):
            rows += chunk.n_rows
            summary = self.summarise(functools.reduce(lambda chunk, function: function(chunk), self.maps, chunk))
            result = summary if result is None else self.merge(result, summary)
        return PassPart(result, rows, skipped)


class Pass:
    """One pass of a run, which an engine executes.

    The functions of a mapped source become part of the fold, so that a cluster receives them once.
    """

    def __init__(self, fold: Fold[Any], source: Source, run: Run, number: int) -> None:
        maps = list[Callable[[Chunk], Chunk]]()
        while type(source) is Mapped:
            maps.insert(0, source.function)
            source = source.source
        self.fold, self.source, self.number = Fold(fold.summarise, fold.merge, (*maps, *fold.maps)), source, number
        self._run = run
        kept = None if run.journal is None else run.journal.find_result(number, source)
        self.is_finished = kept is not None
        if run.journal is not None and not self.is_finished:
            kept = run.journal.find_partial_result(number, source)
        #: result of the finished pieces
        self.total = PassPart(None, 0, [], 0) if kept is None else PassPart(*kept)
        run.pieces, run.rows = self.total.pieces, self.total.rows
        run.skipped.extend(self.total.skipped)

    @contextmanager
    def pieces(self) -> Iterator[Iterator[Piece]]:
        """Iterate over the remaining pieces; their source is closed at the end, also if the pass fails."""
        pieces = iter(self.source.pieces())
        try:
            yield itertools.islice(pieces, self.total.pieces, None)
        finally:
            if isinstance(pieces, Generator):
                pieces.close()

    def add(self, part: PassPart) -> None:
        """Add the result of the pieces that follow those of `total`."""
        self.total = join_parts(self.fold.merge, self.total, part)
        self._run.rows = self.total.rows
        self._run.skipped.extend(part.skipped)
        self._keep()

    def report_progress(self, pieces: int = 1) -> None:
        """Report that more pieces are finished, in any order."""
        self._run.pieces += pieces
        if self._run.on_piece is not None:
            self._run.on_piece(self.number, self._run.pieces)

    def finish(self) -> None:
        """Mark the pass as finished and store its result."""
        self.is_finished = True
        self._keep()

    def _keep(self) -> None:
        if self._run.journal is not None:
            self._run.journal.keep(self.number, self.source, tuple(self.total), finished=self.is_finished)
