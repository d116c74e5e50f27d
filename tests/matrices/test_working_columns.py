"""Columns of a design, some at a time, multiply as the design does."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from mercer.matrices import Coordinates, SparseMatrix, SplitMatrix
from mercer.matrices.working_columns import WorkingColumns
from tests.optim._proximal_cases import DESIGNS


@pytest.mark.parametrize("design", ["dense", "sparse", "mixed"])
def test_columns_of_a_design_multiply_as_the_design_does(design: str) -> None:
    rng = np.random.default_rng(1)
    made = DESIGNS[design](200, 21, rng)
    X, h, d, ids = made.dense(), rng.random(200), rng.normal(size=9), np.array([0, 3, 20, 7, 8, 12, 15, 19, 21])
    ours = WorkingColumns(made, serial=0)  # in several blocks
    np.testing.assert_allclose(ours.gram(ids, ids[:4], h), (X[:, ids].T * h) @ X[:, ids[:4]], atol=1e-12)
    np.testing.assert_allclose(ours.squares(ids, h), np.square(X[:, ids]).T @ h, atol=1e-12)
    np.testing.assert_allclose(ours.combination(ids, d[None])[0], X[:, ids] @ d, atol=1e-12)
    np.testing.assert_allclose(ours.products(h[None], ids)[0], X[:, ids].T @ h, atol=1e-12)


def test_entries_stored_twice_count_as_their_sum() -> None:
    X = sparse.csr_array((np.array([1.0, 2.0, 5.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    ours = WorkingColumns(SparseMatrix.of(X))
    np.testing.assert_allclose(ours.squares(np.arange(2), np.ones(2)), [9.0, 25.0])


def test_columns_of_a_sparse_matrix_that_are_shifted_multiply_as_the_design_does() -> None:
    """The sample of a source has such columns, whose numbers are shifted by their means."""
    rng = np.random.default_rng(0)
    X = sparse.random(60, 6, density=0.5, random_state=0, format="csr")
    shift = np.array([0.0, 2.0, 0.0, 0.0, -1.0, 0.0])
    part = SparseMatrix.of_matrix(X, Coordinates(shift, np.full(6, 0.5), intercept=False)).rows(slice(5, 55))
    made = SplitMatrix.of(sparse=part, intercept=True)
    Z, h, d, ids = made.dense(), rng.random(50), rng.normal(size=4), np.array([1, 0, 6, 4])
    ours = WorkingColumns(made)
    np.testing.assert_allclose(ours.gram(ids, np.arange(7), h), (Z[:, ids].T * h) @ Z, atol=1e-12)
    np.testing.assert_allclose(ours.squares(ids, h), np.square(Z[:, ids]).T @ h, atol=1e-12)
    np.testing.assert_allclose(ours.combination(ids, d[None])[0], Z[:, ids] @ d, atol=1e-12)
    np.testing.assert_allclose(ours.products(h[None], ids)[0], Z[:, ids].T @ h, atol=1e-12)
