"""JSON files: one object per line, or a list of objects."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from mercer._errors import DataError, EmptyDataError
from mercer._memory import check_memory
from mercer._suggest import quoted
from mercer.data.readers.base import (
    TEXT_BLOCK_BYTES,
    TOO_LARGE_REMEDY,
    Reading,
    TablePart,
    TableReader,
    concatenate_tables,
    what_failed,
)
from mercer.data.readers.lines import whole_lines

JSON = frozenset({".json", ".jsonl", ".ndjson"})

#: a row "null", which pyarrow reads as an object without columns unless it is the first one
NULL_ROW = re.compile(rb"(?:\A|[\r\n])[ \t]*null")


@dataclass(frozen=True)
class JsonRows(TableReader):
    """Reader of objects as rows; the columns that an object does not name are missing in its row."""

    path: Path
    reading: Reading

    @property
    def described(self) -> str:
        return "a JSON list" if self.is_list() else "a JSON object in each line"

    def names(self) -> list[str]:
        """Return the names of the columns in the first block, since all names would require reading all rows."""
        return self.names_among(())

    def names_among(self, wanted: Sequence[str]) -> list[str]:
        names: dict[str, None] = {}
        for table, _ in self._tables():
            names |= dict.fromkeys(map(str, table.column_names))
            if all(name in names for name in wanted):
                break
        return list(names)

    def table(self) -> Any:
        tables, held = [], 0
        for table, _ in self._tables():
            tables.append(table)
            held += table.nbytes  # the tables are copied once more when they are concatenated
            check_memory(held, repr(self.path.name), TOO_LARGE_REMEDY)
        return self.finish(concatenate_tables(tables, self.path))

    def parts(self, columns: Sequence[str]) -> Iterator[TablePart]:
        for table, share in self._tables():
            yield TablePart(self.finish(_with_columns(table, columns)), share)

    def is_list(self) -> bool:
        """Return whether the file is one list, which must be read as a whole."""
        with self._opened() as stream:
            start = bytes(stream.read(1 << 12)).removeprefix(codecs.BOM_UTF8).lstrip()
            while not start and (more := bytes(stream.read(1 << 12))):
                start = more.lstrip()
        if not start:
            raise EmptyDataError(f"{self.path.name!r} is empty.")
        return start.startswith(b"[")

    @property
    def _block_bytes(self) -> int:
        return self.reading.block_bytes or TEXT_BLOCK_BYTES

    def _tables(self) -> Iterator[tuple[Any, float | None]]:
        if self.is_list():
            yield self._list(), 1.0
            return
        size, bytes_read, first_line = self.path.stat().st_size, 0, 1
        with self._opened() as stream:
            for lines in whole_lines(stream, self._block_bytes, file=self.path.name):
                bytes_read += len(lines)
                if lines.strip():
                    yield self._parse_block(lines, first_line), min(1.0, bytes_read / size)
                first_line += lines.count(b"\n")

    def _parse_block(self, lines: bytes, first_line: int) -> Any:
        import pyarrow as pa

        try:
            table = parse_json_lines(lines)
        except (pa.ArrowException, UnicodeError) as failure:
            self.raise_for_lines(lines, first_line, failure)
        if table.num_rows == 1 and table.num_columns and all(map(pa.types.is_struct, table.schema.types)):
            raise DataError(
                f"{self.path.name!r} is one object of objects, such as pandas writes by columns. Write an object for "
                "each row, in pandas with to_json(orient='records')."
            )
        return table

    def raise_for_lines(self, lines: bytes, first_line: int, failure: Exception) -> NoReturn:
        """Raise an error that names the first line that is not an object or has a value of another type.

        If there is none, the error has pyarrow's message.
        """
        types: dict[str, str] = {}
        for number, line in enumerate(lines.splitlines(), start=first_line):
            if not line.strip():
                continue
            for name, value in self.object(line, number).items():
                what = (
                    "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__
                )
                if value is not None and types.setdefault(name, what) != what:
                    raise DataError(
                        f"Line {number} of {self.path.name!r}: {name!r} is {quoted(value)}, a {what}, but was a "
                        f"{types[name]} before. Write it the same way in all lines."
                    )
        raise DataError(f"{self.path.name!r} cannot be read: {what_failed(failure)}.") from None

    def object(self, line: bytes, number: int) -> dict[str, Any]:
        """Return a row; raise an error if the line is not an object."""
        try:
            row = json.loads(line.decode("utf-8-sig"))
        except (ValueError, RecursionError) as failure:
            raise DataError(f"Line {number} of {self.path.name!r} is not JSON: {what_failed(failure)}.") from None
        if not isinstance(row, dict):
            raise DataError(f'Line {number} of {self.path.name!r} is not an object like {{"column": 1}}.')
        return row

    def _list(self) -> Any:
        import pyarrow as pa

        blocks = []
        with self._opened() as stream:
            while block := bytes(stream.read(self._block_bytes)):
                blocks.append(block)
                check_memory(len(blocks) * self._block_bytes, repr(self.path.name), TOO_LARGE_REMEDY)
        try:
            rows = json.loads(b"".join(blocks))
        except (ValueError, RecursionError) as failure:
            raise DataError(f"{self.path.name!r} is not JSON: {what_failed(failure)}.") from None
        if not rows:
            raise EmptyDataError(f"{self.path.name!r} has no rows.")
        odd = next((number for number, row in enumerate(rows) if not isinstance(row, dict)), None)
        if odd is not None:
            raise DataError(f'Entry {odd} of {self.path.name!r} is not an object like {{"column": 1}}.')
        names = list(dict.fromkeys(name for row in rows for name in row))
        columns = {}
        for name in names:
            try:
                name.encode()  # lone surrogates raise a UnicodeError
                columns[name] = pa.array([row.get(name) for row in rows])
            except (pa.ArrowException, UnicodeError, OverflowError, TypeError) as failure:
                raise DataError(
                    f"Column {name!r} of {self.path.name!r} holds values of several types, or of types that columns "
                    f"cannot have: {what_failed(failure)}."
                ) from None
        return pa.table(columns)

    def _opened(self) -> Any:
        import pyarrow as pa

        try:
            return pa.input_stream(str(self.path))
        except OSError as failure:
            raise DataError(f"{self.path.name!r} cannot be opened: {what_failed(failure)}.") from None


def parse_json_lines(lines: bytes, types: Any = None) -> Any:
    """Return the rows of complete lines with the columns of a pyarrow schema, or by default all that they name."""
    import pyarrow as pa
    from pyarrow import json as arrow_json

    lines = lines.removeprefix(codecs.BOM_UTF8)
    _check_lines_are_safe(lines)
    return arrow_json.read_json(
        pa.BufferReader(lines),
        read_options=arrow_json.ReadOptions(use_threads=False, block_size=len(lines) + 1),
        parse_options=arrow_json.ParseOptions(
            explicit_schema=types, unexpected_field_behavior="infer" if types is None else "ignore"
        ),
    )


def _check_lines_are_safe(lines: bytes) -> None:
    """Raise an error for bytes that are not text, which pyarrow accepts, and for null rows, on which it may crash."""
    import pyarrow as pa

    lines.decode()
    if NULL_ROW.search(lines):
        raise pa.ArrowInvalid("a line is not an object")


def _with_columns(table: Any, columns: Sequence[str]) -> Any:
    """Return the table with these columns; those that no object names are missing values."""
    import pyarrow as pa

    for name in columns:
        if name not in table.column_names:
            table = table.append_column(name, pa.nulls(table.num_rows))
    return table.select(list(columns))
