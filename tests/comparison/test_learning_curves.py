"""Ng and Jordan's experiment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline

from mercer import (
    CountVectorizer,
    GaussianNB,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    MultinomialNB,
    NaiveBayes,
    TableFeatures,
    counterpart,
    learning_curves,
)
from mercer._errors import DataError, ExperimentInterrupted, NoCounterpartError
from mercer.data import Table
from tests._ctrl_c import interrupt, interrupted_at

X, Y = load_iris(return_X_y=True)
LABELS = np.array(["setosa", "versicolor", "virginica"])[Y]
BOTH = [LinearDiscriminantAnalysis(), LogisticRegression()]


@pytest.fixture(scope="module")
def curves() -> Any:
    return learning_curves(GaussianNB(), X, LABELS, sizes=[9, 30, 90], repeats=4)


def test_curves_have_valid_shapes_and_ranges(curves: Any) -> None:
    assert curves.names == ("GaussianNB", "LogisticRegression")
    assert curves.errors.shape == curves.log_losses.shape == curves.fit_seconds.shape == (2, 3, 4)
    assert ((curves.errors >= 0) & (curves.errors < 0.7)).all()
    assert curves.n_test == 51
    assert curves.notes == ()


def test_the_last_error_is_that_of_a_model_fitted_by_hand(curves: Any) -> None:
    from mercer.comparison.learning_curves import hold_out_rows

    order, test = hold_out_rows(Y, 1 / 3, np.random.default_rng(0))
    rows = order[:90]
    for position, model in enumerate((GaussianNB(), counterpart(GaussianNB()))):
        by_hand = 1 - model.fit(X[rows], LABELS[rows]).score(X[test], LABELS[test])
        assert curves.errors[position, -1, 0] == pytest.approx(by_hand, abs=1e-12)


def test_the_seed_fixes_everything(curves: Any) -> None:
    again = learning_curves(GaussianNB(), X, LABELS, sizes=[9, 30, 90], repeats=4)
    np.testing.assert_array_equal(again.errors, curves.errors)
    np.testing.assert_array_equal(again.log_losses, curves.log_losses)
    assert again.crossover_ == curves.crossover_
    other = learning_curves(GaussianNB(), X, LABELS, sizes=[9, 30, 90], repeats=4, random_state=1)
    assert (other.errors != curves.errors).any()


def test_frames_are_accepted(curves: Any) -> None:
    frame = curves.frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame["size"].tolist() == [9, 30, 90] * 2
    assert ((frame["error_low"] <= frame["error"]) & (frame["error"] <= frame["error_high"])).all()
    np.testing.assert_allclose(frame["error"], curves.errors.mean(axis=2).ravel())
    assert isinstance(curves.frame("polars"), pl.DataFrame)


@pytest.mark.usefixtures("pyplot")
def test_curves_are_shown_as_table_chart_and_plot(curves: Any) -> None:
    assert "GaussianNB and LogisticRegression, 4 repeats, 51 rows held out" in str(curves)
    assert "<table>" in curves._repr_html_()
    chart = curves.chart()
    assert chart.x.scale == "log"
    assert [line.name for line in chart.marks] == list(curves.names)
    assert chart.marks[0].x == (9.0, 30.0, 90.0)
    assert curves.chart("log_loss").y.label == "log loss"
    assert len(curves.plot().get_lines()) >= 2
    assert curves.plot("log_loss").get_ylabel() == "log loss"


@pytest.mark.parametrize(
    "pair", [BOTH, BOTH[::-1], {"LinearDiscriminantAnalysis": BOTH[0], "LogisticRegression": BOTH[1]}, BOTH[1]]
)
def test_the_generative_half_comes_first(pair: Any) -> None:
    curves = learning_curves(pair, X, Y, sizes=[60], repeats=1)
    assert curves.names == ("LinearDiscriminantAnalysis", "LogisticRegression")


def test_two_models_of_one_class_have_distinct_names() -> None:
    curves = learning_curves([GaussianNB(), GaussianNB(shared_variance=True)], X, Y, sizes=[60], repeats=1)
    assert curves.names == ("GaussianNB()", "GaussianNB(shared_variance=True)")
    curves = learning_curves([GaussianNB(), GaussianNB()], X, Y, sizes=[60], repeats=1)
    assert curves.names == ("GaussianNB() 1", "GaussianNB() 2")


def mixed(n: int = 120) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    y = rng.choice(["no", "yes"], size=n)
    number = rng.normal(size=n) + (y == "yes")
    number[rng.random(n) < 0.2] = np.nan
    colour = np.where(rng.random(n) < 0.7, np.where(y == "yes", "red", "blue"), rng.choice(["red", "blue", "grey"], n))
    return pd.DataFrame({"number": number, "colour": np.where(rng.random(n) < 0.1, None, colour)}), y


@pytest.mark.parametrize("convert", [lambda frame: frame, pl.from_pandas, lambda frame: Table.of(frame)])
def test_mixed_tables_with_gaps_are_accepted(convert: Any) -> None:
    frame, y = mixed()
    curves = learning_curves(NaiveBayes(), convert(frame), y, sizes=[10, 80], repeats=3)
    assert not np.isnan(curves.errors).any()
    assert (curves.errors.mean(axis=2)[:, -1] < 0.4).all()


def test_each_model_may_have_its_own_table() -> None:
    frame, y = mixed()
    pair = [NaiveBayes(), make_pipeline(TableFeatures(unseen="ignore"), LogisticRegression())]
    tables = Table.of(frame[["colour"]]), Table.of(frame)
    curves = learning_curves(pair, tables, y, sizes=[80], repeats=2)
    assert not np.isnan(curves.errors).any()


def test_texts_are_accepted() -> None:
    texts = [f"{word} {other}" for word in ("free", "win", "hello", "lunch") for other in ("now", "today", "call")] * 5
    y = ["spam" if text.startswith(("free", "win")) else "ham" for text in texts]
    curves = learning_curves(make_pipeline(CountVectorizer(), MultinomialNB()), texts, y, sizes=[30], repeats=2)
    assert curves.errors.max() == 0


def test_a_rare_class_is_in_every_subset() -> None:
    y = np.where(np.arange(150) < 3, "rare", LABELS)
    curves = learning_curves(GaussianNB(), X, y, sizes=[8, 20], repeats=3)
    assert np.isfinite(curves.log_losses).all()


class Fragile(LogisticRegression):
    """Fails on few rows, and warns on others."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        if len(y) < 20:
            raise ValueError("too few rows")
        import warnings

        warnings.warn("a remark", UserWarning, stacklevel=1)
        return super().fit(X, y, sample_weight)


def test_failures_and_warnings_become_notes() -> None:
    curves = learning_curves([GaussianNB(), Fragile()], X, Y, sizes=[12, 60], repeats=2)
    assert np.isnan(curves.errors[1, 0]).all()
    assert not np.isnan(curves.errors[1, 1]).any()
    assert curves.notes == (
        "Fragile failed in 2 of 4 fits, first: ValueError: too few rows",
        "Fragile warned in 2 of 4 fits, first: UserWarning: a remark",
    )
    assert "–" in str(curves)
    curves.chart()
    curves.frame()


class Dead(LogisticRegression):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        raise ValueError("never")


def test_a_model_that_always_fails_leaves_nothing_to_compare() -> None:
    words = str(learning_curves([GaussianNB(), Dead()], X, Y, sizes=[12, 60], repeats=2))
    assert "GaussianNB and Dead were never fitted to the same rows." in words
    assert "overtake" not in words


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ((0.3, 0.3, 0.1), "B has the smaller error from about 52 (52 to 52) rows on; below, A has."),
        (
            (0.1, 0.3, 0.1),
            "B has the smaller error from about 52 (52 to 52) rows on; below, now one has, now the other.",
        ),
        ((0.1, 0.1, 0.3), "B has the smaller error at some sizes, but not at 90 rows."),
        ((0.3, 0.3, 0.2), "B does not overtake A up to 90 rows."),
    ],
)
def test_the_leading_model_is_reported_for_all_sizes(curves: Any, second: tuple[float, ...], words: str) -> None:
    errors = np.stack([np.full((3, 2), 0.2), np.repeat(np.array(second)[:, None], 2, axis=1)])
    assert replace(curves, names=("A", "B"), errors=errors).sentences()[0] == words


def test_a_single_repeat_has_no_interval() -> None:
    curves = learning_curves(GaussianNB(), X, Y, sizes=[12, 60], repeats=1)
    assert "1 repeat, 51 rows" in str(curves)
    assert "in a single repeat" in str(curves)
    assert "nan" not in str(curves)


def test_ctrl_c_keeps_the_finished_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is pressed in the fifth fit, which is in the third repeat."""
    monkeypatch.setattr(LogisticRegression, "fit", interrupted_at(5, LogisticRegression.fit))
    with pytest.raises(ExperimentInterrupted, match="2 of 4 repeats are done") as stopped:
        learning_curves([GaussianNB(), LogisticRegression()], X, Y, sizes=[12, 60], repeats=4)
    kept = stopped.value.result
    whole = learning_curves([GaussianNB(), LogisticRegression()], X, Y, sizes=[12, 60], repeats=2)
    np.testing.assert_array_equal(kept.errors, whole.errors)
    assert isinstance(stopped.value, KeyboardInterrupt)


def test_ctrl_c_before_the_first_repeat_leaves_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LogisticRegression, "fit", interrupt)
    with pytest.raises(ExperimentInterrupted, match="0 of 2") as stopped:
        learning_curves([GaussianNB(), LogisticRegression()], X, Y, sizes=[12, 60], repeats=2)
    assert stopped.value.result is None


def test_progress_is_reported() -> None:
    calls: list[tuple[int, int, str]] = []
    learning_curves(GaussianNB(), X, Y, sizes=[12, 60], repeats=2, progress=lambda *each: calls.append(each))
    assert [done for done, _, _ in calls] == list(range(9))
    assert calls[-1] == (8, 8, "")
    assert calls[1][2] == "LogisticRegression"


def test_default_sizes_grow_to_all_rows() -> None:
    curves = learning_curves(GaussianNB(), X, Y, repeats=1)
    assert curves.sizes[0] == 10
    assert curves.sizes[-1] == 99
    assert (np.diff(curves.sizes) > 0).all()
    shares = learning_curves(GaussianNB(), X, Y, sizes=[0.5, 1.0], repeats=1)
    assert shares.sizes.tolist() == [49, 99]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sizes": [2]}, "from 3 .* to 99"),
        ({"sizes": [100]}, "to 99"),
        ({"sizes": []}, "not none"),
        ({"repeats": 0}, "repeats must be a whole number of 1 or more, not 0"),
        ({"test_size": 0}, "test_size"),
        ({"test_size": 150}, "test_size"),
        ({"y": Y[:10]}, "150 rows, but y has 10"),
        ({"y": np.zeros(150)}, "label"),
        ({"repeats": 1.5}, "whole number"),
        ({"pair": [GaussianNB()]}, "two models"),
        ({"pair": [GaussianNB()] * 3}, "two models"),
        ({"pair": [GaussianNB(), GaussianNB]}, "A model must be an estimator"),
        ({"pair": None}, "two models"),
    ],
)
def test_invalid_arguments_are_rejected(options: dict[str, Any], message: str) -> None:
    given = {"pair": GaussianNB(), "y": Y, **options}
    with pytest.raises(DataError, match=message):
        learning_curves(given.pop("pair"), X, given.pop("y"), **given)


def test_tables_of_unequal_length_and_without_rows_are_rejected() -> None:
    with pytest.raises(DataError, match="100 rows, but y has 150"):
        learning_curves(BOTH, (Table.of(X), Table.of(X[:100])), Y)
    with pytest.raises(DataError, match="no rows"):
        learning_curves(BOTH, X[:0], Y[:0])


def test_an_infinite_log_loss_is_part_of_the_difference(curves: Any) -> None:
    """An infinite loss is part of the mean; a failed fit is not."""
    losses = curves.log_losses.copy()
    losses[0, -1, :2] = np.inf, np.nan
    replaced = replace(curves, log_losses=losses)
    assert replaced.difference("log_loss").mean == np.inf == replaced.frame()["log_loss"][2]
    losses[0, -1, 0] = np.nan
    assert np.isfinite(replaced.difference("log_loss").low)


def test_unknown_sizes_and_measures_are_named(curves: Any) -> None:
    with pytest.raises(DataError, match="9, 30, 90, not 31"):
        curves.difference(size=31)
    for ask in (curves.crossover, curves.chart, curves.plot, curves.difference, lambda name: curves.settled(0.1, name)):
        with pytest.raises(DataError, match="'error', 'log_loss', not 'accuracy'"):
            ask("accuracy")


def test_a_model_without_counterpart_is_rejected() -> None:
    from mercer import Perceptron

    with pytest.raises(NoCounterpartError, match="Perceptron"):
        learning_curves(Perceptron(), X, Y)
