"""Sparse blocks as compiled loops take them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from mercer.matrices.sparse_loops import times_matrix
from mercer.stats._sparse_loops import stores_twice
from mercer.stats.sparse import StoredMatrixRows, sum_duplicates

X = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 3.0]])


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_entries_are_stored_row_by_row(kind: type) -> None:
    entries = StoredMatrixRows.of(kind(X))
    np.testing.assert_array_equal(entries.values, [2.0, 1.0, 3.0])
    np.testing.assert_array_equal(entries.indices, [1, 0, 2])
    np.testing.assert_array_equal(entries.row_of(np.arange(3)), [0, 2, 2])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_supported_types_are_not_copied(dtype: type) -> None:
    x = sparse.csr_array(X.astype(dtype))
    entries = StoredMatrixRows.of(x)
    assert entries.values.dtype == dtype
    assert all(np.shares_memory(mine, its) for mine, its in zip(entries, (x.indptr, x.indices, x.data), strict=True))


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int32])
def test_other_types_become_floats(dtype: type) -> None:
    entries = StoredMatrixRows.of(sparse.csr_array((X > 0).astype(np.int64)).astype(dtype))
    assert entries.values.dtype == np.float64


def test_a_product_agrees_with_the_dense_matrix() -> None:
    rng = np.random.default_rng(0)
    x, table = sparse.random_array((50, 20), density=0.3, rng=rng, format="csr"), rng.normal(size=(20, 7))
    np.testing.assert_allclose(
        times_matrix(*StoredMatrixRows.of(x), 0, 50, table), x.toarray() @ table, rtol=1e-13, atol=1e-15
    )


def test_duplicate_entries_are_recognised() -> None:
    once = sparse.csr_array((np.ones(4), np.array([2, 0, 2, 0]), np.array([0, 2, 4])), shape=(2, 3))
    twice = sparse.csr_array((np.ones(4), np.array([2, 0, 1, 1]), np.array([0, 2, 4])), shape=(2, 3))
    assert not stores_twice(*StoredMatrixRows.of(once)[:2], 3)
    assert stores_twice(*StoredMatrixRows.of(twice)[:2], 3)
    assert sum_duplicates(once) is once
    np.testing.assert_array_equal(sum_duplicates(twice).data, [1.0, 1.0, 2.0])
    assert twice.nnz == 4
