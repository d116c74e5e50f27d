"""Rows seen through a feature map, ψ(x) = Bᵀ t(x): the n × M numbers t are made tile by tile and never kept.

t(x) are kernels with M landmarks (Nyström) or M cosines (Fourier), and B is small: it is applied to coefficients, not
to rows. While a tile is in the cache it is multiplied from both sides, so that Zᵀ(Z v) is one pass (Rudi, Carratino and
Rosasco 2017).
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
from mercer.matrices._mapped_loops import there_and_back

#: bytes of a tile that is multiplied while it lies in the cache, and of one whose square is taken
TILE, SQUARED = 2**22, 2**24
#: of the memory that is left, what tiles may take that are kept from one pass to the next
SHARE = 0.25
#: rows whose sums are of float32
BOUNCED = 512
#: numbers of all tiles from which on float32 is worth it
WORTH_SINGLE = 4e6
#: error of a feature that spoils products by tiles of float32, and the one that shows when tᵀt is multiplied by B
FELT, CANCELS = 1e-2, 1e-6
#: sizes of t whose squares are numbers, and rows that tell the size
SMALLEST, LARGEST, LOOKED_AT = 1e-75, 1e75, 32
#: portion of a row's square that may be lost in tᵀt of float64
EXACT = 1e-14
#: fewest rows of a tile, and rows for which one thread uses the memory of its tile again
FEWEST, TURN = 32, 8192


class Tiles(Protocol):
    """t of all rows, made when asked for."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and numbers of each."""

    @property
    def rough(self) -> Any:
        """The type of tiles that will do for a preconditioner: float32 where errors of 1e-5 are all it costs."""

    def fill(self, rows: slice, out: Array) -> None:
        """t of some rows, in the precision of the memory given: float64, or `rough`."""

    def take(self, rows: Array) -> Tiles:
        """Of the rows at these positions."""


class RowCurve(Protocol):
    """W, a matrix of outputs for each row."""

    @property
    def diagonal(self) -> Array | None:
        """W where every output has a number of its own for each row."""

    def part(self, rows: slice) -> RowCurve: ...

    def times(self, V: Array) -> Array: ...


#: slopes of some rows from their values
Slopes = Callable[[slice, Array], Array]


@dataclass(frozen=True, eq=False)
class MappedDesign:
    """Z = [t B, 1]: rows × features, and a column of ones where there is an intercept."""

    tiles: Tiles
    back: Array | float
    intercept: bool = True

    @property
    def n_rows(self) -> int:
        return self.tiles.shape[0]

    #: what a product by rough tiles can tell from another one, in its own length
    digits = 1e-5

    @cached_property
    def rough(self) -> np.dtype[Any]:
        """float32 where a pass of float64 takes noticeably longer, and B does not make too much of what it rounds."""
        small = self.n_rows * self.tiles.shape[1] < WORTH_SINGLE
        spoilt = self._amplification * float(np.finfo(np.float32).eps) > FELT
        return np.dtype(np.float64 if small or spoilt else self.tiles.rough)

    @cached_property
    def _amplification(self) -> float:
        """How much larger an error of t is in a feature, both relative to what is large there."""
        if isinstance(self.back, np.ndarray):
            return float(np.linalg.norm(self.back, axis=0).max(initial=0.0)) * float(np.sqrt(self._size))
        return abs(self.back)

    @cached_property
    def _size(self) -> float:
        """About the largest |t|, from some rows."""
        tile = np.empty((min(LOOKED_AT, self.n_rows), self.tiles.shape[1]))
        self.tiles.fill(slice(0, len(tile)), tile)
        return float(np.abs(tile).max(initial=0.0))

    @property
    def n_features(self) -> int:
        return self.tiles.shape[1] if np.isscalar(self.back) else int(np.shape(self.back)[1])

    @property
    def n_columns(self) -> int:
        return self.n_features + self.intercept

    def take(self, rows: Array) -> MappedDesign:
        """The rows at these positions."""
        return replace(self, tiles=self.tiles.take(rows))

    def raw(self, w: Array) -> tuple[Array, Array]:
        """Coefficients of t, and the intercepts."""
        with blas_for(w.shape[1]):  # other threads would go on spinning while rows are read
            c = np.asarray(np.dot(self.back, w[: self.n_features]))
        return c, w[-1] if self.intercept else np.zeros(w.shape[1])

    def metric(self, w: Array) -> Array:
        """What the penalty is the square of: the coefficients of features, none of the intercept."""
        result = np.array(w)
        result[self.n_features :] = 0.0
        return result

    def times(self, w: Array) -> Array:
        """Z w, for w of shape (columns, outputs)."""
        c, level = self.raw(w)
        eta = np.empty((self.n_rows, w.shape[1]))

        def use(rows: slice, tile: Array) -> None:
            eta[rows] = tile @ c + level

        for _ in self._stream(use, np.dtype(np.float64), TILE):
            pass
        return eta

    def swept(self, w: Array, slopes: Slopes, *, exactly: bool = True) -> tuple[Array, Array]:
        """η = Z w, and Zᵀ g with the slopes g that the rows have there, in one pass; by rough tiles if not exactly."""
        return self._swept(w, slopes, np.dtype(np.float64 if exactly else self.rough))

    def swept_and_kept(self, w: Array, slopes: Slopes) -> tuple[MappedDesign, tuple[Array, Array]]:
        """`swept` by rough tiles, and the same design with these in memory from then on, where there is room."""
        n, M = self.tiles.shape
        if isinstance(self.tiles, KeptTiles) or n * M * self.rough.itemsize > SHARE * available_bytes():
            return self, self.swept(w, slopes, exactly=False)
        kept, squares = np.empty((n, M), self.rough), np.empty(n)

        def measured(rows: slice, eta: Array) -> Array:
            squares[rows] = np.einsum("ij,ij->i", kept[rows], kept[rows])  # while they are in the cache
            return slopes(rows, eta)

        result = self._swept(w, measured, self.rough, kept)
        return replace(self, tiles=KeptTiles(self.tiles, kept, squares)), result

    def _swept(self, w: Array, slopes: Slopes, dtype: np.dtype[Any], into: Array | None = None) -> tuple[Array, Array]:
        c, level = self.raw(w)
        eta, first = (np.empty((self.n_rows, w.shape[1])) for _ in range(2))
        c = c.astype(dtype, copy=False)

        def use(rows: slice, tile: Array) -> Array:
            eta[rows] = tile @ c + level
            first[rows] = slopes(rows, eta[rows])
            with np.errstate(over="ignore", invalid="ignore"):  # of a step that is too long, which is not taken
                return np.asarray(tile.T @ first[rows].astype(dtype, copy=False))

        total = np.zeros((self.tiles.shape[1], w.shape[1]))
        for part in self._stream(use, dtype, TILE, into=into):
            total += part
        return eta, self._turned(total, first)

    def curved(self, curve: RowCurve, w: Array, *, exactly: bool = False) -> Array:
        """Zᵀ W Z w, about: by rough tiles unless `exactly`, whose sums are of float64."""
        kept = isinstance(self.tiles, KeptTiles) and self.tiles.kept.dtype == np.float32
        if kept and curve.diagonal is not None and not exactly and w.shape[1] == 1:
            return self._bounced(curve.diagonal[:, 0], w)
        return self.swept(w, lambda rows, eta: curve.part(rows).times(eta), exactly=exactly)[1]

    def _bounced(self, h: Array, w: Array) -> Array:
        """`curved` of one output by the tiles in memory, as fast as these are read."""
        c, level = self.raw(w)
        single, bent = c[:, 0].astype(np.float32), np.empty(self.n_rows)
        kept: Array = self.tiles.kept  # type: ignore[attr-defined]

        def of_turn(turn: slice) -> Array:
            total = np.zeros(len(single))
            for block in row_blocks(turn.stop - turn.start, BOUNCED):
                rows = slice(turn.start + block.start, turn.start + block.stop)
                part = np.zeros(len(single), np.float32)
                there_and_back(kept[rows], single, level[0], h[rows], bent[rows], part)
                total += part
            return total

        total = np.zeros(len(single))
        for part in ordered_stream(of_turn, row_blocks(self.n_rows, TURN)):
            total += part
        return self._turned(total[:, None], bent[:, None])

    def gram(self, h: Array, some: Array | None = None, *, exactly: bool = False) -> Array:
        """Zᵀ diag(h) Z for h ≥ 0, by rough tiles unless `exactly`; of some rows if their numbers are given."""
        dtype = np.dtype(np.float64) if exactly else self.rough
        if some is not None and not (isinstance(self.tiles, KeptTiles) and self.tiles.kept.dtype == dtype):
            return self.take(some).gram(h, exactly=dtype == np.float64)
        # B on both sides of tᵀht is a third of the work, but digits that cancel there are lost
        lost = self._amplification * float(np.finfo(dtype).eps)
        cancels = lost > CANCELS if dtype == np.float32 else self._amplification * lost > EXACT
        cancels = cancels or not SMALLEST < self._size < LARGEST
        turned = np.asarray(self.back, dtype) if cancels and not np.isscalar(self.back) else None
        M = self.tiles.shape[1] if turned is None else self.n_features
        root = np.sqrt(h).astype(dtype)[:, None]

        def use(rows: slice, tile: Array) -> tuple[Array, Array]:
            tile = tile * root[rows] if turned is None else (tile @ turned) * root[rows]
            return square_of(tile), root[rows, 0] @ tile

        square, sums = np.zeros((M, M)), np.zeros(M)
        for part, along in self._stream(use, dtype, SQUARED, some):
            square += part
            sums += along
        return self._bordered(square, sums, float(h.sum()), self.back if turned is None else 1.0)

    def _bordered(self, square: Array, sums: Array, total: float, back: Array | float) -> Array:
        """[tB, 1]ᵀ diag(h) [tB, 1] from that of t."""
        p, r = self.n_columns, self.n_features
        gram = np.empty((p, p))
        gram[:r, :r] = np.dot(np.dot(np.transpose(back), square), back)
        if self.intercept:
            gram[-1, :r] = gram[:r, -1] = np.dot(np.transpose(back), sums)
            gram[-1, -1] = total
        return gram

    def _turned(self, total: Array, first: Array) -> Array:
        """Bᵀ tᵀ g, and the sums of g for the column of ones."""
        with blas_for(total.shape[1]), np.errstate(invalid="ignore"):  # sums beyond float32 of a step not taken
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
        """What is made of every tile: added up for the tiles of a turn, which share their memory, on all threads.

        Of some rows if their numbers are given; tiles stay in memory if there is some to put them into.
        """
        n, M = self.n_rows if some is None else len(some), self.tiles.shape[1]
        height = max(FEWEST, size // (dtype.itemsize * max(M, 1)))
        turns = row_blocks(n, max(height, min(TURN, -(-n // 8))))
        kept = self.tiles.kept if isinstance(self.tiles, KeptTiles) and dtype == self.tiles.rough else None

        def of_turn(turn: slice) -> Any:
            made = kept is None and into is None
            memory, total = np.empty((min(height, turn.stop - turn.start) if made else 0, M), dtype), None
            for block in row_blocks(turn.stop - turn.start, height):
                rows = slice(turn.start + block.start, turn.start + block.stop)
                if kept is None:
                    tile = memory[: block.stop - block.start] if into is None else into[rows]
                    self.tiles.fill(rows, tile)
                else:
                    tile = kept[rows if some is None else some[rows]]
                total = _added(total, use(rows, tile))
            return total

        return ordered_stream(of_turn, turns)


@dataclass(frozen=True, eq=False)
class KeptTiles:
    """Rough tiles that are made once; where these are of float32, those of float64 are made whenever asked for."""

    made: Tiles
    kept: Array
    squares: Array  # ‖t‖² of each row

    @property
    def shape(self) -> tuple[int, int]:
        return self.made.shape

    @property
    def rough(self) -> Any:
        return self.kept.dtype

    def fill(self, rows: slice, out: Array) -> None:
        if out.dtype == self.kept.dtype:
            out[...] = self.kept[rows]
        else:
            self.made.fill(rows, out)

    def take(self, rows: Array) -> KeptTiles:
        return KeptTiles(self.made.take(rows), self.kept[rows], self.squares[rows])


def _added(total: Any, part: Any) -> Any:
    """The sum, in float64, of arrays, of tuples of them, or of nothing."""
    if part is None:
        return None
    if isinstance(part, tuple):
        return tuple(_added(a, b) for a, b in zip(total or (None,) * len(part), part, strict=True))
    if total is None:
        return part.astype(np.float64)
    total += part
    return total
