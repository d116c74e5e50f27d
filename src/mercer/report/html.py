"""Records as HTML for notebooks."""

from __future__ import annotations

from mercer.report.grid import Grid
from mercer.report.markup import Markup, join_markup, tag


def grid_html(grid: Grid) -> str:
    """Return a grid as a table with a caption; cells and notes are escaped."""
    sides = ["right" if field.numeric else "left" for field in grid.fields]
    head = _row("th", [field.heading for field in grid.fields], sides)
    body = join_markup(_row("td", row, sides) for row in grid.written())
    caption = tag("caption", grid.title) if grid.title else Markup()
    table = tag("table", caption, tag("thead", head), tag("tbody", body))
    return join_markup((table, *(tag("p", note) for note in grid.notes)))


def _row(kind: str, cells: list[str], sides: list[str]) -> Markup:
    return tag("tr", *(tag(kind, cell, style=f"text-align: {side}") for cell, side in zip(cells, sides, strict=True)))
