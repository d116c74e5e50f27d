"""Gaps are filled by what the training rows show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from mercer.comparison.gaps import MISSING, Completed

TRAIN = {"age": [20.0, None, 40.0], "city": ["Rome", None, "Rome"], "flag": [True, False, None]}
TEST = {"age": [None, 1.0], "city": ["Oslo", None], "flag": [None, True]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_numbers_get_the_mean_and_categories_a_level(make: Any) -> None:
    filled = Completed().fit(make(TRAIN)).transform(make(TEST))
    columns = {name: np.asarray(filled[name]).tolist() for name in TEST}
    assert columns["age"] == [30.0, 1.0]
    assert columns["city"] == ["Rome", MISSING]
    assert type(filled) is type(make(TEST))


def test_a_category_without_gaps_in_training_has_no_level_for_them() -> None:
    """A coefficient for it could not be learnt: the most frequent level stands in."""
    model = Completed().fit(pd.DataFrame({"city": ["Rome", "Oslo", "Oslo"]}))
    assert model.transform(pd.DataFrame({"city": ["Rome", None]}))["city"].tolist() == ["Rome", "Oslo"]


def test_a_column_of_nothing_is_zero() -> None:
    X = np.array([[np.nan, 1.0], [np.nan, 2.0]])
    assert_array_equal(Completed().fit(X).transform(X), [[0.0, 1.0], [0.0, 2.0]])


def test_rows_to_predict_teach_nothing() -> None:
    model = Completed().fit(np.array([[1.0], [3.0]]))
    assert_array_equal(model.transform(np.array([[np.nan], [100.0]])), [[2.0], [100.0]])
