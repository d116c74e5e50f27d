"""Sources over data in memory or mapped into it: arrays, memory maps, sparse matrices, frames."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from mercer._errors import DataError
from mercer._threads import row_blocks
from mercer._typing import Array
from mercer.data.sources.base import CHUNK_BYTES, Chunk, Piece, Source, SourceColumns, digest
from mercer.data.sources.contents import contents_digest
from mercer.data.sources.files.stamps import Stamp


@dataclass(frozen=True, eq=False)
class HeldPiece(Piece):
    """Rows in memory."""

    chunk: Chunk
    place: str

    @property
    def name(self) -> str:
        return self.place

    def chunks(self, skipped: list[str]) -> Iterator[Chunk]:
        yield self.chunk


@dataclass(frozen=True, eq=False)
class MemoryMapPiece(Piece):
    """Rows of a memory-mapped file; their position in the file is pickled, not their values."""

    stamp: Stamp
    dtype: Any
    offset: int
    shape: tuple[int, ...]
    order: Any
    rows: slice
    #: targets, weights and offsets; its X is None
    others: Chunk

    @property
    def name(self) -> str:
        return f"rows {self.rows.start} to {self.rows.stop - 1} of {self.stamp.name!r}"

    def chunks(self, skipped: list[str]) -> Iterator[Chunk]:
        self.stamp.check()
        X = np.memmap(self.stamp.path, self.dtype, "r", self.offset, self.shape, self.order)
        yield self.others._replace(X=X[self.rows])


class MemorySource(Source):
    """Rows of an array, a memory map, a sparse matrix or a frame, with targets, weights and offsets.

    Examples
    --------
    >>> import numpy as np
    >>> source = MemorySource(np.arange(6.0).reshape(3, 2), np.array([0, 1, 1]), rows=2)
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
        if isinstance(X, list | tuple):
            X = np.asarray(X)
        if sparse.issparse(X):
            X = X.tocsr()  # type: ignore[attr-defined]
        if len(getattr(X, "shape", (0, 0))) != 2:
            raise DataError(
                f"X has the shape {X.shape}, but a table has rows and columns. Reshape it, with X.reshape(-1, 1) for a "
                "single column."
            )
        self._all = Chunk(X, *(None if part is None else np.asarray(part) for part in (y, weight, offset)))
        for what, part in zip(("y", "weight", "offset"), self._all[1:], strict=True):
            if part is not None and len(part) != self.n_rows:
                raise DataError(f"X has {self.n_rows} rows, but {what} {len(part)}; give one for each row.")
        self._frame = None if isinstance(X, np.ndarray) or sparse.issparse(X) else _table(X)
        if names is None and self._frame is not None:
            names = self._frame.names
        self.columns = SourceColumns(names or tuple(f"x{j}" for j in range(X.shape[1])))
        self._rows = rows or max(1, CHUNK_BYTES // (8 * max(1, X.shape[1])))
        self._stamp = Stamp.of(X.filename) if _is_whole_map(X) else None

    def pieces(self) -> Iterator[Piece]:
        X = self._all.X
        for rows in row_blocks(self.n_rows, self._rows):
            others = Chunk(None, *(None if part is None else part[rows] for part in self._all[1:]))
            if self._stamp is not None:
                order = "C" if X.flags.c_contiguous else "F"
                yield MemoryMapPiece(self._stamp, X.dtype, X.offset, X.shape, order, rows, others)
            else:
                cut = X[rows] if self._frame is None else self._frame.rows(rows).native
                yield HeldPiece(others._replace(X=cut), f"rows {rows.start} to {rows.stop - 1}")

    @property
    def n_rows(self) -> int:
        return self._all.n_rows

    @property
    def n_bytes(self) -> int:
        X = self._all.X
        if isinstance(X, np.ndarray):
            return int(X.nbytes)
        held = (X.data, X.indices, X.indptr) if self._frame is None else ()
        return sum(int(part.nbytes) for part in held) if held else int(8 * np.prod(X.shape))

    @property
    def described(self) -> str:
        return f"{self.n_rows} rows in memory" if self._stamp is None else f"{self.n_rows} rows of {self._stamp.name!r}"

    @cached_property
    def identity(self) -> str:
        """Digest of all values, which takes less time than a pass; a memory-mapped file is not read for it."""
        held = None if self._stamp is not None else self._all.X
        return (
            f"{self.described}, {digest(self.columns, self._rows, self._stamp, contents_digest(held, *self._all[1:]))}"
        )


def _table(X: Any) -> Any:
    from mercer.data.table import Table

    return Table.of(X, dates=True)


def _is_whole_map(X: Any) -> bool:
    """Return whether an array is a whole memory map; slices do not hold their position in the file."""
    return isinstance(X, np.memmap) and isinstance(X.base, mmap.mmap) and X.filename is not None and X.mode != "c"
