"""Records of results, as plain text and on a terminal."""

from __future__ import annotations

import io
import math

import pytest
from rich.console import Console

from mercer.report import Field, Grid, print_grid

GRID = Grid(
    "Scores",
    (Field("model"), Field("accuracy", ".3f"), Field("rows", "d")),
    (("first [bold]", 0.98765, 12), ("second", math.nan, None)),
    ("A note with [markup] in it.",),
)


def printed(grid: Grid, width: int = 80) -> str:
    out = io.StringIO()
    print_grid(grid, Console(file=out, width=width))
    return out.getvalue()


def test_numbers_are_rounded_and_unknown_values_are_dashes() -> None:
    assert GRID.written() == [["first [bold]", "0.988", "12"], ["second", "–", "–"]]


def test_plain_text_lines_up() -> None:
    title, *lines, note = str(GRID).splitlines()
    assert (title, note) == ("Scores", "A note with [markup] in it.")
    assert [line.rindex(end) for line, end in zip(lines[1:], ("----", "12", "–"), strict=True)] == [24, 26, 27]


def test_the_terminal_shows_every_cell_without_interpreting_markup() -> None:
    text = printed(GRID)
    for cell in ("Scores", "model", "first [bold]", "0.988", "second", "–", "A note with [markup] in it."):
        assert cell in text


def test_long_notes_wrap_and_numbers_do_not() -> None:
    grid = Grid("", (Field("accuracy", ".4f"), Field("note")), ((0.98765, "word " * 60),))
    assert "0.9877" in printed(grid)
    assert printed(grid).count("word") == 60


def test_in_a_narrow_terminal_columns_continue_below_with_the_names() -> None:
    fields = (Field("model"), *(Field(heading, ".4f") for heading in ("accuracy", "log loss", "fit seconds")))
    names = ("LinearDiscriminantAnalysis", "GaussianNB")
    text = printed(Grid("", fields, tuple((name, 0.98765, 0.12345, 0.00012) for name in names)), width=52)
    lines = [line.split() for line in text.splitlines() if line.strip()]
    assert [line for line in lines if line[0] in names] == [
        [name, *numbers] for numbers in (["0.9877", "0.1235"], ["0.0001"]) for name in names
    ]
    assert max(map(len, text.splitlines())) <= 52


@pytest.mark.parametrize("width", [12, 20, 40, 80])
def test_no_column_is_lost_in_any_terminal(width: int) -> None:
    text = printed(Grid("", (Field("a"), Field("b", ".1f"), Field("c")), (("one", 2.5, "six"),)), width)
    assert all(cell in text for cell in ("2.5", "six"))


def test_a_grid_without_rows_still_has_its_headings() -> None:
    assert "model" in str(Grid("", (Field("model"),), ()))
