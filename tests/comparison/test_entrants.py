"""The models of a comparison depend on the columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from mercer import GaussianNB, LogisticRegression
from mercer._errors import DataError
from mercer.base import Question
from mercer.comparison import compare
from mercer.comparison._entrants import select_suitable, sort_by_cost
from mercer.comparison.learning_curves import name_by_class
from mercer.data import Table
from mercer.linear_model._linear_threshold import RULE_ROWS

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1], 30)
NUMBERS = RNG.normal(size=(60, 3)) + Y[:, None]
COUNTS = RNG.poisson(2 + 3 * Y[:, None] * [1, 0, 1])
LOGISTIC = "kernelize(LogisticRegression(C=10), RBF(gamma={}))"
RULES = {"LinearThreshold('perceptron')", "LinearThreshold('lms')"}
MACHINES = {"SVC", LOGISTIC.format(0.33)}
COMPLETE = {"DummyClassifier", "LogisticRegressionCV", *RULES, *MACHINES}
DENSE = {
    *COMPLETE,
    "GaussianDiscriminant(covariance='shared full')",
    "GaussianDiscriminant",
    "LogisticRegressionCV of products",
    "KernelBayes",
}
WITH_GAPS = {
    *COMPLETE,
    "GaussianDiscriminant(covariance='shared full', shrinkage=0.1)",
    "GaussianDiscriminant(shrinkage=0.1)",
    "LogisticRegressionCV of products",
    "KernelBayes",
}
TWO_COLUMNS = {"SVC", LOGISTIC.format(0.5)}
MIXED = {"DummyClassifier", "LogisticRegressionCV", *RULES, *TWO_COLUMNS}
TEXT = {"DummyClassifier", "MultinomialNB", "LogisticRegressionCV", "LinearThreshold('perceptron')"}
WORDS = np.where(COUNTS[:, 0] > 4, "lots", "few")
MESSAGES = [f"there are {word} of them in message {i}" for i, word in enumerate(WORDS)]
DAYS = np.datetime64("2024-01-01") + np.arange(60)


def with_gaps(X: Any) -> Any:
    gaps = X.copy()
    gaps[::7, 1] = np.nan
    return gaps


@pytest.mark.parametrize(
    ("X", "listed"),
    [
        (NUMBERS, DENSE),
        (with_gaps(NUMBERS), WITH_GAPS),
        (COUNTS, DENSE | {"GaussianNB", "MultinomialNB"}),
        (COUNTS > 2, DENSE | {"GaussianNB", "MultinomialNB", "BernoulliNB"}),
        (sparse.csr_array(COUNTS), COMPLETE | {"MultinomialNB"}),
        (sparse.csr_array(COUNTS > 2), COMPLETE | {"MultinomialNB", "BernoulliNB"}),
        (pd.DataFrame({"n": NUMBERS[:, 0], "c": np.where(COUNTS[:, 0] > 2, "many", None)}), MIXED),
        (pd.DataFrame({"n": NUMBERS[:, 0], "c": MESSAGES}), TEXT),
        (pd.DataFrame({"n": NUMBERS[:, 0], "day": DAYS}), DENSE - MACHINES | TWO_COLUMNS),
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
def test_every_listed_model_can_be_fitted(X: Any, listed: set[str]) -> None:
    board = compare(X, Y, cv=2)
    assert set(board.names) == {"NaiveBayes", *listed}
    assert [entry.notes for entry in board.entries if entry.failed] == []
    assert board.entries[0].mean("accuracy") > 0.6


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_column_that_is_constant_in_a_class_does_not_stop_discriminants(make: Any) -> None:
    frame = make({"age": NUMBERS[:, 0], "same": np.where(Y == 0, 0.0, NUMBERS[:, 1]), "one": np.ones(60)})
    losses = {entry.name: entry.mean("log_loss") for entry in compare(frame, np.where(Y, "ill", "well"), cv=2).entries}
    assert losses["GaussianDiscriminant"] < 2
    assert losses["GaussianDiscriminant(covariance='shared full')"] < 2


@pytest.mark.parametrize("task", ["regression", "amounts", "counts"])
@pytest.mark.parametrize(
    "X",
    [NUMBERS, pd.DataFrame({"n": NUMBERS[:, 0], "c": np.where(COUNTS[:, 0] > 2, "many", "few")})],
    ids=["numbers", "categories"],
)
def test_every_model_for_numbers_and_counts_can_be_fitted(X: Any, task: str) -> None:
    board = compare(X, RNG.poisson(np.exp(1 + NUMBERS[:, 0])), task=task, cv=2)
    assert len(board.done) >= 1
    assert [entry.notes for entry in board.entries if entry.failed] == []
    assert board.entries[0].mean("explained") > 0.2


def test_models_left_out_are_noted_with_reasons() -> None:
    note, _ = select_suitable(Table.of(NUMBERS), Question()).notes
    assert note == "Left out: BernoulliNB (needs columns of 0 and 1), MultinomialNB (needs counts)."


def test_identifiers_are_noted_and_left_out() -> None:
    named = pd.DataFrame({"key": [f"row {i}" for i in range(60)], "n": NUMBERS[:, 0]})
    board = compare(named, Y, cv=2)
    assert "Columns left out: 'key' (identifier: every value is different)." in board.notes
    alone = {entry.name: entry.mean("accuracy") for entry in compare(named[["n"]], Y, cv=2).entries}
    assert {entry.name: entry.mean("accuracy") for entry in board.entries} == alone


def test_other_columns_are_used_together_with_text() -> None:
    found = pd.DataFrame(
        {"text": [f"there is nothing to be read in message {i}" for i in range(60)], "n": 3.0 * Y + NUMBERS[:, 0] / 9}
    )
    accuracy = {entry.name: entry.mean("accuracy") for entry in compare(found, Y, cv=2).entries}
    assert accuracy["NaiveBayes"] == accuracy["LogisticRegressionCV"] == 1.0
    assert accuracy["MultinomialNB"] < 0.8


@pytest.mark.parametrize("task", ["regression", "amounts", "counts"])
def test_text_for_numbers_and_counts(task: str) -> None:
    y = RNG.poisson(np.where(WORDS == "lots", 9, 1))
    board = compare(pd.DataFrame({"text": MESSAGES}), y, task=task, cv=2)
    assert len(board.done) >= 1
    assert board.entries[0].mean("explained") > 0.2


def test_a_target_among_the_columns_is_noted() -> None:
    problems = compare(np.column_stack([NUMBERS, Y]), Y, cv=2).problems()
    assert any("x3" in found.columns for found in problems)


def test_models_quadratic_in_the_rows_are_left_out_of_many_rows() -> None:
    assert "KernelBayes" not in select_suitable(Table.of(np.tile(NUMBERS, (300, 1))), Question()).notes[0]
    note = select_suitable(Table.of(np.tile(NUMBERS, (400, 1))), Question()).notes[0]
    assert "KernelBayes (needs at most 20,000 rows)" in note


def test_more_classes_are_more_units_of_a_learning_rule() -> None:
    table = Table.of(np.tile(NUMBERS, (50, 1)))
    most = RULE_ROWS["perceptron"]
    assert most / 2 < table.n_rows <= most
    found = " ".join(select_suitable(table, Question(outputs=4)).notes)
    assert f"LinearThreshold('perceptron') (needs at most {most // 2:,} rows)" in found
    assert "LinearThreshold" not in " ".join(select_suitable(table, Question()).notes)


def test_two_whole_numbers_are_levels_to_naive_bayes() -> None:
    """A normal distribution of 0 and 1 gives extreme odds to other values."""
    frame = pd.DataFrame({"n": NUMBERS[:, 0], "smoker": np.arange(60) % 2, "sex": 1 + np.arange(60) // 30})
    (bayes,) = (
        each.model for each in select_suitable(Table.of(frame), Question()).entrants if each.name == "NaiveBayes"
    )
    assert [part.family.name for part in bayes.fit(frame, Y).parts_] == ["gaussian", "categorical", "categorical"]


def test_gaps_in_a_sparse_matrix_are_not_filled() -> None:
    (note,) = select_suitable(Table.of(sparse.csr_array(with_gaps(NUMBERS))), Question()).notes
    assert "LogisticRegressionCV (needs complete columns)" in note


def test_models_with_filled_gaps_are_noted() -> None:
    filled = select_suitable(Table.of(with_gaps(NUMBERS)), Question()).notes[0]
    rules = "LinearThreshold('perceptron'), LinearThreshold('lms')"
    machines = f"SVC, {LOGISTIC.format(0.33)}"
    windows = "LogisticRegressionCV of products, KernelBayes"
    assert filled.endswith(f"for LogisticRegressionCV, {rules}, {windows}, {machines}.")
    filled = select_suitable(Table.of(pd.DataFrame({"colour": ["red", None]})), Question()).notes[0]
    assert filled.endswith(f"for LogisticRegressionCV, {rules}, SVC, {LOGISTIC.format(1.0)}.")
    assert not any(
        "filled" in note
        for note in select_suitable(Table.of(pd.DataFrame({"colour": ["red", "blue"]})), Question()).notes
    )


def test_a_rare_class_prevents_a_choice_by_folds() -> None:
    names = [entrant.name for entrant in select_suitable(Table.of(NUMBERS), Question(rarest=2)).entrants]
    assert "LogisticRegression" in names
    assert "LogisticRegressionCV" not in names


def test_smooth_means_and_lines_for_few_columns() -> None:
    names = [entrant.name for entrant in select_suitable(Table.of(NUMBERS[:, :2]), Question("regression")).entrants]
    assert {"NadarayaWatson", "LocalLinear"} <= set(names)
    assert "LocalLinear" not in [
        entrant.name for entrant in select_suitable(Table.of(NUMBERS), Question("regression")).entrants
    ]


def test_partners_are_listed_together() -> None:
    partners = {entrant.name: entrant.partner for entrant in select_suitable(Table.of(NUMBERS), Question()).entrants}
    assert partners["NaiveBayes"] == "LogisticRegressionCV"
    assert partners["GaussianDiscriminant(covariance='shared full')"] == "LogisticRegressionCV"
    assert partners["LogisticRegressionCV"] == "NaiveBayes"
    assert partners["GaussianDiscriminant"] == "LogisticRegressionCV of products"
    assert partners["LogisticRegressionCV of products"] == "GaussianDiscriminant"
    assert partners["SVC"] is partners["DummyClassifier"] is None
    text = select_suitable(Table.of(pd.DataFrame({"c": MESSAGES})), Question()).entrants
    assert {each.name: each.partner for each in text}["MultinomialNB"] == "LogisticRegressionCV"


def test_a_level_absent_from_a_fold_does_not_stop_a_model() -> None:
    colours = np.where(NUMBERS[:, 0] > 0.5, "red", "blue").astype(object)
    colours[7] = "mauve"
    board = compare(pd.DataFrame({"colour": colours, "n": NUMBERS[:, 1]}), Y, cv=3)
    assert {entry.notes for entry in board.entries} == {()}


def test_learning_rules_receive_suitable_columns() -> None:
    far = NUMBERS * [1.0, 1e3, 1e-3] + [1e4, 0.0, 5.0]
    board = compare(far, Y, cv=2)
    notes = {entry.name: " ".join(entry.notes) for entry in board.entries}
    assert notes["LinearThreshold('perceptron')"] == notes["LinearThreshold('lms')"] == ""


def test_names_that_are_numbers_are_names() -> None:
    found = compare(NUMBERS, Y, models={1: GaussianNB(), 2: LogisticRegression()}, cv=3)
    assert sorted(found.names) == ["1", "2"]
    assert found.sentences()[0].startswith(f"Use {found.names[0]}: ")
    assert found.entry(1).name == "1"
    with pytest.raises(DataError, match="The comparison has no model 3"):
        found.entry(3)


def test_names_with_the_same_string_are_rejected() -> None:
    alike: Any = {1: GaussianNB(), "1": LogisticRegression()}
    for call in (lambda: compare(NUMBERS, Y, models=alike, cv=3), lambda: name_by_class(alike)):
        with pytest.raises(DataError, match="Two models have the same name as a string: 1, '1'"):
            call()


def test_an_empty_selection_is_an_error() -> None:
    names = pd.DataFrame({"name": [f"row {i}" for i in range(60)]})
    with pytest.raises(DataError, match=r"no model for such columns.*'name' \(identifier: every value is different\)"):
        compare(names, NUMBERS[:, 0])


def test_models_that_use_a_part_of_the_columns_are_noted() -> None:
    frame = pd.DataFrame({"n": NUMBERS[:, 0], "day": DAYS, "mail": MESSAGES})
    found = "NaiveBayes does not use 'day', 'mail'; MultinomialNB uses only text."
    assert found in select_suitable(Table.of(frame, dates=True), Question()).notes
    assert "MultinomialNB uses only text." in select_suitable(Table.of(frame[["mail"]], dates=True), Question()).notes
    for used, question in ((frame[["n"]], Question()), (frame, Question("regression"))):
        notes = select_suitable(Table.of(used, dates=True), question).notes
        assert not any("does not use" in note or "uses only" in note for note in notes)


def test_cheap_models_come_first() -> None:
    found = sort_by_cost(select_suitable(Table.of(NUMBERS), Question()).entrants)
    kinds = [entrant.kind for entrant in found]
    assert kinds == sorted(kinds, key=("baseline", "generative", "discriminative", "direct", "density", "kernel").index)


def test_wide_tables_have_variances_instead_of_full_covariances() -> None:
    rng = np.random.default_rng(0)
    selection = select_suitable(Table.of(rng.normal(size=(30, 301))), Question())
    names = [entrant.name for entrant in selection.entrants]
    assert [name for name in names if "GaussianDiscriminant" in name] == [
        "GaussianDiscriminant(covariance='shared diagonal')"
    ]
    assert "GaussianDiscriminant (needs at most 300 columns)" in " ".join(selection.notes)
