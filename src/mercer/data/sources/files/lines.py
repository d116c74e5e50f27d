"""Parts of files of lines, cut at line ends, which threads or machines read independently."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from mercer._errors import DataError
from mercer.data.readers.base import what_failed
from mercer.data.readers.lines import whole_lines
from mercer.data.readers.separated import CODECS
from mercer.data.sources.files.base import PartOfFile
from mercer.data.sources.files.stamps import Stamp


class Block(NamedTuple):
    """Complete lines."""

    lines: bytes
    #: their position in the file, or in its decompressed contents
    start: int
    #: number of the first line, from 1
    line: int


class LineSpan(NamedTuple):
    """A range of bytes of a file that begins and ends at line ends; the whole file if `stop` is None."""

    start: int
    stop: int | None
    #: number of its first line, and of its first row
    line: int
    row: int


class CountedBlock(NamedTuple):
    """A block with its number of rows."""

    start: int
    line: int
    rows: int


def is_compressed(stamp: Stamp) -> bool:
    """Return whether a file is compressed, by its ending."""
    return stamp.path.lower().endswith(tuple(CODECS))


@dataclass(frozen=True)
class LinesOfFile(PartOfFile):
    """Consecutive lines of a file of any format."""

    span: LineSpan

    @property
    def name(self) -> str:
        return f"{self.stamp.name!r} from line {self.span.line} on"

    @property
    def is_whole_file(self) -> bool:
        return is_compressed(self.stamp)


def blocks_of(stamp: Stamp, span: LineSpan, block_bytes: int) -> Iterator[Block]:
    """Yield the lines of a part of a file in blocks; raise an error if the file has changed before or meanwhile."""
    stamp.check()
    start, line = span.start, span.line
    with _opened(stamp, span.start) as stream:
        most = None if span.stop is None else span.stop - span.start
        for lines in whole_lines(stream, block_bytes, most, file=stamp.name):
            yield Block(lines, start, line)
            start += len(lines)
            line += lines.count(b"\n")
    stamp.check()


def spans_of(blocks: Iterable[CountedBlock], stamp: Stamp, piece_bytes: int) -> tuple[LineSpan, ...]:
    """Join blocks to parts of about `piece_bytes`, or to one part if the file can only be decompressed as a whole."""
    spans: list[LineSpan] = []
    row = 0
    for start, line, rows in blocks:
        if not spans or (start - spans[-1].start >= piece_bytes and not is_compressed(stamp)):
            if spans:
                spans[-1] = spans[-1]._replace(stop=start)
            spans.append(LineSpan(start, None, line, row))
        row += rows
    return tuple(spans)


@contextmanager
def _opened(stamp: Stamp, start: int) -> Iterator[Any]:
    import pyarrow as pa

    if not stamp.size:
        raise DataError(f"{stamp.name!r} is empty: it has no lines. Remove it, or write it again.")
    try:
        with pa.input_stream(stamp.path) as stream:
            if is_compressed(stamp):
                stream.read(start)
            else:
                stream.seek(start)
            yield stream
    except (OSError, pa.ArrowException) as failure:
        stamp.check()
        raise DataError(f"{stamp.name!r} cannot be read: {what_failed(failure)}.") from None
