"""What each value of a column adds, as a table and as a drawing."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mercer import LinearRegression, compare
from mercer.comparison.comparison import Comparison
from mercer.comparison.sections.whole import page
from mercer.report import Chart, Grid, Page, Points
from tests.comparison.sections._pages import blocks, linear, section


def test_a_nomogram_has_what_each_value_adds(numbers: Comparison, of_numbers: Page) -> None:
    grid = blocks(section(of_numbers, "rows"), Grid)[0]
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
    dots = [mark for mark in chart.marks if isinstance(mark, Points)]
    widths = sorted(np.ptp(mark.x) for mark in dots)
    assert widths[-1] < 10
