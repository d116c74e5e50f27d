"""Columns of numbers that are read together equal those that are read one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mercer.data import Kind, Table

FRAME = pd.DataFrame(np.arange(240.0).reshape(4, 60)).rename(columns=str)
FRAME["text"] = list("abca")
FRAME["whole"] = [1, 2, 3, 4]


@pytest.mark.parametrize("frame", [FRAME, pa.Table.from_pandas(FRAME)], ids=["pandas", "pyarrow"])
def test_wide_frames_are_read(frame: Any) -> None:
    table = Table.of(frame)
    assert table.kinds == (*[Kind.NUMBER] * 60, Kind.CATEGORY, Kind.INTEGER)
    assert np.array_equal(table.numbers([0, 59, 61]), FRAME[["0", "59", "whole"]])
    assert np.array_equal(table.take(np.array([2, 0])).numbers([7])[:, 0], FRAME["7"][[2, 0]])


def test_gaps_are_missing() -> None:
    columns = {f"x{j}": pa.array([1.0, None if j == 3 else 2.0]) for j in range(60)}
    assert np.isnan(Table.of(pa.table(columns)).numbers()).sum() == 1


def test_columns_that_are_not_contiguous_are_put_side_by_side() -> None:
    """`read_csv` stores every column separately, which makes taking rows of thousands of columns slow."""
    apart = pd.DataFrame({"text": list("abca")})
    for j in range(60):
        apart.insert(j, f"x{j}", np.arange(4.0) + j)
    held = Table.of(apart).native
    pd.testing.assert_frame_equal(held, apart)
    numbers = held.iloc[:, :60]
    assert np.shares_memory(numbers.to_numpy(), numbers["x7"].to_numpy())
    assert not np.shares_memory(held["x7"].to_numpy(), apart["x7"].to_numpy())
    assert np.shares_memory(Table.of(held).native["x7"].to_numpy(), held["x7"].to_numpy())
