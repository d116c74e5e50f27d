"""Rows out, as they come: CSV or Parquet, piece by piece."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from mercer._errors import WriteError
from mercer.data.readers.parquet import PARQUET

Array = NDArray[Any]

SEPARATED = {".csv": ",", ".tsv": "\t"}


def format_of(path: str | Path) -> str:
    """How rows are written there: "parquet", or what separates their fields; "-" is standard output."""
    suffix = Path(path).suffix.lower()
    if str(path) == "-":
        return ","
    if suffix in PARQUET:
        return "parquet"
    if suffix not in SEPARATED:
        raise WriteError(f"The ending of {str(path)!r} does not tell how to write it. Use .csv, .tsv or .parquet.")
    return SEPARATED[suffix]


def beside(frame: Any, keep: list[str], columns: Mapping[str, Array]) -> Any:
    """Some columns of a pyarrow table, and new ones beside them."""
    import pyarrow as pa

    table = frame.select(keep)
    for name, column in columns.items():
        values = column.tolist() if column.dtype.kind in "OU" else column
        # strings and gaps alone have no type where all are gaps
        table = table.append_column(name, pa.array(values, pa.string() if column.dtype.kind in "OU" else None))
    return table


def encoded(tables: Iterable[Any], form: str) -> Iterator[bytes]:
    """The bytes of a file with these rows, as they come; a piece for each table."""
    return _parquet(tables) if form == "parquet" else _separated(tables, form)


def _separated(tables: Iterable[Any], separator: str) -> Iterator[bytes]:
    from pyarrow import csv

    for number, table in enumerate(tables):
        sink = io.BytesIO()
        options = csv.WriteOptions(include_header=number == 0, delimiter=separator, quoting_style="needed")
        csv.write_csv(_plain(table), sink, options)
        yield sink.getvalue()


def _parquet(tables: Iterable[Any]) -> Iterator[bytes]:
    import pyarrow as pa
    from pyarrow import parquet

    sink, writer = _Pieces(), None
    for table in tables:
        if writer is None:
            writer = parquet.ParquetWriter(pa.PythonFile(sink, mode="w"), table.schema)
        writer.write_table(table.cast(writer.schema))
        yield sink.taken()
    if writer is not None:
        writer.close()
        yield sink.taken()


class _Pieces(io.RawIOBase):
    """A file that is handed on piece by piece, and knows how long it would be."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._length = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._pieces.append(piece)
        self._length += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._length

    def taken(self) -> bytes:
        taken, self._pieces = b"".join(self._pieces), []
        return taken


def _plain(table: Any) -> Any:
    """Categories as strings: CSV has no other."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for position, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if pa.types.is_dictionary(column.type):
            table = table.set_column(position, name, pc.cast(column, column.type.value_type))
    return table
