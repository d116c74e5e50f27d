"""Contribution of each value of a column, as a table and as a drawing."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mercer import LinearRegression, compare, explain_rows
from mercer.comparison.comparison import Comparison
from mercer.comparison.sections.whole import page
from mercer.report import Chart, Grid, Page, PointCloud
from tests.comparison.sections._pages import blocks, linear, section


def test_a_nomogram_shows_the_contribution_of_each_value(numbers: Comparison, of_numbers: Page) -> None:
    (grid,) = [each for each in blocks(section(of_numbers, "rows"), Grid) if each.title == "The same as a table"]
    values, added = np.array([[float(row[1]), row[2]] for row in grid.rows if row[0] == "a"]).T
    # a column of numbers adds a linear function, with the coefficient per standard deviation
    coefficient = numbers.fitted("least squares")[-1].coef_[0]
    np.testing.assert_allclose(
        np.diff(added) / np.diff(values), coefficient / numbers.table.numbers([0]).std(), rtol=1e-2
    )
    assert grid.rows[0][0] == "a"  # which moves the prediction most


def test_a_single_value_far_out_does_not_fill_a_nomogram() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200)})
    X.loc[0, "a"] = 1e6
    found = compare(X, X["b"] + rng.normal(size=200), models={"lines": linear(LinearRegression())}, task="regression")
    chart = next(chart for chart in blocks(section(page(found), "rows"), Chart) if chart.title.startswith("Nomogram"))
    dots = [mark for mark in chart.marks if isinstance(mark, PointCloud)]
    widths = sorted(np.ptp(mark.x) for mark in dots)
    assert widths[-1] < 10


def test_columns_that_are_not_drawn_are_a_line_and_missing_is_a_value() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"c{j:02d}": rng.normal(size=120) for j in range(30)})
    y = X @ np.append(np.linspace(1, 3, 29), 8)
    X.loc[::6, "c29"] = np.nan
    found = compare(X, y, models={"lines": linear(LinearRegression())}, task="regression", cv=3)
    blocks_of_rows = section(page(found), "rows")
    chart = next(chart for chart in blocks(blocks_of_rows, Chart) if chart.title.startswith("Nomogram"))
    drawn, last = chart.y.names[:-1], chart.y.names[-1]
    assert last == f"({30 - len(drawn)} others)"
    assert f"{30 - len(drawn)} columns or words are not drawn" in chart.caption
    explanation = explain_rows(found.fitted("lines"), X)
    others = [j for j, name in enumerate(explanation.names) if name not in drawn]
    sums = explanation.contributions[:, others, 0].sum(axis=1)
    (line,) = [mark for mark in chart.marks if isinstance(mark, PointCloud) and mark.y[0] == len(drawn)]
    np.testing.assert_allclose(line.x, np.quantile(sums, [0.05, 0.5, 0.95]))
    (grid,) = [each for each in blocks(blocks_of_rows, Grid) if each.title == "The same as a table"]
    assert ("c29", "missing") in [row[:2] for row in grid.rows]
    assert all(row[1] for row in grid.rows)


def test_levels_are_in_a_fixed_order() -> None:
    """Codes by size and words by the alphabet, however frequent they are."""
    rng = np.random.default_rng(0)
    code = rng.choice([10, 9, 2, 1], p=[0.4, 0.3, 0.2, 0.1], size=300)
    X = pd.DataFrame({"code": pd.Categorical(code)})
    X["word"] = rng.choice(["zinc", "lead", "iron"], p=[0.5, 0.3, 0.2], size=300)
    y = np.isin(code, [9, 1]) + 0.5 * (X["word"] == "lead") + rng.normal(0, 0.1, 300)
    found = compare(X, y, models={"lines": linear(LinearRegression())}, task="regression", cv=3)
    (grid,) = [each for each in blocks(section(page(found), "rows"), Grid) if each.title == "The same as a table"]
    assert [row[1] for row in grid.rows if row[0] == "code"] == ["1", "2", "9", "10"]
    assert [row[1] for row in grid.rows if row[0] == "word"] == ["iron", "lead", "zinc"]
