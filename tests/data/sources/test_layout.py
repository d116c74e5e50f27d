"""Targets, weights and offsets as NumPy arrays; errors name file and row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import mercer.data
from mercer._errors import ColumnTypeError, DataError
from tests.data.sources._reading import chunks_of


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (pa.array([1, None, 3], pa.int8()), np.int64),
        (pa.array([1, None, 3], pa.uint64()), np.float64),
        (pa.array([1.5, None, 3], pa.float32()), np.float64),
        (pa.array([1.5, float("nan"), 3]), np.float64),
        (pa.array([True, None, False]), np.bool_),
        (pa.array(["a", None, "b"]), np.object_),
        (pa.array(["a", None, "b"]).dictionary_encode(), np.object_),
    ],
)
@pytest.mark.parametrize("rows", [1, 3])
def test_targets_are_of_one_type_and_rows_without_one_are_counted(values: Any, dtype: Any, rows: int) -> None:
    source = mercer.data.open(pa.table({"x": [1, 2, 3], "y": values}), target="y", rows=rows)
    chunks, skipped = chunks_of(source)
    assert {chunk.y.dtype for chunk in chunks} == {np.dtype(dtype)}
    assert [x for chunk in chunks for x in chunk.X["x"].to_pylist()] == [1, 3]
    assert skipped == ["1 rows of frame 0 without a value of 'y'"]


def test_a_target_that_is_not_a_label_is_rejected() -> None:
    with pytest.raises(ColumnTypeError, match=r"The target 'y' has the type list.*neither a number nor a label"):
        list(mercer.data.open(pa.table({"x": [1], "y": [[1]]}), target="y"))


@pytest.mark.parametrize(
    ("role", "value", "sentence"),
    [
        ("weight", -1.0, r"Column 'w' is -1 in row 260 of 'a\.parquet'; a weight is 0 or more"),
        ("weight", None, r"Column 'w' is missing in row 260 of 'a\.parquet'; give every row a finite number"),
        ("offset", float("inf"), r"Column 'w' is inf in row 260 of 'a\.parquet'"),
        ("offset", None, r"Column 'w' is missing in row 260"),
    ],
)
def test_weights_and_offsets_are_finite_numbers(tmp_path: Path, role: str, value: Any, sentence: str) -> None:
    """Row numbers include earlier rows without a target."""
    weights = [0.5 if i != 260 else value for i in range(300)]
    table = pa.table({"x": range(300), "w": weights, "y": [None if i in (3, 258) else 1 for i in range(300)]})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=70)
    with pytest.raises(DataError, match=sentence):
        list(mercer.data.open(tmp_path / "a.parquet", target="y", rows=50, **{role: "w"}))


def test_weights_that_are_words_are_rejected() -> None:
    with pytest.raises(ColumnTypeError, match="Column 'w' must hold weights or offsets, but has the type string"):
        list(mercer.data.open(pa.table({"x": [1], "w": ["heavy"]}), weight="w"))


def test_offsets_may_be_negative() -> None:
    (chunk,) = mercer.data.open(pa.table({"x": [1, 2], "o": [-1, 2]}), offset="o")
    assert chunk.offset is not None
    assert chunk.offset.tolist() == [-1.0, 2.0]
    assert chunk.y is None
