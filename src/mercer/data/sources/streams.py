"""Rows that come one after another: they are cut into chunks here, and these are the pieces."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from functools import cached_property
from typing import Any

from mercer._errors import DataError, EmptyDataError, SourceChangedError, SpentSourceError
from mercer.data.readers_base import what_failed
from mercer.data.sources.ahead import ahead
from mercer.data.sources.asking import Asked
from mercer.data.sources.base import Chunk, Piece, digest
from mercer.data.sources.files import LeftOut
from mercer.data.sources.layout import Layout
from mercer.data.sources.memory import HeldPiece
from mercer.data.sources.merging import merged
from mercer.data.sources.tabular import Tabular


class Stream(Tabular):
    """A pass reads one block ahead of the computation, in this process; what leaves it are chunks."""

    @abstractmethod
    def tables(self) -> Generator[Any]:
        """The rows as pyarrow tables, for one pass."""

    def pieces(self) -> Iterator[Piece]:
        skipped: list[str] = []
        with closing(ahead(self._chunks(skipped))) as chunks:
            for number, chunk in enumerate(chunks):
                yield HeldPiece(chunk, f"{self.described}, part {number}")
        yield from map(LeftOut, skipped)

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
                "would not agree. Open it again when nobody writes to it any more."
            )


class Repeated(Stream):
    """What a function makes anew for every pass: a reader of record batches, or frames one after another."""

    def __init__(self, make: Callable[[], Any], asked: Asked) -> None:
        self._make, self._asked = make, asked
        self._rows: int | None = None
        first = make()
        self._typed = _types_of(first.schema) if hasattr(first, "read_next_batch") else self._look(first)
        self.columns = asked.columns(list(self._typed))

    def _look(self, frames: Iterable[Any]) -> dict[str, Any]:
        """One pass for the types of all frames."""
        found: list[tuple[str, dict[str, Any]]] = []
        self._rows = 0
        for number, table in enumerate(tables_of(frames)):
            found.append((f"frame {number}", _types_of(table.schema)))
            self._rows += table.num_rows
        if not found:
            raise EmptyDataError("There is no frame among those to read.")
        return merged(found, list(found[0][1]), self._asked)

    @cached_property
    def layout(self) -> Layout:
        return self._asked.layout(self.columns, self._typed)

    def tables(self) -> Generator[Any]:
        return tables_of(self._make())

    @property
    def n_rows(self) -> int | None:
        return self._rows

    @property
    def described(self) -> str:
        return "what a function makes"

    @property
    def identity(self) -> str:
        return f"{self.described}, {digest(self._asked, self._rows, self._typed)}"


class Once(Stream):
    """A reader or a generator, whose rows are gone once they were read; its first ones tell the types."""

    def __init__(self, items: Any, asked: Asked) -> None:
        self._asked, self._spent = asked, False
        self._first: list[Any] = []
        self._rest = tables_of(items)
        if hasattr(items, "read_next_batch"):
            types = _types_of(items.schema)
        else:
            self._first = [table for table in [next(self._rest, None)] if table is not None]
            if not self._first:
                raise EmptyDataError("There is no frame among those to read.")
            types = _types_of(self._first[0].schema)
        self.columns = asked.columns(list(types))
        self._layout = asked.layout(self.columns, types)

    @property
    def layout(self) -> Layout:
        return self._layout

    def head(self) -> Chunk:
        """The first rows, which the one pass will read all the same."""
        self._refuse_spent()
        if not self._first:
            self._first = [table for table in [next(self._rest, None)] if table is not None]
        for chunk in self.layout.chunks(enumerate(self._first), self.described, []):
            return chunk
        raise EmptyDataError(f"There are no rows at the beginning of {self.described}.")

    def pieces(self) -> Iterator[Piece]:
        self._refuse_spent()
        self._spent = True
        return super().pieces()

    def _refuse_spent(self) -> None:
        if self._spent:
            raise SpentSourceError(
                "This reader or generator can be read once, and was. What takes several passes needs rows that can be "
                "read again: open a function that makes it, as in mercer.data.open(lambda: frames()), or write the "
                "rows to a Parquet file and open that."
            )

    def tables(self) -> Generator[Any]:
        while self._first:
            yield self._first.pop(0)
        yield from self._rest

    @property
    def described(self) -> str:
        return "a stream"


def tables_of(items: Any) -> Generator[Any]:
    """Record batches or frames of any library as pyarrow tables."""
    import pyarrow as pa

    for number, item in enumerate(items):
        yield pa.Table.from_batches([item]) if isinstance(item, pa.RecordBatch) else table_of(item, f"Frame {number}")


def table_of(frame: Any, place: str) -> Any:
    """A frame of any library as a pyarrow table."""
    import pyarrow as pa

    from mercer.data._frame import as_frame

    known = as_frame(frame)
    if known is None:
        raise DataError(f"{place} is no frame, but a {type(frame).__name__}. Give pandas, polars or pyarrow frames.")
    try:
        return known.to_arrow().select(list(map(str, known.columns)))  # not what pandas has as index
    except (pa.ArrowException, KeyError) as failure:
        raise DataError(f"{place} holds a column of several types: {what_failed(failure)}.") from None


def _types_of(schema: Any) -> dict[str, Any]:
    return {str(field.name): field.type for field in schema}
