"""Learning curves on the page: every pair, whatever the duration of its fits, with its crossing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

from mercer import GaussianNB, LinearDiscriminantAnalysis, LogisticRegression, compare
from mercer.comparison import time_limit
from mercer.comparison._view import View
from mercer.comparison.comparison import Comparison
from mercer.comparison.learning_curves import LearningCurves
from mercer.comparison.sections.curves import _add_crossover, curves, find_pairs
from mercer.comparison.time_limit import Budget
from mercer.report import Chart, Line, Note


@pytest.fixture(scope="module")
def iris() -> Comparison:
    models = {"LDA": LinearDiscriminantAnalysis(), "normal": GaussianNB(), "logistic": LogisticRegression()}
    return compare(*load_iris(return_X_y=True), models=models, cv=3)


def slower(comparison: Comparison, times: float) -> Comparison:
    return replace(
        comparison,
        entries=tuple(replace(entry, fit_seconds=times * entry.fit_seconds) for entry in comparison.entries),
    )


def test_the_chart_does_not_depend_on_the_speed_of_the_machine(iris: Comparison) -> None:
    views = [View(slower(iris, times)) for times in (0.01, 1.0, 100.0)]
    assert [sorted(view.affordable) for view in views] == [["LDA", "logistic", "normal"]] * 3
    names = [[(one.name, other.name) for one, other in find_pairs(view)] for view in views]
    assert names == [[("LDA", "logistic"), ("normal", "logistic")]] * 3


def test_a_pair_has_one_chart_with_both_halves(iris: Comparison) -> None:
    section = curves(View(iris), repeats=2)
    assert section is not None
    charts = [block for block in section.blocks if isinstance(block, Chart)]
    assert [{mark.name for mark in chart.marks[:2]} for chart in charts] == [
        {"LDA", "logistic"},
        {"normal", "logistic"},
    ]
    first = charts[0].marks[0]
    assert isinstance(first, Line)
    assert (first.x[0], first.x[-1]) == (10, 99)  # a third of 50 in each class is held out


@pytest.mark.parametrize(("model", "rows"), [(GaussianNB(), 1_400), (LinearDiscriminantAnalysis(), 1_000)])
def test_models_of_one_pass_have_more_rows(model: Any, rows: int) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(1_400) % 2
    found = compare(rng.normal(size=(1_400, 1)) + y[:, None], y, models=[model, LogisticRegression()], cv=2)
    section = curves(View(found), repeats=1)
    assert section is not None
    (chart,) = (block for block in section.blocks if isinstance(block, Chart))
    line = chart.marks[0]
    assert isinstance(line, Line)
    assert line.x[-1] == pytest.approx(rows * 2 / 3, abs=2)
    assert ("From 1,000 of the 1,400 rows" in chart.caption) == (rows == 1_000)


def test_few_rows_have_curves_or_a_reason() -> None:
    X, y = load_iris(return_X_y=True)
    models = {"LDA": LinearDiscriminantAnalysis(), "logistic": LogisticRegression()}
    few = compare(X[::12], y[::12], models=models, cv=2)  # 5, 4 and 4 rows
    section = curves(View(few), repeats=1)
    assert section is not None
    assert any(isinstance(block, Chart) for block in section.blocks)


def test_an_experiment_whose_first_repeat_takes_too_long_has_no_curves(iris: Comparison) -> None:
    section = curves(View(iris), max_seconds=-1.0)
    assert section is not None
    assert section.blocks[0] == Note("LDA and logistic have no curves: one repeat takes too long for this page.")


def test_repeats_finished_in_time_are_drawn(iris: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reading of the clock is 100 seconds later: one repeat of five takes ten readings of twenty."""
    seconds = iter(range(0, 100_000, 100))
    monkeypatch.setattr(time_limit, "now", lambda: float(next(seconds)))
    section = curves(View(iris, budget=Budget(2_000)))
    assert section is not None
    assert isinstance(section.blocks[0], Chart)


def test_the_crossing_of_the_curves_is_drawn() -> None:
    errors = np.array([[0.2, 0.2, 0.2], [0.4, 0.3, 0.1]])[:, :, None]
    found = LearningCurves(("one", "other"), np.array([10, 100, 1000]), errors, errors, errors, 50)
    line = _add_crossover(found).marks[-1]
    assert isinstance(line, Line)
    assert (line.name, line.dashed) == ("crossover at 316 rows", True)
    assert line.x == pytest.approx([316.2] * 2, abs=0.1)
    never = LearningCurves(("one", "other"), found.sizes, errors[::-1] * [[[1]], [[0]]], errors, errors, 50)
    assert len(_add_crossover(never).marks) == 2
