"""Declared kinds stay with a column."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from mercer import Schema, TableFeatures
from mercer._errors import ColumnMismatchError
from mercer.data import Kind, Table
from mercer.data.declared_kinds import with_kinds
from mercer.data.target import split_target

FRAME = pa.table({"stars": [1, 2, 3, 4, 5] * 10, "key": [f"k{i}" for i in range(50)], "y": ["a", "b"] * 25})


@pytest.mark.parametrize(
    ("name", "kind", "stored"),
    [
        ("stars", Kind.NUMBER, Kind.NUMBER),
        ("stars", Kind.COUNT, Kind.COUNT),
        ("stars", Kind.IDENTIFIER, Kind.CODE),
        ("key", Kind.TEXT, Kind.CATEGORY),
        ("key", Kind.CATEGORY, Kind.CATEGORY),
    ],
)
def test_declared_kinds_override_the_values(name: str, kind: Kind, stored: Kind) -> None:
    column = Schema.infer(with_kinds(FRAME, {name: kind}))[name]
    assert (column.kind, column.stored) == (kind, stored)
    assert "as given" in column.notes


def test_declared_kinds_are_kept_when_rows_and_columns_are_selected() -> None:
    problem = split_target(with_kinds(FRAME, {"stars": Kind.NUMBER}), "y", drop=["key"])
    table = Table.of(problem.X).take(np.arange(10, 40))
    assert Schema.infer(table)["stars"].kind is Kind.NUMBER
    assert TableFeatures().fit(table.native).get_feature_names_out().tolist() == ["stars"]


def test_an_unknown_column_is_rejected() -> None:
    with pytest.raises(ColumnMismatchError, match="Did you mean 'stars'"):
        with_kinds(FRAME, {"star": Kind.NUMBER})
