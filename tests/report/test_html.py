"""Grids as HTML."""

from __future__ import annotations

from xml.etree import ElementTree

from mercer.report import Field, Grid, grid_html

GRID = Grid(
    "Fruit & co", (Field("name"), Field("price", ".2f")), (("<b>apple</b>", 1.5), ("melon", None)), ("In euros.",)
)


def test_every_cell_is_shown_and_escaped() -> None:
    page = ElementTree.fromstring(f"<div>{grid_html(GRID)}</div>")
    assert page.findtext("table/caption") == "Fruit & co"
    assert [cell.text for cell in page.iter("th")] == ["name", "price"]
    assert [cell.text for cell in page.iter("td")] == ["<b>apple</b>", "1.50", "melon", "–"]
    assert page.findtext("p") == "In euros."


def test_numbers_are_right_aligned() -> None:
    page = ElementTree.fromstring(f"<div>{grid_html(GRID)}</div>")
    assert [cell.get("style") for cell in page.iter("td")][:2] == ["text-align: left", "text-align: right"]
