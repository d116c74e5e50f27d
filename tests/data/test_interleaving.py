"""Frames of any library and length become the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mercer import GaussianNB
from mercer.data import Table
from mercer.data.interleaving import MIN_VALUES_FOR_LOOP, rows_of_arrow
from mercer.data.storages.frame_columns import SeriesColumn

MANY = MIN_VALUES_FOR_LOOP // 4 + 3
RNG = np.random.default_rng(0)
COLUMNS: dict[str, Any] = {
    "a": RNG.normal(size=MANY),
    "b": RNG.integers(0, 9, MANY),
    "c": RNG.normal(size=MANY).astype(np.float32),
    "d": RNG.random(MANY) < 0.5,
    "e": np.where(RNG.random(MANY) < 0.1, np.nan, RNG.normal(size=MANY)),
}
EXPECTED = np.stack([column.astype(float) for column in COLUMNS.values()], axis=1)


@pytest.mark.parametrize("rows", [5, MANY])
@pytest.mark.parametrize("library", [pa.table, pl.DataFrame, pd.DataFrame])
def test_columns_of_several_types(library: Any, rows: int) -> None:
    table = Table.of(library(COLUMNS)).rows(slice(2, rows))
    np.testing.assert_array_equal(table.numbers(), EXPECTED[2:rows])
    np.testing.assert_array_equal(table.numbers([4, 0]), EXPECTED[2:rows, [4, 0]])


def test_columns_of_a_matrix_lie_in_steps() -> None:
    matrix = RNG.normal(size=(MANY, 12))
    np.testing.assert_array_equal(Table.of(pd.DataFrame(matrix[::-1, ::2])).numbers(), matrix[::-1, ::2])


def test_a_column_with_gaps_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slicing such a column takes longer than reading it, so that it must not be sliced block by block."""
    columns = {str(j): RNG.normal(size=8 * 1024) for j in range(600)}
    table = Table.of(pa.table(columns | {"gaps": pa.array(columns["0"], mask=columns["0"] > 0)}))
    read, floats = [], SeriesColumn.floats

    def noted(column: SeriesColumn, start: int, stop: int) -> Any:
        read.append((start, stop))
        return floats(column, start, stop)

    monkeypatch.setattr(SeriesColumn, "floats", noted)
    expected = [*columns.values(), np.where(columns["0"] > 0, np.nan, columns["0"])]
    np.testing.assert_array_equal(table.rows(slice(2, None)).numbers(), np.stack(expected, axis=1)[2:])
    np.testing.assert_array_equal(table.numbers([600]), expected[-1][:, None])
    assert read == [(2, 8 * 1024), (0, 8 * 1024)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tables_of_one_type_become_rows(dtype: type) -> None:
    matrix = RNG.normal(size=(MANY, 9)).astype(dtype)
    table = pa.table({str(j): column for j, column in enumerate(matrix.T)})
    rows = rows_of_arrow(table.slice(7))
    assert rows is not None
    assert rows.dtype == dtype
    np.testing.assert_array_equal(rows, matrix[7:])


@pytest.mark.parametrize(
    "X",
    [
        pa.table({"a": [1.0, None]}),
        pa.table({"a": [1, 2]}),
        pa.table({"a": [1.0, 2.0], "b": pa.array([1, 2], pa.float32())}),
        pa.table({"a": pa.chunked_array([[1.0], [2.0]])}),
        pa.table({}),
        np.ones((2, 2)),
    ],
)
def test_other_tables_are_left_to_other_readers(X: Any) -> None:
    assert rows_of_arrow(X) is None


def test_names_are_kept_and_compared() -> None:
    y = np.arange(MANY) % 2
    X = pa.table({name: COLUMNS[name] for name in ("a", "e")})
    model = GaussianNB().fit(X, y)
    assert model.feature_names_in_.tolist() == ["a", "e"]
    np.testing.assert_array_equal(model.theta_, GaussianNB().fit(EXPECTED[:, [0, 4]], y).theta_)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.select(["e", "a"]))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        GaussianNB().fit(X, y[1:])
