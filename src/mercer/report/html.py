"""Records as HTML, to stand in a notebook or a page."""

from __future__ import annotations

from html import escape

from mercer.report.grid import Grid


def grid_html(grid: Grid) -> str:
    """A grid as a table with a caption; every cell and note is text, never markup."""
    sides = ["right" if field.numeric else "left" for field in grid.fields]
    head = _row("th", [field.heading for field in grid.fields], sides)
    body = "".join(_row("td", row, sides) for row in grid.written())
    caption = f"<caption>{escape(grid.title)}</caption>" if grid.title else ""
    notes = "".join(f"<p>{escape(note)}</p>" for note in grid.notes)
    return f"<table>{caption}<thead>{head}</thead><tbody>{body}</tbody></table>{notes}"


def _row(tag: str, cells: list[str], sides: list[str]) -> str:
    written = (
        f'<{tag} style="text-align: {side}">{escape(cell)}</{tag}>' for cell, side in zip(cells, sides, strict=True)
    )
    return f"<tr>{''.join(written)}</tr>"
