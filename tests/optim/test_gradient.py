"""Batch gradient descent: the lectures' steps, and conditional models with a certificate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mercer.families import IDENTITY, LOG, LOGIT, Bernoulli, Gaussian, Poisson
from mercer.families.penalties import L2
from mercer.optim import gradient, newton
from mercer.optim.gradient import ErrorSums
from mercer.optim.learning_rules import LEARNING_RULES
from tests._ctrl_c import stop_at
from tests.linear_model._lessons import judged, lesson_of, overlapping, targets
from tests.optim._problems import independent


@pytest.mark.parametrize("penalty", [None, L2(5.0)])
@pytest.mark.parametrize(("family", "link"), [(Gaussian(), IDENTITY), (Bernoulli(), LOGIT), (Poisson(), LOG)])
def test_the_minimum_agrees_with_newton(family: Any, link: Any, penalty: Any) -> None:
    task = independent(family, link, penalty)
    solution = gradient.solve(task)
    assert solution.certificate.holds
    assert_allclose(solution.coef, newton.solve(task).coef, atol=1e-6)
    assert (np.diff(solution.history.objective) <= 1e-12 * np.abs(solution.history.objective[0])).all()


def test_steps_agree_with_the_lecture() -> None:
    """w ← w + α Σ (y − σ(w·x)) x, with a rate that falls."""
    task = independent(Bernoulli(), LOGIT, n=8)
    x, y, weight, offset = (
        task.observations.design.dense(),
        *map(np.asarray, (task.observations.y, task.observations.weight, task.observations.offset)),
    )
    w = np.zeros(4)
    for t in range(3):
        w = w + 0.1 / (1 + 0.5 * t) * x.T @ (weight * (y - 1 / (1 + np.exp(-(x @ w + offset)))))
    solution = gradient.solve(task, np.zeros(4), rate=0.1, decay=0.5, most_steps=3, tolerance=0.0)
    assert_allclose(solution.coef, w, rtol=1e-12)
    assert len(solution.history.objective) == 4


def test_a_rate_above_the_limit_diverges_and_one_below_does_not() -> None:
    """Lecture 2: descent converges "as long as α is not too large"; for squares that is 2/λmax."""
    task = independent(Gaussian(), IDENTITY)
    limit = 2 / np.linalg.eigvalsh(task.at(np.zeros(4)).hessian)[-1]
    below = gradient.solve(task, np.zeros(4), rate=0.98 * limit, most_steps=2000)
    above = gradient.solve(task, np.zeros(4), rate=1.02 * limit, most_steps=2000)
    assert below.certificate.holds
    assert not above.certificate.holds
    assert above.history.objective[-1] > above.history.objective[0]


def test_an_interruption_keeps_the_present_coefficients() -> None:
    stopped = gradient.solve(independent(Bernoulli(), LOGIT), callback=stop_at(3))
    assert stopped.interrupted
    assert len(stopped.history.objective) == 4
    assert not stopped.certificate.holds


# One look of units at all rows.


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("storage", [np.asarray, np.asfortranarray, sparse.csr_array])
@pytest.mark.parametrize("name", LEARNING_RULES)
def test_errors_computed_by_hand(name: str, storage: Any, classes: int) -> None:
    X, codes = overlapping(classes=classes)
    rng = np.random.default_rng(5)
    weight = rng.uniform(0.5, 2.0, len(X))
    lesson = lesson_of(storage(X), codes, weight=weight)
    w = rng.normal(size=(4, lesson.units))
    found = ErrorSums.of(lesson, LEARNING_RULES[name], w)
    x, y = np.column_stack([X, np.ones(len(X))]), targets(lesson)
    by_hand = judged(name, x @ w, y)
    assert_allclose(found.gradient, x.T @ (weight[:, None] * by_hand.error))
    assert_allclose(found.loss, weight @ by_hand.loss)
    wrong = (x @ w >= 0) != (y > 0)
    assert_array_equal(found.mistakes, wrong.sum(axis=0))
    assert_allclose(found.wrong, weight @ wrong)
    predicted = (x @ w >= 0)[:, 0] if classes == 2 else (x @ w).argmax(axis=1)
    assert_allclose(found.misclassified, weight[predicted != codes].sum())


def test_sums_of_parts_add_up() -> None:
    X, codes = overlapping(n=200)
    lesson, w = lesson_of(X, codes), np.full((4, 1), 0.3)
    whole = ErrorSums.of(lesson, LEARNING_RULES["logistic"], w)
    batch = lesson.observations.batch
    empty = ErrorSums.at(lesson, LEARNING_RULES["logistic"], w)
    parts = empty.update(*batch(slice(0, 70))).merge(empty.update(*batch(slice(70, 200))))
    assert_allclose(parts.gradient, whole.gradient)
    assert_allclose(parts.tally, whole.tally)


@pytest.mark.parametrize("shift", [0.0, 1e8])
@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e150])
def test_the_length_of_a_gradient_does_not_depend_on_units(shift: float, scale: float) -> None:
    """With the same u, and so the same errors, the cosines are the same in every unit of the columns."""
    X, codes = overlapping()
    w = np.array([[0.4], [-0.2], [0.1], [0.3]])
    moved = w / scale
    moved[-1] = w[-1] - shift * w[:-1].sum()
    plain = ErrorSums.of(lesson_of(X, codes), LEARNING_RULES["lms"], w).distance()
    assert 1e-3 < plain < 1.0
    elsewhere = ErrorSums.of(lesson_of(scale * (X + shift), codes), LEARNING_RULES["lms"], moved).distance()
    assert_allclose(elsewhere, plain, rtol=1e-6)


def test_the_gradient_vanishes_at_the_least_squares_fit() -> None:
    X, codes = overlapping()
    x = np.column_stack([X, np.ones(len(X))])
    w = np.linalg.lstsq(x, 2.0 * codes - 1, rcond=None)[0][:, None]
    assert ErrorSums.of(lesson_of(X, codes), LEARNING_RULES["lms"], w).distance() < 1e-14


def test_a_rate_that_overflows_stops_at_the_last_finite_coefficients() -> None:
    solution = gradient.solve(independent(Poisson(), LOG), rate=1e6, most_steps=50)
    assert not solution.certificate.holds
    assert np.isfinite(solution.coef).all()


def test_without_an_intercept_gradients_are_compared_with_columns_about_zero() -> None:
    X, codes = overlapping()
    w = np.linalg.lstsq(X, 2.0 * codes - 1, rcond=None)[0][:, None]
    lesson = lesson_of(X, codes, intercept=False)
    assert ErrorSums.of(lesson, LEARNING_RULES["lms"], w).distance() < 1e-14
    away = ErrorSums.of(lesson, LEARNING_RULES["lms"], 0 * w)
    cosines = np.abs(X.T @ (2.0 * codes - 1)) / np.sqrt(np.square(X).sum(axis=0)) / np.sqrt(len(X))
    assert_allclose(away.distance(), cosines.max())


def test_data_that_are_not_finite_end_the_search_at_once() -> None:
    task = independent(Gaussian(), IDENTITY)
    task.observations.design.X[3, 1] = np.nan
    solution = gradient.solve(task)
    assert len(solution.history.objective) == 1
    assert not solution.certificate.holds
