"""Fewer rows than columns: the same minimum as with all columns, for every model that has a squared penalty."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer import GLM, LogisticRegression, LogisticRegressionCV
from mercer.families import L2, LOG, LOGIT, Bernoulli, Poisson
from mercer.families.penalties import Strengths
from mercer.families.response import Response, SoftmaxResponse
from mercer.matrices import DenseMatrix, Observations
from mercer.optim import newton, row_space
from mercer.optim.descent import Step
from mercer.optim.minimize import choose_solver
from mercer.optim.problem import Problem
from mercer.optim.softmax import SoftmaxProblem

RNG = np.random.default_rng(0)
ROWS, COLUMNS = 30, 320
#: columns of very different sizes, some far from zero, and rows that depend on each other
X = RNG.normal(size=(ROWS, COLUMNS)) * np.exp(RNG.normal(size=COLUMNS)) + 3 * RNG.normal(size=COLUMNS)
X[-1] = X[0]
COUNTS, CODES = RNG.poisson(3.0, ROWS), RNG.integers(0, 3, ROWS)
WEIGHT, OFFSET = RNG.random(ROWS) * (np.arange(ROWS) % 5 > 0), RNG.normal(size=ROWS)


def of_counts(strength: Any = 1.0, *, intercept: bool = True, **changes: Any) -> Problem:
    observations = Observations(DenseMatrix.of(X, intercept=intercept), COUNTS.astype(float), WEIGHT, OFFSET)
    penalty = observations.design.coordinates.strengths(L2(strength, **changes).strengths(COLUMNS))
    return Problem(observations, Response(Poisson(), LOG), penalty)


def of_classes(strength: float = 1.0) -> SoftmaxProblem:
    observations = Observations(DenseMatrix.of(X), CODES, WEIGHT)
    penalty = observations.design.coordinates.strengths(L2(strength).strengths(COLUMNS))
    return SoftmaxProblem(observations, SoftmaxResponse(3), penalty)


@pytest.mark.parametrize("strength", [1e-3, 1.0, 1e3, np.linspace(0.5, 2.0, COLUMNS)])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_minimum_is_that_of_newtons_method_on_all_columns(strength: Any, intercept: bool) -> None:
    problem = of_counts(strength, intercept=intercept)
    assert row_space.suits(problem)
    found = row_space.solve(problem, tolerance=1e-9, most_steps=100)
    whole = newton.solve(problem, tolerance=1e-9, most_steps=100)
    assert found.certificate.holds
    np.testing.assert_allclose(found.coef, whole.coef, rtol=1e-8, atol=1e-8 * np.abs(whole.coef).max())


def test_the_minimum_of_classes_is_that_of_newtons_method_on_all_columns() -> None:
    problem: Any = of_classes()
    assert row_space.suits(problem)
    found = row_space.solve(problem, tolerance=1e-9, most_steps=100)
    whole = newton.solve(problem, tolerance=1e-9, most_steps=100)
    assert found.certificate.holds
    np.testing.assert_allclose(found.coef, whole.coef, rtol=1e-8, atol=1e-8 * np.abs(whole.coef).max())


def test_the_certificate_agrees_with_newtons_method_on_all_columns() -> None:
    """The formulas also hold away from the minimum, and if part of the gradient is not a combination of rows."""
    problem = of_counts()
    away = np.linspace(-1e-3, 1e-3, problem.n_columns)
    whole = newton.solve(problem, away, tolerance=1e-9, most_steps=0)
    stopped = row_space.solve(problem, away, tolerance=1e-9, most_steps=0)
    slope = problem.at(stopped.coef)
    exact = np.sqrt(slope.gradient @ np.linalg.solve(slope.hessian, slope.gradient)) / problem.unit(slope.value)
    assert stopped.certificate.value == pytest.approx(exact, rel=1e-6)
    assert not stopped.certificate.holds
    assert stopped.certificate.value <= whole.certificate.value * (1 + 1e-9)


def test_the_search_begins_at_the_given_start() -> None:
    problem = of_counts()
    solution = row_space.solve(problem, tolerance=1e-9, most_steps=100)
    again = row_space.solve(problem, solution.coef, tolerance=1e-9, most_steps=100)
    assert len(again.history.objective) <= 2


def test_the_rows_are_decomposed_once_for_all_penalties_and_weights() -> None:
    path = [of_counts(strength) for strength in (0.1, 1.0, 10.0)]
    design = path[0].observations.design
    shared = [
        Problem(Observations(design, COUNTS.astype(float), np.roll(WEIGHT, k)), each.response, each.strengths)
        for k, each in enumerate(path)
    ]
    bases = []
    for each in shared:
        assert row_space.suits(each)
        bases.append(design.cache["row space"][1])
    assert bases[0] is bases[1] is bases[2]


@pytest.mark.parametrize(
    "other",
    [
        of_counts(mean=1.0),
        of_counts(np.append(0.0, np.ones(COLUMNS - 1))),
        Problem(of_counts().observations, Response(Poisson(), LOG), Strengths.none(COLUMNS + 1)),
        Problem(
            Observations(DenseMatrix.of(X.T), np.ones(COLUMNS)), Response(Bernoulli(), LOGIT), Strengths.none(ROWS + 1)
        ),
    ],
    ids=["another centre", "a free column", "no penalty", "many rows"],
)
def test_other_problems_are_left_to_other_solvers(other: Problem) -> None:
    assert not row_space.suits(other)
    assert choose_solver(other).solver != "row-space"


def test_the_plan_of_a_model_names_the_solver() -> None:
    y = np.where(COUNTS > 3, "many", "few")
    classes = CODES.astype(str)
    logistic = [LogisticRegression().fit(X, target) for target in (y, classes)]
    path = LogisticRegressionCV(Cs=[0.1, 1.0], cv=2, l1_ratios=(0,), use_legacy_attributes=False, scoring="accuracy")
    for model in (*logistic, path.fit(X, y)):
        assert "space of the rows" in model.plan_.path
        assert model.certificate_.holds
    glm = GLM("poisson", penalty=L2(1.0)).fit(X, COUNTS)
    assert glm.plan_.path.startswith("row-space")
    whole = GLM("poisson", penalty=L2(1.0), solver="newton").fit(X, COUNTS)
    np.testing.assert_allclose(glm.coef_, whole.coef_, rtol=1e-8, atol=1e-8 * np.abs(whole.coef_).max())
    assert glm.intercept_ == pytest.approx(whole.intercept_, rel=1e-8)


def test_a_callback_receives_the_coefficients_of_every_column() -> None:
    problem = of_counts()
    steps: list[Step] = []
    found = row_space.solve(problem, tolerance=1e-9, most_steps=100, callback=steps.append)
    assert [step.objective for step in steps] == found.history.objective.tolist()
