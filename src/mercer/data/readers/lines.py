"""Blocks of complete lines of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mercer._errors import DataError

#: bytes of a line: a file that decompresses to one without end would fill the memory
LONGEST_LINE = 1 << 26


def whole_lines(
    stream: Any, at_once: int, most: int | None = None, *, file: str, longest: int = LONGEST_LINE
) -> Iterator[bytes]:
    """Yield the bytes of a stream, or its next `most` bytes, cut at line ends; the last line may have no end.

    A line of more than `longest` bytes raises an error that names the file.
    """
    rest = b""
    while block := bytes(stream.read(at_once if most is None else min(at_once, most))):
        most = None if most is None else most - len(block)
        lines, newline, after = block.rpartition(b"\n")
        if newline:
            yield rest + lines + newline
            rest = after
        else:
            rest += after
        if len(rest) > longest:
            raise DataError(
                f"{file!r} has a line of more than {longest:,} bytes, which is no row of a table. Write each row in a "
                "line of its own."
            )
    if rest:
        yield rest
