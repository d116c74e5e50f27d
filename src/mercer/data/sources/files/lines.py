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

#: bytes of text that are parsed at once
BLOCK = 1 << 23
#: bytes of text of a piece, about
PIECE = 1 << 25


class Block(NamedTuple):
    """Complete lines."""

    lines: bytes
    #: where they begin in the file, or in what it decompresses to
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


class Counted(NamedTuple):
    """A block with its number of rows."""

    start: int
    line: int
    rows: int


def is_compressed(stamp: Stamp) -> bool:
    return stamp.path.lower().endswith(tuple(CODECS))


@dataclass(frozen=True)
class LinesOfFile(PartOfFile):
    """Consecutive lines of a file of any format."""

    span: LineSpan

    @property
    def name(self) -> str:
        return f"{self.stamp.name!r} from line {self.span.line} on"

    @property
    def alone(self) -> bool:
        return is_compressed(self.stamp)


def blocks_of(stamp: Stamp, span: LineSpan) -> Iterator[Block]:
    """Yield the lines of a part of a file in blocks; raise an error if the file changed before or meanwhile."""
    stamp.check()
    start, line = span.start, span.line
    for lines in _cut(stamp, span):
        yield Block(lines, start, line)
        start += len(lines)
        line += lines.count(b"\n")
    stamp.check()


def spans_of(blocks: Iterable[Counted], stamp: Stamp) -> tuple[LineSpan, ...]:
    """Join blocks to parts of suitable size; to one part if the file can only be decompressed as a whole."""
    spans: list[LineSpan] = []
    row = 0
    for start, line, rows in blocks:
        if not spans or (start - spans[-1].start >= PIECE and not is_compressed(stamp)):
            if spans:
                spans[-1] = spans[-1]._replace(stop=start)
            spans.append(LineSpan(start, None, line, row))
        row += rows
    return tuple(spans)


def _cut(stamp: Stamp, span: LineSpan) -> Iterator[bytes]:
    with _opened(stamp, span.start) as stream:
        most = None if span.stop is None else span.stop - span.start
        yield from whole_lines(stream, BLOCK, most, file=stamp.name)


@contextmanager
def _opened(stamp: Stamp, start: int) -> Iterator[Any]:
    import pyarrow as pa

    if not stamp.size:
        raise DataError(f"{stamp.name!r} is empty: it has no lines. Take it away, or write it again.")
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
