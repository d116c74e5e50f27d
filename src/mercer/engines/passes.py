"""A pass that goes on: what is done to every chunk, what came of the pieces so far, and who is told of it."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from mercer.data.sources.base import Chunk, Mapped, Piece, Source
from mercer.engines.running import Run

S = TypeVar("S")


class Part(NamedTuple):
    """What came of some pieces that follow one another."""

    #: None where all of them were skipped
    result: Any
    #: that were read
    rows: int
    skipped: list[str]
    pieces: int = 1


def joined(merge: Callable[[Any, Any], Any], *parts: Part) -> Part:
    """What came of earlier and later pieces together."""
    return functools.reduce(functools.partial(_both, merge), parts)


def _both(merge: Callable[[Any, Any], Any], before: Part, more: Part) -> Part:
    if before.result is None or more.result is None:
        result = more.result if before.result is None else before.result
    else:
        result = merge(before.result, more.result)
    return Part(result, before.rows + more.rows, before.skipped + more.skipped, before.pieces + more.pieces)


@dataclass(frozen=True)
class Fold(Generic[S]):
    """What is done on the way; the functions can be pickled, and change nothing."""

    summarise: Callable[[Chunk], S]
    merge: Callable[[S, S], S]
    #: what a chunk goes through before it is summarised
    maps: tuple[Callable[[Chunk], Chunk], ...] = ()

    def of_piece(self, piece: Piece) -> Part:
        """One piece, chunk by chunk."""
        result: S | None = None
        rows, skipped = 0, list[str]()
        for chunk in piece.chunks(skipped):
            rows += chunk.n_rows
            summary = self.summarise(functools.reduce(lambda made, function: function(made), self.maps, chunk))
            result = summary if result is None else self.merge(result, summary)
        return Part(result, rows, skipped)


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
        self.total = Part(None, 0, [], 0) if kept is None else Part(*kept)
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

    def add(self, part: Part) -> None:
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
