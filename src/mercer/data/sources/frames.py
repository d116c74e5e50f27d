"""Sources over lists of frames in memory: each frame is a piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mercer.data.readers.base import same_columns
from mercer.data.sources.base import Chunk, Piece, digest
from mercer.data.sources.contents import contents_digest
from mercer.data.sources.layout import Layout
from mercer.data.sources.options import OpenOptions
from mercer.data.sources.streams import table_of
from mercer.data.sources.tabular import TabularSource


class Frames(TabularSource):
    """Frames with the same columns, one below the other."""

    def __init__(self, frames: Sequence[Any], options: OpenOptions) -> None:
        self._options = options
        self._tables = [table_of(frame, f"Frame {number}") for number, frame in enumerate(frames)]
        first = list(self._tables[0].column_names)
        for number, table in enumerate(self._tables):
            same_columns(table.column_names, first, f"frame {number}", "frame 0")
        self.columns = options.columns(first)

    @cached_property
    def layout(self) -> Layout:
        types_by_place = [
            (f"frame {number}", dict(zip(table.column_names, table.schema.types, strict=True)))
            for number, table in enumerate(self._tables)
        ]
        return self._options.layout(self.columns, self._options.merge_types(types_by_place, self.columns))

    def pieces(self) -> Iterator[Piece]:
        names = self.layout.names
        for number, table in enumerate(self._tables):
            yield FramePiece(table.select(names), number, self.layout)

    @property
    def n_rows(self) -> int:
        return sum(table.num_rows for table in self._tables)

    @property
    def n_bytes(self) -> int:
        return sum(int(table.nbytes) for table in self._tables)

    @property
    def described(self) -> str:
        return f"{self.n_rows} rows in {len(self._tables)} frames" if len(self._tables) > 1 else f"{self.n_rows} rows"

    @cached_property
    def identity(self) -> str:
        return f"{self.described}, {digest(contents_digest(*self._tables), self._options)}"


@dataclass(frozen=True, eq=False)
class FramePiece(Piece):
    """One frame."""

    table: Any
    number: int
    layout: Layout

    @property
    def name(self) -> str:
        return f"frame {self.number}"

    def chunks(self, skipped: list[str]) -> Iterator[Chunk]:
        return self.layout.chunks([(0, self.table)], self.name, skipped)
