"""Grids as tables: numbers carry their value, so that sorting needs no guess."""

from __future__ import annotations

import math
from xml.etree import ElementTree

from mercer.report import Field, Grid
from mercer.report.page.limits import PageLimits
from mercer.report.page.tables import table_html


def cells(*rows: object, form: str = "") -> list[str | None]:
    grid = Grid("t", (Field("name"), Field("x", form)), tuple(("a", row) for row in rows))  # type: ignore[misc]
    page = ElementTree.fromstring(f"<div>{table_html(grid, PageLimits())}</div>")
    return [cell.get("data-v") for cell in page.iter("td")]


def test_numbers_have_their_full_value_and_missing_cells_have_none() -> None:
    assert cells(1 / 3, None, math.nan, 2, form=".2f") == [repr(1 / 3), None, None, "2.0"]


def test_numbers_have_a_minus_sign_and_words_are_unchanged() -> None:
    html = table_html(Grid("", (Field("a"), Field("b", ".1f")), (("x-y", -1.5),)), PageLimits())
    assert ">x-y<" in html
    assert ">−1.5<" in html
    scores = Grid("", (Field("a"), Field("b")), (("x-y", "-0.24 ± 0.57"), ("z", "1e-05 (-0.1–0.2)")))
    written = table_html(scores, PageLimits())
    assert "−0.24" in written
    assert "1e-05" in written
    assert "(−0.1–0.2)" in written


def test_words_that_begin_with_numbers_are_ordered_by_them() -> None:
    assert cells("0.91 ± 0.02", "–", "< 0.001", "−3", "1,200 rows") == ["0.91", None, "0.001", "-3.0", "1200.0"]


def test_a_margin_is_separated_from_its_number_and_a_call_can_break_before_its_options() -> None:
    grid = Grid(
        "", (Field("model"), Field("x", ".2f")), (("Model(a=1)", "0.91 ± 0.02"), ("(b)", 0.5), ("c", "0.5 (0–1)"))
    )
    html = table_html(grid, PageLimits())
    assert '>0.91 <span class="margin">± 0.02</span></td>' in html
    assert '>0.5 <span class="margin">(0–1)</span></td>' in html
    assert ">Model(<wbr>a=1)</th>" in html
    assert ">0.50</td>" in html


def test_a_column_is_text_if_any_cell_is_not_a_number() -> None:
    assert cells("12 apples", "pears") == [None, None]


def test_headings_and_names_have_a_scope_and_tables_a_caption() -> None:
    grid = Grid("Fruit", (Field("name"), Field("price", ".2f")), (("apple", 1.5),), ("In `euros`.",))
    page = ElementTree.fromstring(f"<div>{table_html(grid, PageLimits())}</div>")
    assert [cell.get("scope") for cell in page.iter("th")] == ["col", "col", "row"]
    assert page.findtext(".//caption/span") == "Fruit"
    assert page.findtext(".//p/code") == "euros"


def test_a_table_that_is_too_long_is_cut_with_a_note() -> None:
    grid = Grid("", (Field("n", "d"),), tuple((i,) for i in range(50)))
    html = table_html(grid, PageLimits(cells=20))
    assert html.count("<tr>") == 21
    assert "The first 20 of 50 rows." in html


def test_very_long_words_are_cut() -> None:
    html = table_html(Grid("", (Field("n"),), (("x" * 9000,),)), PageLimits())
    assert len(html) < 2500
