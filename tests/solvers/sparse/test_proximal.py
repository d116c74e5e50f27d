"""Proximal Newton: optimality, measured from the outside, for every response, design and penalty."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import ElasticNet as TheirElasticNet
from sklearn.linear_model import LogisticRegression as TheirLogistic

from mercer._errors import FitInterrupted
from mercer.designs import CodesDesign, DenseDesign, Design, MixedDesign, Observations, SparseDesign
from mercer.families import (
    IDENTITY,
    L1,
    L2,
    LOG,
    LOGIT,
    PROBIT,
    Bernoulli,
    ElasticNet,
    Gamma,
    Gaussian,
    NegativeBinomial,
    Penalty,
    Poisson,
    Response,
)
from mercer.solvers.problem import Problem
from mercer.solvers.smooth import newton
from mercer.solvers.sparse import _proximal_columns as columns
from mercer.solvers.sparse import duality as _duality
from mercer.solvers.sparse import proximal
from mercer.solvers.sparse import proximal_model as model
from mercer.solvers.sparse._proximal_losses import Losses

Array = NDArray[np.float64]

RESPONSES = {
    "gaussian": Response(Gaussian(), IDENTITY),
    "bernoulli": Response(Bernoulli(), LOGIT),
    "poisson": Response(Poisson(), LOG),
    "gamma": Response(Gamma(), LOG),
    "negative binomial": Response(NegativeBinomial(2.0), LOG),
    "probit": Response(Bernoulli(), PROBIT),
}


def drawn(response: Response, eta: Array, rng: np.random.Generator) -> Array:
    family, mean = response.family, response.mean(eta)
    if isinstance(family, Gaussian):
        return mean + rng.normal(size=len(eta))
    if isinstance(family, Bernoulli):
        return (rng.random(len(eta)) < mean).astype(float)
    if isinstance(family, Gamma):
        return rng.gamma(2.0, mean / 2)
    return rng.poisson(mean).astype(float)


def dense(n: int, p: int, rng: np.random.Generator) -> Design:
    return DenseDesign.of(rng.normal(size=(n, p)) + rng.normal(size=p))


def sparse_rows(n: int, p: int, rng: np.random.Generator) -> Design:
    X = sparse.random_array((n, p), density=0.2, rng=rng, format="csr")
    return MixedDesign.of(sparse=SparseDesign.of(X), intercept=True)


def mixed(n: int, p: int, rng: np.random.Generator) -> Design:
    numbers = DenseDesign.of(rng.normal(size=(n, p // 3)), intercept=False)
    stored = SparseDesign.of(sparse.random_array((n, p // 3), density=0.3, rng=rng, format="csr"))
    levels = p - 2 * (p // 3)
    codes = CodesDesign.of([rng.integers(-1, levels - 2, size=n), rng.integers(0, 2, size=n)], [levels - 2, 2])
    return MixedDesign.of(numbers, stored, codes, intercept=True)


DESIGNS = {"dense": dense, "sparse": sparse_rows, "mixed": mixed}


def problem(
    response: str = "bernoulli", design: str = "dense", penalty: Penalty | None = None, *, n: int = 300, p: int = 30
) -> Problem:
    rng = np.random.default_rng(0)
    made, how = DESIGNS[design](n, p, rng), RESPONSES[response]
    truth = np.append(np.where(np.arange(p) % 5 == 0, 0.5, 0.0) * rng.choice([-1, 1], size=p), 0.3)
    y = drawn(how, made.times(truth), rng)
    strengths = made.coordinates.strengths((penalty or L1(5.0)).strengths(p))
    return Problem(Observations(made, y, rng.uniform(0.5, 2.0, size=n)), how, strengths)


def violation(problem: Problem, w: Array) -> float:
    """The largest distance from the subgradient's optimality, in units of the intercept's curvature."""
    slope = problem.at(w, 1).gradient
    l1, away = problem.strengths.l1, w - problem.strengths.mean
    excess = np.where(away == 0, np.maximum(np.abs(slope) - l1, 0), np.abs(slope + l1 * np.sign(away)))
    return float(excess.max() / len(problem.observations))


def objective(problem: Problem, w: Array) -> float:
    return problem.at(w, 0).value + float(problem.strengths.l1 @ np.abs(w - problem.strengths.mean))


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("response", RESPONSES)
def test_the_shortest_subgradient_vanishes_and_the_certificate_says_so(response: str, design: str) -> None:
    posed = problem(response, design)
    solution = proximal.solve(posed)
    assert solution.certificate.holds
    assert solution.certificate.kind == ("KKT" if response == "probit" else "duality gap")
    assert violation(posed, solution.value) < 1e-7
    assert 0 < np.count_nonzero(solution.value[:-1]) < 30


@pytest.mark.parametrize("route", ["products", "rows"])
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("response", ["gaussian", "bernoulli"])
def test_every_way_through_the_columns_ends_at_the_same_place(
    response: str, design: str, route: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # with some squares, as levels that add up to the intercept can be told apart by nothing else
    posed = problem(response, design, ElasticNet(5.0, l1_ratio=0.9), n=400, p=60)
    expected = proximal.solve(posed).value
    monkeypatch.setattr(model, "ALL_AT_ONCE", 0)
    monkeypatch.setattr(model, "FIRST", 4)
    if route == "rows":
        monkeypatch.setattr(model, "MOST_GRAM", 0)
        monkeypatch.setattr(columns, "MANY", 0)  # float32
    solution = proximal.solve(posed)
    assert solution.certificate.holds
    np.testing.assert_allclose(solution.value, expected, atol=1e-6)


@pytest.mark.parametrize("design", ["dense", "sparse", "mixed"])
def test_columns_of_a_design_multiply_as_the_design_does(design: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "SMALL", 0)  # in several blocks
    rng = np.random.default_rng(1)
    made = DESIGNS[design](200, 21, rng)
    X, h, d, ids = made.dense(), rng.random(200), rng.normal(size=9), np.array([0, 3, 20, 7, 8, 12, 15, 19, 21])
    ours = columns.DesignColumns(made)
    np.testing.assert_allclose(ours.gram(ids, ids[:4], h), (X[:, ids].T * h) @ X[:, ids[:4]], atol=1e-12)
    np.testing.assert_allclose(ours.squares(ids, h), np.square(X[:, ids]).T @ h, atol=1e-12)
    np.testing.assert_allclose(ours.times(ids, d), X[:, ids] @ d, atol=1e-12)
    np.testing.assert_allclose(ours.products(ids, h), X[:, ids].T @ h, atol=1e-12)


def test_places_stored_twice_count_as_the_sum() -> None:
    X = sparse.csr_array((np.array([1.0, 2.0, 5.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    ours = columns.DesignColumns(SparseDesign.of(X))
    np.testing.assert_allclose(ours.squares(np.arange(2), np.ones(2)), [9.0, 25.0])


@pytest.mark.parametrize("solver", ["saga", "liblinear"])
def test_logistic_regression_is_scikit_learns(solver: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 12))
    y = (rng.random(200) < 1 / (1 + np.exp(-X[:, 0] + X[:, 1]))).astype(float)
    design = DenseDesign.of(X, intercept=False)
    posed = Problem(
        Observations(design, y), RESPONSES["bernoulli"], design.coordinates.strengths(L1(2.0).strengths(12))
    )
    ours = design.coordinates.to_user(proximal.solve(posed).value)[0]
    theirs = TheirLogistic(C=0.5, l1_ratio=1.0, solver=solver, fit_intercept=False, tol=1e-12, max_iter=100_000)
    np.testing.assert_allclose(ours, theirs.fit(X, y).coef_[0], atol=1e-5)


@pytest.mark.parametrize("ratio", [1.0, 0.3])
def test_least_squares_are_scikit_learns_coordinate_descent(ratio: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 15)) + 1e8
    y = (X - 1e8)[:, 0] + rng.normal(size=100)
    design = DenseDesign.of(X)
    posed = Problem(
        Observations(design, y),
        RESPONSES["gaussian"],
        design.coordinates.strengths(ElasticNet(10.0, l1_ratio=ratio).strengths(15)),
    )
    ours = design.coordinates.to_user(proximal.solve(posed).value)[0]
    theirs = TheirElasticNet(alpha=0.1, l1_ratio=ratio, tol=1e-12, max_iter=10_000).fit(X - X.mean(axis=0), y)
    np.testing.assert_allclose(ours, theirs.coef_, atol=1e-6)


@pytest.mark.parametrize("penalty", [L2(0.0), L2(3.0)])
@pytest.mark.parametrize("response", ["bernoulli", "poisson", "gamma"])
def test_without_absolute_values_it_is_newtons_method(response: str, penalty: Penalty) -> None:
    posed = problem(response, penalty=penalty)
    np.testing.assert_allclose(proximal.solve(posed).value, newton.solve(posed).value, atol=1e-6)


def test_coefficients_are_drawn_to_their_means() -> None:
    rng = np.random.default_rng(0)
    mean = rng.normal(size=30)
    posed = problem("poisson", penalty=L1(20.0, mean=0.1 * mean))
    solution = proximal.solve(posed)
    assert solution.certificate.holds
    assert violation(posed, solution.value) < 1e-7
    assert np.any(solution.value[:-1] == posed.strengths.mean[:-1])


@pytest.mark.parametrize("response", ["gaussian", "bernoulli", "poisson"])
def test_a_huge_penalty_leaves_the_intercept_alone(response: str) -> None:
    posed = problem(response, penalty=L1(1e12))
    solution = proximal.solve(posed)
    assert solution.certificate.holds
    assert not solution.value[:-1].any()
    y, weight = posed.observations.y, posed.observations.weight
    assert solution.value[-1] == pytest.approx(float(posed.response.predictor(np.average(y, weights=weight))))


def test_columns_without_a_penalty_are_free() -> None:
    strength = np.full(30, 1e9)
    strength[[2, 7]] = 0.0
    posed = problem("bernoulli", penalty=L1(strength))
    solution = proximal.solve(posed)
    assert set(np.flatnonzero(solution.value)) == {2, 7, 30}
    assert violation(posed, solution.value) < 1e-7
    assert solution.certificate.holds


def test_a_solution_is_recognised_at_once() -> None:
    posed = problem()
    first = proximal.solve(posed)
    again = proximal.solve(posed, first.value)
    assert len(again.trace) == 1
    assert again.certificate.holds


@pytest.mark.parametrize("response", RESPONSES)
def test_the_objective_never_rises(response: str) -> None:
    posed = problem(response)
    trace = np.array(proximal.solve(posed, np.full(31, 0.5)).trace)
    assert len(trace) > 1
    assert (np.diff(trace) <= 1e-12 * trace[0]).all()


@pytest.mark.parametrize("response", ["gaussian", "bernoulli", "poisson", "gamma", "negative binomial"])
@given(share=st.floats(0, 1), seed=st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_what_a_share_of_the_slopes_loses_is_bregmans_divergence(response: str, share: float, seed: int) -> None:
    """f(η) − f(η') − f'(η')(η − η') where f'(η') = s f'(η): found by bisection."""
    how, rng = RESPONSES[response], np.random.default_rng(seed)
    eta = rng.normal(size=1)
    y = drawn(how, rng.normal(size=1), rng) + (0.1 if response == "gamma" else 0.0)
    at = lambda z: how.slopes(y, np.array([z]))  # noqa: E731
    wanted = share * at(eta[0]).first[0]
    low, high = -60.0, 60.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if at(middle).first[0] < wanted else (low, middle)
    there = at((low + high) / 2)
    divergence = at(eta[0]).loss - there.loss - wanted * (eta[0] - (low + high) / 2)
    losses = Losses(Observations(DenseDesign.of(np.zeros((1, 1))), y), how)
    if abs(low) < 59:  # no share of 0 leaves a finite η for a response at the edge
        assert losses.lost(eta)(share) == pytest.approx(divergence, abs=1e-7)


@pytest.mark.parametrize("response", ["gaussian", "bernoulli", "poisson", "gamma"])
@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_the_gap_bounds_the_distance_to_the_minimum(response: str, ratio: float) -> None:
    posed = problem(response, penalty=ElasticNet(5.0, l1_ratio=ratio))
    lowest = proximal.solve(posed).trace[-1]
    for steps in range(4):
        early = proximal.solve(posed, most_steps=steps)
        assert early.trace[-1] - lowest <= early.certificate.value * early.trace[-1] * (1 + 1e-6) + 1e-9


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_units_do_not_matter(scale: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4))
    y = (rng.random(100) < 1 / (1 + np.exp(-X[:, 0]))).astype(float)
    found = []
    for unit in (1.0, scale):
        design = DenseDesign.of(X * [unit, 1, 1, 1])
        strengths = design.coordinates.strengths(L1(3.0 * np.array([unit, 1, 1, 1])).strengths(4))
        solution = proximal.solve(Problem(Observations(design, y), RESPONSES["bernoulli"], strengths))
        assert solution.certificate.holds
        found.append(design.coordinates.to_user(solution.value)[0] * [unit, 1, 1, 1])
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)


def test_more_columns_than_rows_and_columns_that_are_the_same() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 400))
    X = np.hstack([X, X[:, :50], np.ones((40, 3))])
    y = (X[:, 0] + 0.3 * rng.normal(size=40) > 0).astype(float)
    design = DenseDesign.of(X)
    strengths = design.coordinates.strengths(L1(0.5).strengths(X.shape[1]))
    posed = Problem(Observations(design, y), RESPONSES["bernoulli"], strengths)
    solution = proximal.solve(posed)
    assert solution.certificate.holds
    assert violation(posed, solution.value) < 1e-7


def test_too_few_steps_are_admitted() -> None:
    certificate = proximal.solve(problem(), most_steps=1).certificate
    assert not certificate.holds
    assert certificate.value > certificate.tolerance


def test_data_that_are_not_finite_end_the_search_at_once() -> None:
    posed = problem()
    posed.observations.design.X[3, 1] = np.nan
    solution = proximal.solve(posed)
    assert not solution.certificate.holds
    assert len(solution.trace) == 1


def test_an_interrupted_search_hands_over_the_best_point() -> None:
    def interrupt(step: int, value: float, length: float) -> None:
        if step == 2:
            raise KeyboardInterrupt

    posed = problem()
    with pytest.raises(FitInterrupted) as stopped:
        proximal.solve(posed, progress=interrupt)
    solution = stopped.value.solution
    assert len(solution.trace) == 3
    assert solution.trace[-1] == pytest.approx(objective(posed, solution.value))


def test_whoever_watches_sees_the_point() -> None:
    seen = []
    posed = problem()
    solution = proximal.solve(posed, progress=lambda *step: seen.append(step))
    assert [number for number, _, _ in seen] == list(range(1, len(solution.trace)))
    assert [value for _, value, _ in seen] == list(solution.trace[1:])


@pytest.mark.parametrize("response", ["gaussian", "bernoulli", "poisson"])
@pytest.mark.parametrize("gap", [1e-3, 1e-6])
def test_the_gap_that_was_asked_for_is_reached_on_many_rows(response: str, gap: float) -> None:
    n = newton.ALWAYS_HESSIAN + 1000
    posed = problem(response, "sparse", L1(2.0), n=n, p=300)
    total = float(posed.observations.weight.sum())
    certificate = proximal.solve(posed, tolerance=gap * np.sqrt(total)).certificate
    assert certificate.holds
    assert certificate.tolerance <= 2 * gap
    hasty = proximal.solve(posed, tolerance=gap * np.sqrt(total), most_steps=1).certificate
    assert hasty.value > hasty.tolerance


@pytest.mark.parametrize("response", ["gaussian", "bernoulli", "poisson"])
def test_a_penalty_below_the_rounding_of_slopes_is_none(response: str) -> None:
    posed = problem(response, penalty=L1(1e-12))
    solution = proximal.solve(posed)
    assert solution.certificate.holds
    np.testing.assert_allclose(solution.value, newton.solve(problem(response, penalty=L2(0.0))).value, atol=1e-6)


def test_columns_of_float32_are_refined_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "MANY", 1)
    X = sparse.csr_array(np.random.default_rng(0).normal(size=(20, 3)))
    made = model.Model(SparseDesign.of(X), _duality.Penalty(np.ones(4), np.zeros(4)))
    assert made.columns.dtype == np.float32
    assert made.refine()
    assert made.columns.dtype == np.float64
    assert not made.refine()


def test_an_offset_that_is_the_same_for_all_rows_moves_the_intercept_alone() -> None:
    posed = problem("poisson")
    moved = replace(posed, observations=replace(posed.observations, offset=np.full(300, 0.7)))
    plain, found = proximal.solve(posed).value, proximal.solve(moved).value
    np.testing.assert_allclose(found[:-1], plain[:-1], atol=1e-6)
    assert found[-1] == pytest.approx(plain[-1] - 0.7, abs=1e-6)


def test_of_very_many_free_coefficients_each_is_judged_by_its_own_curvature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mercer.solvers.sparse._proximal_descent.MOST_FREE", 0)
    strength = np.where(np.arange(30) < 2, 0.0, 5.0)
    posed = problem("bernoulli", penalty=L1(strength))
    solution = proximal.solve(posed)
    assert solution.certificate.holds
    assert violation(posed, solution.value) < 1e-7


def test_products_of_an_earlier_point_are_the_first_to_be_made_anew() -> None:
    design = dense(50, 3, np.random.default_rng(0))
    made, h = model.Model(design, _duality.Penalty(np.ones(4), np.zeros(4))), np.ones(50)
    made._prepare(np.arange(4), h)
    assert not made.refine()  # they are of this very point, and of float64
    made._prepare(np.arange(4), 1.001 * h)
    assert made.refine()
    made._prepare(np.arange(4), 1.001 * h)
    assert not made.refine()


def test_where_rounding_is_all_that_is_left_the_search_ends() -> None:
    """No subgradient is shorter than rounding makes it: to ask for less must not go on for ever."""
    posed = problem()
    solution = proximal.solve(posed, tolerance=0.0, most_steps=1000)
    assert len(solution.trace) < 100
    assert violation(posed, solution.value) < 1e-9


def test_a_model_that_leads_uphill_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    posed = problem()
    best = proximal.solve(posed)
    monkeypatch.setattr(model.Model, "minimiser", lambda self, place: place.u + 1.0)
    found = proximal.solve(posed, best.value, tolerance=0.0)
    np.testing.assert_array_equal(found.value, best.value)
    assert len(found.trace) == 1
