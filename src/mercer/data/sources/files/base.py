"""Base classes of all sources of files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mercer._errors import ColumnMismatchError, DataError
from mercer.data.readers.base import same_columns
from mercer.data.sources.ahead import ahead
from mercer.data.sources.asking import OpenOptions
from mercer.data.sources.base import CHUNK_BYTES, Chunk, Piece, SourceColumns
from mercer.data.sources.files.stamps import Stamp, described, identity
from mercer.data.sources.layout import Layout
from mercer.data.sources.tabular import TabularSource

#: bytes of decoded values that one piece has, about: several chunks, so that files are not opened for each of them
PIECE_BYTES = 4 * CHUNK_BYTES


@dataclass(frozen=True)
class SkippedPiece(Piece):
    """A part of a source that cannot be read, represented by a sentence."""

    note: str

    @property
    def name(self) -> str:
        return self.note

    def chunks(self, skipped: list[str]) -> Iterator[Chunk]:
        skipped.append(self.note)
        return iter(())


@dataclass(frozen=True)
class PartOfFile(Piece):
    """A part of a file that must not change before or while it is read."""

    stamp: Stamp
    layout: Layout

    @property
    def place(self) -> str:
        """Name, for messages, of the part in which rows are counted."""
        return repr(self.stamp.name)

    @property
    def alone(self) -> bool:
        """Whether there is no other piece to read meanwhile, so that this one is read ahead of the computation."""
        return False

    def chunks(self, skipped: list[str]) -> Iterator[Chunk]:
        chunks = self._chunks(skipped)
        return ahead(chunks) if self.alone else chunks

    def _chunks(self, skipped: list[str]) -> Iterator[Chunk]:
        self.stamp.check()
        yield from self.layout.chunks(self._tables(skipped), self.place, skipped)
        self.stamp.check()

    @abstractmethod
    def _tables(self, skipped: list[str]) -> Iterator[tuple[int, Any]]:
        """Yield the number of the first row in `place` and the rows, block by block."""


def leave_out(stamp: Stamp, sentence: str, layout: Layout, skipped: list[str]) -> None:
    """Raise the error about a part of a file that cannot be read, or record it if errors are skipped."""
    stamp.check()  # or the file has changed, which explains it
    if not layout.skip:
        raise DataError(f"{sentence} Write the file again, or leave that part out with on_error='skip'.") from None
    skipped.append(sentence)


class Files(TabularSource):
    """Files of one format with the same columns."""

    def __init__(self, stamps: Sequence[Stamp], asked: OpenOptions, called: str) -> None:
        self.stamps, self._asked, self._called = tuple(stamps), asked, called
        #: what is left out of every pass
        self._left_out: list[str] = []

    @property
    def described(self) -> str:
        return described(self.stamps, self._called)

    @property
    def n_bytes(self) -> int | None:
        return sum(stamp.size for stamp in self.stamps)

    @property
    def identity(self) -> str:
        return identity(self.stamps, self._called, self._asked)

    def broken(self, failure: DataError) -> None:
        """Raise the error about a file that cannot be read at all, or drop it if errors are skipped."""
        if not self._asked.skip:
            raise failure
        self._left_out.append(str(failure))


def columns_in(stamps: Sequence[Stamp], names: Sequence[Sequence[str]], asked: OpenOptions) -> SourceColumns:
    """Return the roles of the columns of the files; raise an error if the columns differ, in those that are read if
    chosen.
    """
    try:
        columns, expected = asked.columns(names[0]), list(names[0])
    except ColumnMismatchError as absent:
        raise ColumnMismatchError(f"{stamps[0].name!r}: {absent}") from None
    if asked.features is not None:
        expected = list(columns.read)
    for stamp, others in zip(stamps[1:], names[1:], strict=True):
        if list(others) == expected:
            continue
        own = others if asked.features is None else [name for name in others if name in expected]
        same_columns(own, expected, stamp.name, stamps[0].name)
    return columns
