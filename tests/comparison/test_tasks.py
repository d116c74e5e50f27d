"""What is asked of the models follows from the target, and is measured as scikit-learn measures it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.metrics import d2_tweedie_score, r2_score, root_mean_squared_error
from sklearn.model_selection import KFold

from mercer._errors import DataError
from mercer.comparison import compare
from mercer.comparison.tasks import task_for

X, Y = load_diabetes(return_X_y=True)


@pytest.mark.parametrize(
    ("y", "name"),
    [
        (["yes", "no"], "classification"),
        ([True, False], "classification"),
        (np.arange(30), "classification"),
        (np.arange(31), "counts"),
        (np.arange(31) - 1, "regression"),
        ([0.5, 1.0], "regression"),
        ([1.0, 2.0], "classification"),
    ],
)
def test_the_target_decides(y: Any, name: str) -> None:
    assert task_for(y, len(y)).name == name


def test_the_asked_for_task_wins() -> None:
    assert task_for([1, 2, 1], 3, "regression").name == "regression"


@pytest.mark.parametrize(
    ("y", "task", "words"),
    [
        (["yes", "no"], "regression", "'yes' in row 0.*classification"),
        (["1", "no"], "counts", "'no' in row 1.*classification"),
        ([1.0, np.nan], "regression", "nan in row 1.*drop"),
        ([1.0, np.inf], "counts", "inf in row 1"),
        ([1.0, None], "regression", "None in row 1"),
        ([0, 3, -1], "counts", "-1.0 in row 2; use the task regression"),
        ([0.0, 0.5], "counts", "0.5 in row 1"),
        ([[1.0, 2.0], [1.0, 2.0]], "regression", "1d array"),
    ],
)
def test_a_target_that_the_task_cannot_have_is_named(y: Any, task: str, words: str) -> None:
    with pytest.raises(DataError, match=words):
        task_for(y, len(y), task)


def test_numbers_written_as_text_are_numbers_if_asked_for() -> None:
    np.testing.assert_array_equal(task_for(["1", "2.5"], 2, "regression").y, [1.0, 2.5])


def test_many_numbers_as_classes_may_be_amounts() -> None:
    doubt = "The classes are numbers; the task counts or regression would take them for amounts."
    assert doubt in task_for(np.repeat(np.arange(11), 5), 55).notes(5)
    assert doubt not in task_for(np.repeat(np.arange(10), 5), 50).notes(5)
    assert doubt not in task_for(np.repeat(np.arange(11), 5).astype(str), 55).notes(5)


class Certain:
    """A classifier with probabilities and no logarithms of them."""

    classes_ = np.array([0, 1])

    def predict(self, X: Any) -> Any:
        return np.array([1, 1])

    def predict_proba(self, X: Any) -> Any:
        return np.array([[0.5, 0.5], [0.25, 0.75]])


def test_the_log_loss_of_probabilities() -> None:
    rows = np.array([0, 1])
    accuracy, loss = task_for([0, 1], 2).score(Certain(), None, rows, rows)
    assert accuracy == 0.5
    assert loss == pytest.approx(-np.log([0.5, 0.75]).mean())


def test_numbers_are_measured_by_r2_and_rmse() -> None:
    (result,) = compare(X, Y + 0.5, models=[LinearRegression()], cv=3, random_state=1).results
    scores = []
    for train, test in KFold(3, shuffle=True, random_state=1).split(X):
        predicted = LinearRegression().fit(X[train], Y[train]).predict(X[test])
        # the baseline knows the training rows only
        baseline = np.square(Y[test] - Y[train].mean()).sum() / np.square(Y[test] - Y[test].mean()).sum()
        explained = 1 - (1 - r2_score(Y[test], predicted)) / baseline
        scores.append((explained, root_mean_squared_error(Y[test], predicted)))
    np.testing.assert_allclose(result[1:3], np.mean(scores, axis=0))


class Fixed:
    """A model that predicts what it was given."""

    def __init__(self, prediction: Any) -> None:
        self._prediction = np.asarray(prediction, dtype=float)

    def predict(self, X: Any) -> Any:
        return self._prediction


def test_counts_are_measured_by_poisson_deviance() -> None:
    y, predicted, rows = np.arange(1.0, 7.0), np.array([2.0, 3.0, 3.0]), np.array([0, 1, 2])
    explained, rmse = task_for(y, 6, "counts").score(Fixed(predicted), None, rows, rows)
    assert explained == pytest.approx(d2_tweedie_score(y[:3], predicted, power=1))
    assert rmse == pytest.approx(np.sqrt(2 / 3))


@pytest.mark.parametrize("impossible", [-1.0, 0.0])
def test_to_rule_out_a_count_that_was_seen_explains_less_than_nothing(impossible: float) -> None:
    y, rows = np.arange(1.0, 4.0), np.arange(3)
    assert task_for(y, 3, "counts").score(Fixed([1.0, impossible, 3.0]), None, rows, rows)[0] == -np.inf
