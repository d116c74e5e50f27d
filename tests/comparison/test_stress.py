"""Models under stress."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.pipeline import Pipeline

from mercer import (
    GaussianNB,
    LinearDiscriminantAnalysis,
    LinearThreshold,
    LogisticRegression,
    NaiveBayes,
    counterpart,
    stress,
)
from mercer._errors import DataError, ExperimentInterrupted
from tests._ctrl_c import interrupted_at

X, Y = load_iris(return_X_y=True)
LABELS = np.array(["setosa", "versicolor", "virginica"])[Y]


@pytest.fixture(scope="module")
def result() -> Any:
    models = [GaussianNB(), LogisticRegression(), LinearThreshold("lms")]
    return stress(models, X, LABELS, missing=[0, 0.5], noise=[0, 3], repeats=3)


def test_without_damage_the_score_is_the_ordinary_one(result: Any) -> None:
    from mercer.comparison.learning_curves import hold_out_rows

    order, test = hold_out_rows(Y, 1 / 3, np.random.default_rng(0))
    by_hand = GaussianNB().fit(X[order], LABELS[order]).score(X[test], LABELS[test])
    for damage in ("missing", "noise"):
        assert result.measured[damage][0, 0, 0, 0] == pytest.approx(by_hand, abs=1e-12)


def test_damage_lowers_the_score(result: Any) -> None:
    for damage in ("missing", "noise"):
        accuracy = result.measured[damage][..., 0].mean(axis=2)
        assert (accuracy[:, 0] > accuracy[:, 1]).all()


def test_a_model_without_probabilities_has_accuracy_only(result: Any) -> None:
    of_rule = result.measured["missing"][2]
    assert np.isfinite(of_rule[..., 0]).all()
    assert np.isnan(of_rule[..., 1:]).all()


def test_models_whose_gaps_were_filled_are_noted(result: Any) -> None:
    assert [note.split(":")[0] for note in result.notes] == ["LogisticRegression", "LinearThreshold"]


@pytest.mark.usefixtures("pyplot")
def test_results_are_shown_as_table_chart_and_plot(result: Any) -> None:
    frame = result.frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) == 3 * (2 + 2)
    assert isinstance(result.frame("polars"), pl.DataFrame)
    assert "damaged rows to predict" in str(result)
    assert "<table>" in result._repr_html_()
    chart = result.chart("noise", "log_loss")
    assert [line.name for line in chart.marks] == list(result.names)
    assert "TableFeatures" in chart.caption
    assert result.plot("missing").get_xlabel() == "share of values removed"


@pytest.mark.parametrize("where", ["test", "train", "both"])
def test_the_seed_fixes_everything(where: Any) -> None:
    options = {"missing": [0.3], "noise": [1], "repeats": 2, "where": where}
    one, other = (stress(GaussianNB(), X, Y, **options) for _ in range(2))
    for damage in ("missing", "noise"):
        np.testing.assert_array_equal(one.measured[damage], other.measured[damage])
        assert np.isfinite(one.measured[damage]).all()


def test_noise_in_training_rows_leaves_the_test_rows_alone() -> None:
    """A model that learnt from noise still has something to go by where the rows to predict are as they were."""
    noisy_test, noisy_train = (
        stress(GaussianNB(), X, Y, missing=[], noise=[20], repeats=2, where=where) for where in ("test", "train")
    )
    assert noisy_test.measured["noise"][..., 0].mean() < noisy_train.measured["noise"][..., 0].mean()


def mixed() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    y = rng.choice(["no", "yes"], size=120)
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=120) + 2 * (y == "yes"),
            "whole": rng.poisson(200, size=120),
            "colour": np.where(y == "yes", "red", rng.choice(["red", "blue"], size=120)),
            "flag": rng.random(120) < 0.5,
        }
    )
    return frame, y


@pytest.mark.parametrize("convert", [lambda frame: frame, pl.from_pandas, lambda frame: frame.to_numpy(dtype=object)])
def test_mixed_tables_are_accepted(convert: Any) -> None:
    frame, y = mixed()
    models = [NaiveBayes(), counterpart(NaiveBayes()), LogisticRegression()]
    result = stress(models, convert(frame), y, missing=[0, 0.3], noise=[0.5], repeats=2)
    for damage in ("missing", "noise"):
        assert np.isfinite(result.measured[damage][..., 0]).all(), result.notes


def test_all_models_receive_the_same_damage() -> None:
    result = stress({"a": GaussianNB(), "b": GaussianNB()}, X, Y, missing=[0.4], noise=[1], repeats=2)
    for damage in ("missing", "noise"):
        np.testing.assert_array_equal(*result.measured[damage])


def test_categories_have_no_noise() -> None:
    frame, y = mixed()
    result = stress(NaiveBayes(), frame[["colour"]], y, missing=[], noise=[0, 1], repeats=1)
    assert result.measured["noise"][0, 0, 0, 0] == result.measured["noise"][0, 1, 0, 0]
    assert result.notes == ("No column is an amount that noise could be added to.",)


class Broken(GaussianNB):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        raise ValueError("no luck")


def test_failures_become_notes() -> None:
    result = stress([Broken(), GaussianNB()], X, Y, missing=[0], noise=[], repeats=2)
    assert np.isnan(result.measured["missing"][0]).all()
    assert np.isfinite(result.measured["missing"][1]).all()
    assert result.notes == ("Broken: not fitted: ValueError: no luck",)


@pytest.mark.parametrize("unit", [1e-100, 1e150])
def test_units_do_not_matter(unit: float) -> None:
    options: dict[str, Any] = {"missing": [0.3], "noise": [0.5], "repeats": 2}
    plain, scaled = (stress(GaussianNB(var_smoothing=0), rows, Y, **options) for rows in (X, X * unit))
    for damage in ("missing", "noise"):
        np.testing.assert_allclose(plain.measured[damage], scaled.measured[damage], rtol=1e-6)


def test_a_column_without_values_to_learn_from_gets_no_noise() -> None:
    rows = X.copy()
    rows[3:, 0] = np.nan
    result = stress(GaussianNB(), rows, Y, missing=[], noise=[0.5], repeats=2)
    assert np.isfinite(result.measured["noise"]).all()


def test_passthrough_steps_of_a_pipeline_are_skipped() -> None:
    idle = Pipeline([("idle", "passthrough"), ("model", GaussianNB())])
    assert stress(idle, X, Y, missing=[0.3], noise=[], repeats=1).notes == ()


def test_ctrl_c_keeps_the_finished_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"missing": [0, 0.3], "noise": [1]}
    monkeypatch.setattr(GaussianNB, "fit", interrupted_at(3, GaussianNB.fit))
    with pytest.raises(ExperimentInterrupted, match="2 of 5 repeats are done") as stopped:
        stress(GaussianNB(), X, Y, repeats=5, **options)
    whole = stress(GaussianNB(), X, Y, repeats=2, **options)
    for damage in ("missing", "noise"):
        np.testing.assert_array_equal(stopped.value.result.measured[damage], whole.measured[damage])


def test_unknown_kinds_of_damage_and_measures_are_named(result: Any) -> None:
    for ask in (result.chart, result.plot):
        with pytest.raises(DataError, match="'missing', 'noise', not 'gaps'"):
            ask("gaps")
        with pytest.raises(DataError, match=r"'accuracy', .* not 'error'"):
            ask("noise", "error")


def test_progress_is_reported() -> None:
    calls: list[tuple[int, int, str]] = []
    models = [GaussianNB(), LinearDiscriminantAnalysis()]
    stress(models, X, Y, missing=[0], noise=[0], repeats=2, progress=lambda *each: calls.append(each))
    assert [done for done, _, _ in calls] == list(range(5))
    assert calls[-1] == (4, 4, "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"missing": [1.5]}, "probabilities"),
        ({"noise": [-1]}, "standard deviations"),
        ({"missing": [], "noise": []}, "give at least one amount"),
        ({"repeats": 0}, "repeats must be a whole number of 1 or more, not 0"),
        ({"where": "nowhere"}, "'nowhere'"),
        ({"repeats": 1.5}, "whole number"),
        ({"models": []}, "no model"),
        ({"models": {}}, "no model"),
        ({"models": "GaussianNB"}, "A model must be an estimator"),
        ({"models": [GaussianNB]}, "A model must be an estimator"),
        ({"X": X[:0], "y": Y[:0]}, "no rows"),
        ({"X": sp.csr_matrix(X)}, "sparse"),
        ({"y": Y[:3]}, "y has 3"),
        ({"y": np.zeros(150)}, "label"),
    ],
)
def test_invalid_arguments_are_rejected(options: dict[str, Any], message: str) -> None:
    given = {"models": GaussianNB(), "X": X, "y": Y, **options}
    with pytest.raises(DataError, match=message):
        stress(given.pop("models"), given.pop("X"), given.pop("y"), **given)


def test_dates_and_texts_may_be_missing() -> None:
    rng = np.random.default_rng(0)
    y = rng.choice(["ham", "spam"], size=90)
    words = np.where(y == "spam", "win a prize now", "see you at lunch")
    frame = pd.DataFrame(
        {"day": pd.date_range("2024-01-01", periods=90), "text": [f"{text} {i}" for i, text in enumerate(words)]}
    )
    result = stress(LogisticRegression(), frame, y, missing=[0, 0.3], noise=[1], repeats=1)
    assert np.isfinite(result.measured["missing"]).all(), result.notes
