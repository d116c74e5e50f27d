"""Who is invited to a comparison depends on the columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from mercer._errors import DataError
from mercer.comparison import compare
from mercer.comparison.entrants import entrants_for
from mercer.data import Table

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1], 30)
NUMBERS = RNG.normal(size=(60, 3)) + Y[:, None]
COUNTS = RNG.poisson(2 + 3 * Y[:, None] * [1, 0, 1])
LOGISTIC = "kernelize(LogisticRegression(C=10), RBF(gamma={}))"
COMPLETE = {"LogisticRegression", "LinearThreshold", "LinearThreshold(rule='lms')", "SVC", LOGISTIC.format(0.33)}
WITH_GAPS = {
    "GaussianNB",
    "GaussianDiscriminant(shrinkage='oas')",
    "LinearDiscriminantAnalysis",
    "GaussianDiscriminant",
}
DENSE = WITH_GAPS | COMPLETE | {"KernelBayes"}
MIXED = {"LogisticRegression", "SVC", LOGISTIC.format(0.5)}
TEXT = {"MultinomialNB", "LogisticRegression", "LogisticRegression(C=10)", "LinearThreshold"}
WORDS = np.where(COUNTS[:, 0] > 4, "lots", "few")
MESSAGES = [f"there are {word} of them in message {i}" for i, word in enumerate(WORDS)]
DAYS = np.datetime64("2024-01-01") + np.arange(60)


def with_gaps(X: Any) -> Any:
    gaps = X.copy()
    gaps[::7, 1] = np.nan
    return gaps


@pytest.mark.parametrize(
    ("X", "invited"),
    [
        (NUMBERS, DENSE),
        (with_gaps(NUMBERS), DENSE),
        (COUNTS, DENSE | {"MultinomialNB"}),
        (COUNTS > 2, DENSE | {"MultinomialNB", "BernoulliNB"}),
        (sparse.csr_array(COUNTS), COMPLETE | {"MultinomialNB"}),
        (sparse.csr_array(COUNTS > 2), COMPLETE | {"MultinomialNB", "BernoulliNB"}),
        (pd.DataFrame({"n": NUMBERS[:, 0], "c": np.where(COUNTS[:, 0] > 2, "many", None)}), MIXED),
        (pd.DataFrame({"n": NUMBERS[:, 0], "c": MESSAGES}), TEXT),
        (pd.DataFrame({"n": NUMBERS[:, 0], "day": DAYS}), DENSE - {LOGISTIC.format(0.33)} | {LOGISTIC.format(0.5)}),
        (pd.DataFrame({"n": NUMBERS[:, 0], "c": np.where(COUNTS[:, 0] > 2, "many", "few")}), MIXED),
    ],
    ids=[
        "numbers",
        "missing values",
        "counts",
        "bools",
        "sparse",
        "sparse bools",
        "categories with gaps",
        "text",
        "dates",
        "categories",
    ],
)
def test_every_model_invited_can_be_fitted(X: Any, invited: set[str]) -> None:
    board = compare(X, Y, cv=2)
    assert {result.model for result in board.results} == {"NaiveBayes", *invited}
    assert [result.note for result in board.results if np.isnan(result.accuracy)] == []
    assert board.results[0].accuracy > 0.6


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_are_called_by_their_names(make: Any) -> None:
    frame = make({"age": NUMBERS[:, 0], "same": np.ones(60)})
    notes = {result.model: result.note for result in compare(frame, np.where(Y, "ill", "well"), cv=2).results}
    assert "class 'ill'" in notes["GaussianDiscriminant"]
    assert "columns 'same'" in notes["GaussianDiscriminant"]


@pytest.mark.parametrize("task", ["regression", "counts"])
@pytest.mark.parametrize(
    "X",
    [NUMBERS, pd.DataFrame({"n": NUMBERS[:, 0], "c": np.where(COUNTS[:, 0] > 2, "many", "few")})],
    ids=["numbers", "categories"],
)
def test_every_model_for_numbers_and_counts_can_be_fitted(X: Any, task: str) -> None:
    board = compare(X, RNG.poisson(np.exp(1 + NUMBERS[:, 0])), task=task, cv=2)
    assert len(board.results) >= 1
    assert [result.note for result in board.results if np.isnan(result.explained)] == []
    assert board.results[0].explained > 0.2


def test_who_stays_out_is_told_why() -> None:
    (note,) = entrants_for(Table.of(NUMBERS)).notes
    assert note == "Left out: BernoulliNB (needs columns of 0 and 1), MultinomialNB (needs counts)."


def test_who_names_rows_is_told_and_left_out() -> None:
    named = pd.DataFrame({"key": [f"row {i}" for i in range(60)], "n": NUMBERS[:, 0]})
    board = compare(named, Y, cv=2)
    assert "Columns left out: 'key' (an identifier)." in board.notes
    alone = {result.model: result.accuracy for result in compare(named[["n"]], Y, cv=2).results}
    assert {result.model: result.accuracy for result in board.results} == alone


def test_columns_beside_text_count() -> None:
    told = pd.DataFrame(
        {"text": [f"there is nothing to be told in message {i}" for i in range(60)], "n": 3.0 * Y + NUMBERS[:, 0] / 9}
    )
    accuracy = {result.model: result.accuracy for result in compare(told, Y, cv=2).results}
    assert accuracy["NaiveBayes"] == accuracy["LogisticRegression"] == 1.0
    assert accuracy["MultinomialNB"] < 0.8


@pytest.mark.parametrize("task", ["regression", "counts"])
def test_text_for_numbers_and_counts(task: str) -> None:
    y = RNG.poisson(np.where(WORDS == "lots", 9, 1))
    board = compare(pd.DataFrame({"text": MESSAGES}), y, task=task, cv=2)
    assert len(board.results) >= 1
    assert board.results[0].explained > 0.2


def test_a_target_among_the_columns_is_noted() -> None:
    notes = {result.model: result.note for result in compare(np.column_stack([NUMBERS, Y]), Y, cv=2).results}
    assert "TargetLeakWarning: Column 'x3' is the target" in notes["LogisticRegression"]


def test_who_compares_each_row_with_all_others_stays_out_of_many_rows() -> None:
    assert "KernelBayes" not in entrants_for(Table.of(np.tile(NUMBERS, (300, 1)))).notes[0]
    (note,) = entrants_for(Table.of(np.tile(NUMBERS, (400, 1)))).notes
    assert "KernelBayes (needs at most 20,000 rows)" in note


def test_gaps_in_a_sparse_matrix_are_not_filled() -> None:
    (note,) = entrants_for(Table.of(sparse.csr_array(with_gaps(NUMBERS)))).notes
    assert "LogisticRegression (needs complete columns)" in note


def test_whose_gaps_were_filled_is_told() -> None:
    filled, _ = entrants_for(Table.of(with_gaps(NUMBERS))).notes
    machines = f"SVC, {LOGISTIC.format(0.33)}"
    assert filled.endswith(
        f"for LogisticRegression, LinearThreshold, LinearThreshold(rule='lms'), KernelBayes, {machines}."
    )
    (filled,) = entrants_for(Table.of(pd.DataFrame({"colour": ["red", None]}))).notes
    assert filled.endswith(f"for LogisticRegression, SVC, {LOGISTIC.format(1.0)}.")
    assert entrants_for(Table.of(pd.DataFrame({"colour": ["red", "blue"]}))).notes == []


def test_a_level_that_a_fold_does_not_show_stops_nobody() -> None:
    colours = np.where(NUMBERS[:, 0] > 0.5, "red", "blue").astype(object)
    colours[7] = "mauve"
    board = compare(pd.DataFrame({"colour": colours, "n": NUMBERS[:, 1]}), Y, cv=3)
    assert {result.note for result in board.results} == {""}


def test_learning_rules_get_columns_that_they_can_learn_from() -> None:
    far = NUMBERS * [1.0, 1e3, 1e-3] + [1e4, 0.0, 5.0]
    board = compare(far, Y, cv=2)
    notes = {result.model: result.note for result in board.results}
    assert notes["LinearThreshold"] == notes["LinearThreshold(rule='lms')"] == ""


def test_nobody_to_compare_is_an_error() -> None:
    names = pd.DataFrame({"name": [f"row {i}" for i in range(60)]})
    with pytest.raises(DataError, match=r"no model for such columns.*'name' \(an identifier\)"):
        compare(names, NUMBERS[:, 0])


def test_who_sees_less_than_all_columns_is_told() -> None:
    frame = pd.DataFrame({"n": NUMBERS[:, 0], "day": DAYS, "mail": MESSAGES})
    told = "NaiveBayes is not shown 'day', 'mail'; MultinomialNB is shown text alone."
    assert told in entrants_for(Table.of(frame, dates=True)).notes
    assert "MultinomialNB is shown text alone." in entrants_for(Table.of(frame[["mail"]], dates=True)).notes
    assert entrants_for(Table.of(frame[["n"]], dates=True)).notes[:1] != [told]
    assert not any("shown" in note for note in entrants_for(Table.of(frame, dates=True), "regression").notes)
