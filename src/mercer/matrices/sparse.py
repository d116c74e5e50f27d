"""A sparse matrix as a design."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from mercer._threads import ordered_map, ordered_stream, row_blocks
from mercer._typing import Array
from mercer.matrices import _code_loops as code_loops
from mercer.matrices import sparse_loops as loops
from mercer.matrices._base import MOST_GRAM_COLUMNS, Design, Tile
from mercer.matrices.categorical import CodesTile
from mercer.matrices.coordinates import PILOT_ROWS, Coordinates, power_of_two

#: stored entries of a block
BLOCK_ENTRIES = 1 << 21
#: … and at least so many per column, so that the sums of a block cost less than its products
ENTRIES_PER_COLUMN = 16
#: what loops are compiled for; other numbers are converted
ENTRY_TYPES = (np.dtype(np.float64), np.dtype(np.float32))
#: columns are scaled where some entry is smaller or larger than these
COMFORTABLE = 1e-6, 1e6
#: a column whose mean is more than so many spreads from zero is far from it: squares would lose half of their digits
FAR = 1e3
#: rows that tell which columns have no zeros
FEW_ROWS = 64
#: numbers of such columns that tell which of them are far from zero
LOOKED_AT = 1 << 20


class Entries(NamedTuple):
    """The stored entries of a CSR or CSC matrix, in arrays of the few types that loops are compiled for."""

    indptr: Array
    indices: Array
    values: Array

    @classmethod
    def of(cls, X: Any) -> Entries:
        """Of a matrix, shared with it where possible."""
        values = X.data if X.data.dtype in ENTRY_TYPES else X.data.astype(np.float64)
        indices = np.require(X.indices, requirements=["C", "W"])
        return cls(
            np.require(X.indptr, np.int64, ["C", "W"]).view(np.uint64),
            indices.view(f"u{indices.itemsize}"),
            np.require(values, requirements=["C", "W"]),
        )

    @classmethod
    def of_dense(cls, values: Array) -> Entries:
        """Of a dense matrix, whose numbers are given one after the other: they have neither places nor columns."""
        return cls(np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint32), values)

    def for_scipy(self) -> tuple[Array, Array, Array]:
        """What a sparse matrix of SciPy is made of, not copied."""
        return self.values, self.indices.view(f"i{self.indices.itemsize}"), self.indptr.view(np.int64)


@dataclass(frozen=True, eq=False)
class SparseDesign(Design):
    """The rows start…stop of a sparse matrix, scaled where its entries are very small or large.

    A matrix in another format than CSR is converted once. Places that are stored twice count as the sum; zeros that are
    stored are entries like any other. No shift is ever chosen, but where coordinates come with one (from a fit to a
    dense matrix), it is taken out of the products; columns far from zero are better written out (`sparse_design`).

    Examples
    --------
    >>> design = SparseDesign.of(sparse.csr_array([[0.0, 2.0], [1.0, 0.0]]))
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
        """With scales from the sizes of the entries."""
        X = X.tocsr()
        entries = Entries.of(X)
        scale = scale_of(largest_entries(entries, X.shape[1]), X.shape[1])
        return cls(entries, Coordinates(np.zeros(X.shape[1]), scale, intercept=False), 0, X.shape[0])

    @classmethod
    def within(cls, X: Any, coordinates: Coordinates) -> Self:
        """In coordinates that were chosen before."""
        X = X.tocsr()
        return cls(Entries.of(X), coordinates, 0, X.shape[0])

    @property
    def n_rows(self) -> int:
        return self.stop - self.start

    @property
    def most_rows(self) -> int:
        indptr, p = self.entries.indptr, self.n_columns
        per_row = max(1, int(indptr[self.stop] - indptr[self.start]) // max(1, self.n_rows))
        pairs = p * p // ENTRIES_PER_COLUMN if p <= MOST_GRAM_COLUMNS else 0
        return max(1, int(max(BLOCK_ENTRIES, ENTRIES_PER_COLUMN * p, min(pairs, 4 * BLOCK_ENTRIES)) // per_row))

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
    entries: Entries
    start: int
    stop: int
    coordinates: Coordinates

    @property
    def _rows(self) -> tuple[Any, ...]:
        return *self.entries, self.start, self.stop

    def times(self, w: Array) -> Array:
        v = np.ascontiguousarray(self._scaled(w))
        product = np.asarray((loops.times if w.ndim == 1 else loops.times_matrix)(*self._rows, v))
        if self.coordinates.shifted:
            product -= self.coordinates.shift @ v
        return product

    def transposed_times(self, r: Array) -> Array:
        product = self.entries_times(np.ascontiguousarray(r))
        if self.coordinates.shifted:
            product -= np.multiply.outer(self.coordinates.shift, r.sum(axis=0))
        return self._scaled(product)

    def entries_times(self, r: Array) -> Array:
        """Xᵀ r of the stored entries, neither shifted nor scaled."""
        product = loops.transposed_times if r.ndim == 1 else loops.transposed_times_matrix
        return np.asarray(product(*self._rows, r, self.coordinates.n_columns))

    def gram(self, h: Array) -> Array:
        h, shift, (indptr, indices, values) = np.ascontiguousarray(h), self.coordinates.shift, self.entries
        pairs = np.zeros((self.coordinates.n_columns, self.coordinates.n_columns))
        loops.add_pairs(indptr[self.start : self.stop + 1], indices, values, h, True, pairs)
        pairs += pairs.T
        if self.coordinates.shifted:
            cross = np.multiply.outer(self.entries_times(h) - 0.5 * h.sum() * shift, shift)
            pairs -= cross + cross.T
        return self._scaled(self._scaled(pairs).T)

    def gram_with(self, codes: CodesTile, h: Array) -> Array:
        """Xᵀ diag(h) C for the one-hot columns C of the same rows."""
        begins, first, members = codes.cells
        rows = *self._rows, np.ascontiguousarray(h), codes.cell_of_row, begins, codes.start
        table = loops.gram_with_codes(*rows, self.coordinates.n_columns)
        product = code_loops.of_coefficients(first, members, table, codes.n_columns).T
        if self.coordinates.shifted:
            product -= np.multiply.outer(self.coordinates.shift, codes.transposed_times(h))
        return self._scaled(product)

    def dense(self) -> Array:
        indptr, indices, values = self.entries
        matrix = np.zeros((self.stop - self.start, self.coordinates.n_columns))
        entries = slice(indptr[self.start], indptr[self.stop])
        bounds = indptr[self.start : self.stop + 1].view(np.int64)
        row = np.repeat(np.arange(len(matrix)), bounds[1:] - bounds[:-1])
        np.add.at(matrix, (row, indices[entries]), values[entries])
        return (matrix - self.coordinates.shift) / self.coordinates.scale

    def _scaled(self, vector: Array) -> Array:
        """One entry, or row, per column in working coordinates."""
        if self.coordinates.unscaled:
            return vector
        return np.asarray((vector.T / self.coordinates.scale).T)


def scale_of(largest: Array, n_columns: int) -> Array:
    """The size of the largest entry of each column; 1 for all where no entry is very small or very large."""
    return power_of_two(largest) if len(largest) else np.ones(n_columns)


def largest_entries(entries: Entries, n_columns: int) -> Array:
    """Of each column; none at all where no entry is very small or very large."""
    if _comfortable(entries.values):
        return np.zeros(0)
    largest = np.zeros(n_columns)
    for of_block in ordered_stream(
        lambda block: loops.largest(entries.indices, entries.values, block.start, block.stop, n_columns),
        row_blocks(len(entries.values), max(BLOCK_ENTRIES, ENTRIES_PER_COLUMN * n_columns)),
    ):
        np.maximum(largest, of_block, out=largest)
    return largest


def _comfortable(values: Array) -> bool:
    """Whether no entry is very small or very large."""
    bits = np.dtype(f"u{values.itemsize}").type
    bounds = np.array([-0.0, *COMFORTABLE], dtype=values.dtype).view(bits)
    counts = ordered_map(
        lambda block: loops.outside(values.view(bits), block.start, block.stop, *bounds),
        row_blocks(len(values), BLOCK_ENTRIES),
    )
    return not any(counts)


def far_columns(X: Any, known: Coordinates | None = None) -> Array:
    """Columns of a CSR matrix that are far from zero beside their spread, or that known coordinates shift by as much.

    Of such a column no entry is zero, so that a few rows tell, and nothing is gained by its being sparse.
    """
    if known is not None:
        return _far(known)
    some = _rows_of(X, FEW_ROWS)
    some.sum_duplicates()
    stored = np.flatnonzero(np.bincount(some.indices, minlength=X.shape[1]) == max(1, some.shape[0]))
    if not len(stored):
        return stored
    rows = _rows_of(X, min(PILOT_ROWS, max(FEW_ROWS, LOOKED_AT // len(stored))))[:, stored].toarray()
    return np.asarray(stored[_far(Coordinates.of(rows, intercept=True))])


def _far(coordinates: Coordinates) -> Array:
    return np.flatnonzero(np.abs(coordinates.shift) > FAR * coordinates.scale)


def _rows_of(X: Any, most: int) -> Any:
    """A copy of so many rows at most, from the first to the last."""
    return X[np.unique(np.linspace(0, X.shape[0] - 1, most).astype(np.int64))[: X.shape[0]]]
