"""Writing of rows to CSV or Parquet, piece by piece."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mercer._errors import DataError, WriteError
from mercer._typing import Array
from mercer.data.readers.parquet import PARQUET

#: separators of text files by their endings
SEPARATORS_WRITTEN = {".csv": ",", ".tsv": "\t"}
#: pattern of texts that spreadsheets interpret as formulas
FORMULA = "^[=+\\-@\t\r]"


def format_of(path: str | Path) -> str:
    """Return the format of a file by its ending: "parquet", or the separator of fields; "-" is standard output."""
    suffix = Path(path).suffix.lower()
    if str(path) == "-":
        return ","
    if suffix in PARQUET:
        return "parquet"
    if suffix not in SEPARATORS_WRITTEN:
        raise DataError(f"The format of {str(path)!r} does not follow from its ending. Use .csv, .tsv or .parquet.")
    return SEPARATORS_WRITTEN[suffix]


def append_columns(frame: Any, keep: list[str], columns: Mapping[str, Array]) -> Any:
    """Return some columns of a pyarrow table, followed by new ones."""
    import pyarrow as pa

    table = frame.select(keep)
    for name, column in columns.items():
        values = column.tolist() if column.dtype.kind in "OU" else column
        # the type of strings is given, since it cannot be inferred if all are missing
        table = table.append_column(name, pa.array(values, pa.string() if column.dtype.kind in "OU" else None))
    return table


def encode_tables(tables: Iterable[Any], form: str, *, spreadsheet: bool = False) -> Iterator[bytes]:
    """Yield the bytes of a file with these rows, a piece for each table.

    For a `spreadsheet`, names and texts that would be interpreted as formulas are prefixed by an apostrophe.
    """
    if form != "parquet":
        return _separated(map(_without_formulas, tables) if spreadsheet else tables, form)
    if spreadsheet:
        raise DataError("--spreadsheet is for .csv and .tsv files: texts of Parquet files are not formulas.")
    return _parquet(tables)


def _without_formulas(table: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for column in table.columns:
        if pa.types.is_dictionary(column.type):
            column = pc.cast(column, column.type.value_type)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            quoted = pc.binary_join_element_wise("'", column, "")
            column = pc.if_else(pc.match_substring_regex(column, FORMULA), quoted, column)
        columns.append(column)
    names = [f"'{name}" if re.match(FORMULA, name) else name for name in table.column_names]
    return pa.table(columns, names)


def _separated(tables: Iterable[Any], separator: str) -> Iterator[bytes]:
    import pyarrow.compute as pc

    for number, table in enumerate(tables):
        head = separator.join(map(_quoted, table.column_names)) + "\n" if number == 0 else ""
        one_chunk = table.combine_chunks()
        fields = [_fields(name, one_chunk[name], separator) for name in one_chunk.column_names]
        lines = pc.binary_join_element_wise(*fields, separator).to_pylist() if fields else []
        # names and rows are one piece, since a reader of the names alone may close the pipe
        yield (head + "".join(f"{line}\n" for line in lines)).encode()


def _fields(name: str, column: Any, separator: str) -> Any:
    """Return a column as text, with quotation marks where needed, so that reading and writing are inverse."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    words = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    try:
        text = pc.cast(column, pa.string())
    except pa.ArrowException:
        raise WriteError(
            f"Column {name!r} has the type {column.type}, which a text file cannot hold. Write it as .parquet."
        ) from None
    if words:
        # an empty string is quoted, so that it is not read as a missing value
        needed = pc.match_substring_regex(text, f'[\\x{ord(separator):02x}"\r\n]|^$')
        marked = pc.binary_join_element_wise('"', pc.replace_substring(text, '"', '""'), '"', "")
        text = pc.if_else(needed, marked, text)
    return pc.fill_null(text, "")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _parquet(tables: Iterable[Any]) -> Iterator[bytes]:
    import pyarrow as pa
    from pyarrow import parquet

    sink, writer = _Pieces(), None
    for table in tables:
        if writer is None:
            writer = parquet.ParquetWriter(pa.PythonFile(sink, mode="w"), _without_nulls(table.schema))
        try:
            converted = table.cast(writer.schema)
        except pa.ArrowException:
            raise WriteError(_describe_difference(table.schema, writer.schema)) from None
        writer.write_table(converted)
        yield sink.take()
    if writer is not None:
        writer.close()
        yield sink.take()


class _Pieces(io.RawIOBase):
    """A file object that collects pieces and reports the total length."""

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

    def take(self) -> bytes:
        pieces, self._pieces = b"".join(self._pieces), []
        return pieces


def _without_nulls(schema: Any) -> Any:
    """Return a schema in which columns without a value so far are strings, to which later values can be converted."""
    import pyarrow as pa

    return pa.schema(
        [field.with_type(pa.string()) if pa.types.is_null(field.type) else field for field in schema], schema.metadata
    )


def _describe_difference(schema: Any, first: Any) -> str:
    """Return a sentence that names the column whose type differs from that of the first rows."""
    name, now, before = next(
        ((new.name, new.type, old.type) for new, old in zip(schema, first, strict=True) if new.type != old.type),
        ("?", "another", "one"),
    )
    return (
        f"Column {name!r} has the type {now} in some rows, but {before} in earlier ones, and a Parquet file has one "
        "type for each column. Write it as .csv."
    )
