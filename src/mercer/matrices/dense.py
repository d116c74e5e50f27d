"""Design matrix of dense rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer._jit.gram import add_gram, padded
from mercer._jit.product import square
from mercer._threads import MIN_COLUMNS_FOR_THREADS, ordered_stream, row_blocks
from mercer._typing import Array
from mercer.data.blocks import rows_per_block
from mercer.families.losses import NO_WEIGHTS, as_vector, as_weight
from mercer.families.response import SoftmaxResponse
from mercer.matrices import _dense_loops as loops
from mercer.matrices import _newton_loops as newton_loops
from mercer.matrices import _softmax_loops as softmax_loops
from mercer.matrices.base import Matrix, Tile, symmetric
from mercer.matrices.columns import DenseColumns
from mercer.matrices.coordinates import Coordinates, positive_weight_rows
from mercer.matrices.cross_products import WIDE_TILE_BYTES, CrossSums, sum_tiles
from mercer.matrices.newton_terms import GRADIENT, HESSIAN, NewtonTerms

#: bytes of a tile: the tile and its rows of X stay in the L2 cache while they are multiplied
DENSE_TILE_BYTES = 3 << 18
#: number of rows by which most columns that vary are recognised
ROWS_OF_VARIATION_TEST = 8
#: rows of a tile, at least: with fewer, adding up the Xᵀ diag(h) X costs more than the products
MIN_DENSE_TILE_ROWS = 512


@dataclass(frozen=True, eq=False)
class DenseMatrix(Matrix):
    """A dense matrix of any dtype, order and strides, read tile by tile.

    Where shifts are small relative to scales, they are subtracted from the products X w and Xᵀ r, which then read X
    without a copy; else each tile is shifted first, so that a column of mean 1e8 and variance 1 keeps its digits.

    Examples
    --------
    >>> design = DenseMatrix.of(np.array([[1.0], [3.0]]))
    >>> design.matvec(design.coordinates.from_user(np.array([2.0]), 1.0))
    array([3., 7.])
    """

    X: Array
    coordinates: Coordinates

    @classmethod
    def of(cls, X: Array, *, intercept: bool = True, weight: Array | None = None) -> Self:
        """Choose shift and scale from rows of positive weight spread over X."""
        return cls(X, Coordinates.of(positive_weight_rows(X, weight), intercept=intercept))

    @property
    def n_rows(self) -> int:
        return len(self.X)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float32 if self.X.dtype == np.float32 else np.float64)

    @property
    def is_block(self) -> bool:  # type: ignore[override]
        return self.coordinates.is_plain and is_block(self.X)

    @property
    def most_rows(self) -> int:
        return rows_per_block(self.n_columns)

    def rows(self, rows: slice) -> Self:
        return replace(self, X=self.X[rows])

    def take(self, rows: Array) -> Self:
        return replace(self, X=self.X[rows])

    def within(self, coordinates: Coordinates) -> Self:
        return replace(self, coordinates=coordinates)

    def centred(self) -> Self:
        return self.within(replace(Coordinates.of(self.X, intercept=True), intercept=False))

    def dense_rows(self, rows: slice | Array) -> Array:
        return self.X[rows] if self.coordinates.is_plain else super().dense_rows(rows)

    def triangle_blocks(self) -> list[slice]:
        if self.n_columns >= MIN_COLUMNS_FOR_THREADS:  # large products use threads of BLAS
            return [slice(0, self.n_rows)]
        return super().triangle_blocks()

    def cross_product_blocks(self) -> list[slice]:
        return self.triangle_blocks()

    def cross_products(self, Y: Array, weight: Array | None) -> CrossSums:
        return sum_tiles(self, Y, weight)

    def column_tiles(self, tile_bytes: int = WIDE_TILE_BYTES) -> Iterator[tuple[slice, Array]]:
        if not self.coordinates.is_plain:
            yield from super().column_tiles(tile_bytes)
            return
        for columns in self.column_blocks(tile_bytes):
            yield columns, self.X[:, columns]

    @property
    def data(self) -> Array:
        return self.X

    def columns(self, centre: Array, scale: Array) -> DenseColumns:
        return DenseColumns(self._floats, centre, scale)

    def standardized_columns(self, weight: Array, *, centred: bool) -> tuple[DenseColumns, Array]:
        return DenseColumns.standardise(self._floats, weight, centred=centred)

    @property
    def _floats(self) -> Array:
        """X in a type for which loops over columns are compiled."""
        return self.X if self.X.dtype in (np.float32, np.float64) else self.X.astype(np.float64)

    def constant_columns(self, weight: Array | None) -> Array:
        rows = np.arange(self.n_rows) if weight is None else np.flatnonzero(weight)
        few = self.X[rows[:ROWS_OF_VARIATION_TEST]]
        suspects = np.flatnonzero((few == few[0]).all(axis=0))
        return np.array([j for j in suspects if (self.X[rows, j] == few[0, j]).all()], dtype=np.intp)

    def is_finite(self) -> bool:
        # the sum is read once, and is seldom infinite for finite values
        with np.errstate(invalid="ignore", over="ignore"):
            return bool(np.isfinite(self.X.sum(dtype=float)) or np.isfinite(self.X).all())

    def newton_terms(
        self,
        response: Any,
        w: Array,
        y: Array,
        weight: Array | None = None,
        offset: Array | None = None,
        *,
        order: int = HESSIAN,
    ) -> NewtonTerms:
        """Compute all sums by a compiled loop, unless there is none or the loss is not finite."""
        terms = None
        if w.ndim > 1:
            if order == GRADIENT and offset is None and (rows := OnePass.of(self)) is not None:
                return self._softmax_gradient(rows, response, w, y, weight)
        elif (lowered := response.lower()) is not None and len(w) == self.n_columns:
            if order == HESSIAN and is_for_loops(self):
                terms = self._newton(lowered, w, y, weight, offset)
            elif order == GRADIENT and offset is None and (rows := OnePass.of(self)) is not None:
                terms = self._gradient(lowered, rows, w, y, weight)
        return terms or super().newton_terms(response, w, y, weight, offset, order=order)

    def _gradient(self, lowered: Any, rows: OnePass, w: Array, y: Array, weight: Array | None) -> NewtonTerms | None:
        coefficients, level = rows.factors(w)
        total = np.zeros(len(coefficients))
        arrays = as_vector(y), as_weight(weight), total
        loss, slopes = newton_loops.loss_and_gradient(lowered, rows.X, coefficients, float(level), *arrays)
        return NewtonTerms(loss, rows.rmatvec(total, np.asarray(slopes)), None) if np.isfinite(loss) else None

    def _newton(
        self, lowered: Any, w: Array, y: Array, weight: Array | None, offset: Array | None
    ) -> NewtonTerms | None:
        p, working = len(w), self.coordinates
        width = padded(len(working.shift) + 1)
        point, gradient, hessian = np.zeros(width), np.zeros(width), np.zeros((width, width))
        point[:p] = w
        rows = as_vector(y), as_weight(weight), as_weight(offset)
        loss = newton_loops.newton(lowered, self.X, working.shift, 1 / working.scale, point, *rows, gradient, hessian)
        return NewtonTerms(loss, gradient[:p], symmetric(hessian)[:p, :p].copy()) if np.isfinite(loss) else None

    def _softmax_gradient(
        self, rows: OnePass, response: SoftmaxResponse, w: Array, y: Array, weight: Array | None
    ) -> NewtonTerms:
        coefficients, level = rows.factors(w)
        d, k = coefficients.shape
        W, total = np.zeros((d, padded(k))), np.zeros((padded(k), padded(d)))
        W[:, :k] = coefficients
        implied = response.reference is not None
        codes, weights = response.columns_of(y), as_weight(weight)
        loss, sums = softmax_loops.loss_and_gradient(rows.X, W, level, codes, weights, implied, total)
        return NewtonTerms(loss, rows.rmatvec(total[:k, :d].T, sums), None)

    def gram(self, h: Array) -> Array:
        if not is_for_loops(self):
            return super().gram(h)
        positive = self._gram(np.maximum(h, 0.0))
        return positive - self._gram(np.maximum(-h, 0.0)) if h.min(initial=0.0) < 0 else positive

    def _gram(self, h: Array) -> Array:
        """Xᵀ diag(h) X by compiled loops, for h ≥ 0."""
        working, width = self.coordinates, padded(len(self.coordinates.shift) + 1)
        inverse_scale = 1 / working.scale

        def block_gram(rows: slice) -> Array:
            total, no_columns = np.zeros((width, width)), np.zeros((rows.stop - rows.start, 0))
            add_gram(self.X[rows], no_columns, h[rows], working.shift, inverse_scale, total)
            return total

        total = sum(ordered_stream(block_gram, self.blocks()), start=np.zeros((width, width)))
        return symmetric(total)[: self.n_columns, : self.n_columns].copy()

    def tile(self) -> Tile:
        return next(self._read(max(1, self.n_rows)))[1]

    def tiles(self) -> Iterator[tuple[slice, Tile]]:
        return self._read(max(MIN_DENSE_TILE_ROWS, DENSE_TILE_BYTES // (8 * max(1, self.n_columns))))

    def _read(self, size: int) -> Iterator[tuple[slice, Tile]]:
        reader = DenseTileReader(self.X, self.coordinates, min(size, self.n_rows))
        for rows in row_blocks(self.n_rows, size) or [slice(0, 0)]:
            X = self.X[rows]
            yield rows, FoldedTile(X, reader) if reader.folds else ShiftedTile(reader.fill(X, NO_WEIGHTS))


class DenseTileReader:
    """Reader of tiles of one matrix, with the memory for one tile."""

    def __init__(self, X: Array, coordinates: Coordinates, n_rows: int) -> None:
        self.shift, self.intercept = coordinates.shift, coordinates.intercept
        self.inverse_scale = 1 / coordinates.scale
        self.n_columns = coordinates.n_columns
        #: whether shifts are subtracted from products
        self.folds = coordinates.near and _is_for_blas(X)
        self._by_columns = abs(X.strides[0]) < abs(X.strides[1])
        self._for_loops = is_block(X)
        self._scratch = np.empty(n_rows * self.n_columns)

    def fill(self, X: Array, root: Array) -> Array:
        """Write rows in working coordinates, each times its `root`, into the memory, in the order of X."""
        m, p, d = len(X), self.n_columns, len(self.shift)
        tile = self._scratch[: m * p]
        if self._by_columns:
            columns = tile.reshape(p, m)
            columns[:d] = X.T
            loops.fill_columns(columns, self.shift, self.inverse_scale, root)
            return columns.T
        tile = tile.reshape(m, p)
        if not self._for_loops:
            tile[:, :d] = X
            X = tile
        loops.fill(X, self.shift, self.inverse_scale, root, tile)
        return tile

    def fold(self, w: Array) -> tuple[Array, Array]:
        """Return v and c with X w = X v + c, where the second X is that of the user."""
        d = len(self.shift)
        v = (w[:d].T * self.inverse_scale).T
        return v, (w[d] if self.intercept else 0.0) - self.shift @ v


@dataclass(frozen=True, eq=False)
class ShiftedTile(Tile):
    """Rows of X copied into working coordinates."""

    values: Array

    def matvec(self, w: Array) -> Array:
        return np.asarray(self.values @ w)

    def rmatvec(self, r: Array) -> Array:
        return np.asarray(self.values.T @ r)

    def gram(self, h: Array) -> Array:
        if h.min(initial=0.0) < 0:
            positive, negative = (self.values * np.sqrt(np.maximum(part, 0.0))[:, None] for part in (h, -h))
            return np.asarray(square(positive) - square(negative))
        self.values[...] *= np.sqrt(h)[:, None]
        return np.asarray(square(self.values))

    def dense(self) -> Array:
        return self.values


class FoldedTile(Tile):
    """Rows of X without a copy: shift and scale are applied to the vector, or to the product.

    Xᵀ diag(h) X is computed from shifted rows, as it would lose twice as many digits and copies the rows anyway.
    """

    def __init__(self, X: Array, reader: DenseTileReader) -> None:
        self.X, self._reader = X, reader

    def matvec(self, w: Array) -> Array:
        v, c = self._reader.fold(w)
        # BLAS takes ten times as long for a single column
        product = np.matmul(self.X, v) if len(v) != 1 else np.multiply.outer(self.X[:, 0], v[0])
        product += c
        return np.asarray(product)

    def rmatvec(self, r: Array) -> Array:
        reader = self._reader
        total = r.sum(axis=0)
        product = np.empty((reader.n_columns, *r.shape[1:]))
        columns = product[: len(reader.shift)]
        np.matmul(self.X.T, r, out=columns)
        columns -= np.multiply.outer(reader.shift, total)
        columns.T[...] *= reader.inverse_scale
        if reader.intercept:
            product[-1] = total
        return product

    def gram(self, h: Array) -> Array:
        if h.min(initial=0.0) < 0:
            return self._square(np.maximum(h, 0.0)) - self._square(np.maximum(-h, 0.0))
        return self._square(h)

    def _square(self, h: Array) -> Array:
        return np.asarray(square(self._reader.fill(self.X, np.sqrt(h))))

    def dense(self) -> Array:
        return self._reader.fill(self.X, NO_WEIGHTS)


@dataclass(frozen=True, eq=False)
class OnePass:
    """A dense matrix for compiled loops that read it once, and the conversion of their products to working coordinates.

    The loops multiply each row from both sides while it is in the cache.
    """

    X: Array
    coordinates: Coordinates

    @classmethod
    def of(cls, X: DenseMatrix) -> Self | None:
        """Return None where shifts have to be subtracted from the data, or loops are not compiled for its type."""
        return cls(X.X, X.coordinates) if is_block(X.X) and X.coordinates.near else None

    def factors(self, w: Array) -> tuple[Array, Array]:
        """Return coefficients v and level c with X w = X v + c, where the second X is that of the user."""
        coefficients, level = self.coordinates.to_user(w)
        if not self.coordinates.intercept:
            level = -self.coordinates.shift @ coefficients
        return coefficients, np.asarray(level)

    def rmatvec(self, product: Array, total: Array) -> Array:
        """Xᵀ r in working coordinates, from Xᵀ r in the units of the data and Σ r."""
        shifted = product - np.multiply.outer(self.coordinates.shift, total)
        columns = (shifted.T / self.coordinates.scale).T
        return np.concatenate([columns, total[None]]) if self.coordinates.intercept else np.asarray(columns)


def is_for_loops(design: DenseMatrix) -> bool:
    """Return whether compiled loops compute Xᵀ diag(h) X faster than BLAS."""
    return is_block(design.X) and design.n_columns < MIN_COLUMNS_FOR_THREADS


def is_block(X: Array) -> bool:
    """Return whether X is of one of the two array types that loops are compiled for."""
    return X.dtype in (np.float32, np.float64) and X.flags.carray


def _is_for_blas(X: Array) -> bool:
    """Return whether NumPy passes X, of either order, to BLAS without a copy."""
    if X.dtype != np.float64 or not X.flags.aligned or not X.size:
        return False
    inner, outer = sorted(zip(X.strides, X.shape, strict=True))
    return inner[0] == X.itemsize and outer[0] >= inner[1] * X.itemsize and outer[0] % X.itemsize == 0
