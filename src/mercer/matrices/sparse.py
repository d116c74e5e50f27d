"""Design matrix of sparse rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from mercer._threads import ordered_map, ordered_stream, row_blocks
from mercer._typing import Array
from mercer.matrices import _code_loops as code_loops
from mercer.matrices import sparse_loops as loops
from mercer.matrices._base import MAX_GRAM_COLUMNS, Matrix, Tile
from mercer.matrices.categorical import CodesTile
from mercer.matrices.coordinates import COORDINATE_ROWS, Coordinates, power_of_two

#: stored entries of a block
SPARSE_BLOCK_ENTRIES = 1 << 21
#: stored entries of a block per column, at least, so that the sums of a block cost less than its products
ENTRIES_PER_COLUMN = 16
#: dtypes that the loops are compiled for; other dtypes are converted
ENTRY_DTYPES = (np.dtype(np.float64), np.dtype(np.float32))
#: sizes of entries for which columns need no scale
UNSCALED_SIZES = 1e-6, 1e6
#: a column is far from zero if its |mean| exceeds this many standard deviations: its squares lose half of their digits
LARGEST_SPARSE_SHIFT = 1e3
#: rows from which the columns without zeros are found
FULL_COLUMN_ROWS = 64
#: entries of these columns from which those far from zero are found
FAR_COLUMN_ENTRIES = 1 << 20


class Entries(NamedTuple):
    """The stored entries of a CSR or CSC matrix, in arrays of the types that loops are compiled for."""

    indptr: Array
    indices: Array
    values: Array

    @classmethod
    def of(cls, X: Any) -> Entries:
        """Return the entries of a matrix, sharing memory where possible."""
        values = X.data if X.data.dtype in ENTRY_DTYPES else X.data.astype(np.float64)
        indices = np.require(X.indices, requirements=["C", "W"])
        return cls(
            np.require(X.indptr, np.int64, ["C", "W"]).view(np.uint64),
            indices.view(f"u{indices.itemsize}"),
            np.require(values, requirements=["C", "W"]),
        )

    @classmethod
    def of_dense(cls, values: Array) -> Entries:
        """Return the values of a dense matrix, without indices."""
        return cls(np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint32), values)

    def for_scipy(self) -> tuple[Array, Array, Array]:
        """Return values, indices and indptr for the constructors of SciPy, without a copy."""
        return self.values, self.indices.view(f"i{self.indices.itemsize}"), self.indptr.view(np.int64)


@dataclass(frozen=True, eq=False)
class SparseMatrix(Matrix):
    """The rows start…stop of a sparse matrix, scaled where its entries are very small or large.

    A matrix in another format than CSR is converted once. Duplicate entries count as their sum; stored zeros are
    entries like any other. No shift is chosen; the shift of given coordinates (from a fit to a dense matrix) is
    subtracted from the products. Columns far from zero should be dense (`sparse_design`).

    Examples
    --------
    >>> design = SparseMatrix.of(sparse.csr_array([[0.0, 2.0], [1.0, 0.0]]))
    >>> design.gram(np.array([1.0, 3.0]))
    array([[3., 0.],
           [0., 4.]])
    """

    entries: Entries
    coordinates: Coordinates
    start: int
    stop: int

    @classmethod
    def of(cls, X: Any) -> Self:
        """Choose the scales by the sizes of the entries."""
        X = X.tocsr()
        entries = Entries.of(X)
        scale = scale_of(largest_entries(entries, X.shape[1]), X.shape[1])
        return cls(entries, Coordinates(np.zeros(X.shape[1]), scale, intercept=False), 0, X.shape[0])

    @classmethod
    def within(cls, X: Any, coordinates: Coordinates) -> Self:
        """Build the design in given coordinates."""
        X = X.tocsr()
        return cls(Entries.of(X), coordinates, 0, X.shape[0])

    @property
    def n_rows(self) -> int:
        return self.stop - self.start

    @property
    def most_rows(self) -> int:
        indptr, p = self.entries.indptr, self.n_columns
        per_row = max(1, int(indptr[self.stop] - indptr[self.start]) // max(1, self.n_rows))
        pairs = p * p // ENTRIES_PER_COLUMN if p <= MAX_GRAM_COLUMNS else 0
        entries = max(SPARSE_BLOCK_ENTRIES, ENTRIES_PER_COLUMN * p, min(pairs, 4 * SPARSE_BLOCK_ENTRIES))
        return max(1, int(entries // per_row))

    def rows(self, rows: slice) -> Self:
        start, stop, _ = rows.indices(self.n_rows)
        return replace(self, start=self.start + start, stop=self.start + stop)

    def take(self, rows: Array) -> Self:
        shape = (len(self.entries.indptr) - 1, self.n_columns)
        whole = sparse.csr_array(self.entries.for_scipy(), shape=shape)
        return self.within(whole[self.start + rows], self.coordinates)

    def tile(self) -> SparseTile:
        return SparseTile(self.entries, self.start, self.stop, self.coordinates)


@dataclass(frozen=True, eq=False)
class SparseTile(Tile):
    """The rows start…stop of a sparse matrix."""

    entries: Entries
    start: int
    stop: int
    coordinates: Coordinates

    @property
    def _rows(self) -> tuple[Any, ...]:
        return *self.entries, self.start, self.stop

    def matvec(self, w: Array) -> Array:
        v = np.ascontiguousarray(self._divide_by_scale(w))
        product = np.asarray((loops.times if w.ndim == 1 else loops.times_matrix)(*self._rows, v))
        if self.coordinates.shifted:
            product -= self.coordinates.shift @ v
        return product

    def rmatvec(self, r: Array) -> Array:
        product = self.entries_times(np.ascontiguousarray(r))
        if self.coordinates.shifted:
            product -= np.multiply.outer(self.coordinates.shift, r.sum(axis=0))
        return self._divide_by_scale(product)

    def entries_times(self, r: Array) -> Array:
        """Xᵀ r in the units of the data, neither shifted nor scaled."""
        product = loops.rmatvec if r.ndim == 1 else loops.transposed_times_matrix
        return np.asarray(product(*self._rows, r, self.coordinates.n_columns))

    def gram(self, h: Array) -> Array:
        h, shift, (indptr, indices, values) = np.ascontiguousarray(h), self.coordinates.shift, self.entries
        pairs = np.zeros((self.coordinates.n_columns, self.coordinates.n_columns))
        loops.add_pairs(indptr[self.start : self.stop + 1], indices, values, h, True, pairs)
        pairs += pairs.T
        if self.coordinates.shifted:
            cross = np.multiply.outer(self.entries_times(h) - 0.5 * h.sum() * shift, shift)
            pairs -= cross + cross.T
        return self._divide_by_scale(self._divide_by_scale(pairs).T)

    def gram_with(self, codes: CodesTile, h: Array) -> Array:
        """Xᵀ diag(h) C for the one-hot columns C of the same rows."""
        begins, first, members = codes.cells
        rows = *self._rows, np.ascontiguousarray(h), codes.cell_of_row, begins, codes.start
        table = loops.gram_with_codes(*rows, self.coordinates.n_columns)
        product = code_loops.sum_cells(first, members, table, codes.n_columns).T
        if self.coordinates.shifted:
            product -= np.multiply.outer(self.coordinates.shift, codes.rmatvec(h))
        return self._divide_by_scale(product)

    def dense(self) -> Array:
        indptr, indices, values = self.entries
        matrix = np.zeros((self.stop - self.start, self.coordinates.n_columns))
        entries = slice(indptr[self.start], indptr[self.stop])
        bounds = indptr[self.start : self.stop + 1].view(np.int64)
        row = np.repeat(np.arange(len(matrix)), bounds[1:] - bounds[:-1])
        np.add.at(matrix, (row, indices[entries]), values[entries])
        return (matrix - self.coordinates.shift) / self.coordinates.scale

    def _divide_by_scale(self, vector: Array) -> Array:
        """Divide the entry, or row, of each column by its scale."""
        if self.coordinates.unscaled:
            return vector
        return np.asarray((vector.T / self.coordinates.scale).T)


def scale_of(largest: Array, n_columns: int) -> Array:
    """Scale of each column: the size of its largest entry, or 1 for all columns if `largest` is empty."""
    return power_of_two(largest) if len(largest) else np.ones(n_columns)


def largest_entries(entries: Entries, n_columns: int) -> Array:
    """Largest |entry| of each column; empty if no entry is very small or very large."""
    if _need_no_scale(entries.values):
        return np.zeros(0)
    largest = np.zeros(n_columns)
    for block_largest in ordered_stream(
        lambda block: loops.largest(entries.indices, entries.values, block.start, block.stop, n_columns),
        row_blocks(len(entries.values), max(SPARSE_BLOCK_ENTRIES, ENTRIES_PER_COLUMN * n_columns)),
    ):
        np.maximum(largest, block_largest, out=largest)
    return largest


def _need_no_scale(values: Array) -> bool:
    """Return whether no entry is very small or very large."""
    bits = np.dtype(f"u{values.itemsize}").type
    bounds = np.array([-0.0, *UNSCALED_SIZES], dtype=values.dtype).view(bits)
    counts = ordered_map(
        lambda block: loops.outside(values.view(bits), block.start, block.stop, *bounds),
        row_blocks(len(values), SPARSE_BLOCK_ENTRIES),
    )
    return not any(counts)


def far_columns(X: Any, known: Coordinates | None = None) -> Array:
    """Columns of a CSR matrix that are far from zero relative to their spread, or to the scale of known coordinates.

    Such a column has no zeros, so that a few rows find it, and storing it as sparse has no advantage.
    """
    if known is not None:
        return _far_from_zero(known)
    rows = _spread_rows(X, FULL_COLUMN_ROWS)
    rows.sum_duplicates()
    full = np.flatnonzero(np.bincount(rows.indices, minlength=X.shape[1]) == max(1, rows.shape[0]))
    if not len(full):
        return full
    count = min(COORDINATE_ROWS, max(FULL_COLUMN_ROWS, FAR_COLUMN_ENTRIES // len(full)))
    coordinates = Coordinates.of(_spread_rows(X, count)[:, full].toarray(), intercept=True)
    return np.asarray(full[_far_from_zero(coordinates)])


def _far_from_zero(coordinates: Coordinates) -> Array:
    """Columns whose shift is large relative to their scale."""
    return np.flatnonzero(np.abs(coordinates.shift) > LARGEST_SPARSE_SHIFT * coordinates.scale)


def _spread_rows(X: Any, most: int) -> Any:
    """Copy at most `most` equally spaced rows."""
    return X[np.unique(np.linspace(0, X.shape[0] - 1, most).astype(np.int64))[: X.shape[0]]]
