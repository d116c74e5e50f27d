"""What is asked of models follows from the target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer._errors import DataError
from mercer.using.which_task import task_for


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


def test_a_single_amount_below_zero_is_seen_among_many_rows() -> None:
    """Distinct values are counted in every other row or fewer; an owed amount may be in one that is passed over."""
    amounts = np.arange(400_000) % 500
    amounts[1] = -3
    assert task_for(amounts, len(amounts)).name == "regression"


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


def test_amounts_thin_out_where_they_are_large_and_codes_of_classes_do_not() -> None:
    rings = np.round(np.random.default_rng(0).gamma(9, 1.1, size=4000))
    assert 10 < len(np.unique(rings)) <= 30
    assert task_for(rings, 4000).name == "counts"
    assert "different whole numbers; the task classification" in task_for(rings, 4000).notes()[0]
    assert task_for(5 - rings, 4000).name == "regression"
    letters = np.random.default_rng(0).integers(26, size=4000)
    assert task_for(letters, 4000).name == "classification"
    spread = rings * 100
    assert task_for(spread, 4000).name == "classification"
    assert task_for(np.repeat(np.arange(10), [100, 1, 1, 1, 1, 1, 1, 1, 1, 1]), 109).name == "classification"
