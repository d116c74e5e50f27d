"""The columns of a matrix of any storage in working coordinates, for quadratic models of losses.

Dense columns are not copied; the entries of a sparse matrix, and the ones of categorical columns, are copied once in
column order, never as dense columns of a wide design. Many entries are copied as float32, which makes sweeps twice as
fast: a quadratic model need only be close to the losses, whose slopes come from the matrix itself.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from mercer._threads import ordered_map, row_blocks
from mercer._typing import Array
from mercer.matrices import CategoricalMatrix, Matrix, SparseMatrix, SplitMatrix
from mercer.matrices import _weighted_descent_loops as loops
from mercer.matrices.column_loops import squares_of_sparse
from mercer.matrices.columns import SERIAL_STORED_ENTRIES, CoordinatePenalty, DenseColumns, MatrixColumns
from mercer.matrices.entries import Entries

#: stored entries from which on sweeps are limited by memory bandwidth
MANY_STORED_ENTRIES = 1 << 20
#: blocks in which a sparse matrix is transposed, independent of the number of threads
TRANSPOSED_BLOCKS = 4


class WorkingColumns(MatrixColumns):
    """Parts side by side, each with its positions among the columns; an intercept is a separate part.

    Parameters
    ----------
    design : Matrix
        The columns.
    exact : bool
        Whether to copy entries in float64, for designs whose columns are nearly dependent.
    many : int
        Number of stored entries from which on they are copied in float32 unless `exact`.
    serial : int
        Number of stored entries up to which a pass over sparse columns takes one thread.
    """

    def __init__(
        self,
        design: Matrix,
        *,
        exact: bool = False,
        many: int = MANY_STORED_ENTRIES,
        serial: int = SERIAL_STORED_ENTRIES,
    ) -> None:
        self.n_rows, self.n_columns = design.n_rows, design.n_columns
        self.centre, self.scale = np.zeros(self.n_columns), np.ones(self.n_columns)
        places = np.arange(len(design.coordinates.shift))
        parts = design.placed_parts() if isinstance(design, SplitMatrix) else [(design, places)]
        has_many = sum(map(_stored_entries, (part for part, _ in parts))) >= many
        #: type of stored entries, and of the numbers that a sweep keeps for each row
        self.dtype = np.dtype(np.float32 if has_many and not exact else np.float64)
        self._parts: list[Part] = []
        self._part, self._place = np.zeros((2, self.n_columns), dtype=np.intp)
        for part, where in parts:
            self._add(_columns(part, self.dtype, serial), places[where])
            if isinstance(part, SparseMatrix) and part.coordinates.shifted:
                shifted = np.flatnonzero(part.coordinates.shift)
                self._add(_shifted_columns(part, shifted), places[where][shifted])
        if design.coordinates.intercept:
            self._add(
                DensePart(DenseColumns(np.ones((self.n_rows, 1)), np.zeros(1), np.ones(1))),
                np.array([self.n_columns - 1]),
            )

    def _add(self, part: Part, where: Array) -> None:
        self._part[where], self._place[where] = len(self._parts), np.arange(len(where))
        self._parts.append(part)

    def _split(self, ids: Array) -> list[tuple[Part, Array, Array]]:
        """Return the parts that contain these columns, the positions of the columns in `ids`, and those in the part."""
        of_part = self._part[ids]
        whiches = (np.flatnonzero(of_part == number) for number in range(len(self._parts)))
        return [
            (part, which, self._place[ids[which]])
            for part, which in zip(self._parts, whiches, strict=True)
            if len(which)
        ]

    def numbers(self, ids: Array) -> tuple[int, int]:
        """Return the number of dense columns among these, and the number of stored entries of the others."""
        dense = stored = 0
        for part, _, places in self._split(ids):
            if isinstance(part, StoredPart):
                stored += part.count(places)
            else:
                dense += len(places)
        return dense, stored

    def gram(self, rows: Array, columns: Array, h: Array) -> Array:
        """Return Σ h x x' of two sets of columns."""
        out = np.empty((len(rows), len(columns)))
        left = self._split(rows)
        right = left if np.array_equal(rows, columns) else self._split(columns)
        for part, which, mine in left:
            for other, whose, theirs in right:
                out[which[:, None], whose] = _cross_products(part, mine, other, theirs, h)
        return out

    def squares(self, ids: Array, h: Array) -> Array:
        """Return Σ h x² of columns."""
        out = np.empty(len(ids))
        for part, which, places in self._split(ids):
            out[which] = part.squares(places, h)
        return out

    def combination(self, ids: Array, W: Array) -> Array:
        """Return Σ_t W[:, t] x_ids[t]: (m, n), in the type of the entries."""
        rows = np.zeros((len(W), self.n_rows), dtype=self.dtype)
        for part, which, places in self._split(ids):
            for row, d in zip(rows, W, strict=True):
                row += part.matvec(places, d[which])
        return rows

    def products(self, V: Array, ids: Array | None = None) -> Array:
        ids = self.all_ids() if ids is None else ids
        out = np.empty((len(V), len(ids)))
        for part, which, places in self._split(ids):
            for products, rows in zip(out, V, strict=True):
                products[which] = part.products(places, rows)
        return out

    def sweep(
        self,
        ids: Array,
        h: Array,
        curvature: Array,
        penalty: CoordinatePenalty,
        w: Array,
        v: Array,
        slopes: Array | None = None,
    ) -> float:
        """Sweep once over columns (`mercer.matrices._weighted_descent_loops`), without constraints."""
        c, decrease = np.zeros(len(ids)) if slopes is None else slopes, 0.0
        for part, which, places in self._split(ids):
            own = w[which]
            decrease += part.sweep(places, c[which], h, curvature[which], penalty.l1[which], penalty.l2[which], own, v)
            w[which] = own
        return decrease


class DensePart:
    """Dense columns."""

    def __init__(self, columns: MatrixColumns) -> None:
        self._columns = columns

    def gather_chunks(self, ids: Array) -> Iterator[tuple[slice, Array]]:
        """Yield copies of columns as rows of a matrix, a few at a time."""
        for few in self._columns.chunks(ids):
            yield few, self._columns.gather(ids[few])

    def gram(self, rows: Array, columns: Array, h: Array) -> Array:
        return self._columns.gram(rows, columns, h)

    def squares(self, ids: Array, h: Array) -> Array:
        return self._columns.squares(ids, h)

    def products(self, ids: Array, rows: Array) -> Array:
        return np.concatenate([tile @ rows for _, tile in self.gather_chunks(ids)])

    def matvec(self, ids: Array, d: Array) -> Array:
        return np.asarray(self._columns.combination(ids, d[None])[0])

    def sweep(
        self, ids: Array, c: Array, h: Array, curvature: Array, l1: Array, l2: Array, w: Array, v: Array
    ) -> float:
        return sum(
            float(loops.dense_sweep(tile, c[few], h, curvature[few], l1[few], l2[few], w[few], v))
            for few, tile in self.gather_chunks(ids)
        )


class StoredPart:
    """Sparse columns: the entries of a matrix in column order, in working coordinates."""

    def __init__(self, by_rows: Entries, first: int, n_rows: int, scale: Array, dtype: Any, serial: int) -> None:
        self.n_rows, self._serial = n_rows, serial
        self._entries = _transpose_entries(by_rows, first, n_rows, scale, dtype)
        if loops.has_duplicates(self._entries.indptr, self._entries.indices):
            matrix = self._matrix()
            matrix.sum_duplicates()
            self._entries = Entries.of(matrix)

    def _matrix(self) -> Any:
        return sparse.csc_array(self._entries.for_scipy(), shape=(self.n_rows, len(self._entries.indptr) - 1))

    def to_matrix(self, ids: Array) -> Any:
        """Return columns as a sparse matrix of float64."""
        return self._matrix()[:, ids].astype(np.float64)

    def count(self, ids: Array) -> int:
        """Return the number of stored entries of columns."""
        indptr = self._entries.indptr
        return int((indptr[ids + 1] - indptr[ids]).sum())

    def _blocks(self, ids: Array) -> list[slice]:
        """Return blocks of columns with about the same number of entries."""
        indptr = self._entries.indptr
        ends = (indptr[ids + 1] - indptr[ids]).cumsum()
        if not len(ids) or ends[-1] <= self._serial:
            return [slice(0, len(ids))]
        cuts = np.searchsorted(ends, ends[-1] * np.arange(1, TRANSPOSED_BLOCKS) / TRANSPOSED_BLOCKS)
        return [slice(a, b) for a, b in zip((0, *cuts), (*cuts, len(ids)), strict=True)]

    def squares(self, ids: Array, h: Array) -> Array:
        return self._apply_loop(squares_of_sparse, ids, h)

    def products(self, ids: Array, q: Array) -> Array:
        """Return the products of columns with a vector of n entries."""
        return self._apply_loop(loops.products, ids, q)

    def _apply_loop(self, loop: Any, ids: Array, rows: Array) -> Array:
        out = np.empty(len(ids))
        ordered_map(lambda block: loop(*self._entries, ids, rows, block.start, block.stop, out), self._blocks(ids))
        return out

    def matvec(self, ids: Array, d: Array) -> Array:
        """Return Σ d x."""

        def of_block(block: slice) -> Array:
            out = np.zeros(self.n_rows, dtype=self._entries.values.dtype)
            loops.combine(*self._entries, ids, d, block.start, block.stop, out)
            return out

        total: Array = functools.reduce(operator.iadd, ordered_map(of_block, self._blocks(ids)))
        return total

    def sweep(self, ids: Array, *known: Array) -> float:
        return float(loops.sparse_sweep(*self._entries, ids, *known))


Part = DensePart | StoredPart


def _stored_entries(design: Matrix) -> int:
    if isinstance(design, SparseMatrix):
        return design.n_stored
    return design.n_rows * len(design.cells.begins) if isinstance(design, CategoricalMatrix) else 0


def _columns(design: Matrix, dtype: Any, serial: int) -> Part:
    coordinates = design.coordinates
    if isinstance(design, SparseMatrix):
        return StoredPart(design.entries, design.start, design.n_rows, coordinates.scale, dtype, serial)
    if isinstance(design, CategoricalMatrix):
        return StoredPart(_one_hot_entries(design), 0, design.n_rows, coordinates.scale, dtype, serial)
    return DensePart(design.columns(coordinates.shift, coordinates.scale))


def _shifted_columns(design: SparseMatrix, ids: Array) -> DensePart:
    """Return the shifted columns of a sparse matrix as dense ones, since their zeros are shifted, too."""
    X = np.ascontiguousarray(design.to_scipy()[:, ids].toarray(), dtype=np.float64)
    return DensePart(DenseColumns(X, design.coordinates.shift[ids], design.coordinates.scale[ids]))


def _one_hot_entries(design: CategoricalMatrix) -> Entries:
    """Return the entries of the one-hot columns of categories, in row order."""
    indptr, columns = design.entries_by_row()
    return Entries(indptr, columns, np.ones(len(columns)))


def _transpose_entries(by_rows: Entries, first: int, n_rows: int, scale: Array, dtype: Any) -> Entries:
    """Return the entries in column order, divided by the scale of their column; blocks of rows keep their order."""
    indptr, indices, values = by_rows
    blocks = row_blocks(n_rows, max(1, -(-n_rows // TRANSPOSED_BLOCKS)))
    counts = np.zeros((len(blocks), len(scale)), dtype=np.uint64)

    def count(number: int) -> None:
        loops.count_entries(indptr, indices, first + blocks[number].start, first + blocks[number].stop, counts[number])

    ordered_map(count, range(len(blocks)))
    ends = np.cumsum(counts.T.ravel(), dtype=np.uint64)
    places = np.ascontiguousarray((ends - counts.T.ravel()).reshape(len(scale), -1).T)
    size = int(ends[-1]) if len(ends) else 0
    rows = np.empty(size, dtype=np.uint32 if n_rows < 2**31 else np.uint64)
    turned = np.empty(size, dtype=dtype)

    def fill(number: int) -> None:
        start, stop = first + blocks[number].start, first + blocks[number].stop
        loops.transpose_entries(indptr, indices, values, start, stop, first, scale, places[number], rows, turned)

    by_column = np.append(np.uint64(0), counts.sum(axis=0, dtype=np.uint64).cumsum(dtype=np.uint64))
    ordered_map(fill, range(len(blocks)))
    return Entries(by_column, rows, turned)


def _cross_products(left: Part, mine: Array, right: Part, theirs: Array, h: Array) -> Array:
    """Return Σ h x x' of columns of two parts."""
    if isinstance(left, StoredPart):
        if isinstance(right, DensePart):
            return _cross_products(right, theirs, left, mine, h).T
        weighted = left.to_matrix(mine).multiply(h[:, None]).tocsc()
        return np.asarray((weighted.T @ right.to_matrix(theirs)).toarray())
    if left is right:
        return left.gram(mine, theirs, h)
    out = np.empty((len(mine), len(theirs)))
    for few, tile in left.gather_chunks(mine):
        weighted = tile * h
        if isinstance(right, StoredPart):
            out[few] = np.asarray(right.to_matrix(theirs).T @ weighted.T).T
        else:
            for others, columns in right.gather_chunks(theirs):
                out[few, others] = weighted @ columns.T
    return out
