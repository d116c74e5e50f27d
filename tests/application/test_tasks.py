"""Measures of each task equal those of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import d2_tweedie_score, mean_poisson_deviance, r2_score, root_mean_squared_error
from sklearn.model_selection import KFold

from mercer.application.task_choice import task_for
from mercer.comparison import compare

X, Y = load_diabetes(return_X_y=True)


class Certain:
    """A classifier with `predict_proba` but without `predict_log_proba`."""

    classes_ = np.array([0, 1])

    def predict(self, X: Any) -> Any:
        return np.array([1, 1])

    def predict_proba(self, X: Any) -> Any:
        return np.array([[0.5, 0.5], [0.25, 0.75]])


def test_the_log_loss_of_probabilities() -> None:
    rows, task = np.array([0, 1]), task_for([0, 1], 2)
    scores = task.scores(task.forecast(Certain(), None), rows, rows)
    assert scores["accuracy"] == 0.5
    assert scores["log_loss"] == pytest.approx(-np.log([0.5, 0.75]).mean())


def test_a_class_absent_from_the_fit_has_probability_zero() -> None:
    task = task_for([0, 1, 2], 3, "classification")
    forecast = task.forecast(Certain(), None)
    np.testing.assert_allclose(task.to_array(forecast), [[0.5, 0.5, 0], [0.25, 0.75, 0]])


class Ranking:
    """A classifier with the given scores and without probabilities."""

    classes_ = np.array(["a", "b", "c"])

    def __init__(self, scores: Any) -> None:
        self._scores = np.asarray(scores, dtype=float)

    def predict(self, X: Any) -> Any:
        return self.classes_[self._scores.argmax(axis=1)]

    def decision_function(self, X: Any) -> Any:
        return self._scores


def test_scores_of_classes_are_ranked_and_scores_of_pairs_are_not() -> None:
    task = task_for(["a", "b", "c", "d"], 4)
    forecast = task.forecast(Ranking(np.eye(3)), None)
    assert forecast.decisions.tolist() == [0, 1, 2]
    assert forecast.scores is not None
    np.testing.assert_array_equal(forecast.scores, np.column_stack([np.eye(3), np.full(3, -np.inf)]))
    np.testing.assert_array_equal(task.to_array(forecast), np.eye(4)[:3])
    pairs = Ranking(np.eye(3)[:, :2])
    assert task.forecast(pairs, None).scores is None


def test_numbers_are_measured_by_r2_and_rmse() -> None:
    (entry,) = compare(X, Y + 0.5, models=[LinearRegression()], cv=3, random_state=1).entries
    scores = []
    for train, test in KFold(3, shuffle=True, random_state=1).split(X):
        predicted = LinearRegression().fit(X[train], Y[train]).predict(X[test])
        # the baseline is the mean of the training rows
        baseline = np.square(Y[test] - Y[train].mean()).sum() / np.square(Y[test] - Y[test].mean()).sum()
        explained = 1 - (1 - r2_score(Y[test], predicted)) / baseline
        scores.append((explained, root_mean_squared_error(Y[test], predicted)))
    np.testing.assert_allclose(np.transpose([entry.scores["explained"], entry.scores["rmse"]]), scores)


class Fixed:
    """A model with fixed predictions."""

    def __init__(self, prediction: Any) -> None:
        self._prediction = np.asarray(prediction, dtype=float)

    def predict(self, X: Any) -> Any:
        return self._prediction


def test_counts_are_measured_by_poisson_deviance() -> None:
    y, predicted, rows = np.arange(1.0, 7.0), np.array([2.0, 3.0, 3.0]), np.array([0, 1, 2])
    task = task_for(y, 6, "counts")
    scores = task.scores(task.forecast(Fixed(predicted), None), rows, rows)
    assert scores["explained"] == pytest.approx(d2_tweedie_score(y[:3], predicted, power=1))
    assert scores["rmse"] == pytest.approx(np.sqrt(2 / 3))


class Zero(DummyRegressor):  # type: ignore[misc]
    """A model that predicts 0."""

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X))


def test_a_mean_of_0_is_scored_as_half_an_event_and_reported_with_its_folds() -> None:
    y = np.arange(60) % 7
    (entry,) = compare(X[:60], y, models=[Zero()], task="counts", cv=3).entries
    floored = mean_poisson_deviance(y, np.full(60, 0.5 / 40))
    assert entry.mean("deviance") == pytest.approx(floored)
    assert "the predicted mean of 60 rows is 0 or less (all 3 folds)" in entry.notes[0]


def test_rows_of_a_class_absent_from_the_training_rows_are_left_out_of_the_log_loss() -> None:
    labels = np.array(["a", "b"] * 20 + ["c"])
    comparison = compare(X[:41], labels, models=[DummyClassifier()], cv=5)
    (entry,) = comparison.entries
    assert entry.mean("log_loss") == pytest.approx(np.log(2), rel=0.05)
    (note,) = [note for note in comparison.notes if "lack" in note]
    assert "lack: 'c' (fold " in note


class Two:
    """A classifier fitted to two of three ordered labels."""

    classes_ = np.array([1, 3])

    def predict(self, X: Any) -> Any:
        return np.array([1, 3, 1])

    def predict_proba(self, X: Any) -> Any:
        return np.array([[0.75, 0.25], [0.0, 1.0], [1.0, 0.0]])


def test_ordered_classes_are_measured_by_distances_of_ranks() -> None:
    task = task_for([1, 2, 3], 3, "ordered")
    rows = np.arange(3)
    scores = task.scores(task.forecast(Two(), None), rows, rows)
    # P(≤1), P(≤2) against the truths 1, 2, 3: 2·0.25², 0² + 1², 1² + 1²
    assert scores["rps"] == pytest.approx((2 * 0.25**2 + 1 + 2) / 3)
    assert scores["rank_error"] == pytest.approx((0 + 1 + 2) / 3)
    assert scores["within_one"] == pytest.approx(2 / 3)


def test_the_score_of_a_decision_without_probabilities_is_its_distance_in_ranks() -> None:
    task = task_for(["c", "a", "b"], 3, order=["a", "b", "c"])
    rows = np.arange(3)
    forecast = task.forecast(Ranking([[1.0, 0.0, 0.0]] * 3), None)
    scores = task.scores(forecast, rows, rows)
    assert scores["rps"] == scores["rank_error"] == pytest.approx(1.0)


def test_amounts_are_measured_in_their_units() -> None:
    y, predicted = np.array([1.0, 10.0, 100.0]), np.array([2.0, 10.0, 50.0])
    task, rows = task_for(y, 3, "amounts"), np.arange(3)
    scores = task.scores(task.forecast(Fixed(predicted), None), rows, rows)
    assert scores["mae"] == pytest.approx(51 / 3)
    assert scores["relative_error"] == pytest.approx(0.5)
    below = task.remarks([task.forecast(Fixed(predicted - 5), None)], [(rows, rows)])
    assert below[0].startswith("the predicted amount of 1 row is below 0 (fold 1)")
