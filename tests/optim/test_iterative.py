"""Least squares by conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from mercer._errors import NonFiniteError
from mercer.matrices import SparseMatrix, observations_of
from mercer.optim import least_squares as iterative
from mercer.optim.least_squares import least_squares, solve_by_conjugate_gradients
from tests._ctrl_c import interrupted_at

Array = np.ndarray


def draw(n: int, d: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    X = np.where(rng.random((n, d)) < 0.3, rng.normal(1, 1, size=(n, d)), 0.0)
    return X, X @ rng.normal(size=(d, 2)) + rng.normal(size=(n, 2)) + 3


@pytest.mark.parametrize("shape", [(200, 10), (10, 200)], ids=str)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("alpha", [np.zeros(2), np.array([0.1, 5.0])], ids=str)
def test_the_solution_agrees_with_the_direct_one(
    shape: tuple[int, int],
    intercept: bool,
    weighted: bool,
    wrap: Callable[[Array], Any],
    alpha: Array,
) -> None:
    X, Y = draw(*shape)
    rows = observations_of(wrap(X), Y, np.arange(len(X)) % 3 + 0.5 if weighted else None)
    found = solve_by_conjugate_gradients(rows, alpha, intercept=intercept, tolerance=1e-12, block_rows=17)
    exact = least_squares(rows, alpha, intercept=intercept)
    assert found.certificate.holds
    np.testing.assert_allclose(found.coef.coefficients, exact.coef.coefficients, atol=1e-8)
    np.testing.assert_allclose(found.coef.intercept, exact.coef.intercept, atol=1e-8)


def test_rows_are_views_not_copies() -> None:
    X = sparse.csr_array(draw(50, 8)[0])
    view = SparseMatrix.of(X).rows(slice(7, 31)).to_scipy()
    assert np.shares_memory(view.data, X.data)
    np.testing.assert_array_equal(view.toarray(), X.toarray()[7:31])


def test_an_interruption_keeps_coefficients_and_intercept(monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y = draw(100, 20)
    products = iterative.CentredProducts
    monkeypatch.setattr(products, "gram_times", interrupted_at(3, products.gram_times))
    interruption = solve_by_conjugate_gradients(observations_of(X, Y), np.ones(2), intercept=True, tolerance=1e-12)
    assert interruption.interrupted
    fit = interruption.coef
    assert fit.coefficients.shape == (20, 2)
    np.testing.assert_allclose(fit.intercept, Y.mean(axis=0) - X.mean(axis=0) @ fit.coefficients)


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
def test_a_value_that_is_not_a_number(wrap: Callable[[Array], Any]) -> None:
    X, Y = draw(20, 5)
    X[3, 2] = np.nan
    with pytest.raises(NonFiniteError, match="not finite"):
        solve_by_conjugate_gradients(observations_of(wrap(X), Y), np.ones(2), intercept=True, tolerance=1e-6)
