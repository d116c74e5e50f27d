"""Every block of Python and every command in README, CONTRIBUTING and docs/ is run, and prints the output shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs._pages import Page, pages
from tests.docs._run import matches, run_page

TOUR = next(page for page in pages() if page.name == "docs/guides/tour.md")


@pytest.fixture(autouse=True)
def an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("COLUMNS", "160")


@pytest.mark.parametrize("page", [page for page in pages() if page.runs and page != TOUR], ids=lambda page: page.name)
def test_a_page_runs_and_prints_the_output_shown(page: Page) -> None:
    for package in page.needs:
        pytest.importorskip(package, reason=f"{page.name} uses {package}")
    run_page(page)


@pytest.mark.parametrize("rows", ["2_000", pytest.param("20_000", marks=pytest.mark.slow)])
def test_the_tour_runs_and_prints_the_output_shown(rows: str) -> None:
    """Run the tour with few rows and, as a slow test, with all of its rows."""
    assert TOUR.text.count("20_000") == 1
    run_page(TOUR, {"20_000": rows})


@pytest.mark.parametrize(
    ("shown", "expected", "same"),
    [
        ("a  \nb\n\n", "a\nb\n", True),
        ("a\nb\nc\n", "a\nc\n", False),
        ("a\nb\nc\n", "a\n…\nc\n", True),
        ("took 0.3 s.\n", "took … s.\n", True),
        ("took 0.3 s.\n", "took … s,\n", False),
        ("a\n", "", False),
    ],
)
def test_output_is_compared_line_by_line(shown: str, expected: str, same: bool) -> None:
    assert matches(shown, expected) == same
