"""Machines on explicit features against the same problem solved by its kernel matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer.optim.span.kernel_rows import KernelRows
from mercer.svm import _dual as dual
from mercer.svm import feature_machine
from mercer.svm._box_problem import BoxProblem
from mercer.svm._margins import MarginLosses, MarginProblem, MarginRows
from mercer.svm.feature_machine import FeatureRows, FreeIntercept
from tests._ctrl_c import interrupt, interrupted_at, stop_at_iteration

MINUTES = pytest.mark.compiled("takes minutes as plain Python")

Array = np.ndarray


@pytest.fixture(scope="module")
def features() -> Array:
    rng = np.random.default_rng(0)
    return np.column_stack([rng.normal(size=(150, 6)), rng.normal(size=150) + 5.0])


def for_classes(rows: Any, features: Array, *, C: float = 1.0, intercept: bool = True) -> BoxProblem:
    noise = np.random.default_rng(1).normal(size=len(features))
    y = np.where(features[:, 0] - features[:, 1] + 0.5 * noise > 0.7, 1.0, -1.0)
    return BoxProblem(rows, y, np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0), 0.0, intercept)


def for_numbers(rows: Any, features: Array, *, C: float = 1.0, intercept: bool = True) -> BoxProblem:
    t = np.sin(features[:, 0]) + 3.0 + 0.3 * np.random.default_rng(1).normal(size=len(features))
    return BoxProblem(rows, t, np.full(len(t), -C), np.full(len(t), C), 0.1, intercept)


@pytest.mark.parametrize("kind", [for_classes, for_numbers])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("C", [0.01, pytest.param(1.0, marks=MINUTES), pytest.param(30.0, marks=MINUTES)])
@pytest.mark.parametrize("size", [1.0, 1e-4, 1e5])
def test_the_problem_agrees_with_that_of_the_kernel_matrix(
    features: Array, kind: Any, intercept: bool, C: float, size: float
) -> None:
    options: dict[str, Any] = {"C": C / size**2, "intercept": intercept}
    exact = kind(KernelRows.of_matrix(size**2 * features @ features.T), features, **options)
    found = feature_machine.solve(kind(FeatureRows.of(size * features), features, **options), tolerance=1e-10)
    wanted = dual.solve(exact, tolerance=1e-8)
    assert found.certificate.holds
    assert found.certificate.kind == "duality gap"
    np.testing.assert_allclose(found.coef.scores, wanted.coef.scores, atol=1e-6)
    np.testing.assert_allclose(found.coef.intercept, wanted.coef.intercept, atol=1e-6)
    np.testing.assert_allclose(found.certificate.primal, wanted.certificate.primal, rtol=1e-6)
    np.testing.assert_allclose(size * features @ found.coef.weights + found.coef.intercept, found.coef.scores)


@pytest.mark.parametrize("kind", [for_classes, for_numbers])
@pytest.mark.parametrize("C", [1e-5, 1e-7, 1e-30])
def test_low_prices_do_not_restrict_the_intercept(features: Array, kind: Any, C: float) -> None:
    found = feature_machine.solve(kind(FeatureRows.of(features.copy()), features, C=C))
    wanted = dual.solve(kind(KernelRows.of_matrix(features @ features.T), features, C=C), tolerance=1e-8)
    assert found.certificate.holds
    np.testing.assert_allclose(found.coef.scores, wanted.coef.scores, atol=1e-3)
    np.testing.assert_allclose(found.certificate.primal, wanted.certificate.primal, rtol=1e-5)


@pytest.mark.parametrize("tolerance", [1e-1, 1e-3, 1e-6])
def test_the_certified_gap_is_that_of_the_returned_point(features: Array, tolerance: float) -> None:
    problem = for_classes(FeatureRows.of(features.copy()), features)
    solution = feature_machine.solve(problem, tolerance=tolerance)
    point = solution.coef
    margins = np.abs(problem.lower + problem.upper) * np.maximum(0, 1 - problem.target * point.scores)
    primal = 0.5 * point.weights @ point.weights + margins.sum()
    dual_value = problem.target @ point.beta - 0.5 * np.sum((features.T @ point.beta) ** 2)
    np.testing.assert_allclose(solution.certificate.primal, primal, rtol=1e-12)
    assert solution.certificate.dual <= dual_value + 1e-9 * primal
    assert primal - dual_value <= 1e-2 * tolerance * primal + 1e-9 * primal
    assert abs(point.beta.sum()) < 1e-12
    assert ((problem.lower <= point.beta) & (point.beta <= problem.upper)).all()


def test_an_intercept_is_not_penalised(features: Array) -> None:
    """Targets moved by any number move the intercept by it, and nothing else."""
    problem = for_numbers(FeatureRows.of(features.copy()), features)
    moved = BoxProblem(problem.rows, problem.target + 50.0, problem.lower, problem.upper, problem.epsilon)
    a, b = (feature_machine.solve(each, tolerance=1e-10).coef for each in (problem, moved))
    np.testing.assert_allclose(b.weights, a.weights, atol=1e-6)
    np.testing.assert_allclose(b.intercept, a.intercept + 50.0, atol=1e-6)


def test_margins_are_not_violated_at_an_infinite_price(features: Array) -> None:
    y = np.where(features[:, 0] > 0, 1.0, -1.0)
    infinite = BoxProblem(
        FeatureRows.of(features.copy()), y, np.where(y > 0, 0.0, -np.inf), np.where(y > 0, np.inf, 0.0)
    )
    point = feature_machine.solve(infinite, tolerance=1e-6).coef
    assert (y * (features @ point.weights + point.intercept)).min() > 1 - 1e-4


def test_a_start_at_the_optimum_stays_there(features: Array) -> None:
    problem = for_classes(FeatureRows.of(features.copy()), features)
    first = feature_machine.solve(problem, tolerance=1e-4)
    again = feature_machine.solve(problem, tolerance=1e-4, start=first.coef.beta)
    assert again.certificate.holds
    assert again.coef.steps <= first.coef.steps
    np.testing.assert_allclose(again.coef.scores, first.coef.scores, atol=1e-3)


@pytest.mark.parametrize("limit", [{"max_iter": 2}, {"time_limit": 0.0}])
def test_limits_return_a_point_with_its_gap(features: Array, limit: Any) -> None:
    solution = feature_machine.solve(for_classes(FeatureRows.of(features.copy()), features), tolerance=1e-8, **limit)
    assert not solution.certificate.holds
    assert abs(solution.coef.beta.sum()) < 1e-12
    assert np.isfinite(solution.coef.scores).all()


def test_ctrl_c_keeps_the_best_point_so_far(features: Array) -> None:
    problem = for_classes(FeatureRows.of(features.copy()), features)
    solution = feature_machine.solve(problem, tolerance=1e-10, callback=stop_at_iteration(5))
    assert solution.interrupted
    assert solution.coef.steps == 5
    assert 0 < solution.certificate.gap < np.inf


def test_identical_rows_have_an_intercept_between_the_classes() -> None:
    y = np.array([1.0, 1.0, 1.0, -1.0])
    problem = BoxProblem(FeatureRows.of(np.ones((4, 2))), y, np.where(y > 0, 0.0, -1.0), np.where(y > 0, 1.0, 0.0))
    solution = feature_machine.solve(problem)
    assert solution.certificate.holds
    np.testing.assert_allclose(solution.coef.scores, 1.0, atol=1e-4)


@pytest.mark.parametrize("pass_", [3, 8, 13, 25, 40])
def test_ctrl_c_in_any_pass_leaves_a_point_and_its_own_gap(
    features: Array, monkeypatch: pytest.MonkeyPatch, pass_: int
) -> None:
    monkeypatch.setattr(MarginRows, "rmatvec", interrupted_at(pass_, MarginRows.rmatvec))
    problem = for_numbers(FeatureRows.of(features.copy()), features)
    interruption = feature_machine.solve(problem, tolerance=1e-12)
    assert interruption.interrupted
    point, certificate = interruption.coef, interruption.certificate
    np.testing.assert_allclose(features @ point.weights + point.intercept, point.scores, atol=1e-9)
    beyond = np.maximum(0.0, np.abs(point.scores - problem.target) - problem.epsilon)
    np.testing.assert_allclose(0.5 * point.weights @ point.weights + beyond.sum(), certificate.primal, rtol=1e-9)
    assert certificate.gap < (0.5 if pass_ > 20 else 1.1) * certificate.primal


def test_ctrl_c_between_two_rounds_does_not_count_the_intercept_twice(
    features: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = for_numbers(None, features)
    losses = MarginLosses(problem.target, problem.lower, problem.upper, np.zeros(len(features)), problem.epsilon)
    newton = FreeIntercept(MarginProblem(MarginRows.of(features, 10.0), losses), 1e-9, 100)
    newton.step()
    before = newton.intercept
    assert abs(newton.point.w[-1]) > 1e-6
    monkeypatch.setattr(MarginRows, "rmatvec", interrupt)
    with pytest.raises(KeyboardInterrupt):
        newton._new_round(newton.point)
    assert newton.intercept == before


def test_features_of_any_size_are_the_same_rows() -> None:
    """Features are scaled if their squares are far from 1, and the plan reports it."""
    psi = np.random.default_rng(0).normal(size=(6, 3))
    for size in (1e-9, 1.0, 1e9):
        rows = FeatureRows.of(size * psi)
        assert len(rows) == 6
        np.testing.assert_allclose(rows.diagonal, size**2 * np.square(psi).sum(axis=1), rtol=1e-12)
        np.testing.assert_allclose(rows.take([4, 1]).diagonal, rows.diagonal[[4, 1]], rtol=1e-14)


def test_a_gap_that_the_free_intercept_leaves_is_narrowed_further() -> None:
    """Newton's method may have reached its aim while β, brought to a sum of 0, has not."""
    narrowed = []
    for seed in range(5):
        psi, gaps = np.random.default_rng(seed).normal(size=(400, 200)) + 5.0, list[float]()
        problem = for_classes(FeatureRows.of(psi.copy()), psi, C=9.0)
        solution = feature_machine.solve(
            problem, tolerance=1.0, callback=lambda progress, gaps=gaps: gaps.append(progress.violation)
        )
        assert solution.certificate.holds
        assert abs(solution.coef.beta.sum()) < 1e-9
        narrowed += [gap for gap in gaps[:-1] if gap <= solution.certificate.tolerance]
    assert narrowed


def test_an_infinite_price_without_separation_is_reported(features: Array) -> None:
    """Classes that no hyperplane separates have no optimum where every violation costs infinitely much."""
    problem = for_classes(FeatureRows.of(features.copy()), features, C=np.inf)
    certificate = feature_machine.solve(problem, max_iter=200).certificate
    assert not certificate.holds
    assert "C is too high" in certificate.sentence


def test_a_price_that_overflows_is_capped_like_an_infinite_one(features: Array) -> None:
    problem = for_classes(FeatureRows.of(1e5 * features), features, C=1e300)
    assert "C is too high" in feature_machine.solve(problem, max_iter=20).certificate.sentence
