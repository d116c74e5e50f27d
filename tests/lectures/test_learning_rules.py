"""Lecture 2: linear threshold units, the four learning rules, and ways to descend."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import LinearDiscriminantAnalysis, LinearThreshold
from mercer._errors import DivergedWarning, NotConvergedWarning
from mercer.families import IDENTITY, LOGIT, Bernoulli, Gaussian
from mercer.families.penalties import Strengths
from mercer.families.response import Response
from mercer.matrices import DenseMatrix, Observations
from mercer.optim import gradient, newton
from mercer.optim.krylov import conjugate_gradient
from mercer.optim.problem import Problem

MODES = ["batch", "incremental"]

#: all corners of the unit cube in four dimensions
CORNERS = np.array(list(itertools.product([0, 1], repeat=4)))
x1, x2, x3, x4 = CORNERS.T.astype(bool)
LEARNABLE = {
    "x1 ∧ x3 ∧ x4": x1 & x3 & x4,
    "x1 ∧ ¬x3 ∧ x4": x1 & ~x3 & x4,
    "at least 2 of x1, x2, x4": x1.astype(int) + x2 + x4 >= 2,
    "(x1 ∧ x3) ∨ (x3 ∧ x4)": (x1 & x3) | (x3 & x4),
}
NOT_LEARNABLE = {"x1 xor x2": x1 ^ x2, "(x1 ∧ x2) ∨ (x3 ∧ x4)": (x1 & x2) | (x3 & x4)}

#: the lecture's three points: the first two are of class 1
POINTS, CLASSES = np.array([[1.0, 1.0], [0.5, 3.0], [2.0, 2.0]]), np.array([1, 1, 0])


def with_ones(X: Any) -> Any:
    return np.column_stack([np.ones(len(X)), X])


# Linear threshold units and Boolean functions.


def test_units_of_the_lecture_are_threshold_units() -> None:
    """Weights of the lecture for conjunctions, at-least-m-of-n, and 2x3 + x1 + x4 ≥ 3, which it says has none."""
    units = {
        "x1 ∧ x3 ∧ x4": ([1, 0, 1, 1], 3),
        "x1 ∧ ¬x3 ∧ x4": ([1, 0, -1, 1], 2),
        "at least 2 of x1, x2, x4": ([1, 1, 0, 1], 2),
        "(x1 ∧ x3) ∨ (x3 ∧ x4)": ([1, 0, 2, 1], 3),
    }
    for name, (w, threshold) in units.items():
        assert_array_equal(CORNERS @ w >= threshold, LEARNABLE[name])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rule", ["perceptron", "logistic", "sigmoid"])
@pytest.mark.parametrize("function", LEARNABLE)
def test_boolean_functions_that_a_unit_can_express_are_learnt_exactly(function: str, rule: str, mode: str) -> None:
    model = LinearThreshold(rule, mode=mode).fit(CORNERS, LEARNABLE[function])
    assert_array_equal(model.predict(CORNERS), LEARNABLE[function])
    assert model.certificate_.holds


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("function", NOT_LEARNABLE)
def test_on_functions_that_no_unit_can_express_the_perceptron_stops_with_the_proof(function: str, mode: str) -> None:
    """The lecture: "loop forever for non-linearly separable case"."""
    y = NOT_LEARNABLE[function]
    model = LinearThreshold("perceptron", mode=mode).fit(CORNERS, y)
    assert model.certificate_.kind == "no separation"
    assert model.certificate_.holds
    assert model.n_iter_ < 100
    # the proof, checked from the data alone: corners of both classes with the same weighted mean
    weight = model.separations_[0].multipliers
    means = [np.average(CORNERS[y == c], axis=0, weights=weight[y == c]) for c in (False, True)]
    assert_allclose(means[0], means[1], atol=1e-8)


@pytest.mark.parametrize("function", ["x1 ∧ x3 ∧ x4", "x1 ∧ ¬x3 ∧ x4"])
def test_lms_puts_the_corners_of_a_conjunction_exactly_on_the_threshold(function: str) -> None:
    """The normal equations have u = 0 there, so that rounding decides and the function is not learnt."""
    y = LEARNABLE[function]
    model = LinearThreshold("lms", tol=1e-12, max_iter=5000).fit(CORNERS, y)
    assert_allclose(model.decision_function(CORNERS[y]), 0.0, atol=1e-9)
    assert (model.decision_function(CORNERS[~y]) < -0.4).all()


def test_lms_puts_corners_outside_the_lectures_disjunction_on_the_threshold_too() -> None:
    """(x1 ∧ x3) ∨ (x3 ∧ x4): those inside have u ≥ ½; the nearest two outside, of which u = 0 says that they are in."""
    y = LEARNABLE["(x1 ∧ x3) ∨ (x3 ∧ x4)"]
    u = LinearThreshold("lms", tol=1e-12, max_iter=5000).fit(CORNERS, y).decision_function(CORNERS)
    assert u[y].min() == pytest.approx(0.5)
    assert u[~y].max() == pytest.approx(0.0, abs=1e-9)


def test_lms_learns_the_same_function_if_its_targets_allow() -> None:
    y = LEARNABLE["at least 2 of x1, x2, x4"]
    assert LinearThreshold("lms").fit(CORNERS, y).score(CORNERS, y) == 1.0


# Least mean squares on three points.


def test_lms_of_the_three_points() -> None:
    """With targets 0 and 1 the plane is u = 2 − 0.8 x1 − 0.2 x2; with ±1 it is twice that less 1."""
    exact = np.linalg.solve(with_ones(POINTS), CLASSES)
    assert_allclose(exact, [2.0, -0.8, -0.2])
    model = LinearThreshold("lms", tol=1e-7, max_iter=5000).fit(POINTS, CLASSES)
    assert_allclose((model.intercept_ + 1) / 2, exact[0], atol=1e-6)
    assert_allclose(model.coef_[0] / 2, exact[1:], atol=1e-6)


def test_targets_0_and_1_are_incompatible_with_a_threshold_at_0() -> None:
    """Correction: u(2, 2) = 0 with targets 0 and 1, which the unit gives to class 1; with ±1 it is −1."""
    exact = np.linalg.solve(with_ones(POINTS), CLASSES)
    assert_allclose(with_ones(POINTS)[2] @ exact, 0.0, atol=1e-14)
    model = LinearThreshold("lms", tol=1e-7, max_iter=5000).fit(POINTS, CLASSES)
    assert_allclose(model.decision_function(POINTS), [1.0, 1.0, -1.0], atol=1e-6)
    assert_array_equal(model.predict(POINTS), CLASSES)


@pytest.mark.parametrize("name", ["three points", "random"])
def test_batch_lms_converges_exactly_when_the_rate_is_below_2_over_the_largest_eigenvalue(name: str) -> None:
    if name == "three points":
        X, y = POINTS, CLASSES
    else:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(50, 3))
        y = (X[:, 0] + rng.normal(size=50) > 0).astype(int)
    limit = 2 / np.linalg.eigvalsh(with_ones(X).T @ with_ones(X))[-1]
    below = LinearThreshold("lms", rate=0.99 * limit, tol=1e-6, max_iter=5000).fit(X, y)
    assert below.certificate_.holds
    with pytest.warns(DivergedWarning, match=f"{limit:.3g} are safe"):
        above = LinearThreshold("lms", rate=1.01 * limit, tol=1e-6, max_iter=5000).fit(X, y)
    assert not above.certificate_.holds


# The rules compared.


def threshold_of(rule: str, extra: int, **options: Any) -> float:
    """Where a unit on a line changes its mind: five points of each class, and some at x = 1.5 of class 1."""
    x = np.concatenate([np.linspace(0.0, 0.4, 5), np.linspace(0.6, 1.0, 5), np.full(extra, 1.5)])
    model = LinearThreshold(rule, **options).fit(x[:, None], x > 0.5)
    assert model.score(x[:10, None], x[:10] > 0.5) == 1.0 or rule == "lms"
    return float(-model.intercept_[0] / model.coef_[0, 0])


def test_extra_points_on_the_right_side_move_the_lms_line() -> None:
    """The lecture's figure: one, then five, additional points at (1.5, 1), which were right before."""
    lms = [threshold_of("lms", extra, tol=1e-8, max_iter=5000) for extra in (0, 1, 5)]
    assert lms[0] == pytest.approx(0.5)
    assert lms[1] > 0.52
    assert lms[2] > 0.57
    logistic = [threshold_of("logistic", extra, rate=1.0, tol=None, max_iter=2000) for extra in (0, 1, 5)]
    assert np.abs(np.subtract(logistic, logistic[0])).max() < 0.1 * (lms[2] - lms[0])
    perceptron = [
        threshold_of("perceptron", extra, mode="incremental", shuffle=False) for extra in (0, 1, 5)
    ]  # these points come last, when the unit has them right
    assert perceptron[1] == perceptron[0]
    assert perceptron[2] == perceptron[0]


def test_one_unit_per_class_by_lms_masks_the_middle_of_three_classes_in_a_row_and_lda_does_not() -> None:
    """The middle's line is flat, and the other two cross it in one point: only near there is it the highest."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 100)
    X = rng.normal(scale=0.5, size=(300, 2)) + 4.0 * (y[:, None] - 1)
    model = LinearThreshold("lms", tol=1e-6).fit(X, y)
    predicted = model.predict(X)
    assert np.mean(predicted[y == 1] == 1) < 0.2
    assert_array_equal(predicted[y != 1], y[y != 1])
    assert LinearDiscriminantAnalysis().fit(X, y).score(X, y) == 1.0


def test_several_classes_by_the_largest_u() -> None:
    X = np.array([[0.0, 0.0], [0.1, 0.2], [4.0, 0.0], [4.1, 0.3], [0.0, 4.0], [0.2, 4.2]])
    y = np.array(["a", "a", "b", "b", "c", "c"])
    for rule in ("perceptron", "lms", "logistic", "sigmoid"):
        model = LinearThreshold(rule).fit(X, y)
        assert_array_equal(model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)])
        assert model.score(X, y) == 1.0


def test_the_logistic_rule_learns_probabilities() -> None:
    """ "Learning (posterior) probability instead of a classifier function"."""
    X, y = np.repeat([[0.0], [1.0]], 10, axis=0), np.array([1] * 2 + [0] * 8 + [1] * 7 + [0] * 3)
    model = LinearThreshold("logistic", tol=1e-8, max_iter=5000).fit(X, y)
    assert_allclose(model.predict_proba([[0.0], [1.0]])[:, 1], [0.2, 0.7], atol=1e-6)


# Ways to descend.


@pytest.fixture
def noisy() -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 5))
    y = (X[:, 0] - X[:, 1] + rng.normal(size=400) > 0).astype(int)
    return X * [1.0, 0.4, 1.0, 1.0, 0.4], y  # columns of unequal size make narrow valleys


def excess(X: Any, y: Any, history: Any) -> Any:
    """Return the excess of the squared errors over their minimum after each pass."""
    x, t = with_ones(X), 2.0 * y - 1
    least = np.linalg.lstsq(x, t, rcond=None)[1][0]
    weights = np.column_stack([history.intercepts[:, 0], history.coefficients[:, 0]])
    return np.square(t - weights @ x.T).sum(axis=1) / least - 1


def learnt(X: Any, y: Any, passes: int = 200, **options: Any) -> Any:
    return excess(X, y, LinearThreshold("lms", tol=None, max_iter=passes, **options).fit(X, y).trace_)


def test_incremental_descent_is_faster_at_first_and_then_oscillates(noisy: Any) -> None:
    batch, incremental = learnt(*noisy), learnt(*noisy, mode="incremental", rate=0.02)
    assert incremental[0] < 0.5 * batch[0]
    assert batch[-1] < 1e-10
    assert incremental[-100:].min() > 1e-5  # it stays away, and …
    assert (np.diff(np.sign(np.diff(incremental[-100:]))) != 0).any()  # … goes up and down


def test_a_decreasing_rate_converges(noisy: Any) -> None:
    constant = learnt(*noisy, mode="incremental", rate=0.02)
    falling = learnt(*noisy, mode="incremental", rate=0.02, decay=1.0)
    assert falling[0] < 2 * constant[0]
    assert falling[-50:].max() < 0.02 * constant[-50:].mean()


def test_a_constant_rate_gives_a_warning(noisy: Any) -> None:
    with pytest.warns(NotConvergedWarning, match="circle around the optimum"):
        LinearThreshold("lms", mode="incremental", rate=0.02).fit(*noisy)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LinearThreshold("lms", tol=1e-6).fit(*noisy)


def test_newton_and_conjugate_gradients_need_fewer_steps(noisy: Any) -> None:
    """The lecture: they "choose the step size automatically and converge faster"."""
    X, y = noisy
    plain = DenseMatrix(X, DenseMatrix.of(X).coordinates.plain(5, intercept=True))
    for response, target in ((Response(Gaussian(), IDENTITY), 2.0 * y - 1), (Response(Bernoulli(), LOGIT), 1.0 * y)):
        problem = Problem(Observations(plain, target), response, Strengths.none(6))
        descent = gradient.solve(problem, np.zeros(6), tolerance=1e-8, most_steps=100_000)
        leaps = newton.solve(problem, np.zeros(6), tolerance=1e-8)
        assert_allclose(descent.coef, leaps.coef, atol=1e-6)
        assert len(leaps.history.objective) <= 10
        assert len(descent.history.objective) > 50
    x = with_ones(X)
    squares = conjugate_gradient(lambda v: x.T @ (x @ v), x.T @ (2.0 * y - 1), tolerance=1e-10)
    assert squares.certificate.holds
    assert len(squares.history.objective) - 1 <= 7  # as many as there are weights, but for rounding
