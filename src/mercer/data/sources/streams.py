"""Streams of rows, which are cut into chunks in this process; the chunks are the pieces."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from functools import cached_property
from typing import Any

from mercer._errors import DataError, EmptyDataError, SourceChangedError, SpentSourceError
from mercer.data.readers.arrow_types import merge_types, types_of
from mercer.data.readers.base import what_failed
from mercer.data.sources.base import Chunk, Piece, describe_skipped, digest
from mercer.data.sources.files.base import SkippedPiece
from mercer.data.sources.layout import Layout
from mercer.data.sources.memory import HeldPiece
from mercer.data.sources.options import OpenOptions
from mercer.data.sources.read_ahead import read_ahead
from mercer.data.sources.tabular import TabularSource


class Stream(TabularSource):
    """Base class of streams; a pass reads one block ahead of the computation in this process."""

    @abstractmethod
    def tables(self) -> Generator[Any]:
        """Yield the rows as pyarrow tables, for one pass."""

    def pieces(self) -> Iterator[Piece]:
        skipped: list[str] = []
        with closing(read_ahead(self._chunks(skipped))) as chunks:
            for number, chunk in enumerate(chunks):
                yield HeldPiece(chunk, f"{self.described}, part {number}")
        yield from map(SkippedPiece, skipped)

    def _chunks(self, skipped: list[str]) -> Iterator[Chunk]:
        yield from self.layout.chunks(self._numbered(), self.described, skipped)

    def _numbered(self) -> Iterator[tuple[int, Any]]:
        rows = 0
        with closing(self.tables()) as tables:
            for table in tables:
                yield rows, table
                rows += table.num_rows
        if self.n_rows is not None and rows != self.n_rows:
            raise SourceChangedError(
                f"{self.described} had {self.n_rows} rows when it was opened, and {rows} in this pass: passes over it "
                "would not agree. Open it again when it does not change any more."
            )


class RepeatedStream(Stream):
    """A function that returns a new reader of record batches, or iterable of frames, for every pass."""

    def __init__(self, make: Callable[[], Any], options: OpenOptions) -> None:
        self._make, self._options = make, options
        self._rows: int | None = None
        first = make()
        self._typed = (
            types_of(first.schema, "The reader") if hasattr(first, "read_next_batch") else self._scan(_frames(first))
        )
        self.columns = options.columns(list(self._typed))

    def _scan(self, frames: Iterable[Any]) -> dict[str, Any]:
        """Read all frames once to find their types."""
        types_by_place: list[tuple[str, dict[str, Any]]] = []
        self._rows = 0
        for number, table in enumerate(tables_of(frames)):
            types_by_place.append((f"frame {number}", types_of(table.schema, f"Frame {number}")))
            self._rows += table.num_rows
        if not types_by_place:
            raise EmptyDataError("There are no frames to read.")
        names = list(types_by_place[0][1])
        return merge_types(types_by_place, names, self._options.declared_types(names))

    @cached_property
    def layout(self) -> Layout:
        return self._options.layout(self.columns, self._typed)

    def tables(self) -> Generator[Any]:
        return tables_of(_frames(self._make()))

    @property
    def n_rows(self) -> int | None:
        return self._rows

    @property
    def described(self) -> str:
        return "the result of a function"

    @property
    def identity(self) -> str:
        first = self.head().X.slice(0, 20).to_pylist()
        return f"{self.described}, {digest(self._options, self._rows, self._typed, first)}"


class SingleUseStream(Stream):
    """A reader or generator whose rows can be read only once; the types are those of its first rows."""

    def __init__(self, items: Any, options: OpenOptions) -> None:
        self._options, self._spent = options, False
        self._first: list[Any] = []
        self._rest = tables_of(items)
        if hasattr(items, "read_next_batch"):
            types = types_of(items.schema, "The reader")
        else:
            if not self._read_on():
                raise EmptyDataError("There are no frames to read.")
            types = types_of(self._first[0].schema, "Frame 0")
        self.columns = options.columns(list(types))
        self._layout = options.layout(self.columns, types)

    @property
    def layout(self) -> Layout:
        return self._layout

    def head(self) -> Chunk:
        """Return the first rows, which stay available for the pass."""
        self._check_not_spent()
        skipped: list[str] = []
        for chunk in self.layout.chunks(self._first_tables(), self.described, skipped):
            return chunk
        raise EmptyDataError(f"There are no rows in {self.described}{describe_skipped(skipped)}.")

    def _first_tables(self) -> Iterator[tuple[int, Any]]:
        """Yield the tables that have been read already, and then further ones, which are kept for the pass."""
        number, row = 0, 0
        while number < len(self._first) or self._read_on():
            yield row, self._first[number]
            row += self._first[number].num_rows
            number += 1

    def _read_on(self) -> bool:
        """Read and keep one more table; return whether there was one."""
        more = next(self._rest, None)
        if more is not None:
            self._first.append(more)
        return more is not None

    def pieces(self) -> Iterator[Piece]:
        self._check_not_spent()
        self._spent = True
        return super().pieces()

    def _check_not_spent(self) -> None:
        if self._spent:
            raise SpentSourceError(
                "This reader or generator can be read only once, and has been read. For several passes, open a "
                "function that creates it, as in mercer.data.open(lambda: frames()), or a Parquet file with the rows."
            )

    def tables(self) -> Generator[Any]:
        while self._first:
            yield self._first.pop(0)
        yield from self._rest

    @property
    def described(self) -> str:
        return "a stream"

    @property
    def identity(self) -> str:
        """Text with the first rows, since the others can be read only once."""
        first = self.head().X.slice(0, 20).to_pylist()
        return f"{self.described}, {digest(self._options, self._layout.types, first)}"


def _frames(made: Any) -> Iterable[Any]:
    """Return the result of a function as an iterable of frames, also if it is a single frame."""
    from mercer.data.storages.frame import as_frame

    several: Iterable[Any] = made
    return several if hasattr(made, "read_next_batch") or as_frame(made) is None else [made]


def tables_of(items: Any) -> Generator[Any]:
    """Yield record batches or frames of any library as pyarrow tables."""
    import pyarrow as pa

    for number, item in enumerate(items):
        yield pa.Table.from_batches([item]) if isinstance(item, pa.RecordBatch) else table_of(item, f"Frame {number}")


def table_of(frame: Any, place: str) -> Any:
    """Return a frame of any library as a pyarrow table without its index."""
    import pyarrow as pa

    from mercer.data.storages.frame import as_frame

    known = as_frame(frame)
    if known is None:
        raise DataError(
            f"{place} is not a frame but a {type(frame).__name__}. Give pandas, polars or pyarrow frames, or "
            "several paths as a list."
        )
    try:
        return known.to_arrow().select(list(map(str, known.columns)))
    except (pa.ArrowException, KeyError) as failure:
        raise DataError(f"{place} holds a column of several types: {what_failed(failure)}.") from None
