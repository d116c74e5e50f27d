"""What is asked of models is measured as scikit-learn measures it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import d2_tweedie_score, r2_score, root_mean_squared_error
from sklearn.model_selection import KFold

from mercer.comparison import compare
from mercer.using.which_task import task_for

X, Y = load_diabetes(return_X_y=True)


def test_many_numbers_as_classes_may_be_amounts() -> None:
    doubt = "The classes are numbers; the task counts or regression would take them for amounts."
    assert doubt in task_for(np.repeat(np.arange(11), 5), 55).notes()
    assert doubt not in task_for(np.repeat(np.arange(10), 5), 50).notes()
    assert doubt not in task_for(np.repeat(np.arange(11), 5).astype(str), 55).notes()


class Certain:
    """A classifier with probabilities and no logarithms of them."""

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


def test_a_class_that_a_model_never_saw_has_probability_zero() -> None:
    task = task_for([0, 1, 2], 3)
    forecast = task.forecast(Certain(), None)
    np.testing.assert_allclose(task.held(forecast), [[0.5, 0.5, 0], [0.25, 0.75, 0]])


class Ranking:
    """A classifier with scores alone, in the shape of its choice."""

    classes_ = np.array(["a", "b", "c"])

    def __init__(self, scores: Any) -> None:
        self._scores = np.asarray(scores, dtype=float)

    def predict(self, X: Any) -> Any:
        return self.classes_[self._scores.argmax(axis=1)]

    def decision_function(self, X: Any) -> Any:
        return self._scores


def test_scores_of_classes_are_ranked_and_those_of_pairs_are_not() -> None:
    task = task_for(["a", "b", "c", "d"], 4)
    forecast = task.forecast(Ranking(np.eye(3)), None)
    assert forecast.decisions.tolist() == [0, 1, 2]
    assert forecast.scores is not None
    np.testing.assert_array_equal(forecast.scores, np.column_stack([np.eye(3), np.full(3, -np.inf)]))
    np.testing.assert_array_equal(task.held(forecast), np.eye(4)[:3])
    pairs = Ranking(np.eye(3)[:, :2])
    assert task.forecast(pairs, None).scores is None


def test_numbers_are_measured_by_r2_and_rmse() -> None:
    (entry,) = compare(X, Y + 0.5, models=[LinearRegression()], cv=3, random_state=1).entries
    scores = []
    for train, test in KFold(3, shuffle=True, random_state=1).split(X):
        predicted = LinearRegression().fit(X[train], Y[train]).predict(X[test])
        # the baseline knows the training rows only
        baseline = np.square(Y[test] - Y[train].mean()).sum() / np.square(Y[test] - Y[test].mean()).sum()
        explained = 1 - (1 - r2_score(Y[test], predicted)) / baseline
        scores.append((explained, root_mean_squared_error(Y[test], predicted)))
    np.testing.assert_allclose(np.transpose([entry.scores["explained"], entry.scores["rmse"]]), scores)


class Fixed:
    """A model that predicts what it was given."""

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


class Nothing(DummyRegressor):  # type: ignore[misc]
    """Predicts that nothing is ever counted."""

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X))


def test_an_infinite_deviance_is_explained_in_words() -> None:
    y = np.arange(60) % 7
    (entry,) = compare(X[:60], y, models=[Nothing()], task="counts", cv=3).entries
    assert entry.mean("deviance") == np.inf
    assert "a mean of 0 or less where something was counted, in 3 of 3 splits" in entry.notes[0]
    fixed = task_for(y, 60, "counts").remark({"deviance": np.array([1.0, np.inf, np.inf])})
    assert "in 2 of 3 splits; a model with a log link" in fixed
    assert task_for(y, 60, "counts").remark({"deviance": np.ones(3)}) == ""
