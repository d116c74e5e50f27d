"""Coefficients on the page, by the names of the columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from mercer import KernelRidge, LassoCV, LinearRegression, LinearSVC, LogisticRegression, compare
from mercer.comparison.sections.whole import page
from mercer.explanation.tables import model_grids
from mercer.report import Grid, Page
from tests.comparison.sections._pages import blocks, linear, section


def test_coefficients_of_the_fit_are_shown_with_their_names(of_numbers: Page, of_iris: Page) -> None:
    (grid,) = blocks(section(of_numbers, "coefficients"), Grid)
    named = {row[0]: row[1] for row in grid.rows}
    assert named["a"] == pytest.approx(6, rel=0.15)  # per standard deviation
    assert named["b"] == pytest.approx(-3, rel=0.15)
    assert "(intercept)" in named
    lower, upper = ([field.heading for field in grid.fields].index(name) for name in ("lower", "upper"))
    assert all(row[lower] < row[1] < row[upper] for row in grid.rows)
    names = {row[0] for row in blocks(section(of_iris, "coefficients"), Grid)[0].rows}
    assert any("petal length (cm)" in name for name in names)
    assert not any("x0" in name for name in names)


def test_columns_that_are_called_like_positions_keep_their_names() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x0": rng.choice(["u", "v"], 100), "x1": rng.normal(size=100), "x2": rng.normal(size=100)})
    y = 5 * frame["x2"] + 0.1 * rng.normal(size=100)
    found = compare(frame, y.to_numpy(), models={"ols": linear(LinearRegression())}, task="regression", cv=3)
    (grid,) = blocks(section(page(found), "coefficients"), Grid)
    assert grid.rows[0][0] == "x2"
    assert grid.rows[0][1] == pytest.approx(5 * frame["x2"].std(ddof=0), rel=0.02)


def test_coefficients_that_are_rounding_are_zero() -> None:
    """A lasso leaves 1e-14 next to 1 where it moves a level to the intercept; in units of columns it may be a value."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=100), "level": rng.choice(["no", "yes"], 100)})
    found = compare(frame, frame["x"].to_numpy(), models={"lasso": linear(LassoCV())}, task="regression", cv=3)
    fitted = found.fitted("lasso")
    fitted[-1].coef_ = np.array([1.0, -5e-14, 3e-9])
    (grid,) = blocks(section(page(found), "coefficients"), Grid)
    assert {row[0]: row[1] for row in grid.rows} == {"x": 1.0, "level[no]": 0.0, "level[yes]": 3e-9}
    (shown,) = model_grids(fitted)
    assert {row[0]: row[1] for row in shown.rows}["level[no]"] == 0.0
    bare = fitted[-1]
    (of_columns,) = model_grids(bare)
    assert -5e-14 in [row[1] for row in of_columns.rows]


@pytest.mark.parametrize(("model", "what"), [(LogisticRegression(), "log odds"), (LinearSVC(), "score")])
def test_log_odds_are_mentioned_only_for_models_that_have_them(model: Any, what: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    found = compare(X, X[:, 0] + rng.normal(size=60) > 0, models={"linear": model}, cv=2)
    assert f"changes the {what}, the others staying" in section(page(found), "coefficients").lead


def test_a_recommended_model_without_coefficients_is_named() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.uniform(-2, 2, 150), "b": rng.uniform(-2, 2, 150)})
    y = (frame["a"] ** 2 + 0.1 * frame["b"]).to_numpy()
    models = {"lines": linear(LinearRegression()), "machine": linear(KernelRidge(kernel="rbf"), output="array")}
    found = compare(frame, y, models=models, task="regression", cv=3)
    made = section(page(found), "coefficients")
    assert found.entry().name == "machine"
    assert made.lead.startswith("machine, which is recommended, has no coefficients")
    assert "the best linear model, lines." in made.lead
