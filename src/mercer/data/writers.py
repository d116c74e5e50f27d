"""Rows out, as they come: CSV or Parquet, piece by piece."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mercer._errors import DataError, WriteError
from mercer._typing import Array
from mercer.data.readers.parquet import PARQUET

SEPARATED = {".csv": ",", ".tsv": "\t"}
#: how texts begin that spreadsheets take for formulas
FORMULA = "^[=+\\-@\t\r]"


def format_of(path: str | Path) -> str:
    """How rows are written there: "parquet", or what separates their fields; "-" is standard output."""
    suffix = Path(path).suffix.lower()
    if str(path) == "-":
        return ","
    if suffix in PARQUET:
        return "parquet"
    if suffix not in SEPARATED:
        raise DataError(f"The ending of {str(path)!r} does not tell how to write it. Use .csv, .tsv or .parquet.")
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


def encoded(tables: Iterable[Any], form: str, *, spreadsheet: bool = False) -> Iterator[bytes]:
    """The bytes of a file with these rows, as they come; a piece for each table.

    For a `spreadsheet`, names and texts that it would take for formulas have an apostrophe before them.
    """
    if form != "parquet":
        return _separated(map(_without_formulas, tables) if spreadsheet else tables, form)
    if spreadsheet:
        raise DataError("--spreadsheet is for .csv and .tsv files: texts of Parquet files are no formulas.")
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
        whole = table.combine_chunks()
        fields = [_fields(name, whole[name], separator) for name in whole.column_names]
        lines = pc.binary_join_element_wise(*fields, separator).to_pylist() if fields else []
        # a piece for each table: whoever has read the names may be gone before a second one is written
        yield (head + "".join(f"{line}\n" for line in lines)).encode()


def _fields(name: str, column: Any, separator: str) -> Any:
    """A column as text, in quotation marks where it has to be: what was read without them is written without them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    words = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    try:
        text = pc.cast(column, pa.string())
    except pa.ArrowException:
        raise WriteError(
            f"Column {name!r} is of the type {column.type}, which a file of text has no room for. Write it as .parquet."
        ) from None
    if words:
        # an empty string is in quotation marks, so that it is not taken for a gap
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
            alike = table.cast(writer.schema)
        except pa.ArrowException:
            raise WriteError(_differing(table.schema, writer.schema)) from None
        writer.write_table(alike)
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


def _without_nulls(schema: Any) -> Any:
    """A schema in which a column that has no value so far is one of strings, which later values can be written as."""
    import pyarrow as pa

    return pa.schema(
        [field.with_type(pa.string()) if pa.types.is_null(field.type) else field for field in schema], schema.metadata
    )


def _differing(found: Any, first: Any) -> str:
    """Which column is of another type than in the first rows, in a sentence."""
    name, now, before = next(
        ((new.name, new.type, old.type) for new, old in zip(found, first, strict=True) if new.type != old.type),
        ("?", "another", "one"),
    )
    return (
        f"Column {name!r} is of the type {now} in some rows, but {before} in those before them, and a Parquet file has "
        "one type for a column. Write it as .csv."
    )
