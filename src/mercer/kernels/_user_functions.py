"""Users' functions, which may take one row or a matrix of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._errors import KernelShapeError, NonFiniteError
from mercer._typing import Array
from mercer.kernels.inputs import count, dense, is_sparse


def applied(function: Any, rows: Any, *, ndim: int) -> Any:
    """ψ of every row, whether ψ is a function of one row or of all of them, or a fitted transformer.

    The result is an array of `ndim` dimensions, or a sparse matrix.
    """
    if hasattr(function, "transform"):
        result = function.transform(rows)
    elif isinstance(rows, list) or not _takes_matrices(function, rows, ndim):
        result = _row_by_row(function, rows)
    else:
        result = function(rows)
    result = result if is_sparse(result) else np.asarray(result)
    if ndim == 2 and result.ndim == 1:
        result = result[:, None]
    if result.ndim != ndim or result.shape[0] != count(rows):
        what = "a number" if ndim == 1 else "a row of numbers"
        raise KernelShapeError(
            f"{_shown(function)} must give {what} for each of {count(rows)} rows, but gave an array of shape "
            f"{result.shape}; let it take one row and return {what}, or a matrix and return one for each row."
        )
    return result


def _takes_matrices(function: Callable[[Any], Any], rows: Any, ndim: int) -> bool:
    """Whether it gives a result for each of many rows, and the same one for a single row, as a matrix or as a vector.

    x − x.mean() does not, nor does x / x[0]: both are meant for one row.
    """
    n = rows.shape[0]
    if n == 0:
        return True
    try:
        every, alone = _results(function, rows), _results(function, rows[np.zeros(1 if n > 1 else 2, int)])
    except Exception:  # made for one row, it may raise anything on a matrix
        return False
    if every.ndim != ndim or alone.ndim != ndim or len(every) != n or len(alone) != (1 if n > 1 else 2):
        return False
    if every.shape[1:] != alone.shape[1:] or not np.allclose(every[0], alone[0], equal_nan=True):
        return False
    return not _differs(lambda: function(dense(rows[:1])[0]), every[0])


def _differs(of_row: Callable[[], Any], known: Any) -> bool:
    """Whether a function takes single rows too, and gives other numbers for one than its matrix has for that row."""
    try:
        result = np.asarray(of_row(), dtype=float)
    except Exception:  # made for matrices, it may raise anything on a row
        return False
    return result.shape == np.shape(known) and not np.allclose(result, known, equal_nan=True)


def _results(function: Callable[[Any], Any], rows: Any) -> Array:
    """What it gives; of a sparse matrix the shape and the first row, which is all that is looked at."""
    result = function(rows)
    if not is_sparse(result):
        return np.asarray(result, dtype=float)
    return np.broadcast_to(result[:1].toarray(), result.shape)


def _row_by_row(function: Callable[[Any], Any], rows: Any) -> Array:
    items = rows if isinstance(rows, list) else dense(rows)
    try:
        return np.asarray([function(row) for row in items], dtype=float)
    except (TypeError, ValueError, IndexError) as error:
        raise KernelShapeError(f"{_shown(function)} does not give numbers for one row: {error}") from error


def pairs(function: Callable[[Any, Any], Any], X: Any, Z: Any, *, by_rows: bool) -> Array:
    """k(x, z) for every pair, as float64."""
    n, m = count(X), count(Z)
    values: Any = [[function(x, z) for z in Z] for x in X] if by_rows else function(X, Z)
    try:
        result = np.array(values.toarray() if is_sparse(values) else values, dtype=float, order="C")
    except (TypeError, ValueError) as error:
        raise KernelShapeError(f"{_shown(function)} does not give numbers: {error}") from error
    if result.shape != (n, m) and n * m > 0:
        raise KernelShapeError(
            f"{_shown(function)} gave an array of shape {result.shape} for {n} and {m} rows, where a kernel gives "
            f"{(n, m)}; let it return k(x, z), a number, for two rows, or the matrix of them for two matrices."
        )
    if not np.isfinite(result).all():
        i, j = map(int, np.argwhere(~np.isfinite(result))[0])
        raise NonFiniteError(f"{_shown(function)} is {result[i, j]} for the rows {i} and {j}; a kernel is finite.")
    return result.reshape(n, m)


def takes_pairs_of_matrices(function: Callable[[Any, Any], Any], X: Any) -> bool:
    """Whether it gives a matrix for two matrices, and for two rows what that matrix has for them.

    The matrices have two rows and three or four, never as many as there are columns.
    """
    if isinstance(X, list) or X.shape[0] == 0:
        return not isinstance(X, list)
    few, more = X[np.arange(2) % X.shape[0]], X[np.arange(3 if X.shape[1] != 3 else 4) % X.shape[0]]
    try:
        both, one = np.asarray(function(few, more)), np.asarray(function(few[:1], more[:1]))
        if both.shape != (2, more.shape[0]) or one.size != 1 or not np.isclose(both[0, 0], one.ravel()[0]):
            return False
    except Exception:  # made for two rows, it may raise anything on matrices
        return False
    first, second = dense(few[1:])[0], dense(more[2:3])[0]
    return not _differs(lambda: function(first, second), both[1, 2])


def name_of(function: Any) -> str:
    """Its name, or its repr if it has none."""
    return getattr(function, "__name__", None) or repr(function)


def _shown(function: Any) -> str:
    return f"the function {name_of(function)}"
