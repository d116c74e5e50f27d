"""Files with a JSON object in each line: a piece is some lines of a file."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from mercer._errors import DataError, EmptyDataError
from mercer._threads import ordered_stream
from mercer.data.compressed_pickle import CompressedPickle
from mercer.data.readers.arrow_types import merge_types
from mercer.data.readers.base import Reading
from mercer.data.readers.json_rows import JsonRows, parse_json_lines
from mercer.data.sources.base import Piece
from mercer.data.sources.files.base import Files, SkippedPiece
from mercer.data.sources.files.finding import FoundFiles
from mercer.data.sources.files.lines import Block, CountedBlock, LinesOfFile, LineSpan, blocks_of, spans_of
from mercer.data.sources.files.stamps import Stamp
from mercer.data.sources.layout import Layout
from mercer.data.sources.options import OpenOptions


class JsonScan(NamedTuple):
    """The result of scanning all lines of a file."""

    stamp: Stamp
    rows: int
    spans: tuple[LineSpan, ...]
    #: the place of each block, with its pyarrow types
    places: list[tuple[str, dict[str, Any]]]


@dataclass(frozen=True)
class WrittenColumns(CompressedPickle):
    """The types of the columns as written, before options are applied."""

    #: pyarrow schema
    types: Any


class JsonFiles(Files):
    """Files that are read once when they are opened, since any line may name a new column."""

    def __init__(self, files: FoundFiles, options: OpenOptions) -> None:
        import pyarrow as pa

        super().__init__([Stamp.of(file) for file in files.files], options, "JSON")
        self._scans: list[JsonScan] = []
        for stamp in self.stamps:
            try:
                self._scans.append(_scan(stamp, options))
            except EmptyDataError as empty:
                self.raise_or_skip(EmptyDataError(f"{empty} Remove it, or write it again."))
        places = _dates_or_strings([place for scan in self._scans for place in scan.places])
        names = list(dict.fromkeys(name for _, types in places for name in types))
        if not names:
            raise EmptyDataError(f"There are no rows in {self.described}.")
        self.columns = options.columns(names)
        self._check_target_exists()
        # types as written; options are applied by the layout
        types = merge_types(places, self.columns.read, {})
        self._written = WrittenColumns(pa.schema(types))
        self._layout = options.layout(self.columns, types)

    def _check_target_exists(self) -> None:
        """Raise an error if no line of a file names the target; other columns may be missing."""
        target = self.columns.target
        for scan in self._scans if target is not None else ():
            if scan.rows and not any(target in types for _, types in scan.places):
                raise DataError(
                    f"No line of {scan.stamp.name!r} has the target {target!r}. Add it, or leave the file out."
                )

    @property
    def layout(self) -> Layout:
        return self._layout

    @property
    def n_rows(self) -> int:
        return sum(scan.rows for scan in self._scans)

    def pieces(self) -> Iterator[Piece]:
        yield from map(SkippedPiece, self._left_out)
        for scan in self._scans:
            yield from (JsonPiece(scan.stamp, self.layout, span, self._written) for span in scan.spans)


@dataclass(frozen=True)
class JsonPiece(LinesOfFile):
    """Consecutive lines of JSON."""

    written: WrittenColumns

    def _tables(self, skipped: list[str]) -> Iterator[tuple[int, Any]]:
        row = self.span.row
        for block in blocks_of(self.stamp, self.span, self.layout.block_bytes):
            table = _table(self.stamp, self.layout.skip, self.written.types, block, skipped)
            yield row, table
            row += table.num_rows


def _scan(stamp: Stamp, options: OpenOptions) -> JsonScan:
    """Return rows, types and the positions where the file can be cut, using several threads."""
    if JsonRows(Path(stamp.path), Reading()).is_list():
        raise DataError(
            f"{stamp.name!r} is one JSON list, which can only be read as a whole. Write an object in each line, or "
            "give the model mercer.data.read_table(path)."
        )
    counted, places = [], []
    blocks = blocks_of(stamp, LineSpan(0, None, 1, 0), options.block_bytes)
    for block, types in ordered_stream(partial(_scan_block, stamp, options), blocks):
        counted.append(block)
        places.append((f"line {block.line} and the next ones of {stamp.name!r}", types))
    return JsonScan(
        stamp, sum(block.rows for block in counted), spans_of(counted, stamp, options.text_piece_bytes), places
    )


def _scan_block(stamp: Stamp, options: OpenOptions, block: Block) -> tuple[CountedBlock, dict[str, Any]]:
    table = _table(stamp, options.skip, None, block, [])
    types = dict(zip(table.column_names, table.schema.types, strict=True))
    return CountedBlock(block.start, block.line, table.num_rows), types


def _dates_or_strings(places: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, dict[str, Any]]]:
    """Return strings that spell dates in one block as dates if those of all other blocks do, else as strings."""
    import pyarrow as pa

    strings = {name for _, types in places for name, kind in types.items() if pa.types.is_string(kind)}
    return [
        (
            place,
            {
                name: pa.string() if name in strings and pa.types.is_timestamp(kind) else kind
                for name, kind in types.items()
            },
        )
        for place, types in places
    ]


def _table(stamp: Stamp, skip: bool, types: Any, block: Block, skipped: list[str]) -> Any:
    """Return the rows of a block; lines that are not objects raise an error, or are dropped and named."""
    import pyarrow as pa

    reader, lines = JsonRows(Path(stamp.path), Reading()), block.lines
    if not lines.removeprefix(codecs.BOM_UTF8).strip():
        return pa.table({} if types is None else {name: pa.nulls(0) for name in types.names})
    try:
        return parse_json_lines(lines, types)
    except (pa.ArrowException, UnicodeError) as failure:
        if skip and (sound := _objects(reader, block, skipped)) != lines:
            return _table(stamp, skip, types, block._replace(lines=sound), skipped)
        reader.raise_for_lines(lines, block.line, failure)


def _objects(reader: JsonRows, block: Block, skipped: list[str]) -> bytes:
    """Return the lines that are objects, with empty lines in place of others."""
    kept = []
    for number, line in enumerate(block.lines.split(b"\n"), start=block.line):
        try:
            if line.strip():
                reader.object(line, number)
            kept.append(line)
        except DataError as failure:
            skipped.append(str(failure))
            kept.append(b"")
    return b"\n".join(kept)
