"""Matrices made of their parts are those that SciPy makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context

from mercer.text._csr import as_configured, csr


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.int64, np.float32])
def test_csr_matrices_agree_with_scipy(kind: Any, dtype: Any) -> None:
    parts = np.array([3, 5, 2], dtype=dtype), np.array([1, 0, 2], np.int32), np.array([0, 1, 1, 3], np.int32)
    wanted, first = kind(parts, shape=(3, 4)), csr(*parts, 4, kind)
    other = csr(*(part.copy() for part in parts), 4, kind)
    other.data[:] = 0  # two of one shape share nothing
    for found in (first, first.copy(), first[1:].T.T):
        assert type(found) is kind
        assert found.dtype == dtype
    first.check_format()
    assert first.shape == wanted.shape
    assert first.nnz == wanted.nnz
    np.testing.assert_array_equal(first.toarray(), wanted.toarray())
    np.testing.assert_array_equal((first @ first.T).toarray(), (wanted @ wanted.T).toarray())


@pytest.mark.parametrize(("interface", "kind"), [("sparray", sparse.csr_array), ("spmatrix", sparse.csr_matrix)])
def test_matrices_have_the_type_that_scikit_learn_returns(interface: str, kind: Any) -> None:
    with config_context(sparse_interface=interface):
        for X in (sparse.csr_array(np.eye(2)), sparse.csr_matrix(np.eye(2))):
            found = as_configured(X)
            assert type(found) is kind
            np.testing.assert_array_equal(found.toarray(), np.eye(2))
