"""Decisions of models with probabilities: expected costs, rejection, thresholds and priors."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import NuSVC as ScikitSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    Calibrated,
    Decision,
    GaussianNB,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LinearThreshold,
    LogisticRegression,
    MultinomialNB,
    NaiveBayes,
    Perceptron,
    Ridge,
)
from mercer._errors import CostError, DataError, FitInterrupted, PriorError, ScoresOnlyError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 2)) + 1.5 * np.eye(3, 2)[np.arange(150) % 3]
Y = np.array(["a", "b", "c"])[np.arange(150) % 3]
TWO = np.where(Y == "a", "no", "yes")
LDA = LinearDiscriminantAnalysis().fit(X, Y)
BINARY = LinearDiscriminantAnalysis().fit(X, TWO)
LDA_ERROR = np.mean(LDA.predict(X) != Y)


class Fixed(DummyClassifier):
    """A classifier whose probabilities are the columns of X."""

    def predict_proba(self, X):
        return np.asarray(X, dtype=float)


def fixed(labels) -> Fixed:
    return Fixed().fit(np.zeros((len(labels), 1)), labels)


# What is chosen.

PROBABILITIES = st.lists(st.integers(0, 20), min_size=3, max_size=3).filter(any)
PRICES = st.lists(st.lists(st.integers(-5, 9), min_size=4, max_size=4), min_size=3, max_size=3)


@given(rows=st.lists(PROBABILITIES, min_size=1, max_size=5), costs=PRICES, reject=st.none() | st.integers(-5, 9))
def test_no_action_is_expected_to_cost_less(rows, costs, reject):
    p = np.array(rows) / np.sum(rows, axis=1, keepdims=True)
    decision = Decision(fixed(["a", "b", "c"]), costs=costs, actions=["w", "x", "y", "z"], reject=reject)
    expected = decision.costs_of_actions(p)
    by_hand = p @ np.array(costs, dtype=float)
    if reject is not None:
        by_hand = np.column_stack([by_hand, np.full(len(p), float(reject))])
    np.testing.assert_allclose(expected, by_hand, atol=1e-12)
    np.testing.assert_allclose(decision.expected_cost(p), by_hand.min(axis=1), atol=1e-12)
    chosen = [decision.actions_.tolist().index(action) for action in decision.predict(p)]
    np.testing.assert_allclose(by_hand[np.arange(len(p)), chosen], by_hand.min(axis=1), atol=1e-12)


def test_without_costs_decisions_are_those_of_the_model():
    decision = Decision(LDA)
    np.testing.assert_array_equal(decision.predict(X), LDA.predict(X))
    np.testing.assert_array_equal(decision.predict_proba(X), LDA.predict_proba(X))
    np.testing.assert_allclose(decision.expected_cost(X), 1 - LDA.predict_proba(X).max(axis=1), atol=1e-12)
    assert decision.score(X, Y) == LDA.score(X, Y) == pytest.approx(1 - decision.average_cost(X, Y))


def test_two_costs_give_a_threshold():
    decision = Decision(BINARY, costs=[[0, 1], [10, 0]])
    assert decision.threshold_ == pytest.approx(1 / 11)
    np.testing.assert_array_equal(decision.predict(X) == "yes", BINARY.predict_proba(X)[:, 1] > 1 / 11)
    np.testing.assert_array_equal(Decision(BINARY, threshold=1 / 11).predict(X), decision.predict(X))


def test_other_costs_need_no_refit():
    decision = Decision(LDA)
    before = pickle.dumps(LDA)
    decision.set_params(costs=[[0, 9, 9], [1, 0, 1], [1, 1, 0]], priors=[0.2, 0.3, 0.5], reject=0.3)
    decision.predict(X)
    assert pickle.dumps(LDA) == before


def test_costs_scaled_and_shifted_by_class_change_nothing():
    """Decisions do not depend on constants for each class, or on the unit of the costs."""
    costs = RNG.integers(0, 9, (3, 3)).astype(float)
    one = Decision(LDA, costs=costs)
    two = Decision(LDA, costs=3.5 * costs + np.array([[1.0], [-2.0], [7.0]]))
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


# Rejection.


def test_rejection_follows_chows_rule():
    """A price c for rejecting and 1 for a mistake: reject where no class has 1 − c."""
    p = LDA.predict_proba(X)
    one, two = Decision(LDA, reject=0.3), Decision(LDA, reject_below=0.7)
    np.testing.assert_array_equal(one.predict(X) == "reject", p.max(axis=1) < 0.7)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    kept = one.predict(X) != "reject"
    assert 0 < kept.mean() < 1
    np.testing.assert_array_equal(one.predict(X)[kept], LDA.predict(X)[kept])
    assert one.actions_.tolist() == ["a", "b", "c", "reject"]
    assert np.isnan(two.expected_cost(X)[~kept]).all()
    assert two.average_cost(X, Y) == pytest.approx(np.mean(LDA.predict(X)[kept] != Y[kept]))
    assert one.average_cost(X, Y) < LDA_ERROR


def test_the_label_of_rejection_has_the_type_of_the_others():
    codes = np.arange(150) % 3
    whole = Decision(LinearDiscriminantAnalysis().fit(X, codes), reject=0.1)
    assert whole.actions_.tolist() == [0, 1, 2, -1]
    assert whole.predict(X).dtype.kind == "i"
    yes = Decision(LinearDiscriminantAnalysis().fit(X, codes == 0), reject=0.1)
    assert set(yes.predict(X).tolist()) <= {True, False, "reject"}
    named = Decision(LDA, reject=0.1, reject_label="ask a doctor")
    assert "ask a doctor" in named.predict(X)
    with pytest.raises(CostError, match="another reject_label"):
        Decision(LDA, reject=0.1, reject_label="a").predict(X)


def test_the_score_is_the_share_of_correct_actions_for_any_labels():
    """Rejected rows and actions that are not classes count as wrong, for all types of labels."""
    for labels in (Y, np.arange(150) % 3, np.arange(150) % 3 == 0, (np.arange(150) % 3).astype(float)):
        model = LinearDiscriminantAnalysis().fit(X, labels)
        decision = Decision(model, reject=0.3)
        right = (model.predict(X) == labels) & (model.predict_proba(X).max(axis=1) >= 0.7)
        assert decision.score(X, labels) == pytest.approx(right.mean())
        assert 0 < right.mean() < model.score(X, labels)
    assert Decision(BINARY, costs=[[0, 1], [1, 0]], actions=["wait", "treat"]).score(X, TWO) == 0.0
    assert Decision(BINARY).score(X[:2], ["no", "a class never seen"]) == 0.5 * (BINARY.predict(X[:1])[0] == "no")


def test_actions_in_another_order_are_the_same_actions():
    np.testing.assert_array_equal(Decision(LDA, actions=["c", "a", "b"]).predict(X), LDA.predict(X))
    assert set(Decision(LDA, actions=["c", "a"]).predict(X)) == {"a", "c"}


def test_rejecting_may_cost_more_for_some_classes():
    by_class = Decision(LDA, reject={"a": 0.0, "b": 0.9, "c": 0.9})
    np.testing.assert_allclose(by_class.costs_of_actions(X)[:, 3], LDA.predict_proba(X) @ [0.0, 0.9, 0.9])
    for reject in ([0.1, 0.2], "dear", np.nan, {"a": 1}):
        with pytest.raises(CostError, match="reject"):
            Decision(LDA, reject=reject).predict(X)


# Thresholds.


def test_a_threshold_may_be_chosen_on_data():
    decision = Decision(BINARY, costs={"no": {"yes": 1}, "yes": {"no": 5}})
    found = decision.choose_threshold(X, TWO)
    cut = clone(decision, safe=False).set_params(model=BINARY, threshold=found.value)
    assert cut.average_cost(X, TWO) == pytest.approx(found.average_cost)
    assert found.average_cost <= decision.average_cost(X, TWO)
    bound = decision.choose_threshold(X, TWO, false_positive_rate=0.1, confidence=0.9)
    assert bound.false_positive_rate <= 0.1
    with pytest.raises(CostError, match="two classes"):
        Decision(LDA).choose_threshold(X, Y)
    with pytest.raises(CostError, match=r"threshold=0\.5"):
        Decision(LDA, threshold=0.5).predict(X)
    with pytest.raises(DataError, match="confidence=2"):
        decision.choose_threshold(X, TWO, false_positive_rate=0.1, confidence=2)
    with pytest.raises(DataError, match="give false_positive_rate"):
        decision.choose_threshold(X, TWO, confidence=0.9)


@pytest.mark.parametrize("options", [{"actions": ["yes", "no"]}, {"costs": [[1, 0], [0, 5]]}])
def test_a_threshold_with_actions_for_the_wrong_class_is_rejected(options):
    """Above the threshold the second action is chosen, which would be that of the first class."""
    with pytest.raises(CostError, match="in the order of the classes"):
        Decision(BINARY, threshold=0.5, **options).predict(X)
    with pytest.raises(CostError, match="in the order of the classes"):
        Decision(BINARY, **options).choose_threshold(X, TWO)
    np.testing.assert_array_equal(Decision(BINARY, actions=["yes", "no"]).predict(X), BINARY.predict(X))


def test_labels_for_other_rows_are_rejected():
    for ask in (Decision(BINARY).score, Decision(BINARY).average_cost):
        with pytest.raises(DataError, match="5 labels"):
            ask(X, TWO[:5])


# In words.


def test_the_threshold_is_explained():
    text = Decision(BINARY, costs={"no": {"yes": 1}, "yes": {"no": 10}}).explain()
    assert "'no' where p(yes) is at most 0.0909, 'yes' above 0.0909." in text
    assert "'no' for 'yes' 10" in text


def test_priors_move_the_threshold_of_the_model():
    decision = Decision(BINARY, priors=[0.9, 0.1])
    own = float(decision.explain().rsplit("threshold of ", 1)[1].rstrip("."))
    np.testing.assert_array_equal(decision.predict(X) == "yes", BINARY.predict_proba(X)[:, 1] > own)


def test_dominated_actions_are_explained():
    costs = {"no": {"no": 0, "yes": 5, "ask": 1}, "yes": {"no": 5, "yes": 0, "ask": 1}}
    text = Decision(BINARY, costs=costs).explain()
    assert "'ask' up to 0.8" in text
    costs["no"]["ask"] = costs["yes"]["ask"] = 3
    assert "'ask' is never cheaper than all others" in Decision(BINARY, costs=costs).explain()
    assert "no class has a probability of 0.9 or more" in Decision(LDA, reject=0.1).explain()
    assert "no class has a probability of 0.6 or more" in Decision(LDA, reject_below=0.6).explain()
    assert "most probable class" in Decision(LDA).explain()
    assert "'c' for 'a' costs 9" in Decision(LDA, costs=[[0, 1, 9], [1, 0, 1], [1, 1, 0]]).explain()
    assert "above 0.3" in Decision(BINARY, threshold=0.3).explain()
    assert Decision(BINARY, costs=[[0, 1], [0, 1]]).explain().startswith("Always 'no'")


# Which models.


@pytest.mark.parametrize(
    "model",
    [Perceptron(), LinearSVC(), LinearThreshold(rule="lms"), ScikitSVC()],
    ids=["perceptron", "LinearSVC", "LMS", "SVC"],
)
def test_a_model_with_scores_only_is_rejected_with_the_reason(model):
    with pytest.raises(ScoresOnlyError, match="learnt a boundary and no probabilities"):
        Decision(model, costs=[[0, 1], [10, 0]]).fit(X, TWO)
    fitted = clone(model).fit(X, TWO)
    with pytest.raises(ScoresOnlyError, match="Calibrated"):
        Decision(fitted, costs=[[0, 1], [10, 0]]).predict(X)
    calibrated = Decision(Calibrated(model), costs=[[0, 1], [10, 0]]).fit(X, TWO)
    assert np.mean(calibrated.predict(X) == "yes") > np.mean(fitted.predict(X) == "yes")


def test_an_error_about_a_pipeline_names_its_model():
    with pytest.raises(ScoresOnlyError, match="LinearSVC has"):
        Decision(make_pipeline(StandardScaler(), LinearSVC()).fit(X, TWO)).predict(X)
    with pytest.raises(PriorError, match="LogisticRegression has no class priors"):
        Decision(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, TWO), priors=[0.5, 0.5]).predict(X)


def test_an_unfitted_model_is_copied_and_fitted():
    model = LinearDiscriminantAnalysis()
    decision = Decision(model, costs=[[0, 1], [10, 0]])
    with pytest.raises(NotFittedError, match="LinearDiscriminantAnalysis is not"):
        decision.predict(X)
    decision.fit(X, TWO)
    assert not hasattr(model, "classes_")
    np.testing.assert_array_equal(decision.predict(X), Decision(BINARY, costs=[[0, 1], [10, 0]]).predict(X))
    assert decision.certificate_.holds
    assert "least expected cost" in str(decision.plan_)
    with pytest.raises(NotFittedError):
        clone(Decision(BINARY)).predict(X)


def test_a_failed_fit_leaves_the_old_model():
    decision = Decision(LinearDiscriminantAnalysis(), costs=[[0, 1], [10, 0]]).fit(X, TWO)
    before = decision.predict_proba(X)
    with pytest.raises(CostError):
        decision.fit(X, Y)  # three classes for the costs of two
    with pytest.raises(DataError, match="inconsistent"):
        decision.fit(X, TWO[:7])
    np.testing.assert_array_equal(decision.predict_proba(X), before)


def test_every_input_of_the_model_is_accepted():
    frame = pd.DataFrame({"u": X[:, 0], "v": X[:, 1], "w": Y}).assign(gap=np.where(X[:, 0] > 1, np.nan, X[:, 1]))
    for rows in (frame, pl.DataFrame(frame)):
        decision = Decision(NaiveBayes(), costs=[[0, 1], [10, 0]]).fit(rows, TWO)
        assert decision.predict(rows).tolist()[:50] == decision.predict(rows[:50]).tolist()
    assert decision.fit(frame, TWO).feature_names_in_.tolist() == ["u", "v", "w", "gap"]
    texts = [f"word{label} common" for label in Y]
    pipeline = make_pipeline(CountVectorizer(), MultinomialNB())
    assert Decision(pipeline, reject=0.5).fit(texts, Y).score(texts, Y) == 1.0
    single = Decision(GaussianNB()).fit(X.astype(np.float32), Y)
    assert single.predict_proba(X.astype(np.float32)).dtype == np.float64
    one = Decision(GaussianNB(), costs=[[2.0]]).fit(X, np.zeros(150))
    np.testing.assert_array_equal(one.expected_cost(X), 2.0)
    assert one.explain()


def test_weights_are_used_for_the_model_and_its_priors():
    weight = RNG.integers(1, 4, 150)
    for model in (LogisticRegression(), make_pipeline(StandardScaler(with_mean=False), LogisticRegression())):
        one = Decision(model, priors=[0.2, 0.3, 0.5]).fit(X, Y, sample_weight=weight)
        if not hasattr(model, "steps"):
            two = Decision(model, priors=[0.2, 0.3, 0.5]).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
            np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-6)
        assert not np.allclose(one.predict_proba(X), one.fit(X, Y).predict_proba(X))
    with pytest.raises(DataError, match="KNeighborsClassifier does not accept sample_weight"):
        Decision(KNeighborsClassifier()).fit(X, Y, sample_weight=weight)
    average = Decision(LDA).average_cost(X, Y, sample_weight=weight)
    assert average == pytest.approx(np.average(LDA.predict(X) != Y, weights=weight))


def test_metadata_is_routed():
    weight = RNG.random(150)
    expected = Decision(LogisticRegression()).fit(X, Y, sample_weight=weight).predict_proba(X)
    with sklearn.config_context(enable_metadata_routing=True):
        model = LogisticRegression().set_fit_request(sample_weight=True)
        np.testing.assert_array_equal(Decision(model).fit(X, Y, sample_weight=weight).predict_proba(X), expected)
        silent = LogisticRegression().set_fit_request(sample_weight=False)
        with pytest.raises(TypeError, match="sample_weight"):
            Decision(silent).fit(X, Y, sample_weight=weight)


def test_it_can_be_searched_over():
    costs = np.array([[0, 1], [10, 0]])
    search = GridSearchCV(
        Decision(LinearDiscriminantAnalysis(), costs=costs),
        {"costs": [None, costs]},
        scoring=lambda d, X, y: -d.set_params(costs=costs).average_cost(X, y) if d.costs is not None else -10.0,
    )
    assert search.fit(X, TWO).best_params_["costs"] is not None


def test_invalid_input_is_named():
    with pytest.raises(DataError, match="class 'd', which is not a class of the model"):
        Decision(LDA).average_cost(X[:1], ["d"])
    with pytest.raises(DataError, match="150 rows and y 1"):
        Decision(LDA).average_cost(X, ["a"])
    with pytest.raises(PriorError, match="trained_priors"):
        Decision(LogisticRegression().fit(X, TWO), priors=[0.5, 0.5]).predict(X)
    for wrong in ({"threshold": 2.0}, {"reject_below": -1.0}, {"reject_below": 70}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Decision(LinearDiscriminantAnalysis(), **wrong).fit(X, TWO)
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Decision(BINARY, **wrong).predict(X)
    with pytest.raises(ValueError, match="model"):
        Decision("LDA").predict(X)
    with pytest.raises(ScoresOnlyError, match="Ridge predicts numbers"):
        Decision(Ridge().fit(X, X[:, 0])).predict(X)


class Stopped(LinearDiscriminantAnalysis):
    """A model whose fit is interrupted by Ctrl-C."""

    def fit(self, X, y):
        raise FitInterrupted("stopped")


def test_a_fit_that_is_stopped_leaves_the_old_model():
    decision = Decision(LinearDiscriminantAnalysis()).fit(X, TWO)
    before = decision.predict_proba(X)
    with pytest.raises(KeyboardInterrupt):
        decision.set_params(model=Stopped()).fit(X, Y)
    np.testing.assert_array_equal(decision.predict_proba(X), before)


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks([Decision(LinearDiscriminantAnalysis())])
def test_follows_the_conventions_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)
