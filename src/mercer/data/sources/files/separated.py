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
from mercer.data.readers.arrow_types import merge_types
from mercer.data.readers.base import Reading
from mercer.data.readers.separated import Dialect, Separated
from mercer.data.sources.base import Piece
from mercer.data.sources.files.base import Files, PartOfFile, SkippedPiece, common_columns
from mercer.data.sources.files.finding import FoundFiles
from mercer.data.sources.files.lines import Block, CountedBlock, LinesOfFile, LineSpan, blocks_of, spans_of
from mercer.data.sources.files.separated_lines import Lines, ends_quoted
from mercer.data.sources.files.stamps import Stamp
from mercer.data.sources.layout import Layout
from mercer.data.sources.options import OpenOptions


class SeparatedScan(NamedTuple):
    """The result of scanning all lines of a file."""

    #: pyarrow types by name
    types: dict[str, Any]
    rows: int
    #: None if the file cannot be cut
    spans: tuple[LineSpan, ...] | None


class BlockTypes(NamedTuple):
    """The types of the columns in a block."""

    #: pyarrow types by name
    types: dict[str, Any]
    #: columns with whole numbers that cannot be read as fractions: 0x1F
    only_whole: tuple[str, ...]


class OpenedFile(NamedTuple):
    """The dialect of a file by its first line, without the reader, which keeps a part of the file in memory."""

    stamp: Stamp
    dialect: Dialect
    #: byte offset and line of the first row
    body: tuple[int, int]


class SeparatedFiles(Files):
    """Files whose types are found by a first pass over them, so that no type depends on the blocks."""

    def __init__(self, files: FoundFiles, options: OpenOptions) -> None:
        super().__init__([Stamp.of(file) for file in files.files], options, "CSV")
        self._opened: list[OpenedFile] = []
        for stamp in self.stamps:
            reader = Separated(Path(stamp.path), options.reading)
            try:
                self._opened.append(OpenedFile(stamp, reader.dialect, reader.body))
            except EmptyDataError as empty:
                self.raise_or_skip(EmptyDataError(f"{empty} Remove it, or write it again."))
        if not self._opened:
            raise EmptyDataError(f"There are no lines in {self.described}.")
        names = [file.dialect.names for file in self._opened]
        self.columns = common_columns([file.stamp for file in self._opened], names, options)

    @cached_property
    def _scans(self) -> list[SeparatedScan]:
        return [_scan(file, self.columns.read, self._options) for file in self._opened]

    @cached_property
    def layout(self) -> Layout:
        # numbers in one file and words in another are an error, as in memory; within a file they are strings
        types_by_place = [
            (repr(file.stamp.name), scan.types) for file, scan in zip(self._opened, self._scans, strict=True)
        ]
        return self._options.layout(self.columns, self._options.merge_types(types_by_place, self.columns))

    @property
    def n_rows(self) -> int | None:
        """Number of rows, known once the files were read."""
        return sum(scan.rows for scan in self._scans) if "_scans" in self.__dict__ else None

    def pieces(self) -> Iterator[Piece]:
        yield from map(SkippedPiece, self._left_out)
        for file, scan in zip(self._opened, self._scans, strict=True):
            if scan.spans is None:
                yield WholeFile(file.stamp, self.layout, self._options.reading)
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
        for block in blocks_of(self.stamp, self.span, self.layout.block_bytes):
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
    def is_whole_file(self) -> bool:
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
    def skip_line(row: Any) -> str:
        skipped.append(
            f"A line of {reader.path.name!r} has {row.actual_columns} fields, but others have {row.expected_columns}: "
            f"{quoted(row.text)}."
        )
        return "skip"

    return reader.stream(names, types, skip_line if skip else None)


def _scan(file: OpenedFile, columns: tuple[str, ...], options: OpenOptions) -> SeparatedScan:
    """Return types, rows and the positions where the file can be cut, using several threads."""
    stamp, dialect, (start, line) = file
    if '\n"'.encode(dialect.encoding) != b'\n"':
        return _scan_whole(file, columns, options)
    lines = Lines(dialect, columns, options.declared_types(columns), options.skip)
    counted: list[CountedBlock] = []
    types_of_blocks: list[BlockTypes] = []
    blocks = blocks_of(stamp, LineSpan(start, None, line, 0), options.block_bytes)
    for scanned in ordered_stream(partial(_scan_block, lines), blocks):
        if scanned is None:
            return _scan_whole(file, columns, options)
        counted.append(scanned[0])
        types_of_blocks.append(scanned[1])
    spans = spans_of(counted, stamp, options.text_piece_bytes)
    return SeparatedScan(_common_types(types_of_blocks, columns, options), sum(each.rows for each in counted), spans)


def _scan_block(lines: Lines, block: Block) -> tuple[CountedBlock, BlockTypes] | None:
    """Return the number of rows and the types of a block; None if it does not end between two rows."""
    if lines.dialect.quoted and ends_quoted(block.lines, lines.dialect.separator):
        return None
    table = lines.table(block, [])
    return CountedBlock(block.start, block.line, table.num_rows), _types_of_block(table, block.lines, lines)


def _scan_whole(file: OpenedFile, columns: tuple[str, ...], options: OpenOptions) -> SeparatedScan:
    """Scan a file that cannot be cut: the types are inferred from its fields written as strings, a row in each line."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    declared, rows, types_of_blocks = options.declared_types(columns), 0, []
    reader = Separated(Path(file.stamp.path), options.reading)
    dialect = Dialect(file.stamp.name, columns, ",", True, "utf-8", file.dialect.missing)
    lines = Lines(dialect, columns, declared, skip=False)
    for table, _ in _streamed(reader, list(columns), dict.fromkeys(columns, pa.string()), options.skip, []):
        written = io.BytesIO()
        arrow_csv.write_csv(table, written, arrow_csv.WriteOptions(include_header=False))
        # values that contradict declared types raise an error in a pass, with the number of their line
        read, parse, convert = dialect.options((), dict.fromkeys(declared, pa.string()))
        read.block_size = max(1, len(written.getvalue()))
        again = pa.BufferReader(written.getvalue())
        rows += table.num_rows
        typed = arrow_csv.read_csv(again, read_options=read, parse_options=parse, convert_options=convert)
        types_of_blocks.append(_types_of_block(typed, written.getvalue(), lines))
    return SeparatedScan(_common_types(types_of_blocks, columns, options), rows, None)


def _common_types(types_of_blocks: list[BlockTypes], columns: tuple[str, ...], options: OpenOptions) -> dict[str, Any]:
    """Return the common type of all blocks; strings if there is no other."""
    import pyarrow as pa

    places = [("", block.types) for block in types_of_blocks]
    types = merge_types(places, columns, options.declared_types(columns), otherwise=pa.string())
    only_whole = {name for block in types_of_blocks for name in block.only_whole if pa.types.is_floating(types[name])}
    return types | dict.fromkeys(only_whole, pa.string())


def _types_of_block(table: Any, octets: bytes, lines: Lines) -> BlockTypes:
    """Return the types of the columns of a block, given as a table and as text."""
    import pyarrow as pa

    types = dict(zip(table.column_names, table.schema.types, strict=True))
    only_whole = []
    if b"0x" in octets or b"0X" in octets:
        for name in (name for name, kind in types.items() if pa.types.is_int64(kind) and name not in lines.types):
            try:
                replace(lines, columns=(name,), types={name: pa.float64()}).table(Block(octets, 0, 1), [])
            except DataError:
                only_whole.append(name)
    return BlockTypes(types, tuple(only_whole))
