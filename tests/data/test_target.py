"""The target is separated from frames of any library, by name or position."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mercer._errors import ColumnMismatchError, DataError
from mercer.data.target import split_target

FRAME = pa.table({"id": [7, 8], "x": [1.5, 2.5], "y": ["a", None]})


@pytest.mark.parametrize("target", ["y", "2", "-1"])
def test_a_target_is_given_by_name_or_position(target: str) -> None:
    X, y, name, unlabelled, *_ = split_target(FRAME, target, drop=["0"])
    assert (X.column_names, y.tolist(), name, unlabelled) == (["x"], ["a"], "y", 1)


@pytest.mark.parametrize("convert", [lambda table: table.to_pandas(), pl.from_arrow])
def test_a_target_is_found_in_any_frame(convert: Any) -> None:
    frame = convert(FRAME)
    X, y, _, unlabelled, *_ = split_target(frame, "y")
    assert type(X) is type(frame)
    assert (X.shape, y.tolist(), unlabelled) == ((1, 2), ["a"], 1)


def test_a_name_takes_precedence_over_a_position() -> None:
    assert split_target(pa.table({"a": [1], "0": [2]}), "0").y.tolist() == [2]


@pytest.mark.parametrize("target", ["Y", "3", "-4", "--1"])
def test_an_unknown_column_is_rejected(target: str) -> None:
    with pytest.raises(ColumnMismatchError, match=f"no column '{target}'.*'y'"):
        split_target(FRAME, target)


def test_a_duplicate_name_is_rejected() -> None:
    with pytest.raises(DataError, match=r"column 'x' 2 times.*Rename"):
        split_target(pa.table([[1], [2], [3]], names=["x", "x", "y"]), "y")


def test_a_dict_is_rejected() -> None:
    with pytest.raises(DataError, match="this is a dict"):
        split_target({"x": [1], "y": [2]}, "y")


def test_a_table_without_other_columns_is_rejected() -> None:
    with pytest.raises(DataError, match="no column left"):
        split_target(FRAME, "y", drop=["id", "x"])


@pytest.mark.parametrize("convert", [lambda table: table, lambda table: table.to_pandas(), pl.from_arrow])
def test_a_target_that_is_not_a_number_is_missing(convert: Any) -> None:
    frame = convert(pa.table({"x": [1, 2, 3, 4], "y": [1.5, float("nan"), None, 2.5]}))
    _, y, _, unlabelled, *_ = split_target(frame, "y")
    assert (y.tolist(), unlabelled) == ([1.5, 2.5], 2)


def test_the_order_of_an_ordered_categorical_is_kept() -> None:
    sizes = pd.Categorical(["small", "large", "medium"], ["small", "medium", "large"], ordered=True)
    problem = split_target(pd.DataFrame({"x": [1.0, 2.0, 3.0], "size": sizes}), "size")
    assert problem.order_for("auto") == ["small", "medium", "large"]
    assert problem.order_for("classification") is None
    assert split_target(pd.DataFrame({"x": [1.0], "y": ["a"]}), "y").order is None


def test_whole_numbers_with_gaps_are_integers() -> None:
    """pandas stores 1 as 1.0 in a column with missing values; as a class label it is 1."""
    found = split_target(pd.DataFrame({"x": [1, 2, 3], "y": [1.0, None, 3.0]}), "y")
    assert found.y.tolist() == [1, 3]
    assert found.y.dtype.kind == "i"
    assert split_target(pd.DataFrame({"x": [1, 2], "y": [1.0, 3.5]}), "y").y.dtype.kind == "f"
