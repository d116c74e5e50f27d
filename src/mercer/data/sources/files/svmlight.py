"""Svmlight files: a piece is some lines of a file, as a sparse matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import sparse

from mercer._errors import DataError, EmptyDataError
from mercer._threads import ordered_stream, row_blocks
from mercer.data.sources.base import CHUNK_BYTES, Chunk, Piece, Source, SourceColumns
from mercer.data.sources.files.base import SkippedPiece
from mercer.data.sources.files.finding import FoundFiles
from mercer.data.sources.files.lines import Block, CountedBlock, LineSpan, blocks_of, is_compressed, spans_of
from mercer.data.sources.files.stamps import Stamp, describe_files, identify_files
from mercer.data.sources.files.svmlight_lines import SvmlightRows, parse_svmlight_lines
from mercer.data.sources.options import OpenOptions
from mercer.data.sources.read_ahead import read_ahead

#: largest number of columns, since the name of each takes some fifty bytes
MAX_SVMLIGHT_COLUMNS = 1 << 26


class SvmlightScan(NamedTuple):
    """Statistics of the lines of a block or a file."""

    counted: tuple[CountedBlock, ...]
    #: lowest and highest column number as written; 1 and 0 without values
    lowest: int
    highest: int
    values: int


class SvmlightFiles(Source):
    """Sparse rows with a numeric label; columns are counted from 0 if a column 0 occurs, else from 1.

    The files are read once when they are opened, to find the number of columns.
    """

    def __init__(self, files: FoundFiles, options: OpenOptions, n_features: int | None) -> None:
        rows, skip = options.rows, options.skip
        self.stamps, self._identified_by = tuple(Stamp.of(file) for file in files.files), (n_features, rows, skip)
        read = [stamp for stamp in self.stamps if stamp.size or not skip]
        self._left_out = [f"{stamp.name!r} is empty." for stamp in self.stamps if stamp not in read]
        scans = [_scan(stamp, options) for stamp in read]
        self._spans = [
            (stamp, spans_of(scan.counted, stamp, options.text_piece_bytes))
            for stamp, scan in zip(read, scans, strict=True)
        ]
        self._n_rows = sum(block.rows for scan in scans for block in scan.counted)
        if not self._n_rows:
            raise EmptyDataError(f"There are no rows in {self.described}.")
        base = min(scan.lowest for scan in scans)
        n_columns = max(scan.highest for scan in scans) - base + 1
        if n_columns > MAX_SVMLIGHT_COLUMNS:
            raise DataError(
                f"{self.described} has a column with the number {n_columns - 1 + base:,}, but at most "
                f"{MAX_SVMLIGHT_COLUMNS:,} columns are possible. Number the columns consecutively, or hash them to "
                "fewer."
            )
        if n_features is not None and n_columns > n_features:
            raise DataError(
                f"{self.described} has {n_columns} columns, more than features={n_features}. Give the right number, or "
                "leave it out."
            )
        n_features = max(1, n_features or n_columns)
        per_row = 12 * sum(scan.values for scan in scans) // self._n_rows + 16
        chunk_rows = rows or max(1, CHUNK_BYTES // per_row)
        self._format = SvmlightFormat(base, n_features, chunk_rows, skip, options.block_bytes)
        self.columns = SourceColumns(tuple(f"x{j}" for j in range(n_features)), target="label")

    def pieces(self) -> Iterator[Piece]:
        yield from map(SkippedPiece, self._left_out)
        for stamp, spans in self._spans:
            yield from (SvmlightPiece(stamp, span, self._format) for span in spans)

    @property
    def described(self) -> str:
        return describe_files(self.stamps, "svmlight")

    @property
    def n_rows(self) -> int:
        return self._n_rows

    @property
    def n_bytes(self) -> int:
        return sum(stamp.size for stamp in self.stamps)

    @property
    def identity(self) -> str:
        return identify_files(self.stamps, "svmlight", self._identified_by)


@dataclass(frozen=True)
class SvmlightFormat:
    """The options that all pieces share."""

    #: the number of the first column
    base: int
    n_features: int
    #: largest number of rows of a chunk
    rows: int
    #: whether to drop lines that cannot be read
    skip: bool
    #: number of bytes of text that are parsed at once
    block_bytes: int

    def matrix(self, lines: SvmlightRows) -> sparse.csr_array | sparse.csr_matrix:
        starts = np.concatenate(([0], np.cumsum(lines.lengths)))
        shape = (lines.labels.size, self.n_features)
        X = sparse.csr_matrix((lines.values, lines.columns - self.base, starts), shape=shape)
        X.sort_indices()
        return X


@dataclass(frozen=True)
class SvmlightPiece(Piece):
    """Consecutive lines of a file."""

    stamp: Stamp
    span: LineSpan
    format: SvmlightFormat

    @property
    def name(self) -> str:
        return f"{self.stamp.name!r} from line {self.span.line} on"

    def chunks(self, skipped: list[str]) -> Iterator[Chunk]:
        chunks = self._chunks(skipped)
        return read_ahead(chunks) if is_compressed(self.stamp) else chunks

    def _chunks(self, skipped: list[str]) -> Iterator[Chunk]:
        for block in blocks_of(self.stamp, self.span, self.format.block_bytes):
            lines = parse_svmlight_lines(block, self.stamp.name, self.format.skip, skipped)
            X = self.format.matrix(lines)
            for rows in row_blocks(lines.labels.size, self.format.rows):
                yield Chunk(X[rows], lines.labels[rows])


def _scan(stamp: Stamp, options: OpenOptions) -> SvmlightScan:
    blocks = blocks_of(stamp, LineSpan(0, None, 1, 0), options.block_bytes)
    scans = list(ordered_stream(partial(_scan_block, stamp.name, options.skip), blocks))
    return SvmlightScan(
        tuple(block for scan in scans for block in scan.counted),
        min((scan.lowest for scan in scans), default=1),
        max((scan.highest for scan in scans), default=0),
        sum(scan.values for scan in scans),
    )


def _scan_block(file: str, skip: bool, block: Block) -> SvmlightScan:
    lines = parse_svmlight_lines(block, file, skip, [])
    return SvmlightScan(
        (CountedBlock(block.start, block.line, lines.labels.size),),
        min(1, int(lines.columns.min(initial=1))),
        int(lines.columns.max(initial=0)),
        lines.columns.size,
    )
