"""Columns of a sparse matrix that are far from zero keep their digits: they are shifted like those of an array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import mercer
from mercer import GLM, LogisticRegression, PoissonRegressor
from mercer.designs import Coordinates, SparseDesign
from mercer.designs.encoded_design import sparse_design
from mercer.designs.sparse import far_columns

RNG = np.random.default_rng(0)
Z = RNG.normal(size=(300, 4)) * (RNG.random((300, 4)) < [1, 1, 0.4, 1])
Y = (RNG.random(300) < 1 / (1 + np.exp(-Z @ [1.0, -0.5, 0.3, 0.4]))).astype(int)


def away(offset: float) -> np.ndarray:
    X = Z.copy()
    X[:, 1] -= offset
    X[:, 3] += offset
    return X


def test_which_columns_are_far() -> None:
    X = np.column_stack([away(1e6), np.ones(300), np.zeros(300), 1e9 + 1e-7 * Z[:, 0]])
    assert far_columns(sparse.csr_array(X)).tolist() == [1, 3]  # constant columns are as good as they are
    assert far_columns(sparse.csr_array(X[:0])).tolist() == []
    assert far_columns(sparse.csr_array(away(10.0))).tolist() == []


def test_rows_of_a_fit_are_read_as_they_were() -> None:
    known = Coordinates(np.array([0.0, -1e8, 0.0, 1e8]), np.ones(4), intercept=True)
    for rows in (slice(0, 300), slice(7, 8)):
        X = sparse.csr_array(away(1e8)[rows])
        assert far_columns(X, known).tolist() == [1, 3]
        expected = np.column_stack([away(1e8)[rows] - known.shift, np.ones(X.shape[0])])
        np.testing.assert_allclose(sparse_design(X, known).dense(), expected, rtol=0, atol=1e-12)


def test_all_columns_may_be_far() -> None:
    design = sparse_design(sparse.csc_array(away(1e7)[:, [1, 3]]), None, intercept=True)
    assert design.n_columns == 3
    np.testing.assert_allclose(np.linalg.matrix_rank(design.gram(np.ones(300))), 3)


def test_without_an_intercept_nothing_is_shifted() -> None:
    assert isinstance(sparse_design(sparse.csr_array(away(1e7)), None, intercept=False), SparseDesign)


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
def test_fits_are_those_of_an_array(model: Any, offset: float) -> None:
    X = sparse.csr_array(away(offset))
    expected = model.fit(away(offset), Y).coef_.copy()
    assert np.abs(expected).max() > 0.2
    for fitted in (model.fit(X, Y), model.fit(mercer.data.open(X, Y, rows=70))):
        np.testing.assert_allclose(fitted.coef_, expected, rtol=1e-6, atol=1e-7)
        assert fitted.certificate_.holds
