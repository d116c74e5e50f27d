"""Conversion of lines of separated fields to tables; lines that cannot be read raise an error, or are dropped."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mercer._errors import DataError
from mercer._suggest import quoted
from mercer.data.readers.base import what_failed
from mercer.data.readers.separated import Dialect, not_text
from mercer.data.sources.files.lines import Block

#: a line end, as pyarrow defines it; `split` alternates between lines and their ends
LINE_END_BYTES = re.compile(rb"(\r\n?|\n)")


@dataclass(frozen=True)
class Lines:
    """Some columns of lines, with types that are known or inferred for each block."""

    dialect: Dialect
    columns: tuple[str, ...]
    #: pyarrow types by name
    types: Mapping[str, Any]
    skip: bool

    def table(self, block: Block, skipped: list[str]) -> Any:
        """Return the rows of a block; lines that cannot be read raise an error, or are dropped and named."""
        import pyarrow as pa

        while True:
            try:
                return self.dialect.trim(self._parsed(block, skipped))
            except (pa.ArrowInvalid, UnicodeError) as failure:
                row, sentence = self._explained(failure, block)
                if not self.skip or row is None:
                    raise DataError(sentence) from None
                # the line has a value that is not of its declared type
                skipped.append(sentence)
                block = block._replace(lines=_without(block.lines, row))

    def _parsed(self, block: Block, skipped: list[str]) -> Any:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        read, parse, convert = self.dialect.options(self.columns, self.types)
        if not block.lines.strip(b"\r\n"):
            return pa.table({name: pa.nulls(0) for name in self.columns})
        # the block has complete lines, which do not end inside quotation marks
        read.use_threads, read.block_size, parse.newlines_in_values = False, len(block.lines) + 2, False
        left_out: list[str] = []

        def skip_line(row: Any) -> str:
            left_out.append(self._ragged(_line(block, row.number), row.actual_columns))
            return "skip"

        if self.skip:
            parse.invalid_row_handler = skip_line
        # only at the beginning of a file is this a byte order mark
        inside = block.start > 0 and block.lines.startswith(codecs.BOM_UTF8)
        source = pa.BufferReader(b"\n" + block.lines if inside else block.lines)
        table = arrow_csv.read_csv(source, read_options=read, parse_options=parse, convert_options=convert)
        skipped.extend(left_out)
        return table

    def _explained(self, failure: Exception, block: Block) -> tuple[int | None, str]:
        """Return the number of the row that failed, if known, and a message."""
        words, file = what_failed(failure), self.dialect.file
        if isinstance(failure, UnicodeError) or "UTF8" in words:
            return None, not_text(file, self.dialect.encoding)
        if (ragged := re.search(r"Row #(\d+): Expected \d+ columns, got (\d+)", words)) is not None:
            return int(ragged[1]), self._ragged(_line(block, int(ragged[1])), int(ragged[2]))
        error = re.search(r"column #(\d+): Row #(\d+): CSV conversion error to (.+): invalid value '(.*)", words)
        if error is not None:
            name, row = self.dialect.names[int(error[1])], int(error[2])
            return row, (
                f"Line {_line(block, row)} of {file!r}: {name!r} is {quoted(error[4].rstrip(chr(39)))}, which is not a "
                f"value of the type {error[3]}. Correct it, or declare another type for the column."
            )
        return None, f"{file!r} cannot be read: {words}."

    def _ragged(self, line: int, fields: int) -> str:
        return (
            f"Line {line} of {self.dialect.file!r} has {fields} fields, but the first line has "
            f"{len(self.dialect.names)}. Correct the line, give the separator (on the command line --separator), or "
            "leave such lines out with on_error='skip'."
        )


def ends_quoted(lines: bytes, separator: str) -> bool:
    """Return whether a line ends, or seems to end, inside quotation marks: such a file cannot be cut at line ends."""
    if b'"' not in lines:
        return False
    import numpy as np

    letters = np.frombuffer(lines, dtype=np.uint8)
    marks, ends = np.flatnonzero(letters == ord('"')), np.flatnonzero(letters == ord("\n"))
    if marks.size % 2 or (np.searchsorted(marks, ends) % 2).any():
        return True
    # marks come in pairs; if every pair begins a field or is doubled, no field contains a line end. Marks elsewhere are
    # ordinary characters, and the fields have to be parsed
    before = letters[marks[::2][marks[::2] > 0] - 1]
    if np.isin(before, np.frombuffer(f'{separator}\r\n"'.encode(), dtype=np.uint8)).all():
        return False
    fields = re.finditer(rb"(?:\A|" + re.escape(separator.encode()) + rb'|[\r\n])"(?:[^"]|"")*+(?:"|\Z)', lines)
    return any(b"\n" in field[0][1:] for field in fields)


def _line(block: Block, row: int) -> int:
    """Return the number of the line of a row of a block; empty lines hold no row."""
    return block.line + _index(block.lines, row)


def _index(lines: bytes, row: int) -> int:
    """Return the position of a row, counted from 1, among all lines."""
    filled = (number for number, line in enumerate(LINE_END_BYTES.split(lines)[::2]) if line)
    return next(number for count, number in enumerate(filled, start=1) if count == row)


def _without(lines: bytes, row: int) -> bytes:
    """Return the block with an empty line in place of a row, so that the numbers of other lines do not change."""
    each = LINE_END_BYTES.split(lines)
    each[2 * _index(lines, row)] = b""
    return b"".join(each)
