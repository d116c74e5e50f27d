"""Columns of a sparse matrix that are far from zero keep their digits: they are shifted like those of an array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import mercer
from mercer import GLM, LogisticRegression, PoissonRegressor
from mercer.matrices import Coordinates, Encoded, SparseMatrix, as_matrix, standardize
from mercer.matrices.encoded import CodePart, NumberPart, SparsePart
from mercer.matrices.sparse import far_columns

RNG = np.random.default_rng(0)
Z = RNG.normal(size=(300, 4)) * (RNG.random((300, 4)) < [1, 1, 0.4, 1])
Y = (RNG.random(300) < 1 / (1 + np.exp(-Z @ [1.0, -0.5, 0.3, 0.4]))).astype(int)


def away(offset: float) -> np.ndarray:
    X = Z.copy()
    X[:, 1] -= offset
    X[:, 3] += offset
    return X


def test_columns_far_from_zero_are_recognised() -> None:
    X = np.column_stack([away(1e6), np.ones(300), np.zeros(300), 1e9 + 1e-7 * Z[:, 0]])
    assert far_columns(sparse.csr_array(X)).tolist() == [1, 3]  # constant columns are as good as they are
    assert far_columns(sparse.csr_array(X[:0])).tolist() == []
    assert far_columns(sparse.csr_array(away(10.0))).tolist() == []


def test_entries_stored_twice_count_as_their_sum() -> None:
    X = sparse.csr_array(away(1e8))
    twice = sparse.csr_array((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape)
    assert far_columns(twice).tolist() == [1, 3]
    assert twice.nnz == 2 * X.nnz  # the user's matrix is as it was
    expected = GLM("bernoulli").fit(away(1e8), Y).coef_
    np.testing.assert_allclose(GLM("bernoulli").fit(twice, Y).coef_, expected, rtol=1e-6)


def test_a_few_different_values_suffice() -> None:
    X = np.full((20_000, 1), 1e8)
    X[2900:3100] += 1.0  # none of the rows sampled to find zeros
    assert len(np.unique(X[np.linspace(0, 19_999, 64).astype(int)])) == 1
    assert far_columns(sparse.csr_array(X)).tolist() == [0]


@pytest.mark.parametrize("size", [1e-170, 1e170])
def test_columns_of_any_size_may_be_far(size: float) -> None:
    assert far_columns(sparse.csr_array(size * away(1e6))).tolist() == [1, 3]


def test_a_row_with_a_zero_is_shifted_like_the_others() -> None:
    known = Coordinates(np.array([1e8]), np.ones(1), intercept=True)
    X = np.array([[1e8 + 1], [0.0], [1e8 - 1]])
    np.testing.assert_array_equal(as_matrix(sparse.csr_array(X), known).dense()[:, 0], X[:, 0] - 1e8)
    assert far_columns(sparse.csr_array(X), known).tolist() == [0]


@pytest.mark.parametrize("chunks", [False, True])
@pytest.mark.parametrize("others", ["numbers", "codes"])
def test_sparse_columns_together_with_far_columns(others: str, chunks: bool) -> None:
    codes = np.arange(300) % 3
    numbers = others == "numbers"
    part: Any = NumberPart(Z[:, :1] + 5) if numbers else CodePart(codes, 3)
    X = Encoded.of([SparsePart(sparse.csr_array(away(1e8))), part])
    expected = LogisticRegression().fit(X.toarray(), Y)
    fitted = LogisticRegression().fit(mercer.data.open(X, Y, rows=70)) if chunks else LogisticRegression().fit(X, Y)
    np.testing.assert_allclose(fitted.coef_, expected.coef_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(fitted.predict_proba(X), expected.predict_proba(X.toarray()), rtol=1e-4)


def test_new_rows_use_the_shifts_of_the_fit() -> None:
    known = Coordinates(np.array([0.0, -1e8, 0.0, 1e8]), np.ones(4), intercept=True)
    for rows in (slice(0, 300), slice(7, 8)):
        X = sparse.csr_array(away(1e8)[rows])
        assert far_columns(X, known).tolist() == [1, 3]
        expected = np.column_stack([away(1e8)[rows] - known.shift, np.ones(X.shape[0])])
        np.testing.assert_allclose(as_matrix(X, known).dense(), expected, rtol=0, atol=1e-12)


def test_all_columns_may_be_far() -> None:
    design = standardize(sparse.csc_array(away(1e7)[:, [1, 3]]), intercept=True)
    assert design.n_columns == 3
    np.testing.assert_allclose(np.linalg.matrix_rank(design.gram(np.ones(300))), 3)


def test_without_an_intercept_nothing_is_shifted() -> None:
    assert isinstance(standardize(sparse.csr_array(away(1e7)), intercept=False), SparseMatrix)


@pytest.mark.parametrize("offset", [1e5, 1e8])
@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(C=10.0),
        LogisticRegression(C=10.0, l1_ratio=0.5, solver="saga"),
        PoissonRegressor(alpha=0.0),
        GLM("bernoulli"),
    ],
)
def test_fits_agree_with_those_of_an_array(model: Any, offset: float) -> None:
    X = sparse.csr_array(away(offset))
    expected = model.fit(away(offset), Y).coef_.copy()
    assert np.abs(expected).max() > 0.2
    for fitted in (model.fit(X, Y), model.fit(mercer.data.open(X, Y, rows=70))):
        np.testing.assert_allclose(fitted.coef_, expected, rtol=1e-6, atol=1e-7)
        assert fitted.certificate_.holds
