"""The page as a whole: its sections, its size, and what is left out of it."""

from __future__ import annotations

import signal
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

from mercer import GaussianNB, LinearDiscriminantAnalysis, LogisticRegression, MultinomialNB, compare
from mercer.comparison import time_limit
from mercer.comparison._view import View
from mercer.comparison.comparison import Comparison
from mercer.comparison.sections.curves import curves as learning_curves_section
from mercer.comparison.sections.leaders import leaders
from mercer.comparison.sections.whole import FITTING_SECTIONS, PAGE_SECTIONS, PAGE_STEPS, page
from mercer.comparison.time_limit import Budget, OutOfTime
from mercer.report import Bars, Chart, Grid, Line, Note, Page, PointCloud, Section
from mercer.report.page import page_html
from tests.comparison.sections._pages import blocks, section


def test_every_section_is_there(of_iris: Page, of_numbers: Page) -> None:
    classes = {"leaderboard", "checks", "data", "decisions", "calibration", "ranking", "rows", "coefficients"}
    classes |= {"likelihoods", "regions", "densities", "unusual", "certificates", "reproduce"}
    ids = [each.id for each in of_iris.sections]
    assert classes <= set(ids)
    assert "left-out" not in ids
    assert {"predictions", "regions", "rows", "coefficients"} <= {each.id for each in of_numbers.sections}
    assert not {"ranking", "calibration", "decisions"} & {each.id for each in of_numbers.sections}


def test_pages_are_small_and_can_be_written(of_iris: Page, of_mixed: Page, of_numbers: Page, of_counts: Page) -> None:
    for each in (of_iris, of_mixed, of_numbers, of_counts):
        assert len(page_html(each).encode()) < 2_000_000
        assert not [found.id for found in each.sections if found.id == "left-out"]


def test_no_chart_is_empty(of_iris: Page, of_mixed: Page, of_numbers: Page, of_counts: Page) -> None:
    for each in (of_iris, of_mixed, of_numbers, of_counts):
        for chart in (block for found in each.sections for block in blocks(found, Chart)):
            assert chart.marks, chart.title
            for mark in chart.marks:
                if isinstance(mark, Line | PointCloud):
                    assert np.isfinite(mark.y).any(), chart.title
                if isinstance(mark, Bars):
                    assert len(mark.values), chart.title


def test_a_section_that_fails_is_left_out_with_a_note(iris: Comparison) -> None:
    def breaks(view: Any) -> Any:
        raise ZeroDivisionError("by nothing")

    made = page(iris, sections=(breaks, PAGE_SECTIONS[0]))
    assert [each.id for each in made.sections] == ["leaderboard", "left-out"]
    assert made.sections[1].blocks == (Note("breaks: ZeroDivisionError: by nothing"),)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that pass when a section says so."""
    passed = [0.0]
    monkeypatch.setattr(time_limit, "now", lambda: passed[0])
    return passed


def test_sections_that_are_not_made_in_time_are_named(iris: Comparison, clock: list[float]) -> None:
    """Sections that fit models are made last, although they are first on the page."""
    begun: list[str] = []

    def taking(name: str, seconds: float) -> Any:
        def write(view: Any) -> Section:
            begun.append(name)
            clock[0] += seconds
            return Section(name, name, ("something",))

        write.__name__ = name
        return write

    fits, quick, slow = taking("fits", 1), taking("quick", 5), taking("slow", 5)
    late = taking("late", 1)
    sections = (fits, late, quick, slow, leaders)
    made = page(iris, budget=Budget(10.5), sections=sections, fitting_sections=(fits, late))
    assert begun == ["quick", "slow", "fits"]
    assert [each.id for each in made.sections] == ["fits", "quick", "slow", "leaderboard", "left-out"]
    assert made.sections[-1].blocks == (Note("late: not made, because the time limit was reached (not begun)."),)
    assert made.answer is not None
    assert len(made.answer.influences) == 3  # computed before the sections


def test_a_page_without_a_time_limit_names_its_limit_of_work(iris: Comparison, clock: list[float]) -> None:
    def late(view: Any) -> Any:
        raise OutOfTime("not begun")

    made = page(iris, budget=Budget(15, work=True), sections=(late, leaders))
    (note,) = made.sections[-1].blocks
    assert note.text == (
        "late: not made, because the usual 15 s of work, which a time limit of your own replaces, were used up "
        "(not begun)."
    )


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer that rings")
def test_a_section_is_cut_short_when_the_time_is_up(iris: Comparison) -> None:
    def endless(view: Any) -> Any:
        signal.raise_signal(signal.SIGALRM)

    made = page(iris, budget=Budget(3600), sections=(endless, leaders))
    assert made.sections[-1].blocks == (
        Note("endless: not made, because the time limit was reached (cut short when the time was up)."),
    )


def test_models_are_not_refitted_if_their_fits_took_longer_than_the_time_left(
    iris: Comparison, clock: list[float]
) -> None:
    slow = replace(iris, entries=tuple(replace(entry, fit_seconds=9.0, fitted=None) for entry in iris.entries))
    ids = {each.id for each in page(slow, budget=Budget(5)).sections}
    assert all(entry.fitted is None for entry in slow.entries)
    assert {"leaderboard", "data", "decisions", "calibration", "ranking", "densities"} <= ids
    assert not {"coefficients", "likelihoods", "regions"} & ids


def test_progress_is_reported_before_every_section(iris: Comparison) -> None:
    steps: list[tuple[Any, ...]] = []
    page(iris, progress=lambda *step: steps.append(step), sections=PAGE_SECTIONS[:3])
    assert steps == [
        ("page", 0, 4, "leaderboard"),
        ("page", 1, 4, "columns"),
        ("page", 2, 4, "checks"),
        ("page", 3, 4, "writing"),
    ]
    assert len(PAGE_SECTIONS) + 1 == PAGE_STEPS


def test_learning_curves_of_the_pair_that_took_part(of_iris: Page) -> None:
    charts = blocks(section(of_iris, "curves"), Chart)
    assert charts
    assert all({mark.name for mark in chart.marks[:2]} <= {"normal", "LDA", "logistic"} for chart in charts)


def test_numbers_of_thousands_have_no_exponent() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"income": rng.normal(190_000, 100_000, size=60).round(), "age": rng.normal(40, 10, size=60)})
    found = compare(X, np.tile(["a", "b"], 30), models=[GaussianNB()], cv=2)
    made = page(found)
    shown = [cell for grid in blocks(section(made, "data"), Grid) for line in grid.written() for cell in line[4:8]]
    shown += [cell for grid in blocks(section(made, "likelihoods"), Grid) for line in grid.written() for cell in line]
    assert not [cell for cell in shown if "e+" in cell]


def test_sparse_rows_and_a_target_of_many_classes() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(12), 10)
    counts = rng.poisson(0.3 + 3.0 * (np.arange(24) % 12 == y[:, None]))
    found = compare(sparse.csr_matrix(counts), y.astype(str), models={"words": MultinomialNB()}, cv=3)
    made = page(found)
    assert "left-out" not in {each.id for each in made.sections}
    assert blocks(section(made, "data"), Grid)[0].title == "A sparse matrix"


def test_the_same_seed_gives_the_same_page_except_for_times() -> None:
    def curves(view: View) -> Section | None:
        return learning_curves_section(view, repeats=1)

    sections = [curves if each is learning_curves_section else each for each in PAGE_SECTIONS]
    fitting = [curves if each is learning_curves_section else each for each in FITTING_SECTIONS]
    X, y = load_iris(return_X_y=True, as_frame=True)
    models = {"LDA": LinearDiscriminantAnalysis(), "logistic": LogisticRegression()}
    one, other = (
        page(compare(X[::3], y[::3], models=models, cv=3), sections=sections, fitting_sections=fitting)
        for _ in range(2)
    )
    timed = {"leaderboard", "reproduce"}
    assert [each.id for each in one.sections] == [each.id for each in other.sections]
    for first, second in zip(one.sections, other.sections, strict=True):
        assert first.id in timed or repr(first) == repr(second)
