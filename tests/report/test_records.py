"""Records keep what they were given as plain tuples, and reject what does not fit together."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from mercer._errors import RecordError
from mercer.report import Axis, Bars, Chart, CostTable, EvidenceRecord, Heat, Line, Page, PointCloud, RowTable, Section


def test_records_with_equal_arrays_are_equal() -> None:
    line = Line("a", np.arange(3), np.array([1, np.nan, 3], dtype=np.float32))
    assert line.x == (0.0, 1.0, 2.0)
    assert math.isnan(line.y[1])
    assert Line("a", [0, 1], (2, 3)) == Line("a", np.array([0, 1]), np.array([2, 3]))
    assert hash(Bars("b", ["x"], [1])) == hash(Bars("b", ("x",), np.ones(1)))


def test_cells_have_names_or_one_edge_more() -> None:
    named, edged = Heat("n", ("a", "b"), ("c",), [[1], [2]]), Heat("n", [0, 1, 2], [0.0, 0.5], np.ones((2, 1)))
    assert (named.n_rows, named.n_columns) == (edged.n_rows, edged.n_columns) == (2, 1)


EVIDENCE = EvidenceRecord("m", "log odds", 0, [[1.0, 2.0]], ["yes"])

UNFIT: dict[str, Callable[[], object]] = {
    "line": lambda: Line("a", [0, 1], [0]),
    "band": lambda: Line("a", [0, 1], [0, 1], low=[0]),
    "labels": lambda: PointCloud("a", [0], [0], ["x", "y"]),
    "bars": lambda: Bars("a", ["x"], [1, 2]),
    "bars of two kinds": lambda: Chart("c", Axis(""), Axis(""), (Bars("a", ["x"], [1]), Bars("b", ["y"], [1]))),
    "cells": lambda: Heat("h", ["a"], ["b"], [[1, 2]]),
    "shades": lambda: Heat("h", ["a"], ["b"], [[1]], shades=[[1], [1]]),
    "probabilities": lambda: CostTable("ab", {"m": ([[0.5, 0.5]], [0, 1])}),
    "codes": lambda: CostTable("ab", {"m": ([[0.5, 0.5]], [2])}),
    "costs": lambda: CostTable("ab", {}, [[0, 1]]),
    "features": lambda: RowTable(("a",), [["1"]], (EVIDENCE,)),
    "rows": lambda: RowTable(("a", "b"), [["1", "2"]] * 2, (EVIDENCE,)),
    "texts": lambda: RowTable(("a", "b"), [["1"]], ()),
    "id": lambda: Section("no spaces", "title", ()),
    "ids": lambda: Page("t", "", (Section("a", "A", ()), Section("a", "B", ()))),
}


@pytest.mark.parametrize("make", UNFIT.values(), ids=UNFIT)
def test_inconsistent_records_are_rejected(make: Callable[[], object]) -> None:
    with pytest.raises(RecordError):
        make()


def test_the_message_names_the_parts() -> None:
    with pytest.raises(RecordError, match="A line has parts of unequal length: x 2, y 1"):
        Line("a", [0, 1], [0])


def test_rows_have_names() -> None:
    assert RowTable(("a", "b"), [["1", "2"]], (EVIDENCE,)).names == ("row 1",)
