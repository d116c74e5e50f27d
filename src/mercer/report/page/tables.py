"""Grids as HTML tables that can be sorted by any column."""

from __future__ import annotations

import math
import re

from mercer.report.grid import EMPTY_CELL, Cell, Field, Grid
from mercer.report.markup import Markup, escape_text, inline, join_markup, tag
from mercer.report.page.limits import PageLimits

#: a number at the beginning of words, as in "0.91 ± 0.02" or "< 0.001"
_NUMBER = re.compile(r"\s*[<>≤≥~≈]?\s*([-+−]?\d[\d,]*\.?\d*(?:[eE][-+]?\d+)?)")
#: a number with its interval: "0.91 ± 0.02", "0.005 (0.000–0.007)"
_INTERVAL = re.compile(r"(\S+) (± .+|\(.+\))")
#: a hyphen that is a minus: "-0.2 ± 0.1", "0.01 (-0.02–0.04)", but not "1e-05" or "2024-01-31"
_MINUS = re.compile(r"(?<![\w.-])-(?=[\d.])")
#: the beginning of the arguments of a call
_CALL = re.compile(r"(?<=\w)\(")
#: a table with more rows scrolls in its own box
_MAX_UNSCROLLED = 16
#: width of a table on a phone, in pixels
PHONE_WIDTH = 330
#: width of a letter, in pixels
TABLE_LETTER_WIDTH = 7.4
#: horizontal padding of a cell, in pixels
CELL_PADDING_PIXELS = 16
#: longer words are broken into lines of at least 20 digits, which are wider than letters
_LONG = 44
#: longer words are broken into lines of 15 digits
_WIDE = 18
#: number of letters as wide as 20 digits
_LINE = 24


def table_html(grid: Grid, limits: PageLimits) -> Markup:
    shown = grid.rows[: max(limits.cells // max(len(grid.fields), 1), 1)]
    numeric = [_is_ordered_by_number(field, [row[j] for row in shown]) for j, field in enumerate(grid.fields)]
    head = join_markup(tag("th", field.heading, scope="col", class_=_side(field)) for field in grid.fields)
    stacked = _is_stacked(grid.fields, shown)
    body = join_markup(_row(grid.fields, row, numeric, limits, stacked) for row in shown)
    caption = tag("caption", tag("span", grid.title)) if grid.title else Markup()
    kinds = "sortable stacked" if stacked else "sortable"
    table = tag("table", caption, tag("thead", tag("tr", head)), tag("tbody", body), class_=kinds)
    return join_markup(
        (scroll_box(table, grid.title or "Table", tall=len(shown) > _MAX_UNSCROLLED), *_notes(grid, len(shown)))
    )


def _is_stacked(fields: tuple[Field, ...], rows: tuple[tuple[Cell, ...], ...]) -> bool:
    """Return whether a table is about wider than a phone, where it becomes a list of headings and values."""
    if len(fields) < 3:
        return False
    cells = (max((_count_letters(field.write(row[j])) for row in rows), default=0) for j, field in enumerate(fields))
    # headings wrap between words; the sign of the order follows the last one
    headings = (max(map(len, field.heading.split()), default=0) + 2 for field in fields)
    letters = sum(map(max, headings, cells))
    return letters * TABLE_LETTER_WIDTH + len(fields) * CELL_PADDING_PIXELS > PHONE_WIDTH


def _count_letters(words: str) -> int:
    """Return the letters in the longest line of a cell on a phone, where long words are broken and intervals wrap."""
    if match := _INTERVAL.fullmatch(words):
        return max(map(len, match.groups()))
    return _LINE if len(words) > _LONG else min(len(words), _WIDE)


def scroll_box(table: Markup, name: str, *, tall: bool = False) -> Markup:
    """Return a table in a box that scrolls if the table is wider than the page, also with the keyboard."""
    return tag("div", table, class_="box tall" if tall else "box", role="region", aria_label=name, tabindex="0")


def _row(
    fields: tuple[Field, ...], row: tuple[Cell, ...], numeric: list[bool], limits: PageLimits, stacked: bool
) -> Markup:
    headings = [field.heading if stacked else None for field in fields]
    cells = (_cell(j, fields[j], cell, numeric[j], limits, headings[j]) for j, cell in enumerate(row))
    return tag("tr", *cells)


def _cell(j: int, field: Field, cell: Cell, numeric: bool, limits: PageLimits, heading: str | None) -> Markup:
    words = field.write(cell) if isinstance(cell, str) else field.write(cell).replace("-", "−")
    if len(words) > limits.characters:
        words = words[: limits.characters - 1] + "…"
    number = _number(cell) if numeric else None
    words = words if number is None else _MINUS.sub("−", words)
    kinds = (
        _side(field),
        "none" if words in ("", EMPTY_CELL) else "",
        "long" if len(words) > _LONG else "wide" if len(words) > _WIDE else "",
    )
    names = " ".join(filter(None, kinds))
    kind, scope = ("th", "row") if j == 0 and not field.numeric else ("td", None)
    content: object = words
    if kind == "th":
        content = add_break_points(escape_text(words))
    elif number is not None:
        content = _mark_interval(words)
    value = None if number is None else repr(number)
    label = heading if kind == "td" else None
    inside = content if label is None else tag("span", content)  # one box, next to the heading
    return tag(kind, inside, scope=scope, class_=names or None, data_v=value, data_label=label)


def _mark_interval(words: str) -> Markup:
    """Mark the interval of a number, which is printed smaller, and below the number in a narrow table."""
    match = _INTERVAL.fullmatch(words)
    return join_markup((match[1], " ", tag("span", match[2], class_="margin"))) if match else escape_text(words)


def add_break_points(words: Markup) -> Markup:
    """Allow line breaks before the arguments of a call, `Model(option=1)`, and after underscores."""
    return Markup(_CALL.sub("(<wbr>", words, count=1).replace("_", "_<wbr>"))


def _side(field: Field) -> str | None:
    return "number" if field.numeric else None


def _is_ordered_by_number(field: Field, cells: list[Cell]) -> bool:
    present = [cell for cell in cells if field.write(cell) not in (EMPTY_CELL, "")]
    return bool(present) and all(_number(cell) is not None for cell in present)


def _number(cell: Cell) -> float | None:
    if cell is None:
        return None
    if not isinstance(cell, str):
        return None if math.isnan(cell) else float(cell)
    match = _NUMBER.match(cell)
    return float(match[1].replace("−", "-").replace(",", "")) if match else None


def _notes(grid: Grid, shown: int) -> list[Markup]:
    left_out = [] if shown == len(grid.rows) else [f"The first {shown:,} of {len(grid.rows):,} rows."]
    return [tag("p", inline(note), class_="small") for note in (*grid.notes, *left_out)]
