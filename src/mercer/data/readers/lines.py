"""Whole lines of a stream, some at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def whole_lines(stream: Any, at_once: int, most: int | None = None) -> Iterator[bytes]:
    """The bytes of a stream, or the next `most` of them, cut where lines end; the last line may have no end."""
    rest = b""
    while block := bytes(stream.read(at_once if most is None else min(at_once, most))):
        most = None if most is None else most - len(block)
        lines, newline, after = block.rpartition(b"\n")
        if newline:
            yield rest + lines + newline
            rest = after
        else:
            rest += after
    if rest:
        yield rest
