"""Rows under a feature map, ψ(x) = Bᵀ t(x): the n × M matrix of t is computed tile by tile and not stored.

t(x) are kernels with M landmarks (Nyström) or M cosines (Fourier), and B is small: it is applied to coefficients, not
to rows. While a tile is in the cache it is multiplied from both sides, so that Zᵀ(Z v) takes one pass (Rudi, Carratino
and Rosasco 2017).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from mercer._jit.product import square as square_of
from mercer._memory import available_bytes
from mercer._threads import blas_for, ordered_stream, row_blocks
from mercer._typing import Array
from mercer.data.blocks import rows_per_block
from mercer.matrices._mapped_loops import add_curvature_product
from mercer.matrices.base import Matrix
from mercer.matrices.coordinates import Coordinates
from mercer.matrices.dense import ShiftedTile

#: bytes of a tile of which Xᵀ diag(h) X is computed
GRAM_TILE_BYTES = 2**24
#: rows whose products are added up in float32; the sums of such blocks are added in float64
SINGLE_SUM_ROWS = 512
#: error of a feature above which B is applied to the rows of tiles in float32, as tᵀt times B would cancel
LARGEST_SINGLE_GRAM_ERROR = 1e-6
#: relative error of a row's square above which B is applied to the rows of tiles in float64
LARGEST_DOUBLE_GRAM_ERROR = 1e-14
#: smallest |t| whose fourth power does not underflow
SMALLEST_SQUARED_FEATURE = 1e-75
#: largest |t| whose fourth power does not overflow
LARGEST_SQUARED_FEATURE = 1e75
#: rows from which the size of t is estimated
FEATURE_SIZE_ROWS = 32
#: rows of a tile, at least
MIN_MAPPED_TILE_ROWS = 32
#: rows that one thread computes in the memory of one tile
ROWS_PER_TURN = 8192


@dataclass(frozen=True)
class TileOptions:
    """Limits that decide how `MappedMatrix` computes and stores tiles."""

    #: bytes of a tile that is multiplied while it is in the cache
    bytes: int = 2**22
    #: numbers of all tiles from which float32 is faster
    single_from: float = 4e6
    #: relative error of a feature above which products by tiles of float32 are not useful
    largest_single_error: float = 1e-2
    #: share of the available memory that stored tiles may take
    stored_share: float = 0.25


class Tiles(Protocol):
    """The matrix of t(x), computed on demand."""

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""

    @property
    def rough(self) -> Any:
        """dtype that is precise enough for a preconditioner: float32 where its errors are about 1e-5."""

    def fill(self, rows: slice, out: Array) -> None:
        """Compute t of some rows in the dtype of `out`: float64, or `rough`."""

    def take(self, rows: Array) -> Tiles:
        """Return the tiles of the rows at these positions."""


class RowCurve(Protocol):
    """Curvature W of the loss: a matrix (outputs × outputs) for each row."""

    @property
    def diagonal(self) -> Array | None:
        """Diagonal of W (rows × outputs) if W is diagonal, else None."""

    def part(self, rows: slice) -> RowCurve: ...

    def matvec(self, V: Array) -> Array: ...


#: function from a block of rows and their η to the slopes of the loss
RowSlopes = Callable[[slice, Array], Array]


@dataclass(frozen=True, eq=False)
class MappedMatrix:
    """Z = [t B, 1]: rows × features, with a column of ones for the intercept."""

    tiles: Tiles
    back: Array | float
    intercept: bool = True
    options: TileOptions = TileOptions()

    @property
    def n_rows(self) -> int:
        return self.tiles.shape[0]

    #: relative precision of a product by rough tiles
    digits = 1e-5

    @cached_property
    def rough(self) -> np.dtype[Any]:
        """dtype of rough tiles: float32 if passes in float64 are noticeably slower and B amplifies errors little."""
        small = self.n_rows * self.tiles.shape[1] < self.options.single_from
        error = self._amplification * float(np.finfo(np.float32).eps)
        imprecise = error > self.options.largest_single_error
        return np.dtype(np.float64 if small or imprecise else self.tiles.rough)

    @cached_property
    def _amplification(self) -> float:
        """Ratio of the relative error of a feature to the relative error of t."""
        if isinstance(self.back, np.ndarray):
            return float(np.linalg.norm(self.back, axis=0).max(initial=0.0)) * float(np.sqrt(self._size))
        return abs(self.back)

    @cached_property
    def _size(self) -> float:
        """Largest |t| of some rows."""
        tile = np.empty((min(FEATURE_SIZE_ROWS, self.n_rows), self.tiles.shape[1]))
        self.tiles.fill(slice(0, len(tile)), tile)
        return float(np.abs(tile).max(initial=0.0))

    @property
    def n_features(self) -> int:
        return self.tiles.shape[1] if np.isscalar(self.back) else int(np.shape(self.back)[1])

    @property
    def n_columns(self) -> int:
        return self.n_features + self.intercept

    def take(self, rows: Array) -> MappedMatrix:
        """Return the rows at these positions."""
        return replace(self, tiles=self.tiles.take(rows))

    def raw(self, w: Array) -> tuple[Array, Array]:
        """Return the coefficients of t, and the intercepts."""
        with blas_for(w.shape[1]):  # BLAS threads would keep spinning while rows are read
            c = np.asarray(np.dot(self.back, w[: self.n_features]))
        return c, w[-1] if self.intercept else np.zeros(w.shape[1])

    def metric(self, w: Array) -> Array:
        """Product of w with the matrix of the penalty: the identity for features, 0 for the intercept."""
        result = np.array(w)
        result[self.n_features :] = 0.0
        return result

    def matvec(self, w: Array) -> Array:
        """Z w, for w of shape (columns, outputs)."""
        c, level = self.raw(w)
        eta = np.empty((self.n_rows, w.shape[1]))

        def use(rows: slice, tile: Array) -> None:
            eta[rows] = tile @ c + level

        for _ in self._stream(use, np.dtype(np.float64), self.options.bytes):
            pass
        return eta

    def swept(self, w: Array, slopes: RowSlopes, *, exactly: bool = True) -> tuple[Array, Array]:
        """η = Z w and Zᵀ g for the slopes g at η, in one pass; by rough tiles unless `exactly`."""
        return self._swept(w, slopes, np.dtype(np.float64 if exactly else self.rough))

    def swept_and_kept(self, w: Array, slopes: RowSlopes) -> tuple[MappedMatrix, tuple[Array, Array]]:
        """`swept` by rough tiles, and the design with these tiles stored, if memory allows."""
        n, M = self.tiles.shape
        needed = n * M * self.rough.itemsize
        if isinstance(self.tiles, KeptTiles) or needed > self.options.stored_share * available_bytes():
            return self, self.swept(w, slopes, exactly=False)
        kept, squares = np.empty((n, M), self.rough), np.empty(n)

        def measure(rows: slice, eta: Array) -> Array:
            squares[rows] = np.einsum("ij,ij->i", kept[rows], kept[rows])  # while they are in the cache
            return slopes(rows, eta)

        result = self._swept(w, measure, self.rough, kept)
        return replace(self, tiles=KeptTiles(self.tiles, kept, squares)), result

    def _swept(
        self, w: Array, slopes: RowSlopes, dtype: np.dtype[Any], into: Array | None = None
    ) -> tuple[Array, Array]:
        c, level = self.raw(w)
        eta, first = (np.empty((self.n_rows, w.shape[1])) for _ in range(2))
        c = c.astype(dtype, copy=False)

        def use(rows: slice, tile: Array) -> Array:
            eta[rows] = tile @ c + level
            first[rows] = slopes(rows, eta[rows])
            with np.errstate(over="ignore", invalid="ignore"):  # at a trial step that is too long and will be rejected
                return np.asarray(tile.T @ first[rows].astype(dtype, copy=False))

        total = np.zeros((self.tiles.shape[1], w.shape[1]))
        for part in self._stream(use, dtype, self.options.bytes, into=into):
            total += part
        return eta, self._map_back(total, first)

    def curved(self, curve: RowCurve, w: Array, *, exactly: bool = False) -> Array:
        """Zᵀ W Z w, by rough tiles unless `exactly`; sums over tiles are in float64."""
        kept = isinstance(self.tiles, KeptTiles) and self.tiles.kept.dtype == np.float32
        if kept and curve.diagonal is not None and not exactly and w.shape[1] == 1:
            return self._curved_by_stored_tiles(curve.diagonal[:, 0], w)
        return self.swept(w, lambda rows, eta: curve.part(rows).matvec(eta), exactly=exactly)[1]

    def _curved_by_stored_tiles(self, h: Array, w: Array) -> Array:
        """`curved` for one output by stored tiles of float32, at the speed of memory."""
        c, level = self.raw(w)
        single, bent = c[:, 0].astype(np.float32), np.empty(self.n_rows)
        kept: Array = self.tiles.kept  # type: ignore[attr-defined]

        def sum_turn(turn: slice) -> Array:
            total = np.zeros(len(single))
            for block in row_blocks(turn.stop - turn.start, SINGLE_SUM_ROWS):
                rows = slice(turn.start + block.start, turn.start + block.stop)
                part = np.zeros(len(single), np.float32)
                add_curvature_product(kept[rows], single, level[0], h[rows], bent[rows], part)
                total += part
            return total

        total = np.zeros(len(single))
        for part in ordered_stream(sum_turn, row_blocks(self.n_rows, ROWS_PER_TURN)):
            total += part
        return self._map_back(total[:, None], bent[:, None])

    def gram(self, h: Array, some: Array | None = None, *, exactly: bool = False) -> Array:
        """Zᵀ diag(h) Z for h ≥ 0, by rough tiles unless `exactly`; of the rows at the positions `some`, if given."""
        dtype = np.dtype(np.float64) if exactly else self.rough
        if some is not None and not (isinstance(self.tiles, KeptTiles) and self.tiles.kept.dtype == dtype):
            return self.take(some).gram(h, exactly=dtype == np.float64)
        # Bᵀ(tᵀht)B is a third of the work of (tB)ᵀh(tB), but may cancel
        error = self._amplification * float(np.finfo(dtype).eps)
        cancels = (
            error > LARGEST_SINGLE_GRAM_ERROR
            if dtype == np.float32
            else self._amplification * error > LARGEST_DOUBLE_GRAM_ERROR
        )
        cancels = cancels or not SMALLEST_SQUARED_FEATURE < self._size < LARGEST_SQUARED_FEATURE
        back = np.asarray(self.back, dtype) if cancels and not np.isscalar(self.back) else None
        M = self.tiles.shape[1] if back is None else self.n_features
        root = np.sqrt(h).astype(dtype)[:, None]

        def use(rows: slice, tile: Array) -> tuple[Array, Array]:
            tile = tile * root[rows] if back is None else (tile @ back) * root[rows]
            return square_of(tile), root[rows, 0] @ tile

        square, sums = np.zeros((M, M)), np.zeros(M)
        for part, part_sums in self._stream(use, dtype, GRAM_TILE_BYTES, some):
            square += part
            sums += part_sums
        return self._with_border(square, sums, float(h.sum()), self.back if back is None else 1.0)

    def _with_border(self, square: Array, sums: Array, total: float, back: Array | float) -> Array:
        """[tB, 1]ᵀ diag(h) [tB, 1] from tᵀ diag(h) t, tᵀ h and Σ h."""
        p, r = self.n_columns, self.n_features
        gram = np.empty((p, p))
        gram[:r, :r] = np.dot(np.dot(np.transpose(back), square), back)
        if self.intercept:
            gram[-1, :r] = gram[:r, -1] = np.dot(np.transpose(back), sums)
            gram[-1, -1] = total
        return gram

    def _map_back(self, total: Array, first: Array) -> Array:
        """Bᵀ tᵀ g, and the sums of g for the column of ones."""
        with blas_for(total.shape[1]), np.errstate(invalid="ignore"):  # float32 may overflow at a rejected trial step
            inside = np.asarray(np.dot(np.transpose(self.back), total))
        return np.vstack([inside, first.sum(axis=0)]) if self.intercept else inside

    def _stream(
        self,
        use: Callable[[slice, Array], Any],
        dtype: Any,
        size: int,
        some: Array | None = None,
        into: Array | None = None,
    ) -> Any:
        """Apply `use` to every tile on all threads; yield the sums over the tiles of a turn, which share their memory.

        The rows are those at the positions `some`, if given; tiles are stored in `into`, if given.
        """
        n, M = self.n_rows if some is None else len(some), self.tiles.shape[1]
        height = max(MIN_MAPPED_TILE_ROWS, size // (dtype.itemsize * max(M, 1)))
        turns = row_blocks(n, max(height, min(ROWS_PER_TURN, -(-n // 8))))
        kept = self.tiles.kept if isinstance(self.tiles, KeptTiles) and dtype == self.tiles.rough else None

        def sum_turn(turn: slice) -> Any:
            needs_memory = kept is None and into is None
            memory, total = np.empty((min(height, turn.stop - turn.start) if needs_memory else 0, M), dtype), None
            for block in row_blocks(turn.stop - turn.start, height):
                rows = slice(turn.start + block.start, turn.start + block.stop)
                if kept is None:
                    tile = memory[: block.stop - block.start] if into is None else into[rows]
                    self.tiles.fill(rows, tile)
                else:
                    tile = kept[rows if some is None else some[rows]]
                total = _add_up(total, use(rows, tile))
            return total

        return ordered_stream(sum_turn, turns)


@dataclass(frozen=True, eq=False)
class TileMatrix(Matrix):
    """Rows start…stop of the matrix of t(x), computed when they are multiplied."""

    tiles_of_rows: Tiles
    start: int
    stop: int
    coordinates: Coordinates

    @classmethod
    def of(cls, tiles: Tiles) -> TileMatrix:
        """Return all rows."""
        return cls(tiles, 0, tiles.shape[0], Coordinates.plain(tiles.shape[1], intercept=False))

    @property
    def n_rows(self) -> int:
        return self.stop - self.start

    @property
    def most_rows(self) -> int:
        return rows_per_block(self.n_columns, TileOptions.bytes)

    def rows(self, rows: slice) -> TileMatrix:
        start, stop, _ = rows.indices(self.n_rows)
        return replace(self, start=self.start + start, stop=self.start + stop)

    def take(self, rows: Array) -> TileMatrix:
        return TileMatrix.of(self.tiles_of_rows.take(self.start + rows)).within(self.coordinates)

    def within(self, coordinates: Coordinates) -> TileMatrix:
        return replace(self, coordinates=coordinates)

    def tile(self) -> ShiftedTile:
        shift, scale, width = self.coordinates.shift, self.coordinates.scale, len(self.coordinates.shift)
        values = np.ones((self.n_rows, self.n_columns))
        self.tiles_of_rows.fill(slice(self.start, self.stop), values[:, :width])
        if not self.coordinates.is_plain:
            values[:, :width] = (values[:, :width] - shift) / scale
        return ShiftedTile(values)


@dataclass(frozen=True, eq=False)
class KeptTiles:
    """Stored rough tiles; tiles of another dtype are computed by `source`."""

    source: Tiles
    kept: Array
    #: ‖t‖² of each row
    squares: Array

    @property
    def shape(self) -> tuple[int, int]:
        return self.source.shape

    @property
    def rough(self) -> Any:
        return self.kept.dtype

    def fill(self, rows: slice, out: Array) -> None:
        if out.dtype == self.kept.dtype:
            out[...] = self.kept[rows]
        else:
            self.source.fill(rows, out)

    def take(self, rows: Array) -> KeptTiles:
        return KeptTiles(self.source.take(rows), self.kept[rows], self.squares[rows])


def _add_up(total: Any, part: Any) -> Any:
    """Add an array, a tuple of arrays, or None to a total in float64, which is None at the beginning."""
    if part is None:
        return None
    if isinstance(part, tuple):
        return tuple(_add_up(a, b) for a, b in zip(total or (None,) * len(part), part, strict=True))
    if total is None:
        return part.astype(np.float64)
    total += part
    return total
