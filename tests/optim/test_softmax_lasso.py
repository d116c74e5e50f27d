"""Softmax with absolute values in the penalty: the conditions of an optimum, exact zeros, and both ends of the path."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from mercer.families.penalties import ElasticNet, Strengths
from mercer.families.response import SoftmaxResponse
from mercer.matrices import DenseMatrix, Observations, SparseMatrix, SplitMatrix
from mercer.optim import softmax_lasso
from mercer.optim.minimize import minimize
from mercer.optim.softmax import SoftmaxProblem
from tests._ctrl_c import stop_at


def problem(strength: float, l1_ratio: float = 1.0, kind: str = "dense", mean: float = 0.0) -> SoftmaxProblem:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 8)) * [1, 1, 1, 1, 3, 0.3, 1, 1]
    eta = X[:, :3] @ rng.normal(size=(3, 3))
    codes = np.argmax(eta + rng.gumbel(size=eta.shape), axis=1).astype(np.int32)
    if kind == "sparse":
        design: Any = SplitMatrix.of(sparse=SparseMatrix.of(sparse.csr_array(np.abs(X))), intercept=True)
    else:
        design = DenseMatrix.of(X + (1e6 if kind == "far" else 0.0))
    given = ElasticNet(strength, mean, l1_ratio=l1_ratio).strengths(8)
    return SoftmaxProblem(Observations(design, codes), SoftmaxResponse(3), design.coordinates.strengths(given))


def subgradient(this: SoftmaxProblem, W: np.ndarray) -> np.ndarray:
    """Return the shortest subgradient, by the formulas."""
    away = W - this.strengths.mean[:, None]
    _, slopes = this.response.slopes(this.observations.y, this.observations.design.matvec(W))
    smooth = this.observations.design.rmatvec(slopes) + this.strengths.l2[:, None] * away
    l1 = this.strengths.l1[:, None]
    at_zero = np.sign(smooth) * np.maximum(np.abs(smooth) - l1, 0)
    return np.where(away == 0, at_zero, smooth + l1 * np.sign(away))


@pytest.mark.parametrize("kind", ["dense", "far", "sparse"])
@pytest.mark.parametrize(("strength", "l1_ratio"), [(5.0, 1.0), (0.5, 1.0), (5.0, 0.5), (0.1, 0.9)])
def test_the_conditions_of_an_optimum_hold(kind: str, strength: float, l1_ratio: float) -> None:
    this = problem(strength, l1_ratio, kind)
    solution = softmax_lasso.solve(this, tolerance=1e-7)
    assert solution.certificate.holds
    assert np.abs(subgradient(this, solution.coef)).max() < 1e-5
    assert solution.history.objective[-1] == pytest.approx(min(solution.history.objective), rel=1e-12)


def test_the_certificate_uses_the_curvature_at_the_returned_point() -> None:
    """Nearly separable classes have little curvature."""
    rng = np.random.default_rng(1)
    codes = rng.integers(3, size=300).astype(np.int32)
    X = np.eye(3)[codes] + 0.05 * rng.normal(size=(300, 3))
    design = DenseMatrix.of(X)
    strengths = design.coordinates.strengths(ElasticNet(1e-3, 0.0, l1_ratio=1.0).strengths(3))
    this = SoftmaxProblem(Observations(design, codes), SoftmaxResponse(3), strengths)
    solution = softmax_lasso.solve(this, tolerance=1e-4)
    p = this.response.probabilities(design.matvec(solution.coef))
    dense = design.dense()
    diagonal = np.stack(
        [(h[:, None] * np.square(dense - h @ dense / h.sum() * ([1] * 3 + [0]))).sum(axis=0) for h in (p * (1 - p)).T],
        axis=1,
    )
    slopes, unit = subgradient(this, solution.coef), this.unit(solution.history.objective[-1])
    by_columns = np.sqrt((np.square(slopes) / diagonal).sum()) / unit
    moves = ((solution.coef != 0) | (slopes != 0)).ravel()
    bends = np.einsum("ij,ikl,im->jkml", dense, p[:, :, None] * (np.eye(3) - p[:, None, :]), dense).reshape(12, 12)
    slopes = slopes.ravel()[moves]
    by_face = np.sqrt(slopes @ np.linalg.pinv(bends[np.ix_(moves, moves)], rcond=1e-10) @ slopes) / unit
    assert solution.certificate.holds
    assert solution.certificate.value == pytest.approx(max(by_columns, by_face), rel=0.1)


@pytest.mark.parametrize(("apart", "l1_ratio"), [(0.3, 0.01), (0.1, 1.0), (0.1, 0.01), (0.03, 1.0), (0.03, 0.01)])
def test_a_certificate_holds_near_the_optimum_with_nearly_equal_columns(apart: float, l1_ratio: float) -> None:
    """Distances of 0.5 standard errors would be 0.0007 by the diagonal of the Hessian."""
    rng = np.random.default_rng(3)
    common, own = rng.normal(size=(300, 1)), rng.normal(size=(300, 6))
    codes = np.argmax(own @ rng.normal(size=(6, 3)) + common + rng.gumbel(size=(300, 3)), axis=1).astype(np.int32)
    design = DenseMatrix.of(common + apart * own)
    strengths = design.coordinates.strengths(ElasticNet(apart / 10, 0.0, l1_ratio=l1_ratio).strengths(6))
    this = SoftmaxProblem(Observations(design, codes), SoftmaxResponse(3), strengths)
    loosely, closely = (softmax_lasso.solve(this, tolerance=near, most_steps=10_000) for near in (2e-3, 1e-8))
    assert closely.certificate.holds
    assert loosely.certificate.holds
    away = np.sqrt(2 * max(0.0, loosely.history.objective[-1] - closely.history.objective[-1]))
    assert away < 2 * loosely.certificate.value + 1e-6


@pytest.mark.parametrize("classes", [3, 4])
def test_no_constant_for_all_classes_would_lower_the_penalty(classes: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    codes = np.argmax(X @ rng.normal(size=(4, classes)) + rng.gumbel(size=(200, classes)), axis=1).astype(np.int32)
    design = DenseMatrix.of(X)
    strengths = design.coordinates.strengths(ElasticNet(1e-6, 0.0, l1_ratio=1.0).strengths(4))
    this = SoftmaxProblem(Observations(design, codes), SoftmaxResponse(classes), strengths)
    W = np.sort(softmax_lasso.solve(this, tolerance=1e-2).coef[:-1], axis=1)
    assert (W[:, (classes - 1) // 2] <= 0).all()
    assert (W[:, classes // 2] >= 0).all()


def test_zeros_are_exact_and_grow_with_the_penalty() -> None:
    zeros = [int((softmax_lasso.solve(problem(s)).coef[:-1] == 0).sum()) for s in (0.1, 2.0, 20.0)]
    assert zeros == sorted(zeros)
    assert zeros[1] > 0


def test_with_a_large_penalty_only_the_class_shares_remain() -> None:
    this = problem(1e4)
    solution = softmax_lasso.solve(this)
    assert (solution.coef[:-1] == 0).all()
    shares = np.bincount(this.observations.y) / 200
    np.testing.assert_allclose(this.response.probabilities(solution.coef[-1:])[0], shares, atol=1e-7)


def test_with_a_large_penalty_coefficients_equal_their_prior_means() -> None:
    this = problem(1e4, mean=0.25)
    solution = softmax_lasso.solve(this)
    np.testing.assert_allclose(solution.coef[:-1], this.strengths.mean[:-1, None] * np.ones(3), atol=0)


def test_without_an_l1_penalty_it_is_the_smooth_optimum() -> None:
    this = problem(1.0, l1_ratio=0.0)
    np.testing.assert_allclose(softmax_lasso.solve(this).coef, minimize(this).coef, atol=1e-6)


def test_penalties_may_differ_between_columns() -> None:
    this = problem(1.0)
    l1 = np.append(np.where(np.arange(8) < 4, 0.0, 1e5), 0.0)
    strengths = Strengths(l1, np.append(np.full(8, 0.1), 0.0), np.zeros(9))
    solution = softmax_lasso.solve(SoftmaxProblem(this.observations, this.response, strengths))
    assert (solution.coef[4:8] == 0).all()
    assert (solution.coef[:4] != 0).all()


def test_a_start_at_the_optimum_takes_no_step() -> None:
    this = problem(2.0)
    first = softmax_lasso.solve(this, tolerance=1e-8)
    again = softmax_lasso.solve(this, first.coef, tolerance=1e-7)
    assert len(again.history.objective) == 1
    np.testing.assert_array_equal(again.coef, first.coef)


def test_an_interruption_keeps_the_best_point() -> None:
    stopped = softmax_lasso.solve(problem(1.0), callback=stop_at(3))
    assert stopped.interrupted
    assert len(stopped.history.objective) == 4
    assert not stopped.certificate.holds


def test_the_search_ends_if_nothing_is_gained() -> None:
    """Rounding bounds the subgradient from below."""
    this = problem(1.0)
    solution = softmax_lasso.solve(this, tolerance=0.0, most_steps=5000)
    assert not solution.certificate.holds
    assert len(solution.history.objective) < 5000
    assert np.abs(subgradient(this, solution.coef)).max() < 1e-6


def test_bounded_steps_converge_for_many_coefficients() -> None:
    this = problem(2.0)
    expected = softmax_lasso.solve(this, tolerance=1e-7).coef
    found = softmax_lasso.solve(this, tolerance=1e-5, max_newton=0)
    assert found.certificate.holds
    np.testing.assert_allclose(found.coef, expected, atol=1e-4)


def test_a_penalty_that_keeps_all_at_zero_is_solved_exactly() -> None:
    this = problem(1e6)
    design = DenseMatrix.of(this.observations.design.X, intercept=False)
    strengths = design.coordinates.strengths(ElasticNet(1e6, 0.0, l1_ratio=1.0).strengths(8))
    alone = SoftmaxProblem(Observations(design, this.observations.y), this.response, strengths)
    solution = softmax_lasso.solve(alone)
    assert not solution.coef.any()
    assert solution.certificate.value == 0
    assert solution.certificate.holds
