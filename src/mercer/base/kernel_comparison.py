"""Comparison of new rows with support vectors: by a kernel, by a function of the user, or by a precomputed matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from mercer._errors import AsymmetricKernelError, DataError, KernelShapeError, NonFiniteError
from mercer._memory import check_memory
from mercer._stored import any_rows, integers, optional, reals, stored
from mercer._threads import row_blocks
from mercer._typing import Array
from mercer.base.validation import is_sparse
from mercer.kernels import Gram, Kernel, Linear
from mercer.kernels.inputs import count, take
from mercer.kernels.views import Views

#: relative error of an entry of the kernel matrix that is allowed in predictions of many rows
PREDICTION_ENTRY_TOLERANCE = 1e-5
#: rows × support vectors from which this error is allowed
MANY_KERNEL_ENTRIES = 4_000_000
#: entries of support vectors up to which what the kernel needs of them is kept: 8 MB
MAX_ENTRIES_OF_KEPT_VIEWS = 1 << 20
#: relative difference of k(x, z) and k(z, x) that rounding explains, also in float32
SYMMETRY_TOLERANCE_OF_SINGLE = 1e-5
#: rows and columns of a tile in which symmetry is checked
SYMMETRY_TILE_SIDE = 1024


class RowComparison(Protocol):
    """A comparison of rows with the support vectors of a fitted model."""

    def matvec(self, X: Any, v: Array) -> Array:
        """Return k(X, support vectors) v."""


@stored(support=any_rows("n", "d"), centre=optional(reals("d")), tag="ComparedByKernel")
@dataclass(frozen=True, eq=False)
class ByKernel:
    """Comparison by a kernel, evaluated by tiles."""

    kernel: Kernel
    support: Any
    #: the shift that the fit has subtracted from rows, where only the intercept depends on it
    centre: Array | None = None

    def matvec(self, X: Any, v: Array) -> Array:
        """Return k(X, support vectors) v."""
        if isinstance(self.kernel, Linear):
            weights = self.support.T @ v  # one for each column
            return np.asarray(X @ (weights.toarray() if is_sparse(weights) else weights))
        few = count(X) * len(v) < MANY_KERNEL_ENTRIES
        return Gram(self.kernel, X, self._columns, tolerance=0.0 if few else PREDICTION_ENTRY_TOLERANCE).matvec(v)

    @property
    def _columns(self) -> Any:
        """Return the support vectors, as views that are kept from one call to the next if they are small."""
        return self._views if getattr(self.support, "size", np.inf) <= MAX_ENTRIES_OF_KEPT_VIEWS else self.support

    @cached_property
    def _views(self) -> Views:
        return Views(self.support)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the views, which are made again."""
        return {name: value for name, value in vars(self).items() if name != "_views"}

    def among(self, a: Array, b: Array) -> Array:
        """Return k(x, z) of support vectors, by their positions, as the fit computed it."""
        return Gram(self.kernel, self._centred(a), self._centred(b)).matrix()

    def _centred(self, positions: Array) -> Any:
        rows = take(self.support, positions)
        return rows if self.centre is None else (rows.toarray() if is_sparse(rows) else rows) - self.centre


@dataclass(frozen=True, eq=False)
class ByFunction:
    """Comparison by a function of two sets of rows, called as in scikit-learn with all rows of the fit on the right."""

    function: Callable[[Any, Any], Any]
    rows: Any
    numbers: Array

    def matvec(self, X: Any, v: Array) -> Array:
        """Return k(X, support vectors) v."""
        return matrix_of_function(self.function, X, self.rows)[:, self.numbers] @ v


@stored(numbers=integers("n"))
@dataclass(frozen=True, eq=False)
class Precomputed:
    """Comparison by a matrix with a column for each row of the fit."""

    numbers: Array

    def matvec(self, X: Any, v: Array) -> Array:
        """Return k(X, support vectors) v."""
        return np.asarray(X[:, self.numbers] @ v)


def block(K: Array, numbers: Array) -> Array:
    """Return K[numbers][:, numbers]; for two runs of rows, as in a pair of classes, by copying whole pieces."""
    breaks = np.flatnonzero(np.diff(numbers) != 1) + 1
    if len(breaks) > 1 or not len(numbers):
        return np.asarray(K[np.ix_(numbers, numbers)])
    ends = [0, *breaks.tolist(), len(numbers)]
    runs = [(slice(a, b), slice(numbers[a], numbers[b - 1] + 1)) for a, b in pairwise(ends)]
    result = np.empty((len(numbers), len(numbers)), K.dtype)
    for new_rows, rows in runs:
        for new_columns, columns in runs:
            result[new_rows, new_columns] = K[rows, columns]
    return result


def matrix_of_function(function: Callable[[Any, Any], Any], X: Any, Z: Any) -> Array:
    """Return function(X, Z); raise where it is not a matrix of finite numbers with an entry for each pair of rows."""
    values = function(X, Z)
    if (matrix := _as_matrix(values, count(X), count(Z))) is None:
        shape, wanted = np.shape(values), (count(X), count(Z))
        raise KernelShapeError(
            f"{_name(function)} gave an array of shape {shape} for {wanted[0]} and {wanted[1]} rows, where a kernel "
            f"gives {wanted}; let it return k(x, z) for every pair."
        )
    check_finite_matrix(matrix, _name(function))
    return matrix


def whole_matrix(function: Callable[[Any, Any], Any], X: Any) -> Array | None:
    """Return function(X, X), or None if the function seems to take two rows instead of two sets, as in scikit-learn."""
    check_memory(8.0 * count(X) ** 2, f"a kernel matrix of {count(X)} rows", "use a Kernel such as RBF")
    try:
        matrix = _as_matrix(function(X, X), count(X), count(X))
    except Exception:  # a function of two rows may raise anything for sets
        return None
    if matrix is not None:
        check_kernel_matrix(matrix, _name(function))
    return matrix


def _as_matrix(values: Any, n: int, m: int) -> Array | None:
    """Return values as an (n, m) matrix, or None if they have another shape."""
    values = values.toarray() if is_sparse(values) else np.asarray(values)
    return np.ascontiguousarray(values, dtype=float) if values.shape == (n, m) else None


def check_finite_matrix(matrix: Array, name: str) -> None:
    """Raise an error that names the first entry that is not finite, if there is one."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(matrix.sum()):
            return
    if not (finite := np.isfinite(matrix)).all():
        i, j = map(int, np.argwhere(~finite)[0])
        raise NonFiniteError(f"{name} is {matrix[i, j]} for the rows {i} and {j}; a kernel is finite everywhere.")


def check_kernel_matrix(K: Array, name: str) -> None:
    """Raise if K is not square, finite and symmetric; the error names the pair of rows."""
    if K.shape[0] != K.shape[1]:
        raise DataError(
            f"Precomputed matrix must be a square matrix. Input is a {K.shape[0]}x{K.shape[1]} matrix. Give k(X, X) "
            "of the rows of the fit, or another kernel and X itself."
        )
    check_finite_matrix(K, name)
    size = max(float(K.max(initial=0.0)), -float(K.min(initial=0.0)))
    blocks = row_blocks(len(K), SYMMETRY_TILE_SIDE)
    for rows in blocks:
        for columns in blocks[: rows.start // SYMMETRY_TILE_SIDE + 1]:
            off = np.abs(K[rows, columns] - K[columns, rows].T)
            if off.max(initial=0.0) > SYMMETRY_TOLERANCE_OF_SINGLE * size:
                i, j = map(int, np.unravel_index(np.argmax(off), off.shape))
                i, j = i + rows.start, j + columns.start
                raise AsymmetricKernelError(
                    f"{name} is {K[i, j]:.6g} for the rows {i} and {j}, but {K[j, i]:.6g} for {j} and {i}: no inner "
                    "product depends on the order. Give (K + K.T)/2 if the difference is not intended."
                )


def _name(function: Any) -> str:
    return f"the function {getattr(function, '__name__', None) or repr(function)}"
