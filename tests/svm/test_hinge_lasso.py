"""Squared hinge losses with a penalty of absolute values: two solvers, one optimum, and a gap that bounds both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from mercer.families.penalties import Strengths
from mercer.matrices import Coordinates, DenseMatrix, Observations
from mercer.optim import proximal_newton
from mercer.optim.squared_hinge import SquaredHinge, SquaredHingeProblem
from mercer.svm._hinge_lasso import HingeColumns, HingeLasso
from mercer.svm._margins import MarginRows, run_descents


def data() -> tuple[Any, Any, Any]:
    n, d = 100, 8
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    return X, np.where(X[:, 0] - X[:, 1] + rng.normal(size=n) > 0, 1.0, -1.0), rng.uniform(0.01, 0.06, n)


def objective(w: Any, X: Any, y: Any, weight: Any) -> float:
    return float(np.abs(w).sum() + weight @ np.maximum(1 - y * (X @ w), 0.0) ** 2)


@pytest.mark.parametrize("constant", [0.0, 1.5])
@pytest.mark.parametrize("stored", [False, True], ids=["dense", "sparse"])
def test_the_gap_at_the_returned_point_bounds_the_distance(stored: bool, constant: float) -> None:
    X, y, weight = data()
    rows = MarginRows.of(sparse.csr_array(X) if stored else X, constant)
    descent = HingeLasso(HingeColumns(rows), y, weight, 1e-10, 1000)
    run_descents([descent], 0)
    solution = descent.solution()
    X = np.column_stack([X, np.full(len(y), constant)]) if constant else X
    beta = solution.coef.beta
    dual = beta @ y - np.sum(beta**2 / (4 * weight))
    assert solution.certificate.holds
    assert (np.abs(X.T @ beta) <= 1 + 1e-12).all()
    assert (beta * y >= 0).all()
    primal = objective(solution.coef.w, X, y, weight)
    assert primal == pytest.approx(solution.certificate.primal, rel=1e-12)
    assert 0 <= primal - dual + 1e-12 * primal <= 2e-10 * primal
    assert 0 < np.count_nonzero(solution.coef.w) < X.shape[1]


def test_conjugate_gradients_find_the_same_minimum() -> None:
    X, y, weight = data()
    columns = HingeColumns(MarginRows.of(sparse.csr_array(X), 1.0))
    found = []
    for most in (1_000, 0):
        descent = HingeLasso(columns, y, weight, 1e-12, 1000, max_factorized=most)
        run_descents([descent], 0)
        assert descent.solution().certificate.holds
        found.append(descent.w)
    np.testing.assert_allclose(found[1], found[0], atol=1e-6)


def test_more_coefficients_than_rows_are_updated_together() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 300))
    y = np.where(X[:, :5].sum(axis=1) + rng.normal(size=60) > 0, 1.0, -1.0)
    descent = HingeLasso(HingeColumns(MarginRows.of(X, 1.0)), y, np.ones(60), 1e-8, 300)
    run_descents([descent], 0)
    assert descent.solution().certificate.holds


def test_proximal_newton_finds_the_same_minimum() -> None:
    X, y, weight = data()
    strengths = Strengths.none(X.shape[1])
    strengths.l1[:] = 1.0
    design = DenseMatrix(X, Coordinates.plain(X.shape[1], intercept=False))
    problem = SquaredHingeProblem(Observations(design, y, weight), SquaredHinge(), strengths)  # type: ignore[arg-type]
    found = proximal_newton.solve(problem, tolerance=1e-8)
    descent = HingeLasso(HingeColumns(MarginRows.of(X, 0.0)), y, weight, 1e-12, 1000)
    run_descents([descent], 0)
    assert found.certificate.holds
    np.testing.assert_allclose(found.coef, descent.w, atol=1e-6)
