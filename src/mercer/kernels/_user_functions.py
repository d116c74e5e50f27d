"""Users' functions, which may take one row or a matrix of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._errors import KernelShapeError, NonFiniteError
from mercer._typing import Array
from mercer.kernels.inputs import count, is_sparse, to_dense


def apply_function(function: Any, rows: Any, *, ndim: int) -> Any:
    """Return ψ of every row, for a function of one row or of all rows, or a fitted transformer.

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
        expected = "a number" if ndim == 1 else "a row of numbers"
        raise KernelShapeError(
            f"{_describe_function(function)} must return {expected} for each of {count(rows)} rows, "
            f"but returned an array of shape {result.shape}; let it take one row and return {expected}, or "
            "a matrix and return one for each row."
        )
    return result


def _takes_matrices(function: Callable[[Any], Any], rows: Any, ndim: int) -> bool:
    """Return whether a function gives a result for each of many rows, and the same one for a single row.

    x − x.mean() does not, nor does x / x[0]: both are meant for one row.
    """
    n = rows.shape[0]
    if n == 0:
        return True
    try:
        every, alone = _evaluate(function, rows), _evaluate(function, rows[np.zeros(1 if n > 1 else 2, int)])
    except Exception:  # a function of one row may raise anything on a matrix
        return False
    if every.ndim != ndim or alone.ndim != ndim or len(every) != n or len(alone) != (1 if n > 1 else 2):
        return False
    if every.shape[1:] != alone.shape[1:] or not np.allclose(every[0], alone[0], equal_nan=True):
        return False
    return not _differs(lambda: function(to_dense(rows[:1])[0]), every[0])


def _differs(of_row: Callable[[], Any], known: Any) -> bool:
    """Return whether a function takes single rows too, with a result that differs from its matrix for that row."""
    try:
        result = np.asarray(of_row(), dtype=float)
    except Exception:  # a function of matrices may raise anything on a row
        return False
    return result.shape == np.shape(known) and not np.allclose(result, known, equal_nan=True)


def _evaluate(function: Callable[[Any], Any], rows: Any) -> Array:
    """Return the result of a function; for a sparse matrix the shape and the first row, which are all that is used."""
    result = function(rows)
    if not is_sparse(result):
        return np.asarray(result, dtype=float)
    return np.broadcast_to(result[:1].toarray(), result.shape)


def _row_by_row(function: Callable[[Any], Any], rows: Any) -> Array:
    items = rows if isinstance(rows, list) else to_dense(rows)
    try:
        return np.asarray([function(row) for row in items], dtype=float)
    except (TypeError, ValueError, IndexError) as error:
        raise KernelShapeError(f"{_describe_function(function)} does not give numbers for one row: {error}") from error


def evaluate_pairs(function: Callable[[Any, Any], Any], X: Any, Z: Any, *, by_rows: bool) -> Array:
    """Return k(x, z) for every pair, as float64."""
    n, m = count(X), count(Z)
    values: Any = [[function(x, z) for z in Z] for x in X] if by_rows else function(X, Z)
    try:
        result = np.array(values.toarray() if is_sparse(values) else values, dtype=float, order="C")
    except (TypeError, ValueError) as error:
        raise KernelShapeError(f"{_describe_function(function)} does not give numbers: {error}") from error
    if result.shape != (n, m) and n * m > 0:
        raise KernelShapeError(
            f"{_describe_function(function)} gave an array of shape {result.shape} for {n} and {m} rows, "
            f"where a kernel gives {(n, m)}; let it return k(x, z), a number, for two rows, or the "
            "matrix of them for two matrices."
        )
    if not np.isfinite(result).all():
        i, j = map(int, np.argwhere(~np.isfinite(result))[0])
        raise NonFiniteError(
            f"{_describe_function(function)} is {result[i, j]} for the rows {i} and {j}; a kernel is finite."
        )
    return result.reshape(n, m)


def takes_pairs_of_matrices(function: Callable[[Any, Any], Any], X: Any) -> bool:
    """Return whether a function gives a matrix for two matrices, and for two rows the same value as that matrix.

    The matrices have two rows and three or four, never as many as there are columns.
    """
    if isinstance(X, list) or X.shape[0] == 0:
        return not isinstance(X, list)
    few, more = X[np.arange(2) % X.shape[0]], X[np.arange(3 if X.shape[1] != 3 else 4) % X.shape[0]]
    try:
        both, one = np.asarray(function(few, more)), np.asarray(function(few[:1], more[:1]))
        if both.shape != (2, more.shape[0]) or one.size != 1 or not np.isclose(both[0, 0], one.ravel()[0]):
            return False
    except Exception:  # a function of two rows may raise anything on matrices
        return False
    first, second = to_dense(few[1:])[0], to_dense(more[2:3])[0]
    return not _differs(lambda: function(first, second), both[1, 2])


def get_function_name(function: Any) -> str:
    """Return the name of a function, or its repr if it has none."""
    return getattr(function, "__name__", None) or repr(function)


def _describe_function(function: Any) -> str:
    return f"the function {get_function_name(function)}"
