"""Newton's method: the optimum by any sequence of Hessians, with a certificate."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.families import Bernoulli, Gaussian, Poisson
from mercer.families.links import IDENTITY, LOG, LOGIT
from mercer.families.penalties import L2, Strengths
from mercer.families.response import Response
from mercer.matrices import DenseMatrix, Observations
from mercer.optim import newton
from mercer.optim.problem import Problem
from tests._ctrl_c import stop_at
from tests.matrices._streamed import streamed

#: rows of which a sample is fitted first
FAR = 40_000
#: rows that are fitted at once
NEAR = 500


def logistic(rows: int, *, penalty: float = 0.0) -> Problem:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 3)) + np.array([0.0, 5.0, 1e8])
    p = 1 / (1 + np.exp(-(X - X.mean(axis=0)) @ [1.0, 2.0, 3.0]))
    design = DenseMatrix.of(X)
    strengths = design.coordinates.strengths(L2(penalty).strengths(3))
    return Problem(
        Observations(design, (rng.uniform(size=rows) < p).astype(float)), Response(Bernoulli(), LOGIT), strengths
    )


@pytest.mark.parametrize("rows", [NEAR, FAR])
@pytest.mark.parametrize("penalty", [0.0, 10.0])
def test_the_gradient_vanishes_and_the_certificate_holds(rows: int, penalty: float) -> None:
    problem = logistic(rows, penalty=penalty)
    solution = newton.solve(problem)
    assert solution.certificate.holds
    assert np.abs(problem.at(solution.coef).gradient).max() < 1e-5


def test_a_start_from_a_sample_leads_to_the_same_optimum() -> None:
    problem = logistic(FAR)
    assert newton.sample_start(problem) is not None
    with_sample, without = newton.solve(problem), newton.solve(problem, np.zeros(4))
    np.testing.assert_allclose(with_sample.coef, without.coef, rtol=1e-7)
    assert len(with_sample.history.objective) < len(without.history.objective)


def test_a_large_sample_starts_from_a_smaller_one() -> None:
    sizes: list[int] = []

    class RecordedProblem(Problem):
        """A problem that records the sizes of its samples."""

        def on(self, some: Observations) -> RecordedProblem:
            sizes.append(len(some))
            return super().on(some)

    problem = RecordedProblem(**vars(logistic(FAR)))
    sampling = newton.NewtonSampling(smallest=100, per_column=25)
    expected = newton.solve(problem, sampling=sampling).coef
    assert sizes == [FAR // 16]
    sizes.clear()
    nested = sampling._replace(nested=FAR // 20)
    np.testing.assert_allclose(newton.solve(problem, sampling=nested).coef, expected, rtol=1e-6)
    assert sizes == [FAR // 16, FAR // 16**2]


def test_the_objective_never_rises() -> None:
    trace = newton.solve(logistic(FAR), np.full(4, 3.0)).history.objective
    assert (np.diff(trace) <= 1e-12 * trace[0]).all()


def test_steps_that_overshoot_are_halved() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 1))
    problem = Problem(
        Observations(DenseMatrix.of(x), rng.poisson(np.exp(x[:, 0]))), Response(Poisson(), LOG), Strengths.none(2)
    )
    solution = newton.solve(problem, np.array([-4.0, -20.0]))
    assert solution.certificate.holds
    assert (np.diff(solution.history.objective) <= 0).all()


def test_the_certificate_of_too_few_steps_does_not_hold() -> None:
    certificate = newton.solve(logistic(NEAR), most_steps=1).certificate
    assert not certificate.holds
    assert certificate.value > certificate.tolerance


def test_data_that_are_not_finite_end_the_search_at_once() -> None:
    problem = logistic(NEAR)
    problem.observations.design.X[3, 1] = np.nan
    solution = newton.solve(problem)
    assert not solution.certificate.holds
    assert len(solution.history.objective) == 1


def test_an_interrupted_search_keeps_the_best_point() -> None:
    solution = newton.solve(logistic(NEAR), callback=stop_at(2))
    assert solution.interrupted
    assert not solution.certificate.holds
    assert len(solution.history.objective) == 3


def test_a_column_that_is_constant_in_the_sample_is_fitted() -> None:
    rng = np.random.default_rng(0)
    sample = np.linspace(0, FAR + 5_000 - 1, newton.NewtonSampling().smallest).astype(np.intp)
    X = np.column_stack([rng.normal(size=FAR + 5_000), np.zeros(FAR + 5_000)])
    X[np.setdiff1d(np.arange(len(X)), sample)[:20], 1] = 1.0
    y = rng.poisson(np.exp(0.3 * X[:, 0] + X[:, 1]))
    problem = Problem(Observations(DenseMatrix.of(X), y), Response(Poisson(), LOG), Strengths.none(3))
    assert newton.sample_start(problem) is not None
    solution = newton.solve(problem)
    assert solution.certificate.holds
    optimum = problem.at(solution.coef)
    assert optimum.gradient @ np.linalg.solve(optimum.hessian, optimum.gradient) < 1e-16


def counts(*, weight: float = 1.0, unit: float = 1.0) -> Problem:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(NEAR, 2))
    y = unit * rng.poisson(np.exp(0.5 * x[:, 0]))
    weights = np.full(NEAR, weight)
    return Problem(Observations(DenseMatrix.of(x), y, weights), Response(Poisson(), LOG), Strengths.none(3))


@pytest.mark.parametrize("size", [1e-150, 1e-12, 1e12, 1e18])
def test_the_size_of_weights_changes_neither_the_answer_nor_its_certificate(size: float) -> None:
    solution = newton.solve(counts(weight=size))
    assert solution.certificate.holds
    np.testing.assert_allclose(solution.coef, newton.solve(counts()).coef, rtol=1e-7)


@pytest.mark.parametrize("size", [1e-150, 1e-12, 1e8])
def test_rates_of_any_size_are_fitted(size: float) -> None:
    solution = newton.solve(counts(unit=size))
    assert solution.certificate.holds
    np.testing.assert_allclose(solution.coef[:2], newton.solve(counts()).coef[:2], rtol=1e-9)


def test_a_known_variance_is_the_unit_of_the_certificate() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(NEAR, 2))
    y = 1e9 * (x[:, 0] + rng.normal(size=NEAR))
    response = Response(Gaussian(variance=1e18), IDENTITY)
    assert newton.solve(Problem(Observations(DenseMatrix.of(x), y), response, Strengths.none(3))).certificate.holds


@pytest.mark.filterwarnings("error")
def test_a_sample_without_weight_is_not_a_start() -> None:
    rng = np.random.default_rng(0)
    x, weight = rng.normal(size=(FAR + 5_000, 1)), np.zeros(FAR + 5_000)
    sample = np.linspace(0, len(x) - 1, newton.NewtonSampling().smallest).astype(np.intp)
    weight[np.setdiff1d(np.arange(len(x)), sample)[:300]] = 1.0
    y = rng.poisson(np.exp(x[:, 0]))
    observations = Observations(DenseMatrix.of(x), y, weight)
    assert newton.solve(Problem(observations, Response(Poisson(), LOG), Strengths.none(2))).certificate.holds


@pytest.mark.parametrize("rows", [NEAR, FAR])
def test_the_search_ends_if_only_rounding_is_left(rows: int) -> None:
    """Rounding bounds the gradient from below, so that a smaller tolerance must not loop for ever."""
    solution = newton.solve(logistic(rows), tolerance=1e-30, most_steps=1000)
    assert not solution.certificate.holds
    assert solution.certificate.value < 1e-9
    assert len(solution.history.objective) < 40


@pytest.mark.parametrize("level", [20.0, 60.0])
def test_a_start_far_above_the_minimum_descends_step_by_step(level: float) -> None:
    """Every step lowers η by one: the decrease is soon small compared with the objective of the start, but positive."""
    problem = counts()
    solution = newton.solve(problem, np.array([0.0, 0.0, level]))
    assert solution.certificate.holds
    np.testing.assert_allclose(solution.coef, newton.solve(problem).coef, rtol=1e-7)


def test_a_sample_whose_fit_does_not_converge_is_not_a_start() -> None:
    problem, sampling = logistic(FAR), newton.NewtonSampling(most_steps=1)
    expected = newton.solve(problem).coef
    assert newton.sample_start(problem, sampling=sampling) is None
    np.testing.assert_allclose(newton.solve(problem, sampling=sampling).coef, expected, rtol=1e-7)


def test_streamed_rows_have_the_optimum_of_rows_in_memory() -> None:
    held = logistic(NEAR, penalty=1.0)
    found = streamed(held.observations.design.X, held.observations.y, rows=120, sample_rows=100)
    strengths = found.design.coordinates.strengths(L2(1.0).strengths(3))
    solution = newton.solve(Problem(found, held.response, strengths), tolerance=1e-9)
    assert solution.certificate.holds
    np.testing.assert_allclose(
        found.design.coordinates.to_user(solution.coef)[0],
        held.observations.design.coordinates.to_user(newton.solve(held, tolerance=1e-9).coef)[0],
        rtol=1e-6,
    )
