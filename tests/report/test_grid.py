"""Records of results, as plain text and on a terminal."""

from __future__ import annotations

import io
import math

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


def test_numbers_are_rounded_and_what_is_unknown_is_a_dash() -> None:
    assert GRID.written() == [["first [bold]", "0.988", "12"], ["second", "–", "–"]]


def test_plain_text_lines_up() -> None:
    title, *lines, note = str(GRID).splitlines()
    assert (title, note) == ("Scores", "A note with [markup] in it.")
    assert [line.rindex(end) for line, end in zip(lines[1:], ("----", "12", "–"), strict=True)] == [24, 26, 27]


def test_the_terminal_shows_every_cell_and_takes_nothing_for_markup() -> None:
    text = printed(GRID)
    for cell in ("Scores", "model", "first [bold]", "0.988", "second", "–", "A note with [markup] in it."):
        assert cell in text


def test_long_notes_wrap_and_numbers_do_not() -> None:
    grid = Grid("", (Field("accuracy", ".4f"), Field("note")), ((0.98765, "word " * 60),))
    assert "0.9877" in printed(grid)
    assert printed(grid).count("word") == 60


def test_a_narrow_terminal_shows_the_names_and_whole_numbers() -> None:
    fields = (Field("model"), *(Field(heading, ".4f") for heading in ("accuracy", "log loss", "fit seconds")))
    text = printed(Grid("", fields, (("LinearDiscriminantAnalysis", 0.98765, 0.12345, 0.00012),)), width=40)
    first_column = "".join(line.split()[0] for line in text.splitlines() if line.startswith("  ") and line.strip())
    assert first_column.endswith("LinearDiscriminantAnalysis")
    assert all(number in text for number in ("0.9877", "0.1235", "0.0001"))


def test_a_grid_without_rows_still_has_its_headings() -> None:
    assert "model" in str(Grid("", (Field("model"),), ()))
