"""Proximal Newton over a source: the solution is the one in memory, and each step is a pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer.engines.passes import Run, enter_run
from mercer.families import LOG, Poisson
from mercer.families.penalties import ElasticNet
from mercer.families.response import Response, SoftmaxResponse
from mercer.optim import streamed_proximal
from mercer.optim.problem import Problem
from mercer.optim.softmax import SoftmaxProblem
from tests._ctrl_c import stop_at
from tests.matrices._streamed import streamed
from tests.optim._uphill import Uphill

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1000, 6))
COUNTS = RNG.poisson(np.exp(0.5 * X[:, 0])).astype(float)
CLASSES = np.argmax(X[:, :3] + RNG.gumbel(size=(1000, 3)), axis=1)


def problem(mean: Any = 0.0) -> Problem:
    found = streamed(X, COUNTS, rows=130, sample_rows=250)
    strengths = found.design.coordinates.strengths(ElasticNet(30.0, mean=mean, l1_ratio=0.8).strengths(6))
    return Problem(found, Response(Poisson(), LOG), strengths)


@pytest.mark.parametrize("mean", [0.0, np.array([0.5, 0, 0, 0, 0, 0])])
def test_the_conditions_of_an_optimum_hold(mean: Any) -> None:
    """Slopes of coefficients at their mean are within the penalty, those of others balance it."""
    this = problem(mean)
    solution = streamed_proximal.solve(this, tolerance=1e-9)
    assert solution.certificate.holds
    l1, away = this.strengths.l1, solution.coef - this.strengths.mean
    slope = this.at(solution.coef).gradient
    still = away == 0
    assert still.any()
    assert (np.abs(slope[still]) <= l1[still] + 1e-7).all()
    np.testing.assert_allclose(slope[~still], -(l1 * np.sign(away))[~still], atol=1e-6)


@pytest.mark.compiled("takes minutes as plain Python")
def test_each_step_is_a_pass() -> None:
    this = problem()
    with enter_run(Run()) as run:
        solution = streamed_proximal.solve(this, tolerance=1e-9)
    assert run.passes == len(solution.history.objective) <= 6
    assert (np.diff(solution.history.objective) <= 0).all()


def test_a_start_at_the_optimum_needs_one_pass() -> None:
    this = problem()
    end = streamed_proximal.solve(this, tolerance=1e-9).coef
    assert len(streamed_proximal.solve(this, end, tolerance=1e-8).history.objective) == 1


def test_several_classes_are_fitted() -> None:
    found = streamed(X, CLASSES, rows=130, classes=True, sample_rows=200)
    strengths = found.design.coordinates.strengths(ElasticNet(40.0, l1_ratio=1.0).strengths(6))
    this = SoftmaxProblem(found, SoftmaxResponse(3), strengths)
    assert streamed_proximal.suits(this)
    solution = streamed_proximal.solve(this, tolerance=1e-9)
    assert solution.certificate.holds
    W, slope = solution.coef, this.sums(solution.coef).gradient
    np.testing.assert_allclose(slope[W != 0], -(strengths.l1[:, None] * np.sign(W))[W != 0], atol=1e-6)
    assert (np.abs(slope[W == 0]) <= 40.0 + 1e-7).all()
    assert W[-1].sum() == pytest.approx(0.0, abs=1e-12)


def test_an_interrupted_search_keeps_its_best_point() -> None:
    stopped = streamed_proximal.solve(problem(), np.zeros(7), tolerance=1e-12, callback=stop_at(1))
    assert stopped.interrupted
    assert len(stopped.history.objective) == 2


def test_a_gradient_that_leads_uphill_is_not_followed() -> None:
    this = problem()
    found = streamed_proximal.solve(Uphill(this.observations, this.response, this.strengths), np.zeros(7))
    assert not found.certificate.holds
    np.testing.assert_array_equal(found.coef, 0.0)


def test_an_objective_that_is_not_finite_ends_the_search() -> None:
    solution = streamed_proximal.solve(problem(), np.full(7, 1e6))
    assert len(solution.history.objective) == 1
    assert not solution.certificate.holds
