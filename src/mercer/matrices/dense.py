"""A matrix of numbers as a design."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from mercer._jit.gram import add_gram, padded
from mercer._jit.product import square
from mercer._threads import MIN_COLUMNS_FOR_THREADS, ordered_stream, row_blocks
from mercer._typing import Array
from mercer.data.blocks import rows_per_block
from mercer.families.losses import NO_WEIGHTS
from mercer.matrices import _dense_loops as loops
from mercer.matrices._base import Design, Tile, symmetric
from mercer.matrices.coordinates import Coordinates, that_count

#: bytes of a tile: it and the rows it was made from stay in the L2 cache while they are multiplied
TILE = 3 << 18
#: rows below which adding up Xᵀ diag(h) X costs more than the product
LEAST_TILE_ROWS = 512


@dataclass(frozen=True, eq=False)
class DenseDesign(Design):
    """A matrix of numbers of any type, order and strides, read tile by tile.

    Where shifts are small beside scales, they are taken out of the products X w and Xᵀ r, which then read X once and
    copy nothing; else each tile is shifted first, so that a column of mean 1e8 and variance 1 keeps its digits.

    Examples
    --------
    >>> design = DenseDesign.of(np.array([[1.0], [3.0]]))
    >>> design.times(design.coordinates.from_user(np.array([2.0]), 1.0))
    array([3., 7.])
    """

    X: Array
    coordinates: Coordinates

    @classmethod
    def of(cls, X: Array, *, intercept: bool = True, weight: Array | None = None) -> Self:
        """With shift and scale from rows spread over X, those of no weight left out."""
        return cls(X, Coordinates.of(that_count(X, weight), intercept=intercept))

    @property
    def n_rows(self) -> int:
        return len(self.X)

    @property
    def most_rows(self) -> int:
        return rows_per_block(self.n_columns)

    def rows(self, rows: slice) -> Self:
        return replace(self, X=self.X[rows])

    def take(self, rows: Array) -> Self:
        return replace(self, X=self.X[rows])

    def gram(self, h: Array) -> Array:
        if not is_for_loops(self):
            return super().gram(h)
        positive = self._gram(np.maximum(h, 0.0))
        return positive - self._gram(np.maximum(-h, 0.0)) if h.min(initial=0.0) < 0 else positive

    def _gram(self, h: Array) -> Array:
        """By compiled loops, for h that is not negative."""
        working, width = self.coordinates, padded(len(self.coordinates.shift) + 1)
        inverse_scale = 1 / working.scale

        def of_block(rows: slice) -> Array:
            total, none = np.zeros((width, width)), np.zeros((rows.stop - rows.start, 0))
            add_gram(self.X[rows], none, h[rows], working.shift, inverse_scale, total)
            return total

        total = sum(ordered_stream(of_block, self.blocks()), start=np.zeros((width, width)))
        return symmetric(total)[: self.n_columns, : self.n_columns].copy()

    def tile(self) -> Tile:
        return next(self._read(max(1, self.n_rows)))[1]

    def tiles(self) -> Iterator[tuple[slice, Tile]]:
        return self._read(max(LEAST_TILE_ROWS, TILE // (8 * max(1, self.n_columns))))

    def _read(self, size: int) -> Iterator[tuple[slice, Tile]]:
        reader = Reader(self.X, self.coordinates, min(size, self.n_rows))
        for rows in row_blocks(self.n_rows, size) or [slice(0, 0)]:
            X = self.X[rows]
            yield rows, FoldedTile(X, reader) if reader.folds else ShiftedTile(reader.fill(X, NO_WEIGHTS))


class Reader:
    """How rows of one matrix become tiles, and the memory for one of them."""

    def __init__(self, X: Array, coordinates: Coordinates, n_rows: int) -> None:
        self.shift, self.intercept = coordinates.shift, coordinates.intercept
        self.inverse_scale = 1 / coordinates.scale
        self.n_columns = coordinates.n_columns
        #: whether shifts are taken out of products
        self.folds = coordinates.near and _is_for_blas(X)
        self._by_columns = abs(X.strides[0]) < abs(X.strides[1])
        self._for_loops = is_block(X)
        self._scratch = np.empty(n_rows * self.n_columns)

    def fill(self, X: Array, root: Array) -> Array:
        """Rows in working coordinates, each times its `root`, in the order that X is stored in."""
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

    def folded(self, w: Array) -> tuple[Array, Array]:
        """X w = X v + c: v and c."""
        d = len(self.shift)
        v = (w[:d].T * self.inverse_scale).T
        return v, (w[d] if self.intercept else 0.0) - self.shift @ v


@dataclass(frozen=True, eq=False)
class ShiftedTile(Tile):
    """Rows copied into working coordinates."""

    values: Array

    def times(self, w: Array) -> Array:
        return np.asarray(self.values @ w)

    def transposed_times(self, r: Array) -> Array:
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
    """Rows of X as they are: shift and scale are applied to what they are multiplied with, or to the product.

    Not so for Xᵀ diag(h) X, where that would cost twice as many digits and the weighted rows are copied anyway.
    """

    def __init__(self, X: Array, reader: Reader) -> None:
        self.X, self._reader = X, reader

    def times(self, w: Array) -> Array:
        v, c = self._reader.folded(w)
        # BLAS takes ten times as long for a single column
        product = np.matmul(self.X, v) if len(v) != 1 else np.multiply.outer(self.X[:, 0], v[0])
        product += c
        return np.asarray(product)

    def transposed_times(self, r: Array) -> Array:
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


def is_for_loops(design: DenseDesign) -> bool:
    """Whether compiled loops multiply its rows by themselves faster than BLAS does."""
    return is_block(design.X) and design.n_columns < MIN_COLUMNS_FOR_THREADS


def is_block(X: Array) -> bool:
    """Whether X is of one of the two kinds of array that loops are compiled for."""
    return X.dtype in (np.float32, np.float64) and X.flags.carray


def _is_for_blas(X: Array) -> bool:
    """Whether NumPy hands products with X to BLAS as it is, of either order."""
    if X.dtype != np.float64 or not X.flags.aligned or not X.size:
        return False
    inner, outer = sorted(zip(X.strides, X.shape, strict=True))
    return inner[0] == X.itemsize and outer[0] >= inner[1] * X.itemsize and outer[0] % X.itemsize == 0
