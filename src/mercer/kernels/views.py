"""The rows on one side of a kernel matrix, prepared once for all tiles.

`Views` has what different kernels need of the same input: the rows, the centred rows, some of the columns, a feature
map of the rows. Values that two parts of a kernel need are computed once, also in a tile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, Self, TypeVar, cast

import numpy as np
import scipy.sparse as sp

from mercer._errors import ColumnMismatchError, DataError
from mercer._jit.product import put_product
from mercer._typing import Array
from mercer.kernels._user_functions import apply_function
from mercer.kernels._value_loops import products_to_distances, refine_distances
from mercer.kernels.inputs import count, divide_rows, is_sparse, is_table, to_dense, to_matrix

T = TypeVar("T")
#: products and distances of the current tile that parts of a kernel share; None for a kernel without parts
Memo = dict[Any, Array] | None

#: largest relative error of an entry
FLOAT64_ENTRY_TOLERANCE = 1e-12
#: error of a squared distance from products, in roundings of ‖x‖² + ‖z‖²
PRODUCT_ROUNDINGS = 4.0
#: least and greatest value of the largest square, far from the ends of the range of float32
FLOAT32_MIN_LARGEST = 1e-25
FLOAT32_MAX_LARGEST = 1e25
#: least positive value within the range of float32
FLOAT32_SMALLEST = 1e-36
#: pairs of sparse rows whose distances are recomputed at once
SPARSE_PAIRS = 4096


class RowSide(Protocol):
    """Rows prepared for a kernel.

    Where the kernel's `sensitivity` is finite they also have `fits_single`, whether their values and squares are in the
    range of float32, and `single`, which returns the same rows in float32.
    """

    def __len__(self) -> int: ...

    def take(self, rows: Any) -> Self: ...


@dataclass(frozen=True, eq=False)
class PointRows:
    """Rows of numbers with their squared lengths."""

    X: Any
    squares: Array
    #: largest ‖x‖² of all rows, not only of those taken
    largest: float
    #: view from which the rows come: tiles of the same origin are computed once
    origin: object

    @classmethod
    def of(cls, X: Any, origin: object) -> Self:
        with np.errstate(over="ignore"):
            squares = np.asarray(X.multiply(X).sum(axis=1)) if is_sparse(X) else np.einsum("ij,ij->i", X, X)
        if not np.isfinite(largest := float(squares.max(initial=0.0))):
            row = int(np.argmax(~np.isfinite(squares)))
            raise DataError(f"the squared norm of row {row} overflows float64; divide the columns by their scale.")
        return cls(X, squares, largest, origin)

    def __len__(self) -> int:
        return len(self.squares)

    @property
    def columns(self) -> int:
        return int(self.X.shape[1])

    @property
    def fits_single(self) -> bool:
        return self.largest == 0 or FLOAT32_MIN_LARGEST < self.largest < FLOAT32_MAX_LARGEST

    def take(self, rows: Any) -> Self:
        return replace(self, X=self.X[rows], squares=self.squares[rows])

    def single(self) -> Self:
        return replace(self, X=self.X.astype(np.float32), squares=self.squares.astype(np.float32))


@dataclass(frozen=True, eq=False)
class ValueRows:
    """One number for every row."""

    values: Array

    @property
    def fits_single(self) -> bool:
        sizes = np.abs(self.values)
        largest, smallest = float(sizes.max(initial=0.0)), float(sizes.min(initial=np.inf, where=sizes > 0))
        return largest == 0 or (FLOAT32_MIN_LARGEST < largest < FLOAT32_MAX_LARGEST and smallest > FLOAT32_SMALLEST)

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Any) -> Self:
        return replace(self, values=self.values[rows])

    def single(self) -> Self:
        return replace(self, values=self.values.astype(np.float32))


@dataclass(frozen=True, eq=False)
class SeveralRows:
    """The same rows, once for each part of a kernel."""

    sides: tuple[Any, ...]

    @property
    def fits_single(self) -> bool:
        return all(side.fits_single for side in self.sides)

    def __len__(self) -> int:
        return len(self.sides[0])

    def take(self, rows: Any) -> Self:
        return replace(self, sides=tuple(side.take(rows) for side in self.sides))

    def single(self) -> Self:
        return replace(self, sides=tuple(side.single() for side in self.sides))


class Views:
    """Views of some rows for kernels; `like` are the views of the other side, whose shift is used here too."""

    def __init__(self, raw: Any, *, like: Views | None = None) -> None:
        self.raw, self.like = raw, like
        self._parts: dict[Any, Views] = {}
        self._made: dict[Any, Any] = {}

    def __len__(self) -> int:
        return count(self.raw)

    @cached_property
    def matrix(self) -> Any:
        """The rows as numbers, dense or CSR."""
        X = to_matrix(self.raw)
        if self.like is not None:
            columns = self.like.matrix.shape[1]
            if X.shape[1] != columns:
                raise ColumnMismatchError(
                    f"Incompatible dimension: X has {X.shape[1]} columns, but the rows it is compared with have "
                    f"{columns}; give both the same columns in the same order."
                )
            if is_sparse(self.like.matrix) and not is_sparse(X):
                return sp.csr_array(X)
            if is_sparse(X) and not is_sparse(self.like.matrix):
                return to_dense(X)
        return X

    @cached_property
    def table(self) -> Any:
        """The rows as a table whose columns may be of any kind; as numbers where all are."""
        if is_sparse(self.raw):
            return self.matrix
        things = np.asarray(self.raw, dtype=object if isinstance(self.raw, (list, tuple)) else None)
        return things if things.ndim == 2 and things.dtype.kind not in "biuf" else self.matrix

    @cached_property
    def rows(self) -> Any:
        """The rows as numbers if they are, otherwise as a list of objects."""
        return self.matrix if is_table(self.raw) else list(self.raw)

    @cached_property
    def shift(self) -> Array:
        """The mean of the columns, with which distances between rows far from 0 keep their digits."""
        if self.like is not None:
            return self.like.shift
        X = self.matrix
        if is_sparse(X) or len(X) == 0:
            return np.zeros(X.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(np.nan_to_num(X.mean(axis=0), posinf=0.0, neginf=0.0))

    @cached_property
    def points(self) -> PointRows:
        return PointRows.of(self.matrix, self)

    @cached_property
    def centred(self) -> PointRows:
        if not self.shift.any():
            return self.points
        with np.errstate(over="ignore"):  # such large values have squares that overflow anyway
            return PointRows.of(self.matrix - self.shift, (self, "centred"))

    @cached_property
    def directions(self) -> PointRows:
        """Rows of length 1; a row of zeros stays."""
        X = self.matrix
        largest = np.asarray(abs(X).max(axis=1).toarray() if is_sparse(X) else np.abs(X).max(axis=1)).ravel()
        X = divide_rows(X, largest)  # first, so that no square overflows
        return PointRows.of(divide_rows(X, np.sqrt(PointRows.of(X, self).squares)), (self, "directions"))

    def on(self, columns: tuple[int, ...]) -> Views:
        """Return views of some of the columns."""
        like = None if self.like is None else self.like.on(columns)
        return self._part(columns, lambda: Views(self.table[:, list(columns)], like=like))

    def mapped(self, function: Any) -> Views:
        """Return views of a feature map of the rows."""
        # the kernel keeps the function alive, and so its identity
        like = None if self.like is None else self.like.mapped(function)
        key = ("numbers", id(function))
        return self._part(key, lambda: Views(apply_function(function, self.rows, ndim=2), like=like))

    def translated(self, function: Any) -> Views:
        """Return views of a function of each row, where rows are objects and not numbers."""
        like = None if self.like is None else self.like.translated(function)
        transform = getattr(function, "transform", None) or (lambda rows: [function(row) for row in rows])
        return self._part(("things", id(function)), lambda: Views(transform(list(self.raw)), like=like))

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """Return a value made of the rows, computed on the first call; parts of a kernel share it by its key."""
        if key not in self._made:
            self._made[key] = make()
        return cast(T, self._made[key])

    def _part(self, key: Any, make: Callable[[], Views]) -> Views:
        if key not in self._parts:
            self._parts[key] = make()
        return self._parts[key]


def compute_products(left: PointRows, right: PointRows, memo: Memo) -> Array:
    """Return x·z for every pair, in a new array."""
    return _compute_once(("products", left.origin), memo, lambda: _products(left, right))


def compute_squared_distances(left: PointRows, right: PointRows, memo: Memo, *, careful: bool) -> Array:
    """Return ‖x − z‖² for every pair, in a new array.

    They are computed from products, with an error of a few roundings of ‖x‖² + ‖z‖². With `careful`, pairs that are
    close together relative to that are computed again from their differences.
    """
    return _compute_once(("distances", left.origin, careful), memo, lambda: _squared_distances(left, right, careful))


def _compute_once(key: Any, memo: Memo, make: Callable[[], Array]) -> Array:
    if memo is None:
        return np.asarray(make())
    if key not in memo:
        memo[key] = make()
    return memo[key].copy()


def _products(left: PointRows, right: PointRows) -> Array:
    if is_sparse(left.X) or is_sparse(right.X):
        product = left.X @ right.X.T
        return np.ascontiguousarray(product.toarray() if is_sparse(product) else product)
    tile = np.empty((len(left), len(right)), left.X.dtype)
    put_product(np.ascontiguousarray(left.X), right.X.T, tile)
    return tile


def _squared_distances(left: PointRows, right: PointRows, careful: bool) -> Array:
    tile = _products(left, right)
    products_to_distances(tile, left.squares, right.squares)
    near = PRODUCT_ROUNDINGS * np.finfo(tile.dtype).eps / FLOAT64_ENTRY_TOLERANCE
    # in most tiles no pair is close, as the smallest distance shows
    if careful and tile.min(initial=np.inf) < near * (left.largest + right.largest):
        if is_sparse(left.X):
            _refine_sparse(tile, left, right, near)
        else:
            refine_distances(tile, left.squares, right.squares, left.X, right.X, near)
    return tile


def _refine_sparse(tile: Array, left: PointRows, right: PointRows, near: float) -> None:
    rows, columns = np.nonzero(tile < near * (left.squares[:, None] + right.squares))
    for start in range(0, len(rows), SPARSE_PAIRS):
        i, j = rows[start : start + SPARSE_PAIRS], columns[start : start + SPARSE_PAIRS]
        away = left.X[i] - right.X[j]
        tile[i, j] = np.asarray(away.multiply(away).sum(axis=1)).ravel()


def estimate_rounding_error(sensitivity: float, dtype: Any) -> float:
    """Return the error of an entry, if an error relative to ‖x‖² + ‖z‖² grows by the factor `sensitivity`."""
    return PRODUCT_ROUNDINGS * float(np.finfo(dtype).eps) * float(sensitivity)  # which may be beyond float32
