"""Selection of columns of a frame by name."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mercer.data import Table
from mercer.data.select import as_labels, fetch_relation, names_of, select


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_by_name(make: Any) -> None:
    frame = make({"a": [1], "b": [2], "c": [3]})
    assert names_of(frame) == ["a", "b", "c"]
    assert names_of(select(frame, ["c", "a"])) == ["c", "a"]
    assert type(select(frame, ["c"])) is type(frame)


def test_columns_without_names() -> None:
    matrix = np.ones((2, 2))
    assert names_of(matrix) is None
    assert names_of(pd.DataFrame(matrix)) is None
    assert select(matrix, ["x0"]) is matrix


def test_rows_of_a_duckdb_relation_are_fetched() -> None:
    relation = duckdb.sql("SELECT range AS x, 'a' AS y FROM range(3)")
    assert names_of(relation) == ["x", "y"]
    assert Table.of(relation).numbers([0])[:, 0].tolist() == [0, 1, 2]
    assert Table.of(relation).library == "pyarrow"
    assert fetch_relation(relation).to_pydict() == {"x": [0, 1, 2], "y": ["a", "a", "a"]}
    frame = pd.DataFrame({"x": [1]})
    assert fetch_relation(frame) is frame


@pytest.mark.parametrize("make", [lambda data: pd.DataFrame(data, index=[5, 3, 4]), pl.DataFrame, pa.table])
def test_names_may_be_numbers(make: Any) -> None:
    frame = make({"ward": [3.0, None, 1.0], "age": [31, 40, 28]})
    table = Table.of(as_labels(frame, ["ward"]))
    assert [kind.value for kind in table.kinds] == ["category", "integer"]
    codes, labels = table.coded(0)
    assert [None if code < 0 else labels[code] for code in codes] == ["3", None, "1"]
    assert table.numbers([1])[:, 0].tolist() == [31, 40, 28]
    assert as_labels(frame, []) is frame
    matrix = np.ones((2, 2))
    assert as_labels(matrix, ["x0"]) is matrix
