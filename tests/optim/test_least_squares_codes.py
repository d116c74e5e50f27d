"""Least squares of encoded rows: statistic, gradients and solution are those of the one-hot columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mercer.matrices import Encoded, SparseMatrix, as_matrix, observations_of
from mercer.matrices.encoded import CodePart, NumberPart, SparsePart
from mercer.optim.least_squares import least_squares, normal_equations, solve_by_conjugate_gradients


def encoded(n: int = 300, *, offset: float = 0.0, common: float = 0.0, seed: int = 0) -> Encoded:
    """Return numbers, levels and counts; if `common`, most rows have the first of the last levels."""
    rng = np.random.default_rng(seed)
    last = np.where(rng.random(n) < common, 0, rng.integers(-1, 4, n))
    return Encoded.of(
        [
            NumberPart(offset + rng.normal(size=(n, 2))),
            CodePart(rng.integers(0, 3, n), 3),
            SparsePart(sparse.random(n, 2, 0.4, format="csr", random_state=seed)),
            CodePart(last, 4),
        ]
    )


def targets(X: Encoded) -> np.ndarray:
    rng = np.random.default_rng(1)
    return X @ rng.normal(size=(X.shape[1], 2)) + rng.normal(size=(len(X), 2))


def weights(n: int) -> np.ndarray:
    return np.random.default_rng(2).integers(0, 3, n).astype(float)


@given(st.integers(12, 60), st.integers(0, 99), st.booleans(), st.booleans())
@settings(max_examples=30)
def test_sums_agree_with_one_hot_columns(n: int, seed: int, weighted: bool, centred: bool) -> None:
    X = encoded(n, seed=seed)
    Y, weight = targets(X), weights(n) if weighted else None
    ours = normal_equations(observations_of(X, Y, weight))
    dense = normal_equations(observations_of(X.toarray(), Y, weight))
    assert (ours.rows, ours.weight) == (dense.rows, dense.weight)
    for mine, other in zip(ours.products(centred=centred), dense.products(centred=centred), strict=True):
        assert_allclose(mine, other, rtol=1e-11, atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_agree_with_one_hot_columns(weighted: bool) -> None:
    X = encoded()
    Y, weight = targets(X), weights(len(X)) if weighted else None
    shift, v = np.zeros(13), np.random.default_rng(3).normal(size=(12, 2))
    shift[[0, 11]] = 0.5, -1.0
    for some in (shift, np.linspace(-1, 1, 13)):  # codes that are to be shifted are written out, block by block
        high, low = as_matrix(X).residual_gradient(Y, weight, some, v, exact=False)
        expected = as_matrix(X.toarray()).residual_gradient(Y, weight, some, v)
        assert_allclose(high + low, sum(expected), rtol=1e-11, atol=1e-11)


def test_rows_of_weight_zero_may_hold_anything() -> None:
    X, weight = encoded(), weights(300)
    Y = targets(X)
    X.parts[0].X[weight == 0] = np.nan
    kept = Encoded.of(X.parts)[weight > 0]
    ours = least_squares(observations_of(X, Y, weight), np.full(2, 1.0)).coef
    alone = least_squares(observations_of(kept, Y[weight > 0], weight[weight > 0]), np.full(2, 1.0)).coef
    assert_allclose(ours.coefficients, alone.coefficients, rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.0, 1e-8, 1e-3, 1.0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("case", [{}, {"offset": 1e8}, {"common": 0.999}, {"common": 1.0}])
def test_the_solution_agrees_with_one_hot_columns(case: dict[str, Any], intercept: bool, alpha: float) -> None:
    X = encoded(**case)
    Y = targets(X)
    ours, dense = (
        least_squares(rows, np.full(2, alpha), intercept=intercept)
        for rows in (observations_of(X, Y), observations_of(X.toarray(), Y))
    )
    assert ours.certificate.holds
    assert_allclose(ours.coef.coefficients, dense.coef.coefficients, rtol=1e-8, atol=1e-9)
    assert alpha or ours.coef.rank == dense.coef.rank


def test_sums_that_need_all_digits_are_computed_row_by_row() -> None:
    X = encoded(offset=1e8)
    rows = observations_of(X, targets(X))
    assert rows.design.is_sparse
    assert not rows.design.has_exact_gradients
    path = least_squares(rows, np.zeros(2), intercept=False).coef.path
    assert path == "QR factorisation by blocks (TSQR), refined with gradients of twice the digits"


def test_codes_are_not_decoded_if_normal_equations_suffice(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise AssertionError("written out")

    monkeypatch.setattr(Encoded, "toarray", fail)
    monkeypatch.setattr(Encoded, "tocsr", fail)
    X = encoded(3000)
    rows = observations_of(X, targets(X))
    for alpha in (1.0, 1e-3):
        assert least_squares(rows, np.full(2, alpha)).certificate.holds
    path = least_squares(rows, np.full(2, 1e-3)).coef.path
    assert path == "normal equations by Cholesky, refined with gradients of codes as they are"
    assert solve_by_conjugate_gradients(rows, np.full(2, 1.0), intercept=True, tolerance=1e-8).certificate.holds


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_conjugate_gradients_accept_codes(alpha: float, weighted: bool) -> None:
    X = encoded()
    Y, weight = targets(X), weights(len(X)) if weighted else None
    ours, other = (
        solve_by_conjugate_gradients(rows, np.full(2, alpha), intercept=True, tolerance=1e-13).coef
        for rows in (observations_of(X, Y, weight), observations_of(X.tocsr(), Y, weight))
    )
    assert_allclose(ours.coefficients, other.coefficients, rtol=1e-9, atol=1e-9)
    assert_allclose(ours.intercept, other.intercept, rtol=1e-9)


def test_few_rows_are_a_sparse_matrix() -> None:
    X = encoded(8)
    rows = observations_of(X, targets(X))
    assert type(rows.design) is SparseMatrix
    assert_array_equal(rows.design.data.toarray(), X.toarray())


def test_a_level_of_nearly_all_rows_keeps_its_digits() -> None:
    """For all of n rows but one, n − 1 squares less (n − 1)²/n of them is 1 − 1/n."""
    n = 30_001
    X = Encoded.of([CodePart((np.arange(n) == 7).astype(np.int32), 2)])
    gram = normal_equations(observations_of(X, np.zeros((n, 1)))).products(centred=True).gram
    assert_allclose(np.diagonal(gram), 1 - 1 / n, rtol=1e-12)
