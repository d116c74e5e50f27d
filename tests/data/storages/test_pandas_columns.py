"""Columns of pandas have the type of their values, however they are stored."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from mercer import LogisticRegression, NaiveBayes, TableFeatures
from mercer.data import Kind, Table


def table_of(values: list[Any]) -> Table:
    return Table.of(pd.DataFrame({"x": pd.Series(values, dtype=object)}))


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        ([Decimal("1.5"), None, Decimal("-2")], [1.5, np.nan, -2.0]),
        ([1, np.float32(2.5), Fraction(1, 2), pd.NA], [1.0, 2.5, 0.5, np.nan]),
        ([*[None] * 150, 1.5], [*[np.nan] * 150, 1.5]),
    ],
)
def test_objects_that_are_numbers_are_numbers(values: list[Any], numbers: list[float]) -> None:
    table = table_of(values)
    assert table.kinds == (Kind.NUMBER,)
    np.testing.assert_array_equal(table.numbers()[:, 0], numbers)
    np.testing.assert_array_equal(table.rows(slice(1, 3)).numbers()[:, 0], numbers[1:3])


def test_objects_that_are_bools_are_bools() -> None:
    table = table_of([True, None, np.bool_(False)])
    assert table.kinds == (Kind.BOOLEAN,)
    assert table.coded(0).codes.tolist() == [1, -1, 0]


@pytest.mark.parametrize("values", [["a", 1], [1, "a"], [1, True], [None, None], [10**400, 1]])
def test_other_objects_are_categories(values: list[Any]) -> None:
    assert table_of(values).kinds == (Kind.CATEGORY,)


@pytest.mark.parametrize("dtype", [">f8", ">i4"])
def test_the_order_of_bytes_does_not_matter(dtype: str) -> None:
    table = Table.of(pd.DataFrame({"x": np.arange(3).astype(dtype)}))
    assert table.kinds[0].numeric
    assert table.numbers()[:, 0].tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("model", [make_pipeline(TableFeatures(), LogisticRegression()), NaiveBayes()])
def test_models_receive_the_same_numbers(model: Any) -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "b"])
    y = (frame["a"] > 0).to_numpy()
    expected = model.fit(frame, y).predict_proba(frame)
    for other in (frame.astype(object), frame.map(Decimal), frame.astype(">f8")):
        np.testing.assert_allclose(model.fit(other, y).predict_proba(other), expected)
        np.testing.assert_allclose(model.predict_proba(frame.iloc[0].astype(object).to_frame().T), expected[:1])
