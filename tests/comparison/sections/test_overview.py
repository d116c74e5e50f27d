"""Tests of the overview of columns on the page."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.comparison.sections.overview import find_far_out
from mercer.report import Grid, Page
from tests.comparison.sections._pages import blocks, section


def test_columns_are_described(of_iris: Page, of_mixed: Page) -> None:
    grid = blocks(section(of_iris, "data"), Grid)[0]
    row = dict(zip([field.heading for field in grid.fields], grid.rows[0], strict=True))
    assert row["column"] == "sepal length (cm)"
    assert (row["mean"], row["sd"], row["least"], row["most"]) == ("5.843", "0.828", "4.3", "7.9")
    assert row["distinct"] == 35
    kinds = {row[0]: row[1:3] for row in blocks(section(of_mixed, "data"), Grid)[0].rows}
    assert kinds["id"] == ("identifier", 0.0)
    assert kinds["said"][0] == "text"
    assert kinds["age"][1] == pytest.approx(1 / 9)


def test_values_far_from_most_are_counted() -> None:
    values = np.append(np.random.default_rng(0).normal(size=100), [50.0, -60.0])
    assert np.flatnonzero(find_far_out(values)).tolist() == [100, 101]
    assert not find_far_out(np.append(np.zeros(60), np.ones(40))).any()
