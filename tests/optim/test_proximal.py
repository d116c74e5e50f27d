"""Proximal Newton: optimality, measured from the outside, for every response, design and penalty."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet as TheirElasticNet
from sklearn.linear_model import LogisticRegression as TheirLogistic

from mercer.families import L1, L2, ElasticNet, Penalty
from mercer.matrices import DenseMatrix, Observations
from mercer.optim import newton, proximal_newton
from mercer.optim.descent import Step
from mercer.optim.duality import GapPenalty
from mercer.optim.problem import Problem
from mercer.optim.proximal_newton import ProximalExpansion, ProximalModel
from tests._ctrl_c import stop_at
from tests.optim._proximal_cases import DESIGNS, RESPONSES, Array, drawn


def problem(
    response: str = "bernoulli", design: str = "dense", penalty: Penalty | None = None, *, n: int = 300, p: int = 30
) -> Problem:
    rng = np.random.default_rng(0)
    made, how = DESIGNS[design](n, p, rng), RESPONSES[response]
    truth = np.append(np.where(np.arange(p) % 5 == 0, 0.5, 0.0) * rng.choice([-1, 1], size=p), 0.3)
    y = drawn(how, made.matvec(truth), rng)
    strengths = made.coordinates.strengths((penalty or L1(5.0)).strengths(p))
    return Problem(Observations(made, y, rng.uniform(0.5, 2.0, size=n)), how, strengths)


def violation(problem: Problem, w: Array) -> float:
    """Return the largest entry of the shortest subgradient, in units of the intercept's curvature."""
    slope = problem.at(w, 1).gradient
    l1, away = problem.strengths.l1, w - problem.strengths.mean
    excess = np.where(away == 0, np.maximum(np.abs(slope) - l1, 0), np.abs(slope + l1 * np.sign(away)))
    return float(excess.max() / len(problem.observations))


def objective(problem: Problem, w: Array) -> float:
    return problem.at(w, 0).value + float(problem.strengths.l1 @ np.abs(w - problem.strengths.mean))


def model_of(problem: Problem, **options: int) -> ProximalModel:
    penalty = GapPenalty(problem.strengths.l1, problem.strengths.l2)
    return ProximalModel(problem.observations.design, penalty, **options)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("response", RESPONSES)
def test_the_shortest_subgradient_vanishes_and_the_certificate_holds(response: str, design: str) -> None:
    posed = problem(response, design)
    solution = proximal_newton.solve(posed)
    assert solution.certificate.holds
    assert solution.certificate.kind == ("KKT" if response == "probit" else "duality gap")
    assert violation(posed, solution.coef) < 1e-7
    assert 0 < np.count_nonzero(solution.coef[:-1]) < 30


@pytest.mark.parametrize("route", ["products", "rows"])
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("response", ["gaussian", "bernoulli"])
def test_every_order_of_columns_reaches_the_same_minimum(response: str, design: str, route: str) -> None:
    # with squares: the penalty alone distinguishes levels that add up to the intercept
    posed = problem(response, design, ElasticNet(5.0, l1_ratio=0.9), n=400, p=60)
    expected = proximal_newton.solve(posed).coef
    by_rows = {"max_gram": 0, "many": 0}  # of float32
    options = by_rows if route == "rows" else {}
    solution = proximal_newton.solve(posed, model=model_of(posed, full_columns=0, first_columns=4, **options))
    assert solution.certificate.holds
    np.testing.assert_allclose(solution.coef, expected, atol=1e-6)


@pytest.mark.parametrize("solver", ["saga", "liblinear"])
def test_logistic_regression_agrees_with_scikit_learn(solver: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 12))
    y = (rng.random(200) < 1 / (1 + np.exp(-X[:, 0] + X[:, 1]))).astype(float)
    design = DenseMatrix.of(X, intercept=False)
    posed = Problem(
        Observations(design, y), RESPONSES["bernoulli"], design.coordinates.strengths(L1(2.0).strengths(12))
    )
    ours = design.coordinates.to_user(proximal_newton.solve(posed).coef)[0]
    theirs = TheirLogistic(C=0.5, l1_ratio=1.0, solver=solver, fit_intercept=False, tol=1e-12, max_iter=100_000)
    np.testing.assert_allclose(ours, theirs.fit(X, y).coef_[0], atol=1e-5)


@pytest.mark.parametrize("ratio", [1.0, 0.3])
def test_least_squares_agree_with_the_coordinate_descent_of_scikit_learn(ratio: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 15)) + 1e8
    y = (X - 1e8)[:, 0] + rng.normal(size=100)
    design = DenseMatrix.of(X)
    posed = Problem(
        Observations(design, y),
        RESPONSES["gaussian"],
        design.coordinates.strengths(ElasticNet(10.0, l1_ratio=ratio).strengths(15)),
    )
    ours = design.coordinates.to_user(proximal_newton.solve(posed).coef)[0]
    theirs = TheirElasticNet(alpha=0.1, l1_ratio=ratio, tol=1e-12, max_iter=10_000).fit(X - X.mean(axis=0), y)
    np.testing.assert_allclose(ours, theirs.coef_, atol=1e-6)


@pytest.mark.parametrize("penalty", [L2(0.0), L2(3.0)])
@pytest.mark.parametrize("response", ["bernoulli", "poisson", "gamma"])
def test_without_an_l1_penalty_it_is_newtons_method(response: str, penalty: Penalty) -> None:
    posed = problem(response, penalty=penalty)
    np.testing.assert_allclose(proximal_newton.solve(posed).coef, newton.solve(posed).coef, atol=1e-6)


def test_coefficients_are_pulled_towards_their_prior_means() -> None:
    rng = np.random.default_rng(0)
    mean = rng.normal(size=30)
    posed = problem("poisson", penalty=L1(20.0, mean=0.1 * mean))
    solution = proximal_newton.solve(posed)
    assert solution.certificate.holds
    assert violation(posed, solution.coef) < 1e-7
    assert np.any(solution.coef[:-1] == posed.strengths.mean[:-1])


@pytest.mark.parametrize("response", ["gaussian", "bernoulli", "poisson"])
def test_a_huge_penalty_leaves_only_the_intercept(response: str) -> None:
    posed = problem(response, penalty=L1(1e12))
    solution = proximal_newton.solve(posed)
    assert solution.certificate.holds
    assert not solution.coef[:-1].any()
    y, weight = posed.observations.y, posed.observations.weight
    assert solution.coef[-1] == pytest.approx(float(posed.response.predictor(np.average(y, weights=weight))))


def test_columns_without_a_penalty_are_free() -> None:
    strength = np.full(30, 1e9)
    strength[[2, 7]] = 0.0
    posed = problem("bernoulli", penalty=L1(strength))
    solution = proximal_newton.solve(posed)
    assert set(np.flatnonzero(solution.coef)) == {2, 7, 30}
    assert violation(posed, solution.coef) < 1e-7
    assert solution.certificate.holds


def test_a_solution_is_recognised_at_once() -> None:
    posed = problem()
    first = proximal_newton.solve(posed)
    again = proximal_newton.solve(posed, first.coef)
    assert len(again.history.objective) == 1
    assert again.certificate.holds


@pytest.mark.parametrize("response", RESPONSES)
def test_the_objective_never_rises(response: str) -> None:
    posed = problem(response)
    trace = np.array(proximal_newton.solve(posed, np.full(31, 0.5)).history.objective)
    assert len(trace) > 1
    assert (np.diff(trace) <= 1e-12 * trace[0]).all()


@pytest.mark.parametrize("response", ["gaussian", "bernoulli", "poisson", "gamma"])
@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_the_gap_bounds_the_distance_to_the_minimum(response: str, ratio: float) -> None:
    posed = problem(response, penalty=ElasticNet(5.0, l1_ratio=ratio))
    lowest = proximal_newton.solve(posed).history.objective[-1]
    for steps in range(4):
        early = proximal_newton.solve(posed, most_steps=steps)
        assert (
            early.history.objective[-1] - lowest
            <= early.certificate.value * early.history.objective[-1] * (1 + 1e-6) + 1e-9
        )


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_units_do_not_matter(scale: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4))
    y = (rng.random(100) < 1 / (1 + np.exp(-X[:, 0]))).astype(float)
    found = []
    for unit in (1.0, scale):
        design = DenseMatrix.of(X * [unit, 1, 1, 1])
        strengths = design.coordinates.strengths(L1(3.0 * np.array([unit, 1, 1, 1])).strengths(4))
        solution = proximal_newton.solve(Problem(Observations(design, y), RESPONSES["bernoulli"], strengths))
        assert solution.certificate.holds
        found.append(design.coordinates.to_user(solution.coef)[0] * [unit, 1, 1, 1])
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)


def test_more_columns_than_rows_and_columns_that_are_the_same() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 400))
    X = np.hstack([X, X[:, :50], np.ones((40, 3))])
    y = (X[:, 0] + 0.3 * rng.normal(size=40) > 0).astype(float)
    design = DenseMatrix.of(X)
    strengths = design.coordinates.strengths(L1(0.5).strengths(X.shape[1]))
    posed = Problem(Observations(design, y), RESPONSES["bernoulli"], strengths)
    solution = proximal_newton.solve(posed)
    assert solution.certificate.holds
    assert violation(posed, solution.coef) < 1e-7


def test_the_certificate_of_too_few_steps_does_not_hold() -> None:
    certificate = proximal_newton.solve(problem(), most_steps=1).certificate
    assert not certificate.holds
    assert certificate.value > certificate.tolerance


def test_data_that_are_not_finite_end_the_search_at_once() -> None:
    posed = problem()
    posed.observations.design.X[3, 1] = np.nan
    solution = proximal_newton.solve(posed)
    assert not solution.certificate.holds
    assert len(solution.history.objective) == 1


def test_an_interrupted_search_keeps_the_best_point() -> None:
    posed = problem()
    solution = proximal_newton.solve(posed, callback=stop_at(2))
    assert solution.interrupted
    assert len(solution.history.objective) == 3
    assert solution.history.objective[-1] == pytest.approx(objective(posed, solution.coef))


def test_the_callback_has_every_step() -> None:
    steps: list[Step] = []
    posed = problem()
    solution = proximal_newton.solve(posed, callback=steps.append)
    assert [step.iteration for step in steps] == list(range(solution.n_iter + 1))
    assert [step.objective for step in steps] == solution.history.objective.tolist()


@pytest.mark.compiled("takes minutes as plain Python")
@pytest.mark.parametrize("response", ["gaussian", "bernoulli", "poisson"])
@pytest.mark.parametrize("gap", [1e-3, 1e-6])
def test_the_requested_gap_is_reached_on_many_rows(response: str, gap: float) -> None:
    n = newton.ALWAYS_HESSIAN + 1000
    posed = problem(response, "sparse", L1(2.0), n=n, p=300)
    total = float(posed.observations.weight.sum())
    certificate = proximal_newton.solve(posed, tolerance=gap * np.sqrt(total)).certificate
    assert certificate.holds
    assert certificate.tolerance <= 2 * gap
    hasty = proximal_newton.solve(posed, tolerance=gap * np.sqrt(total), most_steps=1).certificate
    assert hasty.value > hasty.tolerance


@pytest.mark.parametrize("response", ["gaussian", "bernoulli", "poisson"])
def test_a_penalty_below_the_rounding_of_slopes_is_ignored(response: str) -> None:
    posed = problem(response, penalty=L1(1e-12))
    solution = proximal_newton.solve(posed)
    assert solution.certificate.holds
    np.testing.assert_allclose(solution.coef, newton.solve(problem(response, penalty=L2(0.0))).coef, atol=1e-6)


def test_an_offset_that_is_the_same_for_all_rows_moves_the_intercept_alone() -> None:
    posed = problem("poisson")
    moved = replace(posed, observations=replace(posed.observations, offset=np.full(300, 0.7)))
    plain, found = proximal_newton.solve(posed).coef, proximal_newton.solve(moved).coef
    np.testing.assert_allclose(found[:-1], plain[:-1], atol=1e-6)
    assert found[-1] == pytest.approx(plain[-1] - 0.7, abs=1e-6)


def test_very_many_free_coefficients_are_judged_by_their_diagonal_curvature() -> None:
    strength = np.where(np.arange(30) < 2, 0.0, 5.0)
    posed = problem("bernoulli", penalty=L1(strength))
    solution = proximal_newton.solve(posed, max_free=0)
    assert solution.certificate.holds
    assert violation(posed, solution.coef) < 1e-7


def test_the_search_ends_if_only_rounding_is_left() -> None:
    """Rounding bounds the subgradient from below, so that a smaller tolerance must not loop for ever."""
    posed = problem()
    solution = proximal_newton.solve(posed, tolerance=0.0, most_steps=1000)
    assert len(solution.history.objective) < 100
    assert violation(posed, solution.coef) < 1e-9


class UphillModel(ProximalModel):
    """A model whose minimiser is higher than the present point."""

    def minimiser(self, place: ProximalExpansion) -> Array:
        return place.u + 1.0


def test_a_model_that_leads_uphill_is_not_followed() -> None:
    posed = problem()
    best = proximal_newton.solve(posed)
    uphill = UphillModel(posed.observations.design, GapPenalty(posed.strengths.l1, posed.strengths.l2))
    found = proximal_newton.solve(posed, best.coef, tolerance=0.0, model=uphill)
    np.testing.assert_array_equal(found.coef, best.coef)
    assert len(found.history.objective) == 1
