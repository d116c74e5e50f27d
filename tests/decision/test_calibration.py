"""Calibrated probabilities: known answers, invariances, and calibration on new rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression as ScikitLogistic
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.svm import NuSVC as ScikitSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import Calibrated, GaussianNB, LinearSVC, LinearThreshold, LogisticRegression, MultinomialNB, NaiveBayes
from mercer._errors import DataError, NonFiniteError, ScoresOnlyError
from mercer.decision import calibration_error
from mercer.decision._calibration import fit_step_function, platt_targets

METHODS = ["temperature", "platt", "isotonic"]


def copied_columns(n: int, rng: np.random.Generator, classes: int = 3):
    """Repeat each column four times, which makes naive Bayes overconfident."""
    y = rng.integers(classes, size=n)
    return np.tile(rng.normal(size=(n, 2)) + np.eye(classes, 2)[y], (1, 4)), y


RNG = np.random.default_rng(0)
X, CODES = copied_columns(400, RNG)
Y = np.array(["a", "b", "c"])[CODES]
NEW, NEW_CODES = copied_columns(2000, RNG)
NEW_Y = np.array(["a", "b", "c"])[NEW_CODES]
NAIVE = GaussianNB().fit(X, Y)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("classes", [2, 3])
def test_overconfident_probabilities_are_calibrated(method, classes):
    rows, labels = copied_columns(600, RNG, classes)
    new, truth = copied_columns(2000, RNG, classes)
    before = calibration_error(GaussianNB().fit(rows, labels).predict_proba(new), truth)
    model = Calibrated(GaussianNB(), method=method).fit(rows, labels)
    p = model.predict_proba(new)
    after = calibration_error(p, truth)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert before.error > 0.1
    assert after.error < before.error / 2
    assert after.brier < before.brier
    assert model.certificate_.holds
    assert method in str(model.plan_)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model", [LinearSVC(), LinearThreshold(rule="lms")], ids=["LinearSVC", "LMS"])
def test_a_model_with_scores_alone_gets_probabilities(model, method):
    calibrated = Calibrated(model, method=method).fit(X, Y)
    p = calibrated.predict_proba(NEW)
    assert p.shape == (2000, 3)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert calibration_error(p, NEW_Y, labels=calibrated.classes_).error < 0.12


def test_temperature_keeps_the_order_of_classes_and_has_the_greatest_likelihood():
    model = Calibrated(NAIVE, cv="prefit").fit(NEW[:500], NEW_Y[:500])
    np.testing.assert_array_equal(model.predict(NEW), NAIVE.predict(NEW))
    assert model.temperature_ > 2
    scores, codes = NAIVE.predict_log_proba(NEW[:500]), NEW_CODES[:500]
    target = np.full((500, 3), 1 / 502 / 2)
    target[np.arange(500), codes] = 501 / 502

    def loss(log_t):
        return -(target * log_softmax(scores / np.exp(log_t), axis=1)).sum()

    best = minimize_scalar(loss, bounds=(-3, 5), method="bounded", options={"xatol": 1e-10})
    assert np.log(model.temperature_) == pytest.approx(best.x, abs=1e-6)
    np.testing.assert_allclose(
        model.predict_log_proba(NEW), log_softmax(NAIVE.predict_log_proba(NEW) / model.temperature_, axis=1)
    )


def test_true_probabilities_have_a_temperature_of_one():
    """At the optimum of logistic regression without a penalty, on its own rows, no scale is better."""
    model = LogisticRegression(C=np.inf).fit(X[:, :2], Y)
    assert Calibrated(model, cv="prefit").fit(X[:, :2], Y).temperature_ == pytest.approx(1, abs=0.03)


@pytest.mark.filterwarnings("ignore:Since FrozenEstimator:UserWarning")
def test_platt_scaling_agrees_with_scikit_learn():
    """For two classes and a fitted model, which scikit-learn requires as a FrozenEstimator, the sigmoids are equal."""
    from sklearn.frozen import FrozenEstimator

    labels = CODES == 0
    model = ScikitLogistic(C=1e-3).fit(X[:200], labels[:200])
    ours = Calibrated(model, method="platt", cv="prefit").fit(X[200:], labels[200:])
    theirs = CalibratedClassifierCV(FrozenEstimator(model), method="sigmoid").fit(X[200:], labels[200:])
    np.testing.assert_allclose(ours.predict_proba(NEW), theirs.predict_proba(NEW), atol=1e-5)
    weight = RNG.random(200)
    ours.fit(X[200:], labels[200:], sample_weight=weight)
    theirs.fit(X[200:], labels[200:], sample_weight=weight)
    np.testing.assert_allclose(ours.predict_proba(NEW), theirs.predict_proba(NEW), atol=1e-5)


def test_isotonic_calibration_agrees_with_scikit_learn():
    from sklearn.frozen import FrozenEstimator

    model = ScikitLogistic(C=1e-3).fit(X[:200], Y[:200])
    ours = Calibrated(model, method="isotonic", cv="prefit").fit(X[200:], Y[200:])
    theirs = CalibratedClassifierCV(FrozenEstimator(model), method="isotonic").fit(X[200:], Y[200:])
    np.testing.assert_allclose(ours.predict_proba(NEW), theirs.predict_proba(NEW), atol=1e-6)


def test_isotonic_steps_of_equal_scores_are_weighted_shares():
    """Rows at 0.2 weigh 1, 2, 1 and at 0.8 3, 1: frequencies 2/4 and 3/4, between which the line goes."""
    weight, event = np.array([1.0, 2.0, 1.0, 3.0, 1.0]), np.array([False, True, False, True, False])
    steps = fit_step_function(np.array([0.2, 0.2, 0.2, 0.8, 0.8]), event, weight)
    np.testing.assert_allclose(np.interp([0.0, 0.2, 0.5, 0.8, 1.0], *steps), [0.5, 0.5, 0.625, 0.75, 0.75])


@pytest.mark.parametrize("size", [1e-300, 1e-150, 1e150])
def test_the_unit_of_scores_does_not_matter(size):
    scores, event = RNG.normal(size=50), RNG.random(50) < 0.5
    one, two = fit_step_function(scores, event, None), fit_step_function(size * scores, event, None)
    np.testing.assert_allclose(two.scores / size, one.scores)
    np.testing.assert_allclose(two.probabilities, one.probabilities)


def test_platts_targets_follow_laplaces_rule():
    np.testing.assert_allclose(platt_targets(np.array([True, True, False]), None), [3 / 4, 3 / 4, 1 / 3])


@pytest.mark.parametrize("method", METHODS)
def test_weights_are_equivalent_to_repetitions(method):
    weight = RNG.integers(1, 4, 400)
    one = Calibrated(NAIVE, method=method, cv="prefit").fit(X, Y, sample_weight=weight)
    two = Calibrated(NAIVE, method=method, cv="prefit").fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    np.testing.assert_allclose(one.predict_proba(NEW), two.predict_proba(NEW), atol=1e-7)


def test_calibration_uses_scores_of_held_out_rows():
    """One nearest neighbour is always right on its training rows, so that only held-out rows show its accuracy."""
    from sklearn.neighbors import KNeighborsClassifier

    noise = RNG.permutation(Y)
    sure = KNeighborsClassifier(1).fit(X, noise)
    assert sure.predict_proba(X).max(axis=1).min() == 1.0
    calibrated = Calibrated(KNeighborsClassifier(1)).fit(X, noise)
    assert calibrated.predict_proba(X).max() < 0.6


@pytest.mark.parametrize("method", METHODS)
def test_every_input_of_the_model_is_accepted(method):
    frame = pd.DataFrame({"u": X[:, 0], "v": X[:, 1], "w": Y}).assign(gap=np.where(X[:, 0] > 1, np.nan, X[:, 1]))
    expected = Calibrated(NaiveBayes(), method=method, cv=3).fit(frame, Y).predict_proba(frame)
    polars = Calibrated(NaiveBayes(), method=method, cv=3).fit(pl.DataFrame(frame), Y)
    np.testing.assert_allclose(polars.predict_proba(pl.DataFrame(frame)), expected)
    assert polars.feature_names_in_.tolist() == ["u", "v", "w", "gap"]
    texts = [f"word{label} common" for label in Y]
    pipeline = Calibrated(make_pipeline(CountVectorizer(), MultinomialNB()), method=method, cv=3).fit(texts, Y)
    assert pipeline.score(texts, Y) == 1.0
    single = Calibrated(GaussianNB(), method=method, cv=3).fit(X.astype(np.float32), Y)
    assert single.predict_proba(X.astype(np.float32)).dtype == np.float64
    one = Calibrated(GaussianNB(), method=method, cv=3).fit(X, np.zeros(400))
    np.testing.assert_array_equal(one.predict_proba(X), np.ones((400, 1)))
    np.testing.assert_array_equal(one.predict(X), 0)


def test_separated_classes_have_finite_parameters():
    rows = np.concatenate([RNG.normal(size=(50, 1)) - 50, RNG.normal(size=(50, 1)) + 50])
    for method in METHODS:
        model = Calibrated(LinearSVC(), method=method).fit(rows, np.arange(100) >= 50)
        assert np.isfinite(model.predict_proba(rows)).all()
        assert model.score(rows, np.arange(100) >= 50) == 1.0


def test_a_refit_with_another_method_removes_the_old_attributes():
    model = Calibrated(NAIVE, cv="prefit").fit(X, Y)
    model.set_params(method="isotonic").fit(X, Y)
    assert not hasattr(model, "temperature_")
    assert len(model.steps_) == 3
    assert hasattr(clone(model), "method")


def test_folds_may_be_chosen():
    one = Calibrated(GaussianNB(), cv=KFold(4, shuffle=True, random_state=0)).fit(X, Y)
    two = Calibrated(GaussianNB(), cv=list(KFold(4, shuffle=True, random_state=0).split(X))).fit(X, Y)
    assert one.temperature_ == two.temperature_


def test_invalid_input_is_named():
    with pytest.raises(NotFittedError, match="GaussianNB is not fitted"):
        Calibrated(GaussianNB(), cv="prefit").fit(X, Y)
    with pytest.raises(DataError, match="class 'd', which is not a class of the model"):
        Calibrated(NAIVE, cv="prefit").fit(X[:2], ["a", "d"])
    with pytest.raises(DataError, match="class 'c' has 2"):
        Calibrated(GaussianNB()).fit(X[:42], np.array(["a"] * 20 + ["b"] * 20 + ["c"] * 2))
    with pytest.raises(DataError, match="inconsistent"):
        Calibrated(GaussianNB()).fit(X, Y[:5])
    with pytest.raises(DataError, match="requires y"):
        Calibrated(GaussianNB()).fit(X, None)
    with pytest.raises(NonFiniteError, match="NaN"):
        Calibrated(GaussianNB()).fit(X, np.where(CODES == 0, np.nan, CODES))
    with pytest.raises(ScoresOnlyError, match="6 decisions for 4 classes"):
        Calibrated(ScikitSVC(decision_function_shape="ovo"), method="platt").fit(X, np.arange(400) % 4)
    for wrong in ({"method": "beta"}, {"cv": 1}, {"cv": "fitted"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Calibrated(GaussianNB(), **wrong).fit(X, Y)


def test_a_model_that_only_predicts_labels_is_rejected():
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Oracle(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

    with pytest.raises(ScoresOnlyError, match="neither"):
        Calibrated(Oracle()).fit(X, Y)


def test_a_failed_fit_leaves_the_old_model():
    model = Calibrated(GaussianNB()).fit(X, Y)
    before = model.predict_proba(NEW)
    with pytest.raises(DataError):
        model.fit(np.where(X > 2, np.inf, X), Y)
    np.testing.assert_array_equal(model.predict_proba(NEW), before)


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(
    [Calibrated(GaussianNB(), cv=2), Calibrated(GaussianNB(), method="isotonic", cv=2)],
)
def test_follows_the_conventions_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)
