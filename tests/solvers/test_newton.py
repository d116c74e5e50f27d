"""Newton's method: the optimum, by whatever Hessians it took, with a certificate that holds there."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._errors import FitInterrupted
from mercer.designs import DenseDesign, Observations
from mercer.families import Bernoulli, Poisson
from mercer.families.links import LOG, LOGIT
from mercer.families.penalties import L2, Strengths
from mercer.families.response import Response
from mercer.solvers import newton
from mercer.solvers.problem import Problem

FAR, NEAR = 40_000, 500


def logistic(rows: int, *, penalty: float = 0.0, columns: int = 3, seed: int = 0) -> Problem:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) + [0.0, 5.0, 1e8][:columns]
    p = 1 / (1 + np.exp(-(X - X.mean(axis=0)) @ np.arange(1.0, columns + 1)))
    design = DenseDesign.of(X)
    strengths = design.coordinates.strengths(L2(penalty).strengths(columns))
    return Problem(
        Observations(design, (rng.uniform(size=rows) < p).astype(float)), Response(Bernoulli(), LOGIT), strengths
    )


@pytest.mark.parametrize("rows", [NEAR, FAR])
@pytest.mark.parametrize("penalty", [0.0, 10.0])
def test_the_gradient_vanishes_and_the_certificate_says_so(rows: int, penalty: float) -> None:
    problem = logistic(rows, penalty=penalty)
    solution = newton.solve(problem)
    assert solution.certificate.holds
    assert np.abs(problem.at(solution.value).gradient).max() < 1e-5


def test_a_start_from_a_sample_leads_to_the_same_optimum() -> None:
    problem = logistic(FAR)
    assert newton.sample_start(problem) is not None
    with_sample, without = newton.solve(problem), newton.solve(problem, np.zeros(4))
    np.testing.assert_allclose(with_sample.value, without.value, rtol=1e-7)
    assert len(with_sample.trace) < len(without.trace)


def test_the_objective_never_rises() -> None:
    trace = newton.solve(logistic(FAR), np.full(4, 3.0)).trace
    assert (np.diff(trace) <= 1e-12 * trace[0]).all()


def test_steps_that_overshoot_are_halved() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 1))
    problem = Problem(
        Observations(DenseDesign.of(x), rng.poisson(np.exp(x[:, 0]))), Response(Poisson(), LOG), Strengths.none(2)
    )
    solution = newton.solve(problem, np.array([-4.0, -20.0]))
    assert solution.certificate.holds
    assert (np.diff(solution.trace) <= 0).all()


def test_too_few_steps_are_admitted() -> None:
    certificate = newton.solve(logistic(NEAR), most_steps=1).certificate
    assert not certificate.holds
    assert certificate.value > certificate.tolerance


def test_data_that_are_not_finite_end_the_search_at_once() -> None:
    problem = logistic(NEAR)
    problem.observations.design.X[3, 1] = np.nan
    solution = newton.solve(problem)
    assert not solution.certificate.holds
    assert len(solution.trace) == 1


def test_an_interrupted_search_hands_over_the_best_point() -> None:
    def interrupt(step: int, value: float, length: float) -> None:
        if step == 2:
            raise KeyboardInterrupt

    with pytest.raises(FitInterrupted) as stopped:
        newton.solve(logistic(NEAR), progress=interrupt)
    solution = stopped.value.solution
    assert not solution.certificate.holds
    assert len(solution.trace) == 3
