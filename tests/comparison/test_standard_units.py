"""Columns of any kind as numbers that can be compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mercer.comparison.standard_units import StandardUnits

TRAIN = {"age": [20.0, 30.0, 40.0], "city": ["Rome", "Oslo", "Rome"], "flag": [True, False, False], "same": [7, 7, 7]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_numbers_are_scaled_and_levels_have_a_column_each(make: Any) -> None:
    found = StandardUnits().fit_transform(make(TRAIN))
    np.testing.assert_allclose(found[:, 0], np.array([-1, 0, 1]) * np.sqrt(1.5))
    np.testing.assert_array_equal(found[:, 1:3], [[0, 1], [1, 0], [0, 1]])
    np.testing.assert_allclose(found[:, -1], 0)


def test_new_rows_are_measured_by_the_training_rows() -> None:
    units = StandardUnits().fit(pd.DataFrame({"age": [10.0, 30.0], "city": ["Rome", "Oslo"]}))
    new = units.transform(pd.DataFrame({"age": [40.0, 20.0], "city": ["Paris", "Rome"]}))
    np.testing.assert_array_equal(new, [[2, 0, 0], [0, 0, 1]])


def test_levels_that_a_type_declares_and_no_row_has_get_no_column() -> None:
    city = pd.Categorical(["Rome", "Oslo"], categories=["Bonn", "Oslo", "Rome"])
    assert StandardUnits().fit_transform(pd.DataFrame({"city": city})).shape == (2, 2)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_any_scale(scale: float) -> None:
    found = StandardUnits().fit_transform(pd.DataFrame({"x": [-scale, 3 * scale]}))
    np.testing.assert_allclose(found, [[-1.0], [1.0]])


def test_a_constant_column_is_only_centred() -> None:
    units = StandardUnits().fit(pd.DataFrame({"x": [0.1] * 7}))  # whose deviation is 1e-17, not 0
    np.testing.assert_allclose(units.transform(pd.DataFrame({"x": [0.1, 1.1]})), [[0.0], [1.0]])
