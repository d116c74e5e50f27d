"""Base classes of all sources of files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mercer._errors import ColumnMismatchError, DataError
from mercer.data.readers.base import same_columns
from mercer.data.sources.base import Chunk, Piece, SourceColumns
from mercer.data.sources.files.stamps import Stamp, describe_files, identify_files
from mercer.data.sources.layout import Layout
from mercer.data.sources.options import OpenOptions
from mercer.data.sources.read_ahead import read_ahead
from mercer.data.sources.tabular import TabularSource


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
    def is_whole_file(self) -> bool:
        """True if the file is a single piece, which is therefore read ahead of the computation."""
        return False

    def chunks(self, skipped: list[str]) -> Iterator[Chunk]:
        chunks = self._chunks(skipped)
        return read_ahead(chunks) if self.is_whole_file else chunks

    def _chunks(self, skipped: list[str]) -> Iterator[Chunk]:
        self.stamp.check()
        yield from self.layout.chunks(self._tables(skipped), self.place, skipped)
        self.stamp.check()

    @abstractmethod
    def _tables(self, skipped: list[str]) -> Iterator[tuple[int, Any]]:
        """Yield the number of the first row in `place` and the rows, block by block."""


def raise_or_skip(stamp: Stamp, sentence: str, layout: Layout, skipped: list[str]) -> None:
    """Raise the error about a part of a file that cannot be read, or record it if errors are skipped."""
    stamp.check()  # raises if the file has changed, which explains the error
    if not layout.skip:
        raise DataError(f"{sentence} Write the file again, or leave that part out with on_error='skip'.") from None
    skipped.append(sentence)


class Files(TabularSource):
    """Files of one format with the same columns."""

    def __init__(self, stamps: Sequence[Stamp], options: OpenOptions, format_name: str) -> None:
        self.stamps, self._options, self._format = tuple(stamps), options, format_name
        #: sentences about files that every pass leaves out
        self._left_out: list[str] = []

    @property
    def described(self) -> str:
        return describe_files(self.stamps, self._format)

    @property
    def n_bytes(self) -> int | None:
        return sum(stamp.size for stamp in self.stamps)

    @property
    def identity(self) -> str:
        return identify_files(self.stamps, self._format, self._options)

    def raise_or_skip(self, failure: DataError) -> None:
        """Raise the error about a file that cannot be read at all, or drop it if errors are skipped."""
        if not self._options.skip:
            raise failure
        self._left_out.append(str(failure))


def common_columns(stamps: Sequence[Stamp], names: Sequence[Sequence[str]], options: OpenOptions) -> SourceColumns:
    """Return the roles of the columns of the files, or raise an error if the columns differ.

    If features are chosen, only the columns that are read are compared.
    """
    try:
        columns, expected = options.columns(names[0]), list(names[0])
    except ColumnMismatchError as absent:
        raise ColumnMismatchError(f"{stamps[0].name!r}: {absent}") from None
    if options.features is not None:
        expected = list(columns.read)
    for stamp, others in zip(stamps[1:], names[1:], strict=True):
        if list(others) == expected:
            continue
        own = others if options.features is None else [name for name in others if name in expected]
        same_columns(own, expected, stamp.name, stamps[0].name)
    return columns
