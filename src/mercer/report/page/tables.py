"""Grids as tables that can be sorted by any column."""

from __future__ import annotations

import math
import re

from mercer.report.grid import NOTHING, Cell, Field, Grid
from mercer.report.markup import Markup, inline, joined, tag, text
from mercer.report.page.limits import PageLimits

#: a number at the beginning of words, as in "0.91 ± 0.02" or "< 0.001"
_NUMBER = re.compile(r"\s*[<>≤≥~≈]?\s*([-+−]?\d[\d,]*\.?\d*(?:[eE][-+]?\d+)?)")
#: a number with its interval: "0.91 ± 0.02", "0.005 (0.000–0.007)"
_INTERVAL = re.compile(r"(\S+) (± .+|\(.+\))")
#: a hyphen that is a minus: "-0.2 ± 0.1", "0.01 (-0.02–0.04)", but not "1e-05" or "2024-01-31"
_MINUS = re.compile(r"(?<![\w.-])-(?=[\d.])")
#: where the options of a call begin
_CALL = re.compile(r"(?<=\w)\(")
#: a table with more rows scrolls in a box of its own
_TALL = 16
#: pixels for a table on a phone, for a letter, and around a cell
PHONE, LETTER, AROUND = 330, 7.4, 16
#: letters of words that are broken into lines of at least 20 digits, which are wider, and of those in lines of 15
_LONG, _WIDE = 44, 18
#: letters that are as wide as 20 digits
_LINE = 24


def table_html(grid: Grid, limits: PageLimits) -> Markup:
    shown = grid.rows[: max(limits.cells // max(len(grid.fields), 1), 1)]
    numeric = [_ordered_by_number(field, [row[j] for row in shown]) for j, field in enumerate(grid.fields)]
    head = joined(tag("th", field.heading, scope="col", class_=_side(field)) for field in grid.fields)
    stacked = _is_stacked(grid.fields, shown)
    body = joined(_row(grid.fields, row, numeric, limits, stacked) for row in shown)
    caption = tag("caption", tag("span", grid.title)) if grid.title else Markup()
    kinds = "sortable stacked" if stacked else "sortable"
    table = tag("table", caption, tag("thead", tag("tr", head)), tag("tbody", body), class_=kinds)
    return joined((scrolling(table, grid.title or "Table", tall=len(shown) > _TALL), *_notes(grid, len(shown))))


def _is_stacked(fields: tuple[Field, ...], rows: tuple[tuple[Cell, ...], ...]) -> bool:
    """Whether a table is wider than a phone, about, where it is a list: each value beside its heading."""
    if len(fields) < 3:
        return False
    cells = (max((_letters(field.write(row[j])) for row in rows), default=0) for j, field in enumerate(fields))
    # headings go on in the next line between words; behind the last one is the mark of the order
    headings = (max(map(len, field.heading.split()), default=0) + 2 for field in fields)
    letters = sum(map(max, headings, cells))
    return letters * LETTER + len(fields) * AROUND > PHONE


def _letters(words: str) -> int:
    """Letters in the longest line of a cell on a phone: long words are broken, and an interval is a line of its own."""
    if found := _INTERVAL.fullmatch(words):
        return max(map(len, found.groups()))
    return _LINE if len(words) > _LONG else min(len(words), _WIDE)


def scrolling(table: Markup, name: str, *, tall: bool = False) -> Markup:
    """A table in a box: what is wider than the page scrolls in it, also with the keyboard."""
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
        "none" if words in ("", NOTHING) else "",
        "long" if len(words) > _LONG else "wide" if len(words) > _WIDE else "",
    )
    names = " ".join(filter(None, kinds))
    kind, scope = ("th", "row") if j == 0 and not field.numeric else ("td", None)
    told = breaking(text(words)) if kind == "th" else _margin_apart(words) if number is not None else words
    value = None if number is None else repr(number)
    label = heading if kind == "td" else None
    inside = told if label is None else tag("span", told)  # one box, beside the heading
    return tag(kind, inside, scope=scope, class_=names or None, data_v=value, data_label=label)


def _margin_apart(words: str) -> Markup:
    """An interval is smaller than its number, and stands below it where the table has little room."""
    found = _INTERVAL.fullmatch(words)
    return joined((found[1], " ", tag("span", found[2], class_="margin"))) if found else text(words)


def breaking(words: Markup) -> Markup:
    """A call, `Model(option=1, other=F(2))`, may be broken before its options, and `a_long_name` at its underscores."""
    return Markup(_CALL.sub("(<wbr>", words, count=1).replace("_", "_<wbr>"))


def _side(field: Field) -> str | None:
    return "number" if field.numeric else None


def _ordered_by_number(field: Field, cells: list[Cell]) -> bool:
    told = [cell for cell in cells if field.write(cell) not in (NOTHING, "")]
    return bool(told) and all(_number(cell) is not None for cell in told)


def _number(cell: Cell) -> float | None:
    if cell is None:
        return None
    if not isinstance(cell, str):
        return None if math.isnan(cell) else float(cell)
    found = _NUMBER.match(cell)
    return float(found[1].replace("−", "-").replace(",", "")) if found else None


def _notes(grid: Grid, shown: int) -> list[Markup]:
    left_out = [] if shown == len(grid.rows) else [f"The first {shown:,} of {len(grid.rows):,} rows."]
    return [tag("p", inline(note), class_="small") for note in (*grid.notes, *left_out)]
