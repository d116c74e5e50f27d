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
from mercer.data.sources.ahead import ahead
from mercer.data.sources.base import CHUNK_BYTES, Chunk, Piece, Source, SourceColumns
from mercer.data.sources.files.base import SkippedPiece
from mercer.data.sources.files.finding import FoundFile
from mercer.data.sources.files.lines import Block, Counted, LineSpan, blocks_of, is_compressed, spans_of
from mercer.data.sources.files.stamps import Stamp, described, identity
from mercer.data.sources.files.svmlight_lines import Parsed, parsed

#: each has a name, which takes some fifty bytes
MOST_COLUMNS = 1 << 26


class SvmlightScan(NamedTuple):
    """Statistics of the lines of a block or a file."""

    counted: tuple[Counted, ...]
    #: column numbers as they are written; of no values the lowest is 1 and the highest 0
    lowest: int
    highest: int
    values: int


class SvmlightFiles(Source):
    """Sparse rows with a numeric label; columns are counted from 0 if a column 0 occurs, else from 1.

    The files are read once when they are opened, to find the number of columns.
    """

    def __init__(self, found: FoundFile, *, n_features: int | None, rows: int | None, skip: bool) -> None:
        self.stamps, self._given = tuple(Stamp.of(file) for file in found.files), (n_features, rows, skip)
        read = [stamp for stamp in self.stamps if stamp.size or not skip]
        self._left_out = [f"{stamp.name!r} is empty." for stamp in self.stamps if stamp not in read]
        looks = [_look_at(stamp, skip) for stamp in read]
        self._spans = [(stamp, spans_of(look.counted, stamp)) for stamp, look in zip(read, looks, strict=True)]
        self._n_rows = sum(block.rows for look in looks for block in look.counted)
        if not self._n_rows:
            raise EmptyDataError(f"There are no rows in {self.described}.")
        base = min(look.lowest for look in looks)
        seen = max(look.highest for look in looks) - base + 1
        if seen > MOST_COLUMNS:
            raise DataError(
                f"{self.described} has a column with the number {seen - 1 + base:,}, and there can be {MOST_COLUMNS:,}"
                " of them. Number the columns one after the other, or hash them to fewer."
            )
        if n_features is not None and seen > n_features:
            raise DataError(
                f"{self.described} has {seen} columns, more than the {n_features} that features= says. Give the right "
                "number, or leave it out."
            )
        n_features = max(1, n_features or seen)
        per_row = 12 * sum(look.values for look in looks) // self._n_rows + 16
        self._format = Format(base, n_features, rows or max(1, CHUNK_BYTES // per_row), skip)
        self.columns = SourceColumns(tuple(f"x{j}" for j in range(n_features)), target="label")

    def pieces(self) -> Iterator[Piece]:
        yield from map(SkippedPiece, self._left_out)
        for stamp, spans in self._spans:
            yield from (SvmlightPiece(stamp, span, self._format) for span in spans)

    @property
    def described(self) -> str:
        return described(self.stamps, "svmlight")

    @property
    def n_rows(self) -> int:
        return self._n_rows

    @property
    def n_bytes(self) -> int:
        return sum(stamp.size for stamp in self.stamps)

    @property
    def identity(self) -> str:
        return identity(self.stamps, "svmlight", self._given)


@dataclass(frozen=True)
class Format:
    """The options that all pieces share."""

    #: what the first column is called
    base: int
    n_features: int
    rows: int
    skip: bool

    def matrix(self, lines: Parsed) -> sparse.csr_array | sparse.csr_matrix:
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
    format: Format

    @property
    def name(self) -> str:
        return f"{self.stamp.name!r} from line {self.span.line} on"

    def chunks(self, skipped: list[str]) -> Iterator[Chunk]:
        chunks = self._chunks(skipped)
        return ahead(chunks) if is_compressed(self.stamp) else chunks

    def _chunks(self, skipped: list[str]) -> Iterator[Chunk]:
        for block in blocks_of(self.stamp, self.span):
            lines = parsed(block, self.stamp.name, self.format.skip, skipped)
            X = self.format.matrix(lines)
            for rows in row_blocks(lines.labels.size, self.format.rows):
                yield Chunk(X[rows], lines.labels[rows])


def _look_at(stamp: Stamp, skip: bool) -> SvmlightScan:
    looks = list(ordered_stream(partial(_look_at_block, stamp.name, skip), blocks_of(stamp, LineSpan(0, None, 1, 0))))
    return SvmlightScan(
        tuple(block for look in looks for block in look.counted),
        min((look.lowest for look in looks), default=1),
        max((look.highest for look in looks), default=0),
        sum(look.values for look in looks),
    )


def _look_at_block(file: str, skip: bool, block: Block) -> SvmlightScan:
    lines = parsed(block, file, skip, [])
    return SvmlightScan(
        (Counted(block.start, block.line, lines.labels.size),),
        min(1, int(lines.columns.min(initial=1))),
        int(lines.columns.max(initial=0)),
        lines.columns.size,
    )
