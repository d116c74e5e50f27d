"""Design matrix of sparse rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from mercer._threads import ordered_map, ordered_stream, row_blocks
from mercer._typing import Array
from mercer.matrices import _code_loops as code_loops
from mercer.matrices import sparse_loops as loops
from mercer.matrices.base import MAX_GRAM_COLUMNS, Matrix, Tile
from mercer.matrices.categorical import CodesTile
from mercer.matrices.columns import SparseColumns
from mercer.matrices.coordinates import COORDINATE_ROWS, Coordinates, power_of_two
from mercer.matrices.cross_products import UNSHIFTED_SPREADS, WIDE_TILE_BYTES, CrossSums, join_products, sum_tiles
from mercer.matrices.entries import Entries

#: stored entries of a block
SPARSE_BLOCK_ENTRIES = 1 << 21
#: stored entries of a block per column, at least, so that the sums of a block cost less than its products
ENTRIES_PER_COLUMN = 16
#: sizes of entries for which columns need no scale
UNSCALED_SIZES = 1e-6, 1e6
#: a column is far from zero if its |mean| exceeds this many standard deviations: its squares lose half of their digits
LARGEST_SPARSE_SHIFT = 1e3
#: rows from which the columns without zeros are found
FULL_COLUMN_ROWS = 64
#: sparse matrices with a larger share of stored entries are multiplied faster as dense ones, tile by tile
DENSE_ENTRIES_SHARE = 0.2
#: entries of these columns from which those far from zero are found
FAR_COLUMN_ENTRIES = 1 << 20


@dataclass(frozen=True, eq=False)
class SparseMatrix(Matrix):
    """The rows start…stop of a sparse matrix, scaled where its entries are very small or large.

    A matrix in another format than CSR is converted once. Duplicate entries count as their sum; stored zeros are
    entries like any other. No shift is chosen; the shift of given coordinates (from a fit to a dense matrix) is
    subtracted from the products. Columns far from zero should be dense (`standardize`).

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

    is_sparse: ClassVar[bool] = True

    @classmethod
    def of(cls, X: Any) -> Self:
        """Choose the scales by the sizes of the entries."""
        X = X.tocsr()
        entries = Entries.of(X)
        scale = scale_of(largest_entries(entries, X.shape[1]), X.shape[1])
        return cls(entries, Coordinates(np.zeros(X.shape[1]), scale, intercept=False), 0, X.shape[0])

    @classmethod
    def of_matrix(cls, X: Any, coordinates: Coordinates) -> Self:
        """Build the matrix in given coordinates."""
        X = X.tocsr()
        return cls(Entries.of(X), coordinates, 0, X.shape[0])

    @property
    def n_rows(self) -> int:
        return self.stop - self.start

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.entries.values.dtype

    @property
    def stored_per_row(self) -> int:
        return max(1, self.n_stored // max(1, self.n_rows))

    @property
    def n_stored(self) -> int:
        """Number of stored entries."""
        return int(self.entries.indptr[self.stop] - self.entries.indptr[self.start])

    @property
    def most_rows(self) -> int:
        p, per_row = self.n_columns, self.stored_per_row
        pairs = p * p // ENTRIES_PER_COLUMN if p <= MAX_GRAM_COLUMNS else 0
        entries = max(SPARSE_BLOCK_ENTRIES, ENTRIES_PER_COLUMN * p, min(pairs, 4 * SPARSE_BLOCK_ENTRIES))
        return max(1, int(entries // per_row))

    def rows(self, rows: slice) -> Self:
        start, stop, _ = rows.indices(self.n_rows)
        return replace(self, start=self.start + start, stop=self.start + stop)

    def take(self, rows: Array) -> Self:
        return self.of_matrix(self.to_scipy()[rows], self.coordinates)

    def within(self, coordinates: Coordinates) -> Self:
        return replace(self, coordinates=coordinates)

    def to_scipy(self) -> Any:
        """Return the rows as a CSR matrix in the units of the data, which shares the entries."""
        values, indices, indptr = self.entries.for_scipy()
        begin, end = indptr[self.start], indptr[self.stop]
        view = sparse.csr_array((self.n_rows, len(self.coordinates.shift)), dtype=values.dtype)
        # set one by one: the constructor would copy views of much larger arrays
        bounds = indptr[self.start : self.stop + 1]
        view.indptr = bounds - begin if begin else bounds
        view.indices, view.data = indices[begin:end], values[begin:end]
        return view

    def cross_product_blocks(self) -> list[slice]:
        return self.triangle_blocks()

    def cross_products(self, Y: Array, weight: Array | None) -> CrossSums:
        if weight is not None and not weight.all():
            positive = np.flatnonzero(weight)
            return self.take(positive).cross_products(Y[positive], weight[positive])
        if self.n_stored < DENSE_ENTRIES_SHARE * self.n_rows * self.n_columns:
            sums = join_products(self, Y, weight)
            if not sums.is_far_from_zero(self.n_columns, UNSHIFTED_SPREADS):
                return sums
        return sum_tiles(self, Y, weight)

    def column_tiles(self, tile_bytes: int = WIDE_TILE_BYTES) -> Iterator[tuple[slice, Array]]:
        by_column, shift, scale = self._by_column, self.coordinates.shift, self.coordinates.scale
        for columns in self.column_blocks(tile_bytes):
            tile = by_column[:, columns].toarray()
            yield columns, tile if self.coordinates.is_plain else (tile - shift[columns]) / scale[columns]

    @cached_property
    def _by_column(self) -> Any:
        """Entries as a CSC matrix, in the units of the data."""
        return self.to_scipy().tocsc()

    def sparse_kernel(self, mean: Array) -> Array | None:
        X = self._by_column
        raw = (X @ X.T).toarray()
        across = np.asarray(X @ mean)[:, None]
        centred = raw - across - across.T + mean @ mean
        far = np.trace(raw) > UNSHIFTED_SPREADS**2 * np.trace(centred)
        return None if far or not self.coordinates.is_plain else np.asarray(centred)

    @property
    def data(self) -> Any:
        return self.to_scipy()

    def columns(self, centre: Array, scale: Array) -> SparseColumns:
        return SparseColumns(self._by_column, centre, scale)

    def standardized_columns(self, weight: Array, *, centred: bool) -> tuple[SparseColumns, Array]:
        return SparseColumns.standardise(self._by_column, weight, centred=centred)

    def ranges(self) -> Array:
        X = self.to_scipy()
        return np.stack([X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()])

    def is_finite(self) -> bool:
        values = self.entries.values[self.entries.indptr[self.start] : self.entries.indptr[self.stop]]
        return bool(np.isfinite(values).all())

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
        values = SparseMatrix(self.entries, self.coordinates, self.start, self.stop).to_scipy().toarray()
        if self.coordinates.is_plain:
            return np.asarray(values, dtype=np.float64)
        return np.asarray((values - self.coordinates.shift) / self.coordinates.scale)

    def squares(self, h: Array) -> Array:
        scale, h = self.coordinates.scale, np.ascontiguousarray(h)
        total = loops.squares(*self.entries, self.start, self.stop, h, len(scale))
        if self.coordinates.shifted:
            shift = self.coordinates.shift
            total = np.maximum(total + shift * (shift * h.sum() - 2 * self.entries_times(h)), 0.0)
        return np.asarray(total / scale / scale)

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
