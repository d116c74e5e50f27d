"""Blocks of complete lines of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mercer._errors import DataError

#: largest number of bytes of a line, since a file may decompress to an endless line
MAX_LINE_BYTES = 1 << 26


def whole_lines(
    stream: Any, block_bytes: int, most: int | None = None, *, file: str, longest: int = MAX_LINE_BYTES
) -> Iterator[bytes]:
    """Yield the bytes of a stream, or its next `most` bytes, cut at line ends; the last line may have no end.

    A line of more than `longest` bytes raises an error that names the file.
    """
    rest = b""
    while block := bytes(stream.read(block_bytes if most is None else min(block_bytes, most))):
        most = None if most is None else most - len(block)
        lines, newline, after = block.rpartition(b"\n")
        if newline:
            yield rest + lines + newline
            rest = after
        else:
            rest += after
        if len(rest) > longest:
            raise DataError(
                f"{file!r} has a line of more than {longest:,} bytes, which is not a row of a table. Write each row in "
                "a separate line."
            )
    if rest:
        yield rest
