"""Kernel matrices, tile by tile: whole, some rows of them, or times a vector without the matrix.

Tiles are cut by their size alone and sums are taken in their order, so that nothing depends on the number of threads.
`GivenMatrix` has the same interface for a matrix that is in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from functools import partial
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from mercer._errors import AsymmetricKernelError, DataError
from mercer._jit.gram import mirror
from mercer._threads import ordered_stream, row_blocks
from mercer._typing import Array
from mercer.kernels.base import Kernel, compute_finite_diagonal
from mercer.kernels.row_loops import add_rows
from mercer.kernels.views import PointRows, Views, estimate_rounding_error

A = TypeVar("A")
T = TypeVar("T")
Cut = tuple[slice, slice]

#: rows and columns of a tile, which stays in the L2 cache
GRAM_TILE_SIDE = 320
#: tiles that a thread takes at a time: handing over a single one takes as long as computing it
TILES_PER_TURN = 8
#: whole rows are computed in pieces whose width is a multiple of this
PIECE_COLUMNS = 1000
#: number of pieces of whole rows, about
MIN_PIECES = 4
#: entries of whole rows up to which they are one piece: handing one over takes as long as computing 100,000 entries
MAX_ENTRIES_OF_ONE_PIECE = GRAM_TILE_SIDE**2
#: products up to which OpenBLAS starts no threads
MAX_PRODUCTS_OF_ONE_THREAD = 1 << 18
#: rows that are summed at once
SUM_BLOCK = 1024
#: least number of columns that is worth a thread of its own
MIN_THREAD_COLUMNS = 128
#: relative difference of k(x, z) and k(z, x) that may be rounding
KERNEL_SYMMETRY_TOLERANCE = 1e-8


class Gram:
    """The matrix k(X, Z), or k(X, X), which is never in memory as a whole unless `matrix` is called.

    Parameters
    ----------
    kernel : Kernel
        Kernel that compares two rows.
    X : array of shape (n, d), sparse matrix, or sequence
        Rows of the matrix.
    Z : like X or Views, default=None
        Columns of the matrix; None means X. Views keep what is computed of them for the next matrix.
    tolerance : float, default=0
        Allowed error of an entry, relative to √(k(x, x) k(z, z)): tiles are in float32 if their errors stay below it.
        Sums are always in float64.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Gram(Linear(), [[1.0], [2.0]]).matvec(np.array([1.0, 1.0]))
    array([3., 6.])
    """

    def __init__(self, kernel: Kernel, X: Any, Z: Any = None, *, tolerance: float = 0.0) -> None:
        right = Z if isinstance(Z, Views) else Views(X if Z is None else Z)
        self.kernel, self.square = kernel, Z is None
        self._right: Any = kernel.prepared(right)
        self._left: Any = self._right if Z is None else kernel.prepared(Views(X, like=right))
        diagonals = [compute_finite_diagonal(kernel, side) for side in self._sides_to_check()]
        self._diagonal = diagonals[0] if self.square else np.zeros(0)
        self.dtype: np.dtype[Any] = np.dtype(np.float64)
        sensitivity = kernel.sensitivity(self._left, self._right) if tolerance > 0 else np.inf
        enough = estimate_rounding_error(sensitivity, np.float32) <= tolerance
        if enough and all(kernel.fits_single(side) for side in (self._left, self._right)):
            exact = copy(self)
            self._make_exact: Callable[[], Gram] = lambda: exact
            self._switch_to_float32()

    @property
    def shape(self) -> tuple[int, int]:
        return len(self._left), len(self._right)

    def _sides_to_check(self) -> list[Any]:
        """Return the sides whose k(x, x) is needed, or may overflow; functions and kernels of texts check their own
        values.
        """
        if self.square:
            return [self._right]
        is_checked = self.kernel.numeric and self.kernel.symmetric and not self.kernel.bounded
        return [self._left, self._right] if is_checked else []

    def _switch_to_float32(self) -> None:
        self.dtype = np.dtype(np.float32)
        self._right = self._right.single()
        self._left = self._right if self.square else self._left.single()

    def exact(self) -> Gram:
        """Return the same matrix in tiles of float64."""
        return self if self.dtype == np.float64 else self._make_exact()

    def part(self, rows: Any, columns: Any = None) -> Gram:
        """Return the matrix of some rows and columns, by position; without columns, of the rows with themselves.

        The prepared rows are shared.
        """
        part = copy(self)
        part._make_exact = lambda: self.exact().part(rows, columns)
        part.square = self.square and columns is None
        part._left = self._left.take(rows)
        part._right = part._left if part.square else self._right.take(rows if columns is None else columns)
        part._diagonal = self._diagonal[rows] if part.square else np.zeros(0)
        return part

    @property
    def diagonal(self) -> Array:
        """k(x, x) for the rows of X; only for a matrix of X with itself."""
        return self._diagonal

    def tile(self, rows: Any, columns: slice) -> Array:
        """Return some rows (a slice or their positions) of some columns."""
        memo: dict[Any, Array] | None = {} if self.kernel.parts else None
        tile = self.kernel.tile(self._left.take(rows), self._right.take(columns), memo)
        if self._is_triangular:
            if isinstance(rows, slice) and rows == columns:
                mirror(tile)
            self._set_diagonal(tile, rows, columns)
        return tile

    def fill(self, rows: slice, out: Array) -> None:
        """Write all columns of some rows of k(X, Z) into memory that the caller reuses, on the calling thread."""
        self.kernel.fill_tile(self._left.take(rows), self._right, out)

    def rows(self, rows: Any) -> Array:
        """Return some rows (a slice or their positions), of all columns."""
        n, m = self.shape
        numbers = np.arange(n)[rows]
        result = np.empty((len(numbers), m), self.dtype)
        cuts = [(a, b) for a in row_blocks(len(numbers), GRAM_TILE_SIDE) for b in row_blocks(m, GRAM_TILE_SIDE)]

        def fill(cut: Cut) -> None:
            result[cut] = self.tile(numbers[cut[0]], cut[1])

        for _ in self._stream(fill, cuts):
            pass
        return result

    def put_rows(self, numbers: Array, kept: Array, slots: Array) -> None:
        """Write rows, by their positions, into slots of the caller's array, which has the same type."""
        left, pieces = self._left.take(numbers), self._pieces()
        if len(numbers) * len(self._right) <= MAX_ENTRIES_OF_ONE_PIECE:
            self.kernel.put_tile(left, self._right, kept, slots, 0)
        elif len(pieces) > 1:
            self._run(lambda b: self.kernel.put_tile(left, self._right.take(b), kept, slots, b.start), pieces)
        else:
            halves = row_blocks(len(numbers), -(-len(numbers) // 2))
            self._run(lambda a: self.kernel.put_tile(left.take(a), self._right, kept, slots[a], 0), halves)

    def add_rows(self, numbers: Array, factors: Array, total: Array) -> None:
        """Add Σ factor · row to a total of float64, for rows by their positions; the rows are not kept."""
        for some in row_blocks(len(numbers), SUM_BLOCK):
            left, part = self._left.take(numbers[some]), factors[some]
            self._run(partial(self._add_piece, left, part, total), self._pieces())

    def _add_piece(self, left: Any, factors: Array, total: Array, columns: slice) -> None:
        self.kernel.add_tile(left, self._right.take(columns), factors, total[columns])

    def matrix(self) -> Array:
        """Return the whole matrix; k(X) is exactly symmetric, and an asymmetric user's function raises
        `AsymmetricKernelError`.
        """
        result = np.empty(self.shape, self.dtype)

        def fill(cut: Cut) -> None:
            rows, columns = cut
            result[rows, columns] = tile = self.tile(rows, columns)
            if self._is_triangular and rows != columns:
                result[columns, rows] = tile.T

        for _ in self._stream(fill, self._cuts(half=self._is_triangular)):
            pass
        return _symmetrize(result, self.kernel) if self.square and not self._is_triangular else result

    def matvec(self, v: Any) -> Array:
        """Compute k(X, Z) v, for a vector or a matrix of several, by tiles."""
        v = np.asarray(v, dtype=float)
        if v.ndim not in (1, 2) or len(v) != self.shape[1]:
            raise DataError(
                f"v has shape {v.shape}, but the kernel matrix has {self.shape[1]} columns; give one row for each."
            )
        if v.shape[1:] in ((), (1,)) and self.kernel.symmetric and not self.square:
            return self._times_vector(v.ravel()).reshape(-1, *v.shape[1:])
        result, cuts = np.zeros((self.shape[0], *v.shape[1:])), self._cuts(half=self._is_triangular)

        def part(cut: Cut) -> tuple[Array, Array | None]:
            rows, columns = cut
            tile = self.tile(rows, columns).astype(float, copy=False)
            return tile @ v[columns], tile.T @ v[rows] if self._is_triangular and rows != columns else None

        for (rows, columns), (direct, mirrored) in zip(cuts, self._stream(part, cuts), strict=True):
            result[rows] += direct
            if mirrored is not None:
                result[columns] += mirrored
        return result

    def _times_vector(self, v: Array) -> Array:
        """Compute k(X, Z) v of a symmetric kernel, by sums of the rows of k(Z, X), whose entries stay in the cache."""
        n, m = self.shape
        total = np.zeros(n)

        def add(rows: slice) -> None:
            left = self._left.take(rows)
            for columns in row_blocks(m, SUM_BLOCK):
                self.kernel.add_tile(self._right.take(columns), left, v[columns], total[rows])

        self._run(add, row_blocks(n, max(MIN_THREAD_COLUMNS, -(-n // MIN_PIECES))))
        return total

    def rmatvec(self, v: Any) -> Array:
        """Compute k(X, Z)ᵀ v, for a vector or a matrix of several, by tiles."""
        if self._is_triangular:
            return self.matvec(v)
        v = np.asarray(v, dtype=float)
        if v.ndim not in (1, 2) or len(v) != self.shape[0]:
            raise DataError(
                f"v has shape {v.shape}, but the kernel matrix has {self.shape[0]} rows; give one for each."
            )
        result, cuts = np.zeros((self.shape[1], *v.shape[1:])), self._cuts(half=False)
        parts = self._stream(lambda cut: self.tile(*cut).astype(float, copy=False).T @ v[cut[0]], cuts)
        for (_, columns), part in zip(cuts, parts, strict=True):
            result[columns] += part
        return result

    def tiles(self) -> Iterator[tuple[slice, slice, Array]]:
        """Yield every tile with its rows and columns, in order, a few at once."""
        cuts = self._cuts(half=False)
        for (rows, columns), tile in zip(cuts, self._stream(lambda cut: self.tile(*cut), cuts), strict=True):
            yield rows, columns, tile

    def lower(self, use: Callable[[slice, slice, Array], T]) -> Iterator[T]:
        """Yield the result of `use` for the tiles on and below the diagonal of k(X, X), in order, on all threads."""
        return self._stream(lambda cut: use(*cut, self.tile(*cut)), self._cuts(half=True))

    @property
    def _is_tiny(self) -> bool:
        """Return whether the products of the rows are so few that BLAS has one thread for them in any case."""
        n, m = self.shape
        return isinstance(self._right, PointRows) and n * m * self._right.columns <= MAX_PRODUCTS_OF_ONE_THREAD

    @property
    def _is_triangular(self) -> bool:
        """Return whether one triangle determines the matrix."""
        return self.square and self.kernel.symmetric

    def _cuts(self, *, half: bool) -> list[Cut]:
        """Return the tiles in the order of rows; with `half` only those on and below the diagonal."""
        n, m = self.shape
        every = ((rows, columns) for rows in row_blocks(n, GRAM_TILE_SIDE) for columns in row_blocks(m, GRAM_TILE_SIDE))
        return [cut for cut in every if not half or cut[1].start <= cut[0].start]

    def _pieces(self) -> list[slice]:
        """Return few pieces of all columns, whatever the number of threads."""
        m = self.shape[1]
        return row_blocks(m, max(PIECE_COLUMNS, -(-m // (MIN_PIECES * PIECE_COLUMNS)) * PIECE_COLUMNS))

    def _run(self, function: Callable[[slice], None], cuts: list[slice]) -> None:
        for _ in self._stream(function, cuts, turn=1):
            pass

    def _stream(self, function: Callable[[A], T], cuts: list[A], turn: int = TILES_PER_TURN) -> Iterator[T]:
        if self._is_tiny or not self.kernel.symmetric:  # a user's function may not be safe to call from several threads
            return map(function, cuts)
        turns = [cuts[cut] for cut in row_blocks(len(cuts), 1 if self.kernel.slow else turn)]
        return chain.from_iterable(ordered_stream(lambda turn: [function(cut) for cut in turn], turns))

    def _set_diagonal(self, tile: Array, rows: Any, columns: slice) -> None:
        numbers = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else np.asarray(rows)
        inside = (numbers >= columns.start) & (numbers < columns.stop)
        tile[inside, numbers[inside] - columns.start] = self._diagonal[numbers[inside]]


def _symmetrize(matrix: Array, kernel: Kernel) -> Array:
    off = np.abs(matrix - matrix.T)
    if off.size and off.max() > KERNEL_SYMMETRY_TOLERANCE * np.abs(matrix).max():
        i, j = map(int, np.unravel_index(np.argmax(off), off.shape))
        raise AsymmetricKernelError(
            f"{kernel!r} is {matrix[i, j]:.6g} for the rows {i} and {j}, but {matrix[j, i]:.6g} for {j} and {i}: "
            "an inner product does not depend on the order. Use (k(x, z) + k(z, x))/2 if the difference is not "
            "intended."
        )
    return np.asarray((matrix + matrix.T) / 2)


class GivenMatrix:
    """k(X, Z), or k(X, X), as a matrix in memory, with the interface of `Gram`.

    Examples
    --------
    >>> GivenMatrix(np.eye(3)).part([0, 2]).matvec(np.array([1.0, 2.0]))
    array([1., 2.])
    """

    def __init__(self, matrix: Array) -> None:
        self._matrix = np.ascontiguousarray(matrix)

    @property
    def shape(self) -> tuple[int, int]:
        return self._matrix.shape[0], self._matrix.shape[1]

    @property
    def dtype(self) -> Any:
        return self._matrix.dtype

    @property
    def diagonal(self) -> Array:
        return np.asarray(np.diagonal(self._matrix), dtype=float)

    def exact(self) -> GivenMatrix:
        """Return the matrix itself."""
        return self

    def part(self, rows: Any, columns: Any = None) -> GivenMatrix:
        """Return the matrix of some rows and columns, by position; without columns, of the rows with themselves."""
        return GivenMatrix(self._matrix[np.ix_(rows, rows if columns is None else columns)])

    def rows(self, numbers: Any) -> Array:
        """Return some rows, by their positions."""
        return np.asarray(self._matrix[numbers])

    def tile(self, rows: Any, columns: slice) -> Array:
        """Return some rows, by a slice or their positions, of some columns."""
        return np.asarray(self._matrix[:, columns][rows])

    def lower(self, use: Callable[[slice, slice, Array], T]) -> Iterator[T]:
        """Yield the result of `use` for the tiles on and below the diagonal, in order; they are views."""
        cuts = row_blocks(len(self._matrix), GRAM_TILE_SIDE)
        for rows in cuts:
            for columns in cuts[: rows.start // GRAM_TILE_SIDE + 1]:
                yield use(rows, columns, self._matrix[rows, columns])

    def put_rows(self, numbers: Array, kept: Array, slots: Array) -> None:
        """Write rows by their positions into the slots of an array."""
        kept[slots] = self._matrix[numbers]

    def add_rows(self, numbers: Array, factors: Array, total: Array) -> None:
        """Add Σ factor · row to a total of float64, for rows by their positions."""
        add_rows(total, 0, len(total), self._matrix, numbers, factors)

    def matvec(self, v: Array) -> Array:
        """Return the matrix times a vector, in float64."""
        return np.asarray(self._matrix @ np.asarray(v, dtype=float))
