"""L-BFGS: the optimum of Newton's method, on any design; monotone and interruptible, with a certificate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer.families import LOG, LOGIT, Bernoulli, Poisson
from mercer.families.penalties import L2, Strengths
from mercer.families.response import Response
from mercer.matrices import DenseMatrix, Observations
from mercer.optim import _newton_cg as newton_cg
from mercer.optim import lbfgs, newton
from mercer.optim.descent import Step
from mercer.optim.problem import Problem, Slope
from mercer.optim.scaling import DiagonalScaling, WhiteningScaling, WoodburyScaling, choose_scaling, sampled_hessian
from mercer.stats.quadratic import GRADIENT
from tests.matrices._streamed import streamed
from tests.optim._problems import correlated


@pytest.mark.parametrize("whitened", [1500, 0])
@pytest.mark.parametrize("kind", ["dense", "far", "sparse"])
@pytest.mark.parametrize("response", ["logistic", "poisson"])
def test_the_minimum_agrees_with_newton(response: str, kind: str, whitened: int) -> None:
    this = correlated(response, kind=kind)
    scaling = choose_scaling(this, this.start(), max_factorised=whitened)
    assert isinstance(scaling, WhiteningScaling if whitened else DiagonalScaling)
    solution, exact = lbfgs.solve_from(this, this.start(), scaling), newton.solve(this, tolerance=1e-10)
    assert solution.certificate.holds
    np.testing.assert_allclose(solution.coef, exact.coef, atol=1e-7)
    assert np.abs(this.at(solution.coef, GRADIENT).gradient).max() < 1e-5


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_with_fewer_rows_than_columns_no_hessian_is_formed(kind: str) -> None:
    """With a Hessian, texts of a thousand words would take a hundred times as long as those of two thousand."""
    few = correlated(kind=kind, n=6)
    assert isinstance(choose_scaling(few, few.start()), WoodburyScaling)
    assert isinstance(choose_scaling(correlated(n=7), few.start()), WhiteningScaling)
    unpenalised = correlated(kind=kind, n=6, strength=0.0)
    assert isinstance(choose_scaling(unpenalised, unpenalised.start()), WhiteningScaling)
    solution, exact = lbfgs.solve(few), newton.solve(few, tolerance=1e-10)
    assert solution.certificate.holds
    np.testing.assert_allclose(solution.coef, exact.coef, atol=1e-7)
    whitened = lbfgs.solve_from(few, few.start(), WhiteningScaling.of(sampled_hessian(few, few.start())))
    assert len(whitened.history.objective) == len(solution.history.objective)
    assert whitened.certificate.value == pytest.approx(solution.certificate.value, rel=0.1, abs=1e-12)


def test_the_objective_never_rises() -> None:
    trace = np.array(lbfgs.solve(correlated(), tolerance=1e-12).history.objective)
    assert (np.diff(trace) <= 1e-13 * trace[0]).all()


def test_it_continues_when_the_objective_has_no_digits_left() -> None:
    """λ²/2 = 1e-24 is far below the last digit of an objective of 200."""
    this = correlated()
    solution = lbfgs.solve(this, tolerance=1e-12)
    assert solution.certificate.holds
    np.testing.assert_allclose(solution.coef, newton.solve(this, tolerance=1e-12).coef, atol=1e-12)


def test_a_start_near_the_optimum_saves_steps() -> None:
    this = correlated()
    first = lbfgs.solve(this)
    assert len(lbfgs.solve(this, first.coef).history.objective) == 1
    assert len(lbfgs.solve(this, first.coef + 1e-3).history.objective) < len(first.history.objective)


def test_the_certificate_of_too_few_steps_does_not_hold() -> None:
    solution = lbfgs.solve(correlated(), most_steps=2)
    assert len(solution.history.objective) == 3
    assert not solution.certificate.holds


def test_an_objective_that_is_not_finite_ends_the_search_at_once() -> None:
    this = correlated()
    this.observations.design.X[3, 2] = np.nan
    solution = lbfgs.solve(this)
    assert len(solution.history.objective) == 1
    assert not solution.certificate.holds


def test_an_interruption_keeps_the_best_point() -> None:
    values: list[float] = []

    def stop(step: Step) -> None:
        values.append(step.objective)
        if step.iteration == 3:
            raise KeyboardInterrupt

    solution = lbfgs.solve(correlated(), callback=stop)
    assert solution.interrupted
    assert solution.history.objective.tolist() == values
    assert correlated().at(solution.coef, GRADIENT).value == pytest.approx(values[-1])
    assert not solution.certificate.holds


class Valley:
    """Rosenbrock's function, which is smooth and not convex."""

    is_convex = False

    def at(self, w: np.ndarray, order: int) -> Slope:
        x, y = w
        value = (1 - x) ** 2 + 100 * (y - x**2) ** 2
        gradient = np.array([-2 * (1 - x) - 400 * x * (y - x**2), 200 * (y - x**2)])
        return Slope(float(value), gradient, np.zeros((0, 0)))

    def unit(self, value: float) -> float:
        return 1.0

    def hessian_product(self, w: np.ndarray) -> Any:
        x, y = w
        hessian = np.array([[2 - 400 * (y - 3 * x**2), -400 * x], [-400 * x, 200.0]])
        return lambda v: hessian @ v


def test_it_descends_into_a_curved_valley() -> None:
    solution = lbfgs.solve_from(Valley(), np.array([-1.2, 1.0]), WhiteningScaling.of(np.eye(2)), tolerance=1e-9)
    assert solution.certificate.holds
    np.testing.assert_allclose(solution.coef, [1, 1], atol=1e-8)


def test_separable_data_without_a_penalty_end_where_the_gradient_vanishes() -> None:
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    design = DenseMatrix.of(X)
    this = Problem(Observations(design, np.array([0.0, 0, 1, 1])), Response(Bernoulli(), LOGIT), Strengths.none(2))
    solution = lbfgs.solve(this, tolerance=1e-6)
    assert solution.certificate.holds
    assert solution.history.objective[-1] < 1e-5


@pytest.mark.parametrize("tolerance", [0.1, 1e-3])
@pytest.mark.parametrize("strength", [1.0, 0.01])
@pytest.mark.parametrize("steepness", [1.0, 5.0, 50.0])
@pytest.mark.parametrize("solve", [lbfgs.solve, newton_cg.solve])
def test_the_certificate_measures_the_distance_from_the_end_of_the_search(
    solve: Any, steepness: float, strength: float, tolerance: float
) -> None:
    """√2(f − f*) is λ where f is nearly quadratic; classes that are nearly separable have far less curvature there."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n, p = rng.integers(20, 120), rng.integers(3, 60)
        X = rng.normal(size=(n, p))
        design = DenseMatrix.of(X)
        y = (steepness * X[:, 0] + rng.logistic(size=n) > 0).astype(float)
        strengths = design.coordinates.strengths(L2(strength).strengths(p))
        this = Problem(Observations(design, y), Response(Bernoulli(), LOGIT), strengths)
        lowest = newton.solve(this, tolerance=1e-12, most_steps=500).history.objective[-1]
        found = solve(this, tolerance=tolerance)
        distance = np.sqrt(2 * max(0.0, found.history.objective[-1] - lowest)) / this.unit(lowest)
        assert found.certificate.holds
        assert distance <= 2 * found.certificate.value


def test_streamed_rows_start_at_the_fit_of_a_sample() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    counts = rng.poisson(np.exp(0.5 * X[:, 0])).astype(float)
    found = streamed(X, counts, rows=130, sample_rows=200)
    this = Problem(found, Response(Poisson(), LOG), found.design.coordinates.strengths(L2(1.0).strengths(4)))
    solution, from_nothing = lbfgs.solve(this, tolerance=1e-8), lbfgs.solve(this, this.start(), tolerance=1e-8)
    assert solution.certificate.holds
    assert solution.history.objective[0] < from_nothing.history.objective[0]
    np.testing.assert_allclose(solution.coef, from_nothing.coef, atol=1e-7)
