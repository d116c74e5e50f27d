"""The dual of support vector machines: its optimality conditions, both values, and every way to be stopped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize

from mercer.kernels import RBF, Gram, Linear, Sigmoid
from mercer.optim.span.kernel_rows import KernelRows
from mercer.svm._box_problem import BoxProblem, BoxProgress
from mercer.svm._dual import solve
from tests._ctrl_c import stop_at_iteration

MINUTES = pytest.mark.compiled("takes minutes as plain Python")


def classes(
    X: Any, y: Any, *, C: float = 1.0, kernel: Any = None, tolerance: float = 0.0, **options: Any
) -> BoxProblem:
    rows = KernelRows(Gram(kernel or RBF(gamma=0.5), X, tolerance=tolerance))
    return BoxProblem(rows, y, np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0), **options)


def numbers(X: Any, t: Any, *, C: float = 1.0, epsilon: float = 0.1, **options: Any) -> BoxProblem:
    return BoxProblem(
        KernelRows(Gram(RBF(gamma=0.5), X)), t, np.full(len(t), -C), np.full(len(t), C), epsilon, **options
    )


@pytest.fixture(scope="module")
def moons() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=600) > 0, 1.0, -1.0)


#: so few rows that several hundred take many rounds
SMALL = 60


def violation(problem: BoxProblem, beta: Any, K: Any) -> float:
    """The largest slope that can be followed within the box, written out row by row."""
    gradient, rise, fall = K @ beta - problem.target, [], []
    for b, g, low, high in zip(beta, gradient, problem.lower, problem.upper, strict=True):
        if b < high:
            rise.append(-(g + (problem.epsilon if b >= 0 else -problem.epsilon)))
        if b > low:
            fall.append(g + (problem.epsilon if b > 0 else -problem.epsilon))
    most = max(rise, default=-np.inf), max(fall, default=-np.inf)
    return float(sum(most)) if problem.intercept else float(max(most))


def objective(problem: BoxProblem, beta: Any, K: Any) -> float:
    return float(0.5 * beta @ K @ beta - problem.target @ beta + problem.epsilon * np.abs(beta).sum())


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("C", [0.1, 1.0, pytest.param(100.0, marks=MINUTES)])
def test_conditions_hold_at_the_returned_point(moons: Any, C: float, intercept: bool) -> None:
    X, y = moons
    problem = classes(X, y, C=C, intercept=intercept)
    found, K = solve(problem, working_rows=SMALL), RBF(gamma=0.5)(X)
    beta, certificate = found.coef.beta, found.certificate
    assert certificate.holds
    assert violation(problem, beta, K) == pytest.approx(certificate.value, abs=1e-7 * C)
    assert ((beta >= problem.lower) & (beta <= problem.upper)).all()
    assert beta.sum() == pytest.approx(0.0, abs=1e-9 * C) or not intercept
    np.testing.assert_allclose(found.coef.scores, K @ beta + found.coef.intercept, atol=1e-8 * C)
    assert len(found.history.objective) > 3


@MINUTES
def test_rounding_of_many_steps_does_not_accumulate_in_the_certificate() -> None:
    rng = np.random.default_rng(0)
    X = 100.0 * rng.normal(size=(30, 2))
    t, C, K = X[:, 0] / 100 + rng.normal(size=30), 1.0, Linear()(X)
    problem = BoxProblem(KernelRows.of_matrix(K), t, np.full(30, -C), np.full(30, C), 0.1)
    found = solve(problem, tolerance=1e-9)
    assert found.certificate.holds
    assert violation(problem, found.coef.beta, K) <= 1.1e-9


@pytest.mark.parametrize("intercept", [True, False])
def test_primal_and_dual_objectives_agree(moons: Any, intercept: bool) -> None:
    X, y = moons
    found = solve(classes(X, y, C=2.0, intercept=intercept), tolerance=1e-9)
    beta, scores = found.coef.beta, found.coef.scores
    norm = beta @ RBF(gamma=0.5)(X) @ beta
    primal = 0.5 * norm + 2.0 * np.maximum(0, 1 - y * scores).sum()
    assert found.certificate.primal == pytest.approx(primal, rel=1e-12)
    assert found.certificate.dual == pytest.approx((y * beta).sum() - 0.5 * norm, rel=1e-10)
    assert 0 <= found.certificate.gap <= 1e-7 * primal


def test_support_vectors_lie_where_they_should(moons: Any) -> None:
    X, y = moons
    found = solve(classes(X, y), tolerance=1e-8)
    margin, alpha = y * found.coef.scores, y * found.coef.beta
    assert (margin[alpha == 0] >= 1 - 1e-7).all()
    assert (margin[alpha == 1] <= 1 + 1e-7).all()
    np.testing.assert_allclose(margin[(alpha > 0) & (alpha < 1)], 1.0, atol=1e-7)


def test_the_tube_bounds_the_residuals(moons: Any) -> None:
    X, _ = moons
    t = np.sin(X[:, 0]) + 0.1 * X[:, 1]
    found = solve(numbers(X, t, epsilon=0.1), tolerance=1e-8, working_rows=SMALL)
    residual, beta = t - found.coef.scores, found.coef.beta
    assert (np.abs(residual[beta == 0]) <= 0.1 + 1e-7).all()
    np.testing.assert_allclose(residual[(beta > 0) & (beta < 1)], 0.1, atol=1e-7)
    np.testing.assert_allclose(residual[(beta < 0) & (beta > -1)], -0.1, atol=1e-7)
    assert (residual[beta == 1] >= 0.1 - 1e-7).all()
    assert found.certificate.gap <= 1e-6


@settings(max_examples=30)
@given(st.integers(2, 9), st.floats(0.05, 20), st.sampled_from([0.0, 0.2]), st.booleans(), st.integers(0, 10_000))
def test_the_solution_agrees_with_a_general_solver(
    n: int, C: float, epsilon: float, intercept: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    X, t = rng.normal(size=(n, 2)), rng.normal(size=n)
    problem = numbers(X, t, C=C, epsilon=epsilon, intercept=intercept)
    K = RBF(gamma=0.5)(X)
    found = solve(problem, tolerance=1e-10).coef.beta

    def split(z: Any) -> float:  # β = a⁺ − a⁻, so that |β| is smooth
        return float(0.5 * (z[:n] - z[n:]) @ K @ (z[:n] - z[n:]) - t @ (z[:n] - z[n:]) + epsilon * z.sum())

    sums = [LinearConstraint(np.r_[np.ones(n), -np.ones(n)], 0, 0)] if intercept else []
    other = minimize(split, np.zeros(2 * n), bounds=[(0, C)] * (2 * n), constraints=sums, method="SLSQP", tol=1e-13)
    assert objective(problem, found, K) <= other.fun + 1e-9 * max(1.0, abs(other.fun))


def test_a_solution_by_hand() -> None:
    # two points at ±1 with a linear kernel: w = 1, α = ½ each (lecture 1), and the margin of both is 1
    found = solve(classes(np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), kernel=Linear(), C=10.0), tolerance=1e-12)
    np.testing.assert_allclose(found.coef.beta, [-0.5, 0.5], atol=1e-12)
    assert found.coef.intercept == pytest.approx(0.0, abs=1e-12)
    assert found.certificate.primal == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("rows", "C", "tolerance"),  # the second and the last are out of reach of float32
    [
        (100, 1.0, 1e-3),
        (100, 1.0, 1e-9),
        pytest.param(600, 1.0, 1e-3, marks=MINUTES),
        pytest.param(600, 1e4, 1e-3, marks=MINUTES),
    ],
)
def test_float32_rows_are_checked_in_float64(moons: Any, rows: int, C: float, tolerance: float) -> None:
    X, y = moons[0][:rows], moons[1][:rows]
    problem = classes(X, y, C=C, tolerance=1e-4)
    assert problem.rows.gram.dtype == np.float32
    found = solve(problem, tolerance=tolerance)
    assert found.certificate.holds
    assert violation(problem, found.coef.beta, RBF(gamma=0.5)(X)) <= tolerance * (1 + 1e-6)


def test_the_search_continues_from_a_start(moons: Any) -> None:
    X, y = moons
    first = solve(classes(X, y), working_rows=SMALL)
    again = solve(classes(X, y), start=first.coef.beta, working_rows=SMALL)
    assert again.coef.steps == 0
    along = solve(classes(X, y, C=1.2), start=first.coef.beta, working_rows=SMALL)
    assert along.coef.steps < solve(classes(X, y, C=1.2), working_rows=SMALL).coef.steps
    assert along.certificate.holds


def test_the_dual_rises_from_round_to_round(moons: Any) -> None:
    trace = np.array(solve(classes(*moons, C=10.0), working_rows=SMALL).history.objective)
    assert (np.diff(trace) >= -1e-9 * abs(trace[-1])).all()


@pytest.mark.parametrize("limit", [{"max_iter": 5}, {"time_limit": 0.0}, {"max_iter": 0}])
def test_limits_return_a_feasible_point_with_its_gap(moons: Any, limit: Any) -> None:
    X, y = moons
    problem = classes(X, y)
    found = solve(problem, **limit, working_rows=SMALL)
    assert not found.certificate.holds
    assert found.coef.steps <= limit.get("max_iter", np.inf)
    assert found.coef.beta.sum() == pytest.approx(0, abs=1e-12)
    assert violation(problem, found.coef.beta, RBF(gamma=0.5)(X)) == pytest.approx(found.certificate.value)


def test_progress_and_an_interruption_keep_the_best(moons: Any) -> None:
    reports: list[BoxProgress] = []

    def watch(progress: BoxProgress) -> None:
        reports.append(progress)
        if len(reports) == 4:
            raise KeyboardInterrupt

    caught = solve(classes(*moons), callback=watch, working_rows=SMALL)
    assert caught.interrupted
    assert [progress.iterations for progress in reports] == sorted(progress.iterations for progress in reports)
    assert reports[-1].gap < reports[0].gap
    assert reports[-1].seconds >= reports[0].seconds
    assert caught.coef.steps == reports[-1].iterations > 0
    assert not caught.certificate.holds


def test_an_indefinite_kernel_ends(moons: Any) -> None:
    X, y = moons
    found = solve(classes(3 * X, y, kernel=Sigmoid(gamma=1.0, constant=-1.0), C=10.0), max_iter=20_000)
    assert np.isfinite(found.coef.beta).all()
    assert found.coef.steps <= 20_000


def test_equal_rows_and_rows_that_may_not_move() -> None:
    X, y = np.repeat([[0.0], [1.0]], 10, axis=0), np.repeat([1.0, -1.0], 10)
    assert solve(classes(X, y)).certificate.holds
    frozen = BoxProblem(KernelRows(Gram(RBF(), X)), y, np.zeros(20), np.zeros(20))
    still = solve(frozen)
    assert still.certificate.holds
    assert not still.coef.beta.any()


def test_one_row() -> None:
    alone = solve(classes(np.array([[1.0]]), np.array([1.0])))
    assert alone.certificate.holds
    assert alone.coef.beta[0] == 0.0
    without = solve(classes(np.array([[1.0]]), np.array([1.0]), intercept=False, C=10.0))
    assert without.coef.beta[0] == pytest.approx(1.0)


def test_the_certificate_of_an_interrupted_fit_is_computed_in_float64(moons: tuple[Any, Any]) -> None:
    X, y = moons
    problem = classes(X, y, tolerance=1e-4)
    assert problem.rows.gram.dtype == np.float32
    solution = solve(problem, callback=stop_at_iteration(21), working_rows=SMALL)
    assert solution.interrupted
    found = violation(problem, solution.coef.beta, RBF(gamma=0.5)(X))
    assert solution.certificate.value == pytest.approx(found, rel=1e-10)


def test_an_infinite_price_has_a_primal_without_nan(moons: tuple[Any, Any]) -> None:
    X, y = moons
    solution = solve(classes(X[:100], y[:100], C=np.inf, kernel=RBF(gamma=20.0)))
    assert solution.certificate.holds
    assert not np.isnan(solution.certificate.primal)
