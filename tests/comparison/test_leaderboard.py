"""A comparison is fair, complete and honest about failures."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB

from mercer._errors import DataError, EmptyDataError
from mercer.comparison import Leaderboard, compare, crossvalidation

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


class Stubborn(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Fails on its third fit, after two that went well."""

    fits = 0

    def fit(self, X: Any, y: Any) -> Stubborn:
        Stubborn.fits += 1
        warnings.warn("this is getting hard", stacklevel=1)
        if Stubborn.fits % 3 == 0:
            raise ArithmeticError("enough is enough\nand more")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X), dtype=int)


def test_the_scores_are_those_of_scikit_learn() -> None:
    board = compare(X, NAMES, models=[GaussianNB()], cv=4, random_state=3)
    folds = StratifiedKFold(4, shuffle=True, random_state=3)
    (result,) = board.results
    assert result.accuracy == pytest.approx(cross_val_score(GaussianNB(), X, Y, cv=folds).mean())
    losses = []
    for train, test in folds.split(X, Y):
        losses.append(log_loss(Y[test], GaussianNB().fit(X[train], Y[train]).predict_proba(X[test])))
    assert result.log_loss == pytest.approx(np.mean(losses))
    assert result.fit_seconds > 0


@pytest.mark.parametrize(
    "labels", [Y, Y * 1.0, NAMES, NAMES.astype(object), pd.Series(NAMES, dtype="category"), Y + 10**12]
)
def test_any_labels(labels: Any) -> None:
    (result,) = compare(X, labels, models=[GaussianNB()]).results
    assert result.accuracy == compare(X, Y, models=[GaussianNB()]).results[0].accuracy


@pytest.mark.parametrize("frame", [pd.DataFrame(X), pl.DataFrame(X), X.tolist()])
def test_frames_reach_the_models_as_they_are(frame: Any) -> None:
    (result,) = compare(frame, Y, models=[GaussianNB()]).results
    assert result.accuracy == compare(X, Y, models=[GaussianNB()]).results[0].accuracy


def test_models_see_the_labels_themselves() -> None:
    class Particular(GaussianNB):  # type: ignore[misc]
        def fit(self, X: Any, y: Any) -> Any:
            raise ValueError(f"no {y[0]} today")

    (result,) = compare(X, NAMES, models=[Particular()]).results
    assert result.note == "fold 1: ValueError: no setosa today"


def test_a_first_fit_that_compiles_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 9.0, 10.0, 11.0])
    monkeypatch.setattr(crossvalidation.time, "perf_counter", lambda: next(clock))
    assert compare(X, Y, models=[GaussianNB()], cv=2).results[0].fit_seconds == 1.0


def test_best_first_and_failures_last() -> None:
    Stubborn.fits = 0
    models = {"stubborn": Stubborn(), "guess": DummyClassifier(), "bayes": GaussianNB(), "glm": LogisticRegression()}
    board = compare(X, Y, models=models)
    assert [result.model for result in board.results][2:] == ["guess", "stubborn"]
    failed = board.results[-1]
    assert failed.note == "fold 3: ArithmeticError: enough is enough"
    assert math.isnan(failed.accuracy)
    assert str(board).endswith("stubborn: fold 3: ArithmeticError: enough is enough")


def test_a_warning_becomes_a_note_and_not_noise(recwarn: pytest.WarningsRecorder) -> None:
    Stubborn.fits = 0
    (result,) = compare(X, Y, models=[Stubborn()], cv=2).results
    assert result.note == "UserWarning: this is getting hard"
    assert not recwarn.list


def test_a_model_without_probabilities_has_no_log_loss() -> None:
    (result,) = compare(X, Y, models=[RidgeClassifier()]).results
    assert math.isnan(result.log_loss)
    assert result.accuracy > 0.7


def test_certainty_in_the_wrong_is_infinitely_bad() -> None:
    (result,) = compare(X, Y, models=[DummyClassifier(strategy="most_frequent")]).results
    assert result.log_loss == math.inf


def test_models_of_one_class_are_numbered() -> None:
    board = compare(X, Y, models=[GaussianNB(), GaussianNB(var_smoothing=1e-3), DummyClassifier()], cv=2)
    assert {result.model for result in board.results} == {"GaussianNB 1", "GaussianNB 2", "DummyClassifier"}


def test_progress_counts_every_fit() -> None:
    calls: list[tuple[int, int, str]] = []
    compare(X, Y, models={"a": GaussianNB(), "b": GaussianNB()}, cv=2, progress=lambda *call: calls.append(call))
    assert calls == [(0, 4, "a"), (1, 4, "a"), (2, 4, "b"), (3, 4, "b"), (4, 4, "")]


def test_a_class_with_fewer_rows_than_folds_is_noted() -> None:
    labels = np.where(np.arange(150) < 1, "rare", "common")
    board = compare(X, labels, models=[GaussianNB(), DummyClassifier()])
    assert "Class 'rare' has 1 row(s), fewer than there are folds." in board.notes
    assert "Always answering 'common' would be right in 99.3% of the rows." in board.notes
    assert [result.log_loss for result in board.results] == [math.inf, math.inf]


@pytest.mark.parametrize(
    ("data", "labels", "options", "error", "sentence"),
    [
        (X, Y[:-1], {}, DataError, "150 rows.*149 labels"),
        (X[:0], Y[:0], {}, EmptyDataError, "no rows"),
        (X[:50], Y[:50], {}, DataError, "at least two classes"),
        (X, Y, {"cv": 51}, DataError, "from 2 to 50 folds"),
        (X, Y, {"cv": 1}, DataError, "from 2 to 50 folds"),
        (
            X,
            [f"u{i}" for i in range(len(X))],
            {},
            DataError,
            "a label of its own, e.g. 'u0'.*give a target that recurs",
        ),
        (X, X[:, 0], {"task": "classification"}, DataError, "continuous"),
        (X, Y, {"task": "guessing"}, DataError, "regression, counts or auto"),
    ],
)
def test_bad_input(data: Any, labels: Any, options: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        compare(data, labels, models=[GaussianNB()], **options)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_the_board_as_a_frame(library: str) -> None:
    board = compare(X, Y, models=[GaussianNB(), DummyClassifier()], cv=2)
    frame = board.frame(library)
    assert frame.shape == (2, 5)
    assert [str(name) for name in frame["model"]] == ["GaussianNB", "DummyClassifier"]


def test_the_board_prints_as_a_table() -> None:
    board = compare(X, Y, models=[GaussianNB()], cv=2)
    assert isinstance(board, Leaderboard)
    title, headings, _, row, note = str(board).splitlines()
    assert title == "150 rows × 4 columns, 3 classes; 2 stratified folds"
    assert headings.split() == ["model", "accuracy", "log", "loss", "fit", "seconds"]
    assert row.split()[:2] == ["GaussianNB", f"{board.results[0].accuracy:.4f}"]
    assert note.startswith("Always answering")
