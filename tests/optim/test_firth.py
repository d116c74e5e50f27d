"""Firth's penalised likelihood: finite where maximum likelihood is not, and equal to published estimates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mercer._errors import SingularCovarianceError, UnsuitableSolverError
from mercer.families import LOG, LOGIT, PROBIT, Bernoulli, Binomial, Family, Poisson
from mercer.families.penalties import Strengths
from mercer.families.response import Response
from mercer.matrices import DenseMatrix, Observations
from mercer.optim import firth
from mercer.optim.problem import Problem
from tests.known import endometrial


def problem_of(X: Any, y: Any, family: Family | None = None, **given: Any) -> Problem:
    family = family or Bernoulli()
    observations = Observations(DenseMatrix.of(np.asarray(X, dtype=float)), np.asarray(y, dtype=float), **given)
    link = LOG if isinstance(family, Poisson) else LOGIT
    return Problem(observations, Response(family, link), Strengths.none(observations.design.n_columns))


def estimate(problem: Problem, **options: Any) -> np.ndarray[Any, Any]:
    """Return the coefficients, the intercept last."""
    solution = firth.solve(problem, **options)
    assert solution.certificate.holds
    return np.append(*problem.observations.design.coordinates.to_user(solution.coef))


def test_the_published_estimates_of_the_endometrial_cancer_study() -> None:
    found = estimate(problem_of(endometrial.X, endometrial.y))
    published = np.append(endometrial.FIRTH_COEFFICIENTS, endometrial.FIRTH_INTERCEPT)
    np.testing.assert_allclose(found, published, rtol=1e-6)


@given(
    counts=st.lists(st.integers(0, 20), min_size=4, max_size=4).filter(lambda n: n[0] + n[1] > 0 and n[2] + n[3] > 0)
)
@example(counts=[0, 1, 0, 1])  # rows of leverage one, where steps by the information alone go back and forth
@settings(max_examples=25)
def test_in_a_two_by_two_table_half_a_case_is_added_to_each_cell(counts: list[int]) -> None:
    """The model of a table has as many coefficients as rows; Jeffreys' prior of a proportion is Beta(½, ½)."""
    rows = [
        (x, y) for (x, y), count in zip([(0, 0), (0, 1), (1, 0), (1, 1)], counts, strict=True) for _ in range(count)
    ]
    X, y = np.array(rows)[:, :1], np.array(rows)[:, 1]
    slope, intercept = estimate(problem_of(X, y), tolerance=1e-10)
    a, b, c, d = np.array(counts) + 0.5
    np.testing.assert_allclose([intercept, intercept + slope], np.log([b / a, d / c]), atol=1e-8)


def test_a_poisson_mean_gets_half_a_count() -> None:
    """Jeffreys' prior of a rate is Gamma(½, 0)."""
    y = np.array([0.0, 3.0, 1.0, 2.0])
    found = estimate(problem_of(np.empty((4, 0)), y, Poisson()))
    np.testing.assert_allclose(np.exp(found), (y.sum() + 0.5) / len(y), rtol=1e-8)


def test_the_gradient_is_that_of_the_objective() -> None:
    rng = np.random.default_rng(0)
    offset, weight = rng.normal(size=79), rng.uniform(0.5, 2.0, size=79)
    problem = problem_of(endometrial.X, endometrial.y, offset=offset, weight=weight)
    w, step = rng.normal(size=4), 1e-5
    rises = [
        (firth.evaluate_firth(problem, w + step * e).value - firth.evaluate_firth(problem, w - step * e).value)
        / (2 * step)
        for e in np.eye(4)
    ]
    np.testing.assert_allclose(firth.evaluate_firth(problem, w).gradient, rises, rtol=1e-6)


def test_a_weight_is_a_number_of_equal_rows_and_trials_are_rows() -> None:
    X, y = endometrial.X, endometrial.y
    times = np.arange(len(y)) % 3 + 1
    repeated = estimate(problem_of(np.repeat(X, times, axis=0), np.repeat(y, times)))
    np.testing.assert_allclose(estimate(problem_of(X, y, weight=times.astype(float))), repeated, rtol=1e-7)
    np.testing.assert_allclose(
        estimate(problem_of(X, 3 * y, Binomial(3))), estimate(problem_of(X, y, weight=np.full(79, 3.0))), rtol=1e-6
    )


def test_the_objective_never_rises_from_far_away() -> None:
    problem = problem_of(endometrial.X, endometrial.y)
    solution = firth.solve(problem, np.array([6.0, -4.0, 3.0, 1.0]))
    assert solution.certificate.holds
    assert (np.diff(solution.history.objective) <= 1e-12).all()


def test_steps_stay_within_the_directions_given() -> None:
    problem = problem_of(endometrial.X, endometrial.y)
    solution = firth.solve(problem, np.zeros(4), within=np.eye(4)[:, 1:])
    assert solution.coef[0] == 0
    assert np.abs(firth.evaluate_firth(problem, solution.coef).gradient[1:]).max() < 1e-6


def test_the_certificate_of_too_few_steps_does_not_hold() -> None:
    assert not firth.solve(problem_of(endometrial.X, endometrial.y), most_steps=1).certificate.holds


def test_collinear_columns_and_other_links_are_rejected() -> None:
    with pytest.raises(SingularCovarianceError, match=r"Firth.*columns 0, 3 are collinear.*L2 penalty"):
        firth.solve(problem_of(np.column_stack([endometrial.X, endometrial.X[:, 0]]), endometrial.y))
    problem = problem_of(endometrial.X, endometrial.y)
    probit = Problem(problem.observations, Response(Bernoulli(), PROBIT), problem.strengths)
    with pytest.raises(UnsuitableSolverError, match="L2 penalty"):
        firth.solve(probit)


def test_an_interrupted_search_keeps_the_best_point(monkeypatch: pytest.MonkeyPatch) -> None:
    points = []

    def evaluate(problem: Problem, w: Any) -> firth.FirthPoint:
        points.append(w)
        if len(points) == 4:
            raise KeyboardInterrupt
        return original(problem, w)

    original = firth.evaluate_firth
    monkeypatch.setattr(firth, "evaluate_firth", evaluate)
    stop = firth.solve(problem_of(endometrial.X, endometrial.y))
    assert stop.interrupted
    np.testing.assert_array_equal(stop.coef, points[2])


def test_a_point_without_information_is_rejected() -> None:
    problem = problem_of(endometrial.X, endometrial.y)
    descent = firth.FirthDescent(problem, firth.evaluate_firth(problem, problem.start()), np.eye(4), 1e-8)
    assert descent._try(np.full(4, 1e6)) is None
    assert descent._try(problem.start()) is not None


def test_the_method_applies_to_certain_responses_only() -> None:
    assert firth.suits(Response(Bernoulli(), LOGIT))
    assert firth.suits(Response(Poisson(), LOG))
    assert not firth.suits(Response(Bernoulli(), PROBIT))
