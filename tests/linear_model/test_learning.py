"""Training of threshold units: when it stops, with which proof, and which warning."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer._errors import DivergedWarning, NonFiniteError, NotConvergedWarning
from mercer.linear_model import _learning as learning
from mercer.linear_model._learning import IDLE_TESTS_BEFORE_PROOF, PocketMonitor, learn
from mercer.optim import separation
from mercer.optim.certificate import Solution
from mercer.optim.gradient import ErrorSums
from mercer.optim.learning_rules import LEARNING_RULES, RuleOptions, largest_rate
from tests._ctrl_c import stop_at
from tests.linear_model._lessons import blank, judged, lesson_of, overlapping

MINUTES = pytest.mark.compiled("takes minutes as plain Python")

BATCH = RuleOptions()
XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


def train(
    X: Any, codes: Any, name: str, how: RuleOptions = BATCH, *, tolerance: Any = 1e-6, passes: int = 3000, **more: Any
) -> Solution:
    lesson = lesson_of(X, codes, **more)
    return learn(lesson, LEARNING_RULES[name], how, blank(lesson), tolerance=tolerance, most_passes=passes)


def incremental(**options: Any) -> RuleOptions:
    return RuleOptions(True, rng=np.random.default_rng(0), **options)


@pytest.mark.parametrize("how", [RuleOptions(), incremental()])
def test_a_perceptron_stops_at_a_hyperplane_without_mistakes(how: RuleOptions) -> None:
    X, _ = overlapping()
    codes = (X[:, 0] - 0.5 * X[:, 1] > 0.3).astype(int)
    solution = train(X, codes, "perceptron", how)
    assert solution.certificate.kind == "separation"
    assert solution.certificate.holds
    w, b, history, _ = solution.coef
    assert_array_equal(X @ w[0] + b[0] >= 0, codes == 1)
    assert len(history) < 3000


@pytest.mark.parametrize("how", [RuleOptions(), incremental()])
def test_a_perceptron_stops_with_a_proof_that_no_hyperplane_separates(how: RuleOptions) -> None:
    solution = train(XOR, [0, 1, 1, 0], "perceptron", how)
    assert solution.certificate.kind == "no separation"
    assert solution.certificate.holds
    (found,) = solution.coef.separations
    signed = np.array([-1, 1, 1, -1])[:, None] * np.column_stack([XOR, np.ones(4)])
    assert (found.multipliers > 0).all()
    assert_allclose(found.multipliers @ signed, 0.0, atol=1e-9)
    assert len(solution.history.objective) <= 3 * learning.IDLE_TESTS_BEFORE_PROOF


def test_it_keeps_the_weights_with_the_fewest_mistakes() -> None:
    X, codes = overlapping()
    solution = train(X, codes, "perceptron", incremental())
    w, b, history, _ = solution.coef
    mistakes = int(((X @ w[0] + b[0] >= 0) != (codes == 1)).sum())
    assert f"{mistakes} mistakes" in solution.certificate.sentence
    assert history.coefficients is not None
    assert history.intercepts is not None
    after = [
        int(((X @ c[0] + i[0] >= 0) != (codes == 1)).sum())
        for c, i in zip(history.coefficients, history.intercepts, strict=True)
    ]
    assert mistakes == min(after)


def test_each_unit_is_perfect_or_proven_not_separable() -> None:
    """Of three classes in a row the outer two can be separated, the middle one cannot."""
    X = np.array([[0.0], [0.1], [1.0], [1.1], [2.0], [2.1]])
    solution = train(X, [0, 0, 1, 1, 2, 2], "perceptron")
    w, b, _, separations = solution.coef
    u = X @ w.T + b
    assert_array_equal(u[:, 0] >= 0, [True, True, False, False, False, False])
    assert_array_equal(u[:, 2] >= 0, [False, False, False, False, True, True])
    assert [None if found is None else found.kind for found in separations] == [None, "none", None]
    assert solution.certificate.kind == "no separation"
    assert "[1]" in solution.certificate.sentence


def test_without_an_intercept_the_origin_belongs_to_class_1() -> None:
    """A row of zeros has u = 0, which is right for class 1 and can never be right for class 0."""
    X = np.array([[0.0], [1.0]])
    assert train(X, [1, 0], "perceptron", intercept=False).certificate.kind == "separation"
    assert train(X, [0, 1], "perceptron", intercept=False).certificate.kind == "no separation"


def test_too_few_passes_for_a_perceptron_that_could_be_perfect_is_a_warning() -> None:
    X, _ = overlapping(n=300)
    codes = (X[:, 0] + 0.7 * X[:, 1] > 0.2).astype(int)
    with pytest.warns(NotConvergedWarning, match=r"There is one, .*max_iter"):
        solution = train(X, codes, "perceptron", passes=2)
    assert not solution.certificate.holds


def test_columns_of_unequal_size_are_reported_before_too_few_passes() -> None:
    X, _ = overlapping()
    codes = (X[:, 0] - 0.5 * X[:, 1] > 0.3).astype(int)
    with pytest.warns(NotConvergedWarning, match=r"There is one, .*differ in size by a factor of 1e\+08"):
        train(X + 1e8, codes, "perceptron", passes=50)


def test_a_linear_programme_without_a_proof_is_ignored() -> None:
    def decide(observations: Any) -> Any:
        found = separation.bernoulli(observations)
        return replace(found, certificate=replace(found.certificate, value=np.inf))

    data = lesson_of(XOR, [0, 1, 1, 0])
    monitor = PocketMonitor(data, 1e8, decide)
    errors = ErrorSums.of(data, LEARNING_RULES["perceptron"], np.zeros((3, 1)))
    assert not any(monitor.is_final(errors) for _ in range(2 * IDLE_TESTS_BEFORE_PROOF))
    warning, certificate = monitor.warning(30), monitor.certificate()
    assert isinstance(warning, NotConvergedWarning)
    assert re.search(r"could not be distinguished .*rule=\"logistic\"", str(warning))
    assert certificate.kind == "separation"
    assert not certificate.holds


def test_averaged_weights_need_their_own_proof() -> None:
    """The last weights of the first pass have no mistakes; their mean over all steps, which is published, has."""
    X, codes = np.array([[1.0], [-3.0], [-1.0], [2.0]]), [1, 0, 0, 1]
    how = RuleOptions(True, average=True)
    solution = train(X, codes, "perceptron", how, tolerance=None, passes=2)
    assert solution.coef.history.mistakes[-1] == 0
    assert not solution.certificate.holds


def test_tables_beyond_proof_size_have_no_proof() -> None:
    """Four rows of two columns are of size 16."""
    with pytest.warns(NotConvergedWarning, match="exceeds proof_size"):
        train(XOR, [0, 1, 1, 0], "perceptron", RuleOptions(proof_size=15), passes=30)
    assert (
        train(XOR, [0, 1, 1, 0], "perceptron", RuleOptions(proof_size=16), passes=30).certificate.kind
        == "no separation"
    )


@pytest.mark.parametrize("name", ["lms", "logistic", "sigmoid"])
@pytest.mark.parametrize("average", [False, True])
def test_the_certificate_is_that_of_the_weights_returned(name: str, average: bool) -> None:
    X, codes = overlapping()
    solution = train(X, codes, name, RuleOptions(average=average), tolerance=1e-3, passes=20_000)
    w = np.concatenate([solution.coef.coefficients[0], solution.coef.intercept])
    x = np.column_stack([X, np.ones(len(X))])
    errors = judged(name, x @ w, codes.astype(float)).error
    about = np.column_stack([X - X.mean(axis=0), np.ones(len(X))])
    cosines = np.abs(about.T @ errors) / np.sqrt(np.square(about).sum(axis=0)) / np.sqrt(len(X))
    assert solution.certificate.holds
    assert_allclose(solution.certificate.value, cosines.max(), rtol=1e-6)


def test_lms_is_least_squares() -> None:
    X, codes = overlapping(classes=3)
    solution = train(X, codes, "lms", tolerance=1e-12)
    x = np.column_stack([X, np.ones(len(X))])
    expected = np.linalg.lstsq(x, 2.0 * np.eye(3)[codes] - 1, rcond=None)[0]
    assert_allclose(solution.coef.coefficients.T, expected[:-1], atol=1e-9)
    assert_allclose(solution.coef.intercept, expected[-1], atol=1e-9)


def test_separated_rows_have_no_maximum_likelihood() -> None:
    solution = train(np.array([[0.0], [1.0]]), [0, 1], "logistic", passes=50)
    assert solution.certificate.kind == "separation"
    assert solution.certificate.holds
    assert (np.diff(solution.history.objective) < 0).all()


@pytest.mark.parametrize("how", [RuleOptions(rate=1.0), incremental(rate=1.0)])
def test_a_warning_of_a_large_rate_names_a_safe_one(how: RuleOptions) -> None:
    X, codes = overlapping()
    lesson = lesson_of(X, codes)
    limit = 2 / (lesson.largest_row if how.incremental else lesson.largest_eigenvalue)
    with pytest.warns(DivergedWarning, match=rf"{limit:.3g} are safe; use rate=\"auto\""):
        solution = train(X, codes, "lms", how)
    assert not solution.certificate.holds
    assert np.isfinite(solution.coef.coefficients).all()
    assert min(solution.history.objective) == solution.history.objective[0]  # what is kept is where it began


@pytest.mark.parametrize("how", [RuleOptions(rate=1e300), pytest.param(incremental(rate=1e300), marks=MINUTES)])
def test_lms_that_overflows_returns_finite_weights(how: RuleOptions) -> None:
    X, codes = overlapping()
    with pytest.warns(DivergedWarning, match="left the range of numbers"):
        solution = train(X, codes, "lms", how)
    assert np.isfinite(solution.coef.coefficients).all()
    assert not solution.certificate.holds
    assert "normal equations" in solution.certificate.sentence


@pytest.mark.parametrize("name", ["logistic", "sigmoid"])
@pytest.mark.parametrize("how", [RuleOptions(rate=1e3), incremental(rate=1e3)])
def test_a_saturated_sigmoid_has_not_converged(name: str, how: RuleOptions) -> None:
    """There the gradient of ½ (y − σ(u))² vanishes, whatever y is."""
    X, codes = overlapping()
    codes = np.where(np.arange(len(X)) % 3 == 0, 1 - codes, codes)
    limit = largest_rate(lesson_of(X, codes), LEARNING_RULES[name], incremental=how.incremental)
    with pytest.warns(DivergedWarning, match=rf"overshot.* = {limit:.3g} are safe; use rate=\"auto\""):
        solution = train(X, codes, name, how, passes=30)
    assert not solution.certificate.holds


@MINUTES
def test_a_perceptron_finds_a_hyperplane_at_any_rate() -> None:
    X, _ = overlapping()
    codes = (X[:, 0] > 0.1).astype(int)
    for name in ("logistic", "sigmoid"):
        solution = train(
            X[np.abs(X[:, 0] - 0.1) > 0.2], codes[np.abs(X[:, 0] - 0.1) > 0.2], name, RuleOptions(rate=1.0)
        )
        assert solution.certificate.holds


def test_a_rate_that_is_too_large_is_reported_before_other_causes() -> None:
    X, codes = overlapping()
    rate = 3 * largest_rate(lesson_of(X, codes), LEARNING_RULES["logistic"], incremental=False)
    with pytest.warns(NotConvergedWarning, match=r"Only rates below 8/λmax"):
        train(X, codes, "logistic", RuleOptions(rate=rate), passes=200)


def test_a_constant_rate_that_circles_the_optimum_gives_a_warning() -> None:
    X, codes = overlapping()
    with pytest.warns(NotConvergedWarning, match=r"decay=1.*average=True.*batch"):
        solution = train(X, codes, "lms", incremental(rate=0.05))
    assert len(solution.history.objective) < 3000


def test_columns_of_unequal_size_are_the_cause_that_is_named() -> None:
    X, codes = overlapping()
    with pytest.warns(NotConvergedWarning, match=r"differ in size by a factor of 1\.2e\+06.*StandardScaler"):
        train(X * [1e6, 1.0, 1.0] / np.sqrt(np.square(X[:, 0]).mean()), codes, "logistic", passes=20)


def test_a_factor_between_sizes_that_overflows_is_the_largest_float() -> None:
    X, codes = overlapping()
    with pytest.warns(NotConvergedWarning, match=r"differ in size by a factor of 1\.8e\+308"):
        train(X * [1e120, 1e-200, 1.0], codes, "logistic", passes=20)


@pytest.mark.parametrize("name", LEARNING_RULES)
def test_without_a_tolerance_every_pass_is_made_without_a_test(name: str) -> None:
    X, codes = overlapping()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = train(X, codes, name, tolerance=None, passes=7)
    assert len(solution.history.objective) == 7
    assert solution.coef.separations == (None,)
    assert not solution.certificate.holds


@pytest.mark.parametrize("name", LEARNING_RULES)
@pytest.mark.parametrize("how", [RuleOptions(), incremental()])
def test_numbers_too_large_for_a_float_are_an_error(name: str, how: RuleOptions) -> None:
    X, codes = overlapping()
    with pytest.raises(NonFiniteError, match="divide the largest columns"):
        train(1e200 * X, codes, name, how)


def test_problems_of_the_data_are_reported_first() -> None:
    X, codes = overlapping()
    X[3, 1] = np.nan

    def blame() -> None:
        raise NonFiniteError("it was the data")

    for name in LEARNING_RULES:
        lesson = lesson_of(X, codes)
        with pytest.raises(NonFiniteError, match="it was the data"):
            learn(
                lesson, LEARNING_RULES[name], RuleOptions(), blank(lesson), tolerance=1e-3, most_passes=5, blame=blame
            )


@pytest.mark.parametrize("how", [RuleOptions(), incremental()])
def test_an_interruption_keeps_the_learnt_weights(how: RuleOptions) -> None:
    X, codes = overlapping()
    lesson = lesson_of(X, codes)
    solution = learn(
        lesson, LEARNING_RULES["logistic"], how, blank(lesson), tolerance=1e-9, most_passes=99, callback=stop_at(4)
    )
    assert solution.interrupted
    assert len(solution.history.objective) == 4
    assert not solution.certificate.holds
    assert solution.coef.coefficients.any()


@pytest.mark.parametrize("name", ["logistic", "sigmoid"])
@pytest.mark.parametrize("how", [RuleOptions(rate=1.0), incremental(rate=1.0)])
def test_weights_that_were_not_tested_have_no_certificate(name: str, how: RuleOptions) -> None:
    """The look saw every row on its side; the step after it need not have left it there."""
    lesson = lesson_of(np.array([[-2.0], [-1.0], [1.0], [2.0]]), [0, 0, 1, 1])
    stopped = learn(
        lesson, LEARNING_RULES[name], how, blank(lesson), tolerance=1e-9, most_passes=99, callback=stop_at(7)
    )
    assert stopped.interrupted
    assert not stopped.certificate.holds
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        finished = learn(lesson, LEARNING_RULES[name], how, blank(lesson), tolerance=1e-9, most_passes=7)
    assert (finished.certificate.kind, finished.certificate.holds) == ("separation", True)


@pytest.mark.parametrize("name", LEARNING_RULES)
def test_an_interruption_before_the_first_test_is_named_as_the_reason(name: str) -> None:
    X, codes = overlapping()
    lesson = lesson_of(X, codes)
    stopped = learn(
        lesson,
        LEARNING_RULES[name],
        incremental(average=True),
        blank(lesson),
        tolerance=1e-9,
        most_passes=1,
        callback=stop_at(1),
        blame=lambda: None,
    )
    assert stopped.interrupted
    assert "tol=None" not in stopped.certificate.sentence


def test_the_history_is_complete() -> None:
    X, codes = overlapping()
    history = train(X, codes, "logistic", RuleOptions(rate=0.01, decay=0.5), tolerance=None, passes=3).coef.history
    x, w = np.column_stack([X, np.ones(len(X))]), np.zeros(4)
    for t in range(3):
        by_hand = judged("logistic", x @ w, codes.astype(float))
        wrong = (x @ w >= 0) != (codes == 1)
        assert_allclose(history.loss[t], by_hand.loss.mean())
        assert_allclose(history.error[t], wrong.mean())
        assert history.mistakes[t] == wrong.sum()
        assert_allclose(history.rate[t], 0.01 / (1 + 0.5 * t))
        w = w + history.rate[t] * x.T @ by_hand.error
        assert history.coefficients is not None
        assert history.intercepts is not None
        assert_allclose([*history.coefficients[t, 0], history.intercepts[t, 0]], w)
