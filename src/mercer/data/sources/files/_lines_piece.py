"""A piece of a file of lines, whatever they are written in."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mercer.data.sources.ahead import ahead
from mercer.data.sources.base import Chunk, Piece
from mercer.data.sources.files.lines import Span, is_compressed
from mercer.data.sources.files.stamps import Stamp
from mercer.data.sources.layout import Layout


@dataclass(frozen=True)
class LinesOfFile(Piece):
    """Consecutive lines of a file."""

    stamp: Stamp
    span: Span
    layout: Layout

    @property
    def name(self) -> str:
        return f"{self.stamp.name!r} from line {self.span.line} on"

    def chunks(self, skipped: list[str]) -> Iterator[Chunk]:
        chunks = self.layout.chunks(self._tables(skipped), repr(self.stamp.name), skipped)
        # where there is no other piece to read meanwhile
        return ahead(chunks) if is_compressed(self.stamp) else chunks

    @abstractmethod
    def _tables(self, skipped: list[str]) -> Iterator[tuple[int, Any]]:
        """The number of the first row, and the rows, block by block."""
