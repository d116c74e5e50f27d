"""Matrices by columns, each centred and scaled: the operations that coordinate descent needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import sparse

from mercer._threads import ordered_map, ordered_stream, row_blocks
from mercer._typing import Array
from mercer.matrices import column_loops as loops
from mercer.matrices import descent_loops
from mercer.matrices.coordinates import power_of_two
from mercer.matrices.entries import Entries

#: stored entries up to which a pass over sparse columns is not worth threads
SERIAL_STORED_ENTRIES = 1 << 16
#: entries up to which a pass over dense columns is not worth threads
SERIAL_DENSE_ENTRIES = 1 << 19
#: columns that a thread takes at a time
COLUMNS_PER_BLOCK = 512
#: bytes of columns that are copied at once
COPIED_BYTES = 1 << 26
#: a column that deviates from its mean by at most this portion of it is constant up to rounding
CONSTANT_SPREAD = 1e-14
#: squares about the mean below this portion of those about zero have lost digits to cancellation
CANCELLED_SQUARES = 1e-6
#: vectors that a pass over dense columns multiplies at no extra cost
VECTORS_AT_ONCE = loops.VECTORS_AT_ONCE


class CoordinatePenalty(Protocol):
    """The penalty Σ l1 |w| + ½ l2 w², with the constraint w ≥ 0 if `positive`."""

    @property
    def l1(self) -> Array: ...

    @property
    def l2(self) -> Array: ...

    @property
    def positive(self) -> bool: ...


class MatrixColumns(ABC):
    """n rows × p columns (x_j − centre_j) / scale_j. Several vectors with n entries are the rows of a matrix V."""

    n_rows: int
    n_columns: int
    centre: Array
    scale: Array
    #: whether columns are stored with their zeros
    is_dense: ClassVar[bool] = False
    #: bytes of columns that are copied at once
    copied_bytes: int = COPIED_BYTES

    @abstractmethod
    def products(self, V: Array, ids: Array | None = None) -> Array:
        """Return the products of columns (all by default) with the vectors V (m, n): (m, ids)."""

    @abstractmethod
    def combination(self, ids: Array, W: Array) -> Array:
        """Return Σ_t W[:, t] x_ids[t]: (m, n)."""

    @abstractmethod
    def gram(self, rows: Array, columns: Array, h: Array) -> Array:
        """Return Σ h x x' of two sets of columns."""

    @abstractmethod
    def squares(self, ids: Array, h: Array) -> Array:
        """Return Σ h x² of columns as `sweep` uses them."""

    @abstractmethod
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
        """Sweep once over columns by coordinate descent (`mercer.matrices.descent_loops`); return the decrease.

        v is the negative gradient of each row; or if `slopes` has the negative gradient of each column before the
        first sweep, its change since then.
        """

    def curved(self, ids: Array, h: Array, d: Array) -> Array:
        """Return Xᵀ diag(h) X d of columns."""
        rows = self.combination(ids, d[None])
        rows *= h
        return np.asarray(self.products(rows, ids)[0])

    def gather(self, ids: Array, rows: slice = slice(None)) -> Array:
        """Return a copy of columns as the rows of a matrix; fast if `is_dense`."""
        return self.combination(ids, np.eye(len(ids)))[:, rows]

    def chunks(self, ids: Array) -> list[slice]:
        """Return blocks of columns that are copied at once."""
        return row_blocks(len(ids), max(16, self.copied_bytes // (8 * max(1, self.n_rows))))

    def all_ids(self) -> Array:
        return np.arange(self.n_columns)


class DenseColumns(MatrixColumns):
    """Columns of a contiguous float matrix in either order, not copied; another layout is copied.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
        The matrix.
    centre, scale : array of shape (n_columns,)
        What is subtracted from each column, and what it is divided by.
    serial : int
        Entries up to which a pass over the columns takes one thread.
    copied : int
        Bytes of columns that are copied at once.
    """

    is_dense: ClassVar[bool] = True

    def __init__(
        self, X: Array, centre: Array, scale: Array, *, serial: int = SERIAL_DENSE_ENTRIES, copied: int = COPIED_BYTES
    ) -> None:
        self.X = X if X.flags.c_contiguous or X.flags.f_contiguous else np.ascontiguousarray(X)
        self.n_rows, self.n_columns = X.shape
        self.centre, self.scale = centre, scale
        self._serial, self.copied_bytes = serial, copied

    @property
    def _by_column(self) -> bool:
        return bool(self.X.flags.f_contiguous)

    @classmethod
    def standardise(cls, X: Array, weight: Array, *, centred: bool, **options: int) -> tuple[DenseColumns, Array]:
        """Return columns about their weighted means (if `centred`), scaled to length about 1, and squared lengths."""
        columns = cls(X, np.zeros(X.shape[1]), np.ones(X.shape[1]), **options)
        squares = np.zeros(X.shape[1])
        by_column = columns._by_column
        loop = loops.moments_by_column if by_column else loops.moments_by_row
        data = columns.X.T if by_column else columns.X
        total = weight.sum()
        columns._over_columns(
            lambda start, stop: loop(data, weight, total, start, stop, centred, columns.centre, squares)
        )
        columns.scale = length_unit(squares)
        return columns, squares / np.square(columns.scale)

    def _over_columns(self, work: Callable[[int, int], Any], count: int | None = None) -> None:
        count = self.n_columns if count is None else count
        size = COLUMNS_PER_BLOCK if self._by_column else loops.PANEL_WIDTH
        blocks = row_blocks(count, size)
        if count * self.n_rows <= self._serial:
            for block in blocks:
                work(block.start, block.stop)
        else:
            ordered_map(lambda block: work(block.start, block.stop), blocks)

    def products(self, V: Array, ids: Array | None = None) -> Array:
        """Return products; in row order all columns are multiplied at no extra cost, and the others dropped."""
        wanted = self.all_ids() if ids is None else ids
        read = wanted if self._by_column else self.all_ids()
        parts = [self._few_products(V[k : k + VECTORS_AT_ONCE], read) for k in range(0, len(V), VECTORS_AT_ONCE)]
        out = np.concatenate(parts) if parts else np.zeros((0, len(read)))
        return np.asarray((out if self._by_column else out[:, wanted]) / self.scale[wanted])

    def _few_products(self, V: Array, ids: Array) -> Array:
        data = (self.X.T, ids, self.centre) if self._by_column else (self.X, self.centre)
        one = len(V) == 1
        if self._by_column:
            loop = loops.product_by_column if one else loops.products_by_column
        else:
            loop = loops.product_by_row if one else loops.products_by_row
        padded = np.zeros((1 if one else VECTORS_AT_ONCE, self.n_rows))
        padded[: len(V)] = V
        out = np.empty((len(padded), len(ids)))
        vectors, results = (padded[0], out[0]) if one else (padded, out)
        self._over_columns(lambda start, stop: loop(*data, vectors, start, stop, results), len(ids))
        return out[: len(V)]

    def gather(self, ids: Array, rows: slice = slice(None)) -> Array:
        """Return a copy of columns as the rows of a matrix."""
        if self._by_column:
            part = self.X.T[ids, rows] if rows == slice(None) else self.X.T[:, rows][ids]
            part = part.astype(np.float64, copy=False)
            part -= self.centre[ids, None]
            part /= self.scale[ids, None]
            return np.asarray(part)
        part = self.X[rows][:, ids] - self.centre[ids]
        part /= self.scale[ids]
        return np.ascontiguousarray(part.T, dtype=np.float64)

    def combination(self, ids: Array, W: Array) -> Array:
        out = np.zeros((len(W), self.n_rows))
        scaled = np.ascontiguousarray(W / self.scale[ids])
        loop, data = (loops.combine_by_column, self.X.T) if self._by_column else (loops.combine_by_row, self.X)
        blocks = row_blocks(self.n_rows, max(256, SERIAL_DENSE_ENTRIES // max(1, len(ids))))
        ordered_map(lambda rows: loop(data, ids, self.centre, scaled, rows.start, rows.stop, out), blocks)
        return out

    def gram(self, rows: Array, columns: Array, h: Array) -> Array:
        same = rows is columns

        def of_block(block: slice) -> Array:
            root = np.sqrt(h[block])
            left = self.gather(rows, block)
            left *= root
            if same:
                return np.asarray(left @ left.T)
            right = self.gather(columns, block)
            right *= root
            return np.asarray(left @ right.T)

        width = max(1, len(rows) + len(columns))
        blocks = row_blocks(self.n_rows, max(256, self.copied_bytes // (8 * width)))
        if len(blocks) == 1:
            return of_block(blocks[0])
        total = np.zeros((len(rows), len(columns)))
        for part in ordered_stream(of_block, blocks):
            total += part
        return total

    def squares(self, ids: Array, h: Array) -> Array:
        return np.concatenate([np.square(self.gather(ids[part])) @ h for part in self.chunks(ids)] or [np.zeros(0)])

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
        """Sweep in place over float64 columns in column order, else over copies of a few columns at a time."""
        c, l1, l2 = np.zeros(len(ids)) if slopes is None else slopes, penalty.l1, penalty.l2
        if self._by_column and self.X.dtype == np.float64:
            strengths = l1, l2, penalty.positive
            return float(
                descent_loops.dense_sweep(self.X.T, ids, self.centre, self.scale, c, h, curvature, *strengths, w, v)
            )
        decrease = 0.0
        for part in self.chunks(ids):
            tile = self.gather(ids[part])
            plain = np.arange(len(tile)), np.zeros(len(tile)), np.ones(len(tile))
            known = c[part], h, curvature[part], l1[part], l2[part], penalty.positive
            decrease += descent_loops.dense_sweep(tile, *plain, *known, w[part], v)
        return float(decrease)


class SparseColumns(MatrixColumns):
    """Columns of a sparse matrix; centres are subtracted from the products.

    The products of columns far from zero would lose their digits. Where every entry of such a column is stored, its
    centre is subtracted from the entries instead.
    """

    def __init__(self, X: Any, centre: Array, scale: Array) -> None:
        X = X.tocsc()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        self.n_rows, self.n_columns = X.shape
        self.centre, self.scale = centre, scale
        self._entries = Entries.of(X)
        #: centres to be subtracted from products
        self._left = centre

    @classmethod
    def standardise(cls, X: Any, weight: Array, *, centred: bool) -> tuple[SparseColumns, Array]:
        """Return centred and scaled columns and their squared lengths, as `DenseColumns.standardise` does."""
        columns = cls(X, np.zeros(X.shape[1]), np.ones(X.shape[1]))
        total = weight.sum()
        second = columns.squares(columns.all_ids(), weight)
        squares = second
        if centred:
            columns.centre = columns._stored(weight[:, None], columns.all_ids())[:, 0] / total
            squares = second - total * np.square(columns.centre)
            squares[squares <= 1e-12 * second] = 0.0  # rounding
            columns._left = columns.centre.copy()
            columns._subtract_far_centres((squares <= CANCELLED_SQUARES * second) & (second > 0), weight, squares)
        columns.scale = length_unit(squares)
        return columns, squares / np.square(columns.scale)

    def _subtract_far_centres(self, far: Array, weight: Array, squares: Array) -> None:
        """Subtract the centres of columns far from zero from their entries, and correct their squares."""
        if not far.any():
            return
        indptr, indices, values = self._entries
        values, heavy, total = values.astype(np.float64), np.count_nonzero(weight), weight.sum()
        for j in np.flatnonzero(far):
            entries = slice(int(indptr[j]), int(indptr[j + 1]))
            h = weight[indices[entries]]
            if np.count_nonzero(h) < heavy:  # some zeros are not stored: then the spread is not small
                continue
            away = values[entries] - self.centre[j]
            rest = h @ away / total
            values[entries] = away - rest
            self.centre[j] += rest
            squares[j] = h @ np.square(values[entries])
            if squares[j] <= total * np.square(CONSTANT_SPREAD * self.centre[j]):
                squares[j] = 0.0
            self._left[j] = 0.0
        self._entries = Entries(indptr, indices, values)

    def _stored(self, V: Array, ids: Array) -> Array:
        """Return products of the stored entries alone with V (n, m): (ids, m)."""
        out = np.empty((len(ids), V.shape[1]))
        V = np.ascontiguousarray(V)
        blocks = row_blocks(len(ids), max(1, len(ids) // 64))

        def work(block: slice) -> None:
            loops.products_of_sparse(*self._entries, ids, V, block.start, block.stop, out)

        if len(self._entries.values) <= SERIAL_STORED_ENTRIES:
            work(slice(0, len(ids)))
        else:
            ordered_map(work, blocks)
        return out

    def products(self, V: Array, ids: Array | None = None) -> Array:
        ids = self.all_ids() if ids is None else ids
        stored = self._stored(V.T, ids).T
        return np.asarray((stored - V.sum(axis=1)[:, None] * self._left[ids]) / self.scale[ids])

    def combination(self, ids: Array, W: Array) -> Array:
        scaled = (W / self.scale[ids]).T
        out = np.zeros((self.n_rows, W.shape[0]))
        loops.combine_sparse(*self._entries, ids, np.ascontiguousarray(scaled), out)
        return np.asarray((out - self._left[ids] @ scaled).T)

    def _matrix(self, ids: Array) -> Any:
        return sparse.csc_array(self._entries.for_scipy(), shape=(self.n_rows, self.n_columns))[:, ids]

    def gram(self, rows: Array, columns: Array, h: Array) -> Array:
        left, right = self._matrix(rows), self._matrix(columns)
        weighted = left.multiply(h[:, None]).tocsc()
        total = np.asarray((weighted.T @ right).toarray(), dtype=np.float64)
        if self._left.any():
            mine, theirs = self._left[rows], self._left[columns]
            total -= np.outer(mine, right.T @ h) + np.outer(left.T @ h, theirs) - h.sum() * np.outer(mine, theirs)
        return np.asarray(total / self.scale[rows, None] / self.scale[columns])

    def squares(self, ids: Array, h: Array) -> Array:
        out = np.empty(len(ids))
        loops.squares_of_sparse(*self._entries, ids, h, 0, len(ids), out)
        return np.asarray(out / np.square(self.scale[ids]))

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
        """Sweep without the centres: the caller keeps the sum of v at zero."""
        c, strengths = np.zeros(len(ids)) if slopes is None else slopes, (penalty.l1, penalty.l2, penalty.positive)
        return float(descent_loops.sparse_sweep(*self._entries, ids, self.scale, c, h, curvature, *strengths, w, v))


def length_unit(squares: Array) -> Array:
    """Return the power of two nearest to √squares, by which division is exact; 1 for a length of 0."""
    return power_of_two(np.sqrt(squares))
