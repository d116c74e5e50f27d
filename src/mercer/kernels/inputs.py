"""Inputs of kernels: rows of numbers, dense or sparse, or a sequence of objects."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._errors import ColumnTypeError, DataError, EmptyDataError, NonFiniteError
from mercer._gpu import is_tensor
from mercer._typing import Array

#: types of missing values, by name, since pandas need not be installed
MISSING_TYPES = frozenset({"NoneType", "NAType", "NaTType"})


def to_matrix(X: Any) -> Any:
    """Return X as C-ordered float64, or as CSR; raise a typed error if it is not a table of finite numbers."""
    numbers = sp.csr_array(X, dtype=float) if is_sparse(X) else _to_float_array(X)
    if numbers.shape[1] == 0:
        raise EmptyDataError("X has no columns (0 feature(s)); a kernel compares at least one number.")
    _check_finite(numbers)
    return numbers


def is_sparse(X: Any) -> bool:
    return bool(sp.issparse(X))


def is_table(X: Any) -> bool:
    """Return whether X is rows of numbers; otherwise it is a sequence of objects such as texts."""
    if is_sparse(X):
        return True
    if isinstance(X, (list, tuple)):
        return bool(X) and isinstance(X[0], (list, tuple, np.ndarray)) and np.asarray(X[0]).dtype.kind in "biuf"
    return len(np.shape(X)) == 2 or np.asarray(X).dtype.kind in "biuf"


def to_objects(X: Any) -> Any:
    """Return X as a sequence of objects; for a table of one column its entries."""
    return np.asarray(X, dtype=object)[:, 0] if hasattr(X, "shape") and np.shape(X)[1:] == (1,) else X


def is_missing(thing: Any) -> bool:
    """Return whether an object stands for a missing value."""
    return type(thing).__name__ in MISSING_TYPES or (isinstance(thing, (float, np.floating)) and bool(np.isnan(thing)))


def is_measurement(kind: type) -> bool:
    """Return whether objects of a type are real numbers, which may lie between others and so are not names."""
    return issubclass(kind, Real) and not issubclass(kind, Integral)


def count(X: Any) -> int:
    """Return the number of rows of a table, or of objects in a sequence."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def take(X: Any, numbers: Array) -> Any:
    """Return some rows of a table, or objects of a sequence."""
    if hasattr(X, "iloc"):
        return X.iloc[numbers]
    if is_sparse(X):
        return X.tocsr()[numbers]
    if is_tensor(X):
        import torch

        return X[torch.as_tensor(numbers, device=X.device)]
    return X[numbers] if hasattr(X, "shape") else [X[i] for i in numbers]


def to_dense(X: Any) -> Array:
    """Return the rows as a C-ordered array, as compiled loops need them."""
    return np.ascontiguousarray(X.toarray() if is_sparse(X) else X)


def divide_rows(X: Any, lengths: Array) -> Any:
    """Divide rows by their lengths; a row of length 0 becomes zeros."""
    inverse = np.divide(1.0, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
    return sp.csr_array(sp.diags_array(inverse) @ X) if is_sparse(X) else X * inverse[:, None]


def _to_float_array(X: Any) -> Array:
    try:
        given = np.asarray(X)
    except ValueError as error:
        raise DataError(
            f"X is not a table: its rows differ in length ({error}); give each the same columns."
        ) from error
    if given.dtype.kind in "US" and given.ndim != 2:
        raise ColumnTypeError("X is texts, where this kernel compares numbers; encode them, or use a kernel for texts.")
    if given.dtype.kind == "c":
        raise ColumnTypeError("Complex data not supported: a kernel here compares real numbers; give np.abs or parts.")
    if given.ndim != 2:
        raise DataError(
            f"Expected 2D array, got {given.ndim}D array instead: a kernel compares rows. Give X.reshape(-1, 1) "
            "if there is one column, X.reshape(1, -1) if there is one row."
        )
    try:
        return np.ascontiguousarray(given, dtype=float)
    except (TypeError, ValueError) as error:
        row, column, value = _find_text(given)
        raise ColumnTypeError(
            f"could not convert {value!r} in row {row}, column {column} to a number; encode the column, leave it out, "
            "or use a kernel for texts."
        ) from error


def _find_text(X: Array) -> tuple[int, int, Any]:
    for row, column in np.ndindex(X.shape):
        try:
            float(X[row, column])
        except (TypeError, ValueError):
            break
    return row, column, X[row, column]


def _check_finite(X: Any) -> None:
    values = X.data if is_sparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return
    if np.isfinite(values).all():  # only the sum is too large
        return
    entries = sp.coo_array(X) if is_sparse(X) else None
    if entries is None:
        row, column = map(int, np.argwhere(~np.isfinite(X))[0])
    else:
        place = int(np.argmax(~np.isfinite(entries.data)))
        row, column = int(entries.coords[0][place]), int(entries.coords[1][place])
    value = X[row, column]
    kind = "NaN" if np.isnan(value) else "infinity"
    raise NonFiniteError(
        f"Input X contains {kind}: column {column} is {value} in row {row}. Drop or impute it: a kernel needs all."
    )
