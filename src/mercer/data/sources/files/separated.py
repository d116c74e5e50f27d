"""CSV and TSV files: a piece is some lines of a file, or a whole file in which fields contain line ends."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

from mercer._errors import DataError, EmptyDataError
from mercer._suggest import quoted
from mercer._threads import ordered_stream
from mercer.data.readers.base import Reading
from mercer.data.readers.merging import merged
from mercer.data.readers.separated import Dialect, Separated
from mercer.data.sources.asking import OpenOptions
from mercer.data.sources.base import Piece
from mercer.data.sources.files.base import Files, PartOfFile, SkippedPiece, columns_in
from mercer.data.sources.files.finding import FoundFile
from mercer.data.sources.files.lines import Block, Counted, LinesOfFile, LineSpan, blocks_of, spans_of
from mercer.data.sources.files.separated_lines import Lines, ends_quoted
from mercer.data.sources.files.stamps import Stamp
from mercer.data.sources.layout import Layout


class SeparatedScan(NamedTuple):
    """The result of scanning all lines of a file."""

    #: pyarrow types by name
    types: dict[str, Any]
    rows: int
    #: None where it cannot be cut
    spans: tuple[LineSpan, ...] | None


class SeparatedSample(NamedTuple):
    """The types of the values of a block."""

    #: pyarrow types by name
    types: dict[str, Any]
    #: columns of whole numbers that would be no fractions: 0x1F
    only_whole: tuple[str, ...]


class Opened(NamedTuple):
    """The dialect by the first line of a file; the reader that found it holds much of the file."""

    stamp: Stamp
    dialect: Dialect
    #: after how many bytes, and in which line, the first row is
    body: tuple[int, int]


class SeparatedFiles(Files):
    """Files whose types are found by a first pass over them, so that no type depends on the blocks."""

    def __init__(self, found: FoundFile, asked: OpenOptions) -> None:
        super().__init__([Stamp.of(file) for file in found.files], asked, "CSV")
        self._opened: list[Opened] = []
        for stamp in self.stamps:
            reader = Separated(Path(stamp.path), asked.reading)
            try:
                self._opened.append(Opened(stamp, reader.dialect, reader.body))
            except EmptyDataError as empty:
                self.broken(EmptyDataError(f"{empty} Take it away, or write it again."))
        if not self._opened:
            raise EmptyDataError(f"There are no lines in {self.described}.")
        names = [file.dialect.names for file in self._opened]
        self.columns = columns_in([file.stamp for file in self._opened], names, asked)

    @cached_property
    def _scans(self) -> list[SeparatedScan]:
        return [_scan(file, self.columns.read, self._asked) for file in self._opened]

    @cached_property
    def layout(self) -> Layout:
        # numbers in one file and words in another are a mistake, as in memory; within a file they are words
        found = [(repr(file.stamp.name), scan.types) for file, scan in zip(self._opened, self._scans, strict=True)]
        return self._asked.layout(self.columns, merged(found, self.columns.read, self._asked.told(self.columns.read)))

    @property
    def n_rows(self) -> int | None:
        """Number of rows, known once the files were read."""
        return sum(scan.rows for scan in self._scans) if "_scans" in self.__dict__ else None

    def pieces(self) -> Iterator[Piece]:
        yield from map(SkippedPiece, self._left_out)
        for file, scan in zip(self._opened, self._scans, strict=True):
            if scan.spans is None:
                yield WholeFile(file.stamp, self.layout, self._asked.reading)
            else:
                yield from (LinesPiece(file.stamp, self.layout, span, file.dialect) for span in scan.spans)


@dataclass(frozen=True)
class LinesPiece(LinesOfFile):
    """Consecutive lines of separated fields."""

    dialect: Dialect

    def _tables(self, skipped: list[str]) -> Iterator[tuple[int, Any]]:
        names = self.layout.names
        lines = Lines(
            self.dialect, tuple(names), dict(zip(names, self.layout.types.types, strict=True)), self.layout.skip
        )
        row = self.span.row
        for block in blocks_of(self.stamp, self.span):
            table = lines.table(block, skipped)
            yield row, table
            row += table.num_rows


@dataclass(frozen=True)
class WholeFile(PartOfFile):
    """A file in which fields contain line ends, or whose characters take several bytes, so that it cannot be cut."""

    reading: Reading

    @property
    def name(self) -> str:
        return self.place

    @property
    def alone(self) -> bool:
        return True

    def _tables(self, skipped: list[str]) -> Iterator[tuple[int, Any]]:
        names, row = self.layout.names, 0
        types = dict(zip(names, self.layout.types.types, strict=True))
        for table, _ in _streamed(
            Separated(Path(self.stamp.path), self.reading), names, types, self.layout.skip, skipped
        ):
            yield row, table
            row += table.num_rows


def _streamed(
    reader: Separated, names: list[str], types: dict[str, Any], skip: bool, skipped: list[str]
) -> Iterator[tuple[Any, float]]:
    def note(row: Any) -> str:
        skipped.append(
            f"A line of {reader.path.name!r} with {row.actual_columns} fields, where others have "
            f"{row.expected_columns}: {quoted(row.text)}."
        )
        return "skip"

    return reader.stream(names, types, note if skip else None)


def _scan(file: Opened, columns: tuple[str, ...], asked: OpenOptions) -> SeparatedScan:
    """Return types, rows and the positions where the file can be cut, using several threads."""
    stamp, dialect, (start, line) = file
    if '\n"'.encode(dialect.encoding) != b'\n"':
        return _scan_whole(file, columns, asked)
    lines = Lines(dialect, columns, asked.told(columns), asked.skip)
    counted: list[Counted] = []
    found: list[SeparatedSample] = []
    for block in ordered_stream(partial(_look, lines), blocks_of(stamp, LineSpan(start, None, line, 0))):
        if block is None:
            return _scan_whole(file, columns, asked)
        counted.append(block[0])
        found.append(block[1])
    return SeparatedScan(_joined(found, columns, asked), sum(each.rows for each in counted), spans_of(counted, stamp))


def _look(lines: Lines, block: Block) -> tuple[Counted, SeparatedSample] | None:
    """Return the number of rows and the types of a block; None if it cannot be cut out."""
    if lines.dialect.quoted and ends_quoted(block.lines, lines.dialect.separator):
        return None
    table = lines.table(block, [])
    return Counted(block.start, block.line, table.num_rows), _seen(table, block.lines, lines)


def _scan_whole(file: Opened, columns: tuple[str, ...], asked: OpenOptions) -> SeparatedScan:
    """Scan a file from beginning to end; columns of strings are examined once more."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    told, rows, found = asked.told(columns), 0, []
    reader = Separated(Path(file.stamp.path), asked.reading)
    dialect = Dialect(file.stamp.name, columns, ",", True, "utf-8", file.dialect.missing)
    lines = Lines(dialect, columns, told, skip=False)
    for table, _ in _streamed(reader, list(columns), dict.fromkeys(columns, pa.string()), asked.skip, []):
        written = io.BytesIO()
        arrow_csv.write_csv(table, written, arrow_csv.WriteOptions(include_header=False))
        # what the caller says is held against values when they are read, by a sentence that names the line
        read, parse, convert = dialect.options((), dict.fromkeys(told, pa.string()))
        read.block_size = max(1, len(written.getvalue()))
        again = pa.BufferReader(written.getvalue())
        rows += table.num_rows
        typed = arrow_csv.read_csv(again, read_options=read, parse_options=parse, convert_options=convert)
        found.append(_seen(typed, written.getvalue(), lines))
    return SeparatedScan(_joined(found, columns, asked), rows, None)


def _joined(found: list[SeparatedSample], columns: tuple[str, ...], asked: OpenOptions) -> dict[str, Any]:
    """Return the common type of all blocks; strings if there is no other."""
    import pyarrow as pa

    types = merged([("", seen.types) for seen in found], columns, asked.told(columns), otherwise=pa.string())
    only_whole = {name for seen in found for name in seen.only_whole if pa.types.is_floating(types[name])}
    return types | dict.fromkeys(only_whole, pa.string())


def _seen(table: Any, octets: bytes, lines: Lines) -> SeparatedSample:
    import pyarrow as pa

    types = dict(zip(table.column_names, table.schema.types, strict=True))
    only_whole = []
    if b"0x" in octets or b"0X" in octets:
        for name in (name for name, kind in types.items() if pa.types.is_int64(kind) and name not in lines.types):
            try:
                replace(lines, columns=(name,), types={name: pa.float64()}).table(Block(octets, 0, 1), [])
            except DataError:
                only_whole.append(name)
    return SeparatedSample(types, tuple(only_whole))
