"""Softmax: both methods, both parametrisations, unequal classes, and weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from mercer.families import LOGIT, Bernoulli
from mercer.families.penalties import L2, Strengths
from mercer.families.response import Response, SoftmaxResponse
from mercer.matrices import DenseMatrix, Observations, SparseMatrix, SplitMatrix
from mercer.optim import newton, softmax
from mercer.optim.minimize import choose_solver, minimize
from mercer.optim.problem import Problem
from mercer.optim.scaling import WoodburyScaling
from mercer.optim.softmax import SoftmaxProblem
from mercer.stats.quadratic import GRADIENT, HESSIAN, LOSS
from tests._ctrl_c import stop_at
from tests.matrices._streamed import streamed


def problem(
    *, strength: float = 1.0, mean: float = 0.0, reference: int | None = None, kind: str = "dense", n: int = 240
) -> SoftmaxProblem:
    """Return a problem with four classes, one of them rare."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5)) @ (np.eye(5) + 0.4 * rng.normal(size=(5, 5)))
    eta = X @ rng.normal(size=(5, 4)) + [0, 1, -2, 0]
    codes = np.argmax(eta + rng.gumbel(size=eta.shape), axis=1).astype(np.int32)
    if kind == "sparse":
        design: Any = SplitMatrix.of(sparse=SparseMatrix.of(sparse.csr_array(np.abs(X))), intercept=True)
    else:
        design = DenseMatrix.of(X + (1e6 if kind == "far" else 0.0))
    strengths = design.coordinates.strengths(L2(strength, mean).strengths(5))
    return SoftmaxProblem(Observations(design, codes, rng.uniform(0.5, 2, n)), SoftmaxResponse(4, reference), strengths)


@pytest.mark.parametrize("reference", [None, 1])
def test_gradient_and_hessian_are_slopes_of_the_objective(reference: int | None) -> None:
    this = problem(mean=0.3, reference=reference)
    v, step = np.random.default_rng(1).normal(size=this.n_columns) / 3, 1e-5
    terms = this.at(v, HESSIAN)
    for j, move in enumerate(step * np.eye(len(v))):
        ahead, behind = this.at(v + move, GRADIENT), this.at(v - move, GRADIENT)
        assert terms.gradient[j] == pytest.approx((ahead.value - behind.value) / (2 * step), rel=1e-6, abs=1e-5)
        np.testing.assert_allclose(terms.hessian[j], (ahead.gradient - behind.gradient) / (2 * step), atol=1e-5)


@pytest.mark.parametrize("mean", [0.0, 0.7])
def test_flat_points_and_matrices_are_converted(mean: float) -> None:
    """A point has the coefficients of all classes, and their mean is the prior mean."""
    this = problem(mean=mean)
    v = np.random.default_rng(2).normal(size=this.n_columns)
    np.testing.assert_allclose(this.vector(this.matrix(v)), v, atol=1e-12)
    np.testing.assert_allclose(this.matrix(v).mean(axis=1), this.strengths.mean, atol=1e-12)
    # what does not change the probabilities does not change the point
    moved = this.matrix(v) + np.arange(6.0)[:, None]
    np.testing.assert_allclose(this.vector(moved), v, atol=1e-12)


@pytest.mark.parametrize("kind", ["dense", "far", "sparse"])
@pytest.mark.parametrize("reference", [None, 3])
def test_newton_and_lbfgs_agree(kind: str, reference: int | None) -> None:
    this = problem(kind=kind, reference=reference)
    by_newton = minimize(this, solver="newton", tol=1e-9)
    by_lbfgs = minimize(this, tol=1e-9, solver="lbfgs")
    assert by_newton.certificate.holds
    assert by_lbfgs.certificate.holds
    np.testing.assert_allclose(by_lbfgs.coef, by_newton.coef, atol=1e-7)


def test_many_columns_are_standardised() -> None:
    this = problem(kind="sparse")
    found = softmax.solve_by_lbfgs(this, None, max_factorised=0)
    np.testing.assert_allclose(this.matrix(found.coef), minimize(this).coef, atol=1e-6)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_with_fewer_rows_than_columns_no_hessian_is_formed(kind: str) -> None:
    this = problem(kind=kind, n=5)
    exact = minimize(this, tol=1e-9)
    scaling, mean_square = this.class_scaling(0.2)
    assert isinstance(scaling, WoodburyScaling)
    # the intercept of a class without rows is infinite
    np.testing.assert_allclose(minimize(this, tol=1e-9, solver="lbfgs").coef[:-1], exact.coef[:-1], atol=1e-7)
    gram = this.observations.design.gram(np.asarray(this.observations.weight))
    np.testing.assert_allclose(mean_square, gram.trace() / len(gram))
    one = np.eye(len(gram))
    hessian = 0.2 * gram + np.diag(this.strengths.l2)
    np.testing.assert_allclose(scaling.apply(scaling.apply_transposed(one)), np.linalg.inv(hessian), atol=1e-10)


def test_no_point_has_a_lower_objective() -> None:
    this = problem(strength=0.5)
    best = minimize(this)
    value = this.at(this.vector(best.coef), GRADIENT).value
    rng = np.random.default_rng(3)
    for _ in range(20):
        W = best.coef + 1e-3 * rng.normal(size=best.coef.shape)
        eta = this.observations.design.matvec(W)
        away = W - this.strengths.mean[:, None]
        loss = this.response.loss(this.observations.y, eta, this.observations.weight)
        assert loss + 0.5 * np.vdot(this.strengths.l2[:, None] * away, away) > value


def test_a_class_without_weight_gets_probability_zero() -> None:
    this = problem()
    weight = np.where(this.observations.y == 2, 0.0, 1.0)
    data = Observations(this.observations.design, this.observations.y, weight)
    solution = minimize(SoftmaxProblem(data, this.response, this.strengths), tol=1e-4)
    probabilities = this.response.probabilities(data.design.matvec(solution.coef))
    assert solution.certificate.holds
    assert probabilities[:, 2].max() < 1e-4


def test_two_classes_are_logistic_regression() -> None:
    """With coefficients ±β/2 the penalty is half that of β."""
    this = problem()
    codes = np.minimum(this.observations.y, 1)
    data = Observations(this.observations.design, codes)
    both = minimize(SoftmaxProblem(data, SoftmaxResponse(2), this.strengths)).coef
    half = Strengths(this.strengths.l1, this.strengths.l2 / 2, this.strengths.mean)
    target = Observations(data.design, codes.astype(float))
    one = newton.solve(Problem(target, Response(Bernoulli(), LOGIT), half)).coef
    np.testing.assert_allclose(both[:, 1] - both[:, 0], one, atol=1e-8)


def test_an_interruption_keeps_a_matrix() -> None:
    stopped = minimize(problem(), callback=stop_at(2))
    assert stopped.interrupted
    assert stopped.coef.shape == (6, 4)
    assert not stopped.certificate.holds


@pytest.mark.parametrize("size", [1e-150, 1e-12, 1e12, 1e150])
@pytest.mark.parametrize("by_newton", [True, False])
def test_the_size_of_weights_changes_neither_the_answer_nor_its_certificate(size: float, by_newton: bool) -> None:
    this = problem(strength=0.0)
    expected = minimize(this).coef
    weight = size * np.asarray(this.observations.weight)
    heavy = Observations(this.observations.design, this.observations.y, weight)
    solver = "newton" if by_newton else "lbfgs"
    solution = minimize(SoftmaxProblem(heavy, this.response, this.strengths), solver=solver)
    assert solution.certificate.holds
    np.testing.assert_allclose(solution.coef, expected, atol=1e-6)


@pytest.mark.parametrize("reference", [None, 1])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_products_agree_with_the_hessian(reference: int | None, kind: str) -> None:
    this = problem(mean=0.3, reference=reference, kind=kind)
    v, u = np.random.default_rng(1).normal(size=(2, this.n_columns)) / 3
    np.testing.assert_allclose(this.hessian_product(v)(u), this.at(v).hessian @ u, rtol=1e-9, atol=1e-9)


def test_gradients_of_some_rows_add_up() -> None:
    this = problem(mean=0.3)
    v, x, data = np.ones(this.n_columns) / 3, this.observations.design.dense(), this.observations
    weight = np.asarray(data.weight)
    parts = [
        this.gradient_of_rows(v, x[rows], data.y[rows], weight[rows], None) for rows in (slice(0, 70), slice(70, 240))
    ]
    np.testing.assert_allclose(sum(parts), this.at(v, GRADIENT).gradient, rtol=1e-9, atol=1e-9)


def test_the_value_alone_is_the_value_with_its_slopes() -> None:
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(40, 3)), rng.integers(0, 3, 40).astype(np.int32)
    strengths = Strengths(np.zeros(4), np.ones(4), np.zeros(4))
    problem = SoftmaxProblem(Observations(DenseMatrix.of(X), codes), SoftmaxResponse(3), strengths)
    v = rng.normal(size=problem.n_columns)
    alone = problem.at(v, LOSS)
    assert alone.value == pytest.approx(problem.at(v).value, rel=1e-13)
    assert alone.gradient.size == alone.hessian.size == 0


def test_the_certificate_measures_the_distance_from_the_end_of_the_search() -> None:
    """Random classes with twice as many columns as rows are nearly separable: the curvature is small at the end."""
    rng = np.random.RandomState(42)
    X, codes = rng.rand(120, 240), rng.randint(3, size=120)
    design = DenseMatrix.of(X)
    strengths = design.coordinates.strengths(L2(0.01).strengths(240))
    this = SoftmaxProblem(Observations(design, codes), SoftmaxResponse(3), strengths)
    assert choose_solver(this).solver == "lbfgs"
    best = minimize(this, tol=1e-9)
    for tolerance in (0.1, 1e-3):
        found = minimize(this, tol=tolerance)
        assert found.certificate.holds
        distance = np.sqrt(2 * (found.history.objective[-1] - best.history.objective[-1]))
        assert distance <= 2 * found.certificate.value
    np.testing.assert_allclose(
        *(this.response.probabilities(design.matvec(one.coef)) for one in (found, best)), atol=2e-3
    )


@pytest.mark.parametrize("whitened", [1500, 0])
@pytest.mark.parametrize("known", [True, False])
def test_streamed_rows_have_the_optimum_of_rows_in_memory(whitened: int, known: bool) -> None:
    """Start from the fit to the rows in memory and from the null model, with and without their curvature."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    codes = np.argmax(X + rng.gumbel(size=(400, 3)), axis=1)
    found = streamed(X, codes, rows=90, classes=True, sample_rows=100)
    this = SoftmaxProblem(found, SoftmaxResponse(3), found.design.coordinates.strengths(L2(1.0).strengths(3)))
    design = DenseMatrix.of(X)
    strengths = design.coordinates.strengths(L2(1.0).strengths(3))
    expected = minimize(SoftmaxProblem(Observations(design, codes), SoftmaxResponse(3), strengths), tol=1e-9)
    start = None if known else this.start()
    solution = softmax.solve_by_lbfgs(this, start, max_factorised=whitened, tolerance=1e-9)
    assert solution.certificate.holds
    W = this.matrix(solution.coef)
    ours, theirs = found.design.coordinates.to_user(W), design.coordinates.to_user(expected.coef)
    np.testing.assert_allclose(ours[0], theirs[0], atol=1e-7)
