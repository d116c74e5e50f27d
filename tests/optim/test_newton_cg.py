"""Newton's method by conjugate gradients: the same solutions, without a square matrix of the columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from mercer.families import IDENTITY, LOG, LOGIT, Bernoulli, Gaussian, Poisson
from mercer.families.penalties import L2
from mercer.families.response import Response
from mercer.matrices import DenseMatrix, Observations, SparseMatrix, SplitMatrix
from mercer.optim import _newton_cg as newton_cg
from mercer.optim import newton
from mercer.optim.problem import Problem
from mercer.optim.scaling import choose_scaling
from tests._ctrl_c import stop_at

MODELS = {
    "gaussian": Response(Gaussian(), IDENTITY),
    "bernoulli": Response(Bernoulli(), LOGIT),
    "poisson": Response(Poisson(), LOG),
}


def problem(name: str = "poisson", *, strength: float = 0.0, design: Any = None) -> Problem:
    rng, rows = np.random.default_rng(0), 300
    X = rng.normal(size=(rows, 4)) @ (np.eye(4) + 0.4 * rng.normal(size=(4, 4)))
    design = DenseMatrix.of(X + np.array([0.0, 5.0, 1e6, 0.0])) if design is None else design(X)
    eta = 0.3 * X.sum(axis=1)
    y = {"gaussian": eta + rng.normal(size=rows), "bernoulli": (eta + rng.logistic(size=rows) > 0).astype(float)}.get(
        name, rng.poisson(np.exp(eta)).astype(float)
    )
    weight, offset = rng.uniform(0.5, 2.0, rows), 0.1 * rng.normal(size=rows)
    strengths = design.coordinates.strengths(L2(strength, 0.2).strengths(len(design.coordinates.shift)))
    return Problem(Observations(design, y, weight, offset), MODELS[name], strengths)


def sparse_rows(X: Any) -> SplitMatrix:
    return SplitMatrix.of(sparse=SparseMatrix.of(sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))), intercept=True)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("strength", [0.0, 5.0])
@pytest.mark.parametrize("design", [None, sparse_rows])
def test_the_minimum_agrees_with_newton(name: str, strength: float, design: Any) -> None:
    this = problem(name, strength=strength, design=design)
    solution = newton_cg.solve(this)
    assert solution.certificate.holds
    np.testing.assert_allclose(solution.coef, newton.solve(this, tolerance=1e-10).coef, rtol=1e-6, atol=1e-8)
    assert (np.diff(solution.history.objective) <= 1e-12 * abs(solution.history.objective[0])).all()


def test_no_initial_hessian_is_needed() -> None:
    """For many columns only means and spreads are computed beforehand."""
    this = problem()
    found = newton_cg.solve_from(this, this.start(), choose_scaling(this, this.start(), max_factorised=0))
    np.testing.assert_allclose(found.coef, newton.solve(this).coef, rtol=1e-6)


def test_products_agree_with_the_hessian() -> None:
    this = problem(strength=2.0)
    w, v = np.random.default_rng(1).normal(size=(2, 5)) / 3
    np.testing.assert_allclose(this.hessian_product(w)(v), this.at(w).hessian @ v, rtol=1e-10)


def test_the_distance_is_measured_by_the_hessian() -> None:
    this = problem("bernoulli")
    solution = newton_cg.solve(this, most_steps=2, tolerance=1e-12)
    optimum = this.at(solution.coef)
    distance = np.sqrt(optimum.gradient @ np.linalg.solve(optimum.hessian, optimum.gradient))
    assert solution.certificate.value * this.unit(optimum.value) == pytest.approx(distance, rel=0.1)
    assert not solution.certificate.holds
    assert len(solution.history.objective) == 3


def test_collinear_columns_have_one_of_their_solutions() -> None:
    this = problem(design=lambda X: DenseMatrix.of(np.column_stack([X, X[:, 0] - X[:, 1]])))
    solution = newton_cg.solve(this)
    assert solution.certificate.holds
    assert solution.history.objective[-1] == pytest.approx(newton.solve(this).history.objective[-1], rel=1e-12)


def test_data_that_are_not_finite_end_the_search_at_once() -> None:
    this = problem()
    this.observations.y[3] = np.nan
    solution = newton_cg.solve(this)
    assert not solution.certificate.holds
    assert len(solution.history.objective) == 1


def test_an_interrupted_search_keeps_the_best_point() -> None:
    stopped = newton_cg.solve(problem(), callback=stop_at(2))
    assert stopped.interrupted
    assert not stopped.certificate.holds
    assert len(stopped.history.objective) == 3
