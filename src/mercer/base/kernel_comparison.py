"""How a kernel machine compares rows: by a kernel, by a function of the user, or by a matrix it is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from mercer._errors import AsymmetricKernelError, DataError, KernelShapeError, NonFiniteError
from mercer._memory import refuse_beyond_memory
from mercer._stored import any_rows, integers, optional, reals, stored
from mercer._threads import row_blocks
from mercer._typing import Array
from mercer.base.validation import is_sparse
from mercer.kernels import Gram, Kernel, Linear
from mercer.kernels.inputs import count, take

#: error of an entry of the kernel matrix in predictions, relative to its size, and entries from which it is allowed
TOLERANCE, MANY = 1e-5, 4_000_000
#: relative difference of k(x, z) and k(z, x) that rounding explains, be it in float32
SYMMETRIC = 1e-5
#: rows and columns that are looked at together
SIDE = 1024


class RowComparison(Protocol):
    """Rows against the support vectors of a fitted model."""

    def times(self, X: Any, v: Array) -> Array:
        """k(X, support vectors) v."""


@stored(support=any_rows("n", "d"), centre=optional(reals("d")), tag="ComparedByKernel")
@dataclass(frozen=True, eq=False)
class ByKernel:
    """By a kernel, evaluated by tiles."""

    kernel: Kernel
    support: Any
    #: what the fit has taken from rows, where only the intercept depends on it
    centre: Array | None = None

    def times(self, X: Any, v: Array) -> Array:
        if isinstance(self.kernel, Linear):
            weights = self.support.T @ v  # as many as columns, however many support vectors there are
            return np.asarray(X @ (weights.toarray() if is_sparse(weights) else weights))
        few = count(X) * len(v) < MANY
        return Gram(self.kernel, X, self.support, tolerance=0.0 if few else TOLERANCE).times(v)

    def among(self, a: Array, b: Array) -> Array:
        """k(x, z) of support vectors by their positions, as the fit had it."""
        return Gram(self.kernel, self._centred(a), self._centred(b)).matrix()

    def _centred(self, positions: Array) -> Any:
        rows = take(self.support, positions)
        return rows if self.centre is None else (rows.toarray() if is_sparse(rows) else rows) - self.centre


@dataclass(frozen=True, eq=False)
class ByFunction:
    """By a function of two sets of rows, called as scikit-learn does: with all rows of the fit on the right."""

    function: Callable[[Any, Any], Any]
    rows: Any
    numbers: Array

    def times(self, X: Any, v: Array) -> Array:
        return matrix_of_function(self.function, X, self.rows)[:, self.numbers] @ v


@stored(numbers=integers("n"))
@dataclass(frozen=True, eq=False)
class Precomputed:
    """By a matrix with a column for each row of the fit."""

    numbers: Array

    def times(self, X: Any, v: Array) -> Array:
        return np.asarray(X[:, self.numbers] @ v)


def block(K: Array, numbers: Array) -> Array:
    """K of some rows with each other; of two runs of rows, as pairs of classes are, by copies of whole pieces."""
    breaks = np.flatnonzero(np.diff(numbers) != 1) + 1
    if len(breaks) > 1 or not len(numbers):
        return np.asarray(K[np.ix_(numbers, numbers)])
    ends = [0, *breaks.tolist(), len(numbers)]
    runs = [(slice(a, b), slice(numbers[a], numbers[b - 1] + 1)) for a, b in pairwise(ends)]
    result = np.empty((len(numbers), len(numbers)), K.dtype)
    for here, rows in runs:
        for there, columns in runs:
            result[here, there] = K[rows, columns]
    return result


def matrix_of_function(function: Callable[[Any, Any], Any], X: Any, Z: Any) -> Array:
    """What a function of two sets of rows makes of them; an error where it is no matrix of finite numbers."""
    values = function(X, Z)
    if (matrix := _as_matrix(values, count(X), count(Z))) is None:
        shape, wanted = np.shape(values), (count(X), count(Z))
        raise KernelShapeError(
            f"{_name(function)} gave an array of shape {shape} for {wanted[0]} and {wanted[1]} rows, where a kernel "
            f"gives {wanted}; let it return k(x, z) for every pair."
        )
    refuse_spoilt_matrix(matrix, _name(function))
    return matrix


def whole_matrix(function: Callable[[Any, Any], Any], X: Any) -> Array | None:
    """k(X, X) of a function that takes two sets of rows, as scikit-learn's do; None if it seems made for two rows."""
    refuse_beyond_memory(8.0 * count(X) ** 2, f"a kernel matrix of {count(X)} rows", "use a Kernel such as RBF")
    try:
        matrix = _as_matrix(function(X, X), count(X), count(X))
    except Exception:  # made for two rows, it may raise anything on sets
        return None
    if matrix is not None:
        refuse_no_kernel_matrix(matrix, _name(function))
    return matrix


def _as_matrix(values: Any, n: int, m: int) -> Array | None:
    """Values as a matrix of this shape, None where they are none."""
    values = values.toarray() if is_sparse(values) else np.asarray(values)
    return np.ascontiguousarray(values, dtype=float) if values.shape == (n, m) else None


def refuse_spoilt_matrix(matrix: Array, name: str) -> None:
    """An error that names the first entry which is no finite number."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(matrix.sum()):
            return
    if not (finite := np.isfinite(matrix)).all():
        i, j = map(int, np.argwhere(~finite)[0])
        raise NonFiniteError(f"{name} is {matrix[i, j]} for the rows {i} and {j}; a kernel is finite everywhere.")


def refuse_no_kernel_matrix(K: Array, name: str) -> None:
    """Kernel matrices are square, finite and symmetric; the error names the pair of rows that says otherwise."""
    if K.shape[0] != K.shape[1]:
        raise DataError(
            f"Precomputed matrix must be a square matrix. Input is a {K.shape[0]}x{K.shape[1]} matrix. Give k(X, X) "
            "of the rows of the fit, or another kernel and X itself."
        )
    refuse_spoilt_matrix(K, name)
    size = max(float(K.max(initial=0.0)), -float(K.min(initial=0.0)))
    blocks = row_blocks(len(K), SIDE)
    for rows in blocks:
        for columns in blocks[: rows.start // SIDE + 1]:
            off = np.abs(K[rows, columns] - K[columns, rows].T)
            if off.max(initial=0.0) > SYMMETRIC * size:
                i, j = map(int, np.unravel_index(np.argmax(off), off.shape))
                i, j = i + rows.start, j + columns.start
                raise AsymmetricKernelError(
                    f"{name} is {K[i, j]:.6g} for the rows {i} and {j}, but {K[j, i]:.6g} for {j} and {i}: no inner "
                    "product depends on the order. Give (K + K.T)/2 if the difference is not meant."
                )


def _name(function: Any) -> str:
    return f"the function {getattr(function, '__name__', None) or repr(function)}"
