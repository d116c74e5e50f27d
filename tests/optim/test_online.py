"""Incremental descent: the lectures' updates row by row, and conditional models by steps for few rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mercer.families import IDENTITY, LOG, LOGIT, Bernoulli, Gaussian, Poisson
from mercer.families.penalties import L2, Strengths
from mercer.families.response import Response
from mercer.matrices import DenseMatrix, Observations
from mercer.optim import newton, stochastic
from mercer.optim.learning_rules import LEARNING_RULES, LearningRate
from mercer.optim.problem import Problem
from tests._ctrl_c import stop_at
from tests.linear_model._lessons import blank, judged, lesson_of, overlapping, targets
from tests.optim._problems import independent


def by_hand(rule: str, lesson: Any, X: Any, rate: LearningRate, order: Any, passes: int) -> tuple[Any, Any]:
    """Return the weights after each row, by the lectures' update."""
    weight = np.ones(len(X)) if lesson.weight is None else lesson.weight
    X = np.column_stack([X, np.ones(len(X))]) if lesson.intercept else X
    w, path = np.zeros((X.shape[1], lesson.units)), []
    for number in range(passes):
        for t, i in enumerate(order):
            error = judged(rule, X[i] @ w, targets(lesson)[i]).error
            w = w + rate.after(number + t / len(X)) * weight[i] * np.outer(X[i], error)
            path.append(w)
    return w, path


def test_three_points_of_lecture_2_by_hand() -> None:
    """LMS with targets ±1 and α = 0.1 on (1, 1), (0.5, 3) of class 1 and (2, 2) of class 0, starting from 0."""
    lesson = lesson_of(np.array([[1.0, 1.0], [0.5, 3.0], [2.0, 2.0]]), [1, 1, 0])
    units = blank(lesson)
    fared = stochastic.learn_pass(lesson, LEARNING_RULES["lms"], units, LearningRate(0.1, 0.0))
    # row 1: u = 0, e = 1: w = (0.1, 0.1), w0 = 0.1; row 2: u = 0.45, e = 0.55: w = (0.1275, 0.265), w0 = 0.155;
    # row 3: u = 0.94, e = −1.94: w = (−0.2605, −0.123), w0 = −0.039
    assert_allclose(units.w[:, 0], [-0.2605, -0.123])
    assert_allclose(units.bias, [-0.039])
    assert_allclose(fared.loss, [0.5 * (1.0 + 0.55**2 + 1.94**2)])
    assert_array_equal(fared.mistakes, [1.0])


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "kind", ["rows", "columns first", "read-only", "float32", "integers", "sparse", "sparse float32"]
)
@pytest.mark.parametrize("name", LEARNING_RULES)
def test_every_update_follows_the_rule(name: str, kind: str, classes: int) -> None:
    X, codes = overlapping(classes=classes)
    X = np.round(8 * X) / 8  # exact in float32
    X = np.round(X) if kind == "integers" else X
    stored = {
        "rows": X,
        "columns first": np.asfortranarray(X),
        "read-only": X.copy(),
        "float32": X.astype(np.float32),
        "integers": X.astype(int),
        "sparse": sparse.csr_array(X),
        "sparse float32": sparse.csr_matrix(X.astype(np.float32)),
    }[kind]
    if kind == "read-only":
        stored.flags.writeable = False
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    lesson = lesson_of(stored, codes, weight=weight)
    order, rate = np.random.default_rng(2).permutation(len(X)), LearningRate(0.05, 0.7)
    units = blank(lesson)
    for _ in range(2):
        stochastic.learn_pass(lesson, LEARNING_RULES[name], units, rate, order=order, average=True)
    w, path = by_hand(name, lesson, X, rate, order, passes=2)
    assert_allclose(units.stack(intercept=True), w, rtol=1e-11, atol=1e-13)
    assert_allclose(units.average(intercept=True), np.mean(path, axis=0), rtol=1e-10, atol=1e-12)


def test_without_an_intercept_it_stays_zero() -> None:
    X, codes = overlapping()
    lesson = lesson_of(X, codes, intercept=False)
    units = blank(lesson)
    stochastic.learn_pass(lesson, LEARNING_RULES["logistic"], units, LearningRate(0.1, 0.0))
    assert_array_equal(units.bias, 0.0)
    assert_allclose(units.w, by_hand("logistic", lesson, X, LearningRate(0.1, 0.0), range(len(X)), 1)[0])


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_a_value_that_is_not_finite_is_detected_although_no_update_uses_it(storage: Any) -> None:
    """The output of a perceptron for u = NaN is 0, which is correct for a row of class 0."""
    lesson = lesson_of(storage([[1.0], [np.nan]]), [1, 0])
    assert not stochastic.learn_pass(lesson, LEARNING_RULES["perceptron"], blank(lesson), LearningRate(1.0, 0.0)).finite


@pytest.mark.parametrize("n", [10, stochastic.MAX_SHUFFLED_ROWS, stochastic.MAX_SHUFFLED_ROWS + 5])
def test_shuffling_permutes_the_rows(n: int) -> None:
    order = stochastic.shuffle_rows(n, np.random.default_rng(0))
    assert_array_equal(np.sort(order), np.arange(n))
    assert (order != np.arange(n)).any()


# Conditional models.


@pytest.mark.parametrize("penalty", [None, L2(5.0)])
@pytest.mark.parametrize(("family", "link"), [(Gaussian(), IDENTITY), (Bernoulli(), LOGIT), (Poisson(), LOG)])
def test_the_certificate_bounds_the_distance_to_the_optimum(family: Any, link: Any, penalty: Any) -> None:
    task = independent(family, link, penalty)
    solution, best = stochastic.solve(task, tolerance=0.2), newton.solve(task)
    assert solution.certificate.holds
    away = solution.coef - best.coef
    distance = np.sqrt(away @ task.at(best.coef).hessian @ away) / task.unit(best.history.objective[-1])
    assert distance <= 0.25
    assert solution.history.objective[-1] < solution.history.objective[0]


def test_steps_after_one_row_agree_with_the_lecture() -> None:
    """w ← w + α (y − σ(w·x)) x, in working coordinates."""
    task = independent(Bernoulli(), LOGIT, n=6)
    x, y = task.observations.design.dense(), task.observations.y
    weight, offset = task.observations.weight, task.observations.offset
    assert weight is not None
    assert offset is not None
    w, path = np.zeros(4), []
    for i in range(6):
        w = w + 0.1 * weight[i] * (y[i] - 1 / (1 + np.exp(-(x[i] @ w + offset[i])))) * x[i]
        path.append(w)
    solution = stochastic.solve(task, np.zeros(4), rate=0.1, decay=0.0, random_state=None, most_steps=1)
    assert_allclose(solution.coef, np.mean(path, axis=0))


def test_default_rates_that_are_far_too_large_are_halved() -> None:
    rng = np.random.default_rng(4)
    X = rng.standard_t(1.5, size=(300, 2))  # some rows are far longer than the average one
    design = DenseMatrix.of(X)
    task = Problem(
        Observations(design, X[:, 0] + rng.normal(size=300)), Response(Gaussian(), IDENTITY), Strengths.none(3)
    )
    solution = stochastic.solve(task, most_steps=40)
    assert np.isfinite(solution.coef).all()
    assert min(solution.history.objective) < solution.history.objective[0]


def test_stopping_early_and_interrupting_keep_the_coefficients() -> None:
    task = independent(Bernoulli(), LOGIT)
    assert not stochastic.solve(task, tolerance=1e-9, most_steps=2).certificate.holds
    stopped = stochastic.solve(task, callback=stop_at(1))
    assert stopped.interrupted
    assert len(stopped.history.objective) == 2
