"""Sources over what is in memory already, or mapped into it: arrays, memory maps, sparse matrices, frames."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._threads import row_blocks
from mercer.data.sources.base import CHUNK_BYTES, Array, Chunk, Columns, Piece, Source


@dataclass(frozen=True, eq=False)
class HeldPiece(Piece):
    """Rows that are at hand."""

    chunk: Chunk
    place: str

    @property
    def name(self) -> str:
        return self.place

    def chunks(self, skipped: list[str]) -> Iterator[Chunk]:
        yield self.chunk


class InMemory(Source):
    """Rows of an array, a memory map, a sparse matrix or a frame, with what goes with them.

    Examples
    --------
    >>> import numpy as np
    >>> source = InMemory(np.arange(6.0).reshape(3, 2), np.array([0, 1, 1]), rows=2)
    >>> [chunk.X.shape for chunk in source]
    [(2, 2), (1, 2)]
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        weight: Array | None = None,
        offset: Array | None = None,
        *,
        names: tuple[str, ...] | None = None,
        rows: int | None = None,
    ) -> None:
        self._all = Chunk(X, y, weight, offset)
        self.columns = Columns(names or tuple(f"x{j}" for j in range(X.shape[1])))
        self._rows = rows or max(1, CHUNK_BYTES // (8 * max(1, X.shape[1])))

    def pieces(self) -> Iterator[Piece]:
        for rows in row_blocks(self.n_rows, self._rows):
            cut = (None if part is None else part[rows] for part in self._all)
            yield HeldPiece(Chunk(*cut), f"rows {rows.start} to {rows.stop - 1}")

    @property
    def n_rows(self) -> int:
        return self._all.n_rows

    @property
    def n_bytes(self) -> int:
        return int(getattr(self._all.X, "nbytes", 8 * np.prod(self._all.X.shape)))

    @property
    def described(self) -> str:
        return f"{self.n_rows} rows in memory"
