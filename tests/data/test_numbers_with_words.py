"""Notes on columns of strings that are mostly numbers."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from mercer.data import Reading, Schema
from mercer.data.readers import open_rows


@pytest.mark.parametrize(
    ("values", "note"),
    [
        ([*map(str, range(59)), "foo"], "59 of 60 values are numbers; 'foo' is not"),
        ([*map(str, range(40)), *["no"] * 10], "40 of 50 values are numbers, the others are 'no': a missing value?"),
        ([*map(str, range(40)), "a", "b", "c", "d"], "40 of 44 values are numbers; 'a', 'b', 'c', … are not"),
    ],
)
def test_columns_of_mostly_numbers_or_dates_are_noted(values: list[str], note: str) -> None:
    assert Schema.infer(pd.DataFrame({"x": values}))["x"].notes == (note,)


@pytest.mark.parametrize("values", [["a", "b"] * 20, ["1", *["red", "blue"] * 20], ["1", "2"] * 20])
def test_words_are_not_taken_for_numbers(values: list[str]) -> None:
    assert Schema.infer(pd.DataFrame({"x": values}))["x"].notes == ()


def test_declared_columns_are_not_inferred(tmp_path: Any) -> None:
    (path := tmp_path / "a.csv").write_text("x\n" + "\n".join([*map(str, range(30)), "foo"]))
    table = open_rows(path, Reading(held={"x": "category"})).table()
    assert not any("numbers" in note for note in Schema.infer(table)["x"].notes)
