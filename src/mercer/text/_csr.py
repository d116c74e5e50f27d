"""Sparse matrices from parts that are known to be valid: SciPy's checks take longer than reading a short document."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config

from mercer._typing import Array

#: SciPy's classes by the value of scikit-learn's option `sparse_interface`
SPARSE_CLASSES: dict[str, Any] = {"sparray": sparse.csr_array, "spmatrix": sparse.csr_matrix}


def csr(values: Array, indices: Array, starts: Array, n_columns: int, kind: Any = sparse.csr_array) -> Any:
    """Return a CSR matrix of given arrays without checks; `indices` have the type of `starts`.

    Examples
    --------
    >>> csr(np.array([3, 5]), np.array([1, 0]), np.array([0, 1, 2]), 2).toarray().tolist()
    [[0, 3], [5, 0]]
    """
    X = kind.__new__(kind)
    vars(X).update(vars(_empty_matrix(kind, len(starts) - 1, n_columns)))
    X.data, X.indices, X.indptr = values, indices, starts
    return X


def as_configured(X: Any) -> Any:
    """Return a CSR matrix as the SciPy class that scikit-learn's option `sparse_interface` names, without a copy."""
    kind = SPARSE_CLASSES[get_config()["sparse_interface"]]
    return X if isinstance(X, kind) else csr(X.data, X.indices, X.indptr, X.shape[1], kind)


@lru_cache(maxsize=64)
def _empty_matrix(kind: Any, n_rows: int, n_columns: int) -> Any:
    return kind((n_rows, n_columns), dtype=np.int64)
