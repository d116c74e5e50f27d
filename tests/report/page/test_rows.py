"""Tests of the rows to inspect: the script receives the given values."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np

from mercer.report import EvidenceRecord, RowTable
from mercer.report.page.limits import PageLimits
from mercer.report.page.rows import rows_html


def script_data(rows: RowTable, limits: PageLimits | None = None) -> dict[str, Any]:
    (script,) = re.findall(
        r'<script type="application/json" class="values">(.*?)</script>', rows_html(rows, limits or PageLimits())
    )
    found: dict[str, Any] = json.loads(script)
    return found


def test_empty_values_are_not_transmitted() -> None:
    evidence = EvidenceRecord("m", "log odds", 1.5, [[0.0, 2.0, math.nan, -1.0]], ["yes"], "abcd")
    (model,) = script_data(RowTable(("v",), [["1"]], (evidence,)))["models"]
    assert model["adds"] == [[1, 2.0, 3, -1.0]]
    assert model["base"] == 1.5


def test_probabilities_are_rounded_once() -> None:
    evidence = EvidenceRecord("m", "", 0, [[1.0]], ["yes"], classes=("no", "yes"), probabilities=[[0.10851, 0.89149]])
    (model,) = script_data(RowTable(("a",), [["1"]], (evidence,)))["models"]
    assert [f"{p:.3f}" for p in model["probabilities"][0]] == ["0.109", "0.891"]


def test_too_many_rows_are_thinned_consistently() -> None:
    n = 1000
    evidence = EvidenceRecord("m", "log odds", 0, np.ones((n, 2)), [f"p{i}" for i in range(n)])
    rows = RowTable("ab", [[str(i), "x"] for i in range(n)], (evidence,), truth=[f"t{i}" for i in range(n)])
    sent = script_data(rows, PageLimits(rows=100))
    assert 5 <= len(sent["rows"]) < 60
    for name, row, truth, predicted in zip(
        sent["names"], sent["rows"], sent["truth"], sent["models"][0]["predicted"], strict=True
    ):
        i = int(row[0])
        assert (name, truth, predicted) == (f"row {i + 1}", f"t{i}", f"p{i}")


def test_without_a_script_the_first_rows_are_a_table() -> None:
    evidence = EvidenceRecord(
        "m", "", 0, [[1.0]] * 12, ["yes"] * 12, classes=("no", "yes"), probabilities=[[0.2, 0.8]] * 12
    )
    html = rows_html(RowTable(("a",), [["1"]] * 12, (evidence,)), PageLimits())
    assert html.count("yes (0.80)") == 10


def test_a_page_without_rows_has_a_message() -> None:
    assert "There are no rows" in rows_html(RowTable(("a",), (), ()), PageLimits())
