"""Rows that occur several times."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from mercer.comparison._splits import duplicates_note, row_numbers
from mercer.data import Table


@given(st.lists(st.tuples(*[st.sampled_from([0.0, 1.0, np.nan])] * 3), min_size=1, max_size=30))
def test_only_equal_rows_have_equal_numbers(rows: list[tuple[float, ...]]) -> None:
    numbers = row_numbers(Table.of(np.array(rows)))
    for i, one in enumerate(rows):
        for j, other in enumerate(rows):
            same = np.array_equal(one, other, equal_nan=True)
            assert (numbers[i] == numbers[j]) == same


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_duplicates_are_found_in_columns_of_any_kind(make: Any) -> None:
    frame = make({"n": [1.0, 1.0, 2.0, 1.0], "c": ["a", None, "a", "a"], "b": [True, True, True, True]})
    numbers = row_numbers(Table.of(frame)).tolist()
    assert numbers[0] == numbers[3]
    assert len(set(numbers)) == 3


def test_duplicates_are_found_among_sparse_rows() -> None:
    rows = sparse.csr_array(np.array([[0, 1], [1, 0], [0, 1], [0, 0]]))
    numbers = row_numbers(Table.of(rows)).tolist()
    assert numbers[0] == numbers[2]
    assert len(set(numbers)) == 3


def test_copies_in_the_other_part_are_counted() -> None:
    table = Table.of(np.array([[1.0], [1.0], [2.0], [3.0]]))
    assert duplicates_note(table, [(np.array([0, 2]), np.array([1, 3]))])[0].startswith(
        "Rows that are equal, except for the target, to a row on the other side of a split: 1. "
    )
    assert duplicates_note(table, [(np.array([0, 1]), np.array([2, 3]))]) == []
