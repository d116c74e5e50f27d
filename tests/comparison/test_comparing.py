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
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB

from mercer._errors import ColumnMismatchError, ComparisonInterrupted, DataError, EmptyDataError, NonFiniteError
from mercer.comparison import Comparison, compare
from mercer.comparison import _cross_validation as cross_validation
from tests._ctrl_c import interrupt

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


def accuracy(comparison: Comparison) -> float:
    return comparison.entries[0].mean("accuracy")


class Stubborn(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Fails on its third fit, after two that went well."""

    fits = 0

    def fit(self, X: Any, y: Any) -> Stubborn:
        Stubborn.fits += 1
        warnings.warn(f"this is getting hard in fit {Stubborn.fits}", stacklevel=1)
        if Stubborn.fits % 3 == 0:
            raise ArithmeticError("enough is enough\nand more")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X), dtype=int)


def test_the_scores_agree_with_scikit_learn() -> None:
    comparison = compare(X, NAMES, models=[GaussianNB()], cv=4, random_state=3)
    folds = StratifiedKFold(4, shuffle=True, random_state=3)
    (entry,) = comparison.entries
    np.testing.assert_allclose(entry.scores["accuracy"], cross_val_score(GaussianNB(), X, Y, cv=folds))
    losses = []
    for train, test in folds.split(X, Y):
        proba = GaussianNB().fit(X[train], Y[train]).predict_proba(X[test])
        np.testing.assert_allclose(entry.held_out[test], proba)
        losses.append(log_loss(Y[test], proba))
    np.testing.assert_allclose(entry.scores["log_loss"], losses)
    assert entry.fit_seconds > 0
    assert entry.predict_seconds > 0


@pytest.mark.parametrize(
    "labels", [Y, Y * 1.0, NAMES, NAMES.astype(object), pd.Series(NAMES, dtype="category"), Y + 10**12]
)
def test_labels_may_be_of_any_type(labels: Any) -> None:
    assert accuracy(compare(X, labels, models=[GaussianNB()])) == accuracy(compare(X, Y, models=[GaussianNB()]))


@pytest.mark.parametrize("frame", [pd.DataFrame(X), pl.DataFrame(X), X.tolist()])
def test_frames_reach_the_models_as_they_are(frame: Any) -> None:
    assert accuracy(compare(frame, Y, models=[GaussianNB()])) == accuracy(compare(X, Y, models=[GaussianNB()]))


def test_models_receive_the_original_labels() -> None:
    class Particular(GaussianNB):  # type: ignore[misc]
        def fit(self, X: Any, y: Any) -> Any:
            raise ValueError(f"no {y[0]} today")

    (entry,) = compare(X, NAMES, models=[Particular()]).entries
    assert entry.notes == ("fold 1: ValueError: no setosa today",)


def test_a_first_fit_that_compiles_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(np.cumsum([0, 9, 0, 5, 0, 1, 0, 2]).tolist())
    monkeypatch.setattr(cross_validation, "now", lambda: next(clock))
    (entry,) = compare(X, Y, models=[GaussianNB()], cv=2).entries
    assert (entry.fit_seconds, entry.predict_seconds) == (1.0, 2.0)


def test_a_regressor_is_not_accepted_as_a_classifier() -> None:
    (entry,) = compare(X, NAMES == "setosa", models=[LinearRegression()], cv=2).entries
    assert entry.failed
    assert entry.notes[0].endswith("is it a model of numbers?")


def test_best_first_and_failures_last() -> None:
    Stubborn.fits = 0
    models = {"stubborn": Stubborn(), "guess": DummyClassifier(), "bayes": GaussianNB(), "ridge": RidgeClassifier()}
    comparison = compare(X, Y, models=models)
    assert comparison.names == ["bayes", "guess", "ridge", "stubborn"]
    failed = comparison.entries[-1]
    assert failed.failed
    assert failed.notes == ("fold 3: ArithmeticError: enough is enough",)
    assert np.isnan(failed.scores["accuracy"]).all()
    assert np.isnan(failed.held_out).all()
    assert str(comparison).endswith("stubborn: fold 3: ArithmeticError: enough is enough")


def test_a_warning_becomes_a_note_and_not_noise(recwarn: pytest.WarningsRecorder) -> None:
    Stubborn.fits = 0
    (entry,) = compare(X, Y, models=[Stubborn()], cv=2).entries
    assert entry.notes == ("UserWarning: this is getting hard in fit 1 (and 1 similar)",)
    assert not recwarn.list


def test_a_model_without_probabilities_has_no_log_loss() -> None:
    (entry,) = compare(X, Y, models=[RidgeClassifier()]).entries
    assert not entry.probabilistic
    assert entry.calibration is None
    assert math.isnan(entry.mean("log_loss"))
    assert entry.mean("accuracy") > 0.7
    assert entry.mean("auc") > 0.7
    np.testing.assert_array_equal(entry.held_out.sum(axis=1), 1.0)


def test_a_probability_of_0_for_the_true_class_is_scored_as_in_scikit_learn_and_reported() -> None:
    (entry,) = compare(X, Y, models=[DummyClassifier(strategy="most_frequent")]).entries
    assert entry.mean("log_loss") == pytest.approx(-np.log(np.finfo(float).eps) * 2 / 3)
    assert "the true class of 100 rows has probability 0 (all 5 folds)" in entry.notes[0]


def test_models_of_one_class_are_numbered() -> None:
    comparison = compare(X, Y, models=[GaussianNB(), GaussianNB(var_smoothing=1e-3), DummyClassifier()], cv=2)
    assert set(comparison.names) == {"GaussianNB 1", "GaussianNB 2", "DummyClassifier"}


def test_progress_counts_every_fit() -> None:
    calls: list[tuple[str, int, int, str]] = []
    compare(X, Y, models={"a": GaussianNB(), "b": GaussianNB()}, cv=2, progress=lambda *call: calls.append(call))
    assert calls[:2] == [("data", 0, 1, ""), ("data", 1, 1, "")]
    assert [call[1:] for call in calls[2:]] == [
        (0, 4, "a, fold 1 of 2"),
        (1, 4, "a, fold 2 of 2"),
        (2, 4, "b, fold 1 of 2"),
        (3, 4, "b, fold 2 of 2"),
        (4, 4, ""),
    ]
    assert {call[0] for call in calls[2:]} == {"cross-validation"}


def test_the_same_seed_gives_the_same_numbers() -> None:
    frame = pd.DataFrame({"a": X[:60, 0], "b": X[:60, 1], "c": np.where(X[:60, 3] > 0.3, "x", "y")})
    one, two = (compare(frame, NAMES[:60] == "setosa", cv=2) for _ in range(2))
    assert one.names == two.names
    for first, second in zip(one.entries, two.entries, strict=True):
        np.testing.assert_array_equal(first.held_out, second.held_out)
        for name, scores in first.scores.items():
            np.testing.assert_array_equal(scores, second.scores[name])
        assert first.calibration == second.calibration


class Memory(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Knows every row that it has seen, and nothing else."""

    def fit(self, X: Any, y: Any) -> Memory:
        self.classes_ = np.unique(y)
        self.seen_ = {row.tobytes() for row in np.asarray(X)}
        return self

    def predict(self, X: Any) -> Any:
        return np.array([int(row.tobytes() in self.seen_) for row in np.asarray(X)])


@pytest.mark.parametrize("repeats", [1, 3])
def test_held_out_rows_are_not_in_the_training_set(repeats: int) -> None:
    rows = np.arange(80.0)[:, None]
    (entry,) = compare(rows, np.arange(80) % 2, models=[Memory()], repeats=repeats).entries
    np.testing.assert_array_equal(entry.held_out, np.tile([1.0, 0.0], (80, 1)))


def test_rows_that_are_never_held_out_have_no_prediction() -> None:
    comparison = compare(X[:100], Y[:100], models=[GaussianNB()], cv=3, times=np.tile(np.arange(50), 2))
    (entry,) = comparison.entries
    held = np.concatenate([test for _, test in comparison.splits])
    assert np.isnan(entry.held_out).any(axis=1).sum() == 100 - len(held) > 0
    assert not np.isnan(entry.held_out[held]).any()


def test_copies_across_folds_are_counted() -> None:
    twice = np.repeat(X[:20] + np.arange(20)[:, None] / 100, 2, axis=0)
    labels = np.repeat(np.arange(20) % 2, 2)
    notes = [note for note in compare(twice, labels, models=[GaussianNB()]).notes if "have memorised their" in note]
    assert len(notes) == 1
    grouped = compare(twice, labels, models=[GaussianNB()], groups=np.repeat(np.arange(20), 2))
    assert not any("have memorised their" in note for note in grouped.notes)


def test_labels_at_random_are_not_learnt() -> None:
    """Whatever is tuned, it is tuned on training rows alone; else chance would look like skill."""
    rng = np.random.default_rng(0)
    noise, labels = rng.normal(size=(120, 12)), np.arange(120) % 2
    comparison = compare(noise, labels, cv=2)
    for entry in comparison.done:
        if entry.kind != "baseline":
            assert entry.mean("accuracy") < 0.65, entry.name
    assert any("guessing" in sentence for sentence in comparison.sentences())


class Impatient(GaussianNB):  # type: ignore[misc]
    """Presses Ctrl-C."""

    fit = interrupt


def test_ctrl_c_keeps_the_finished_models() -> None:
    models = {"bayes": GaussianNB(), "guess": DummyClassifier(), "stop": Impatient(), "never": LogisticRegression()}
    with pytest.raises(ComparisonInterrupted, match="2 of 4 models are done") as caught:
        compare(X, Y, models=models, cv=2)
    kept = caught.value.comparison
    assert kept.names == ["bayes", "guess"]
    assert "Stopped by Ctrl-C before these were done: stop, never." in kept.notes
    assert kept.sentences()[0].startswith("Use bayes")
    with pytest.raises(KeyboardInterrupt) as caught_early:
        compare(X, Y, models={"stop": Impatient()}, cv=2)
    assert caught_early.value.comparison is None  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("data", "labels", "options", "error", "sentence"),
    [
        (X, Y[:-1], {}, DataError, "150 rows.*149 labels"),
        (X[:0], Y[:0], {}, EmptyDataError, "no rows"),
        (X[:50], Y[:50], {}, DataError, "at least two classes"),
        (X, np.full(150, 2.5), {}, DataError, "The target is 2.5 in every row.*another target"),
        (X, [None] * 150, {}, DataError, "missing label is in row 0"),
        (X, Y, {"models": []}, DataError, "models is empty"),
        (X[:, :0], Y, {"models": None}, EmptyDataError, "no columns to learn from"),
        (np.where(X[7, 1] == X, np.inf, X), Y, {"models": None}, NonFiniteError, r"'x1' is inf in row 6\. .*number"),
        (pd.DataFrame({"x": X[:, 0], "y": None}), "y", {}, EmptyDataError, "'y' is missing in all 150 rows; name"),
        (X, Y, {"cv": 51}, DataError, "from 2 to 50 folds"),
        (X, Y, {"cv": 1}, DataError, "from 2 to 50 folds"),
        (X, Y, {"cv": "5"}, DataError, "cv must be a number of folds, not '5'.*from 2 to 50"),
        (X, Y, {"repeats": 1.5}, DataError, "repeats must be a whole number of 1 or more, not 1.5"),
        (X, Y, {"time_limit": 0}, DataError, "positive number of seconds"),
        (X, Y, {"time_limit": "1 min"}, DataError, "positive number of seconds"),
        (X, Y, {"models": [GaussianNB]}, DataError, "GaussianNB.*is not a model"),
        (X, Y, {"times": np.array([1, *["a"] * 149], dtype=object)}, DataError, "cannot be sorted"),
        (
            X,
            [f"u{i}" for i in range(len(X))],
            {},
            DataError,
            "a label of its own, e.g. 'u0'.*give a target that recurs",
        ),
        (X, X[:, 0], {"task": "classification"}, DataError, "continuous"),
        (X, Y, {"task": "guessing"}, DataError, "classification, ordered, regression, amounts, counts or auto"),
    ],
)
def test_invalid_input_is_rejected(data: Any, labels: Any, options: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        compare(data, labels, **{"models": [GaussianNB()], **options})


def test_settings_describe_how_to_reproduce_the_numbers() -> None:
    settings = compare(X, Y, models=[GaussianNB()], cv=2, repeats=3, random_state=5).settings
    assert {
        "folds": 2,
        "repeats": 3,
        "seed": 5,
        "splits": "random",
        "task": "classification",
    }.items() <= settings.items()
    assert {"mercer", "numpy", "scikit-learn"} <= settings.keys()


def test_the_target_may_be_given_by_name() -> None:
    frame = pd.DataFrame({"age": np.arange(60.0) % 17, "ward": np.arange(60) % 6, "ill": np.arange(60) % 17 > 8})
    named = compare(frame, "ill", models=["GaussianNB"], groups="ward", cv=3)
    given = compare(frame[["age"]], frame["ill"], models=["GaussianNB"], groups=frame["ward"], cv=3)
    assert named.target == given.target == "ill"
    assert list(named.table.names) == ["age"]
    np.testing.assert_array_equal(named.entry().scores["log_loss"], given.entry().scores["log_loss"])
    gappy = frame.assign(ill=np.where(frame["age"] > 15, None, frame["ill"]))
    assert any("have no 'ill': 3" in note for note in compare(gappy, "ill", models=["GaussianNB"], cv=3).notes)
    with pytest.raises(ColumnMismatchError, match=r"no column 'il'.*'ill'"):
        compare(frame, "il")
    with pytest.raises(DataError, match="X is not a frame"):
        compare(frame.to_numpy(), "ill")
    with pytest.raises(DataError, match="groups and times have too many"):
        compare(gappy, "ill", groups=frame["ward"])


def test_the_repr_is_short() -> None:
    frame = pd.DataFrame({"age": np.arange(60.0) % 17, "ill": np.arange(60) % 17 > 8})
    title, recommended, counts = repr(compare(frame, "ill", models=["GaussianNB"], cv=3)).splitlines()
    assert title.startswith("Comparison of 'ill': 60 rows × 1 column, 2 classes")
    assert recommended.startswith("  recommended: GaussianNB (log loss 0.")
    assert counts == "  models: 1; problems: 1"


@pytest.mark.parametrize("empty", [None, np.nan, "", 7.0])
def test_columns_without_variation_are_rejected(empty: Any) -> None:
    frame = pd.DataFrame({"a": [empty] * 40, "b": [empty] * 40, "y": [0, 1] * 20})
    with pytest.raises(EmptyDataError, match=r"nothing to learn from: 'a' and 'b' have no values, or the same one"):
        compare(frame, "y")


def test_notes_name_the_columns_of_the_table() -> None:
    """A discriminant in a pipeline gets an array, whose columns have no names."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 3)), columns=["age", "height", "weight"])
    y = np.where(rng.random(80) < 0.5, "a", "b")
    X.loc[y == "a", "weight"] = 1.0
    X["sex"] = rng.choice(["f", "m"], size=80)
    found = compare(X, y, models=["GaussianDiscriminant()"], cv=3)
    notes = [note for entry in found.entries for note in entry.notes]
    assert any("column 'weight' is collinear or constant there" in note for note in notes)
    assert not any("'x2'" in note for note in notes)
