"""Tests of differences from the best model."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor

from mercer import LinearRegression, compare
from mercer.comparison import Comparison
from mercer.report.page.limits import PageLimits
from mercer.report.page.tables import table_html


def test_differences_are_marked_if_beyond_chance(five: Comparison) -> None:
    rows = {row[0]: row for row in five.differences().rows}
    assert set(rows) == {"guess", "ridge", "sure"}
    assert rows["guess"][-1] == "yes"
    assert rows["guess"][2] == pytest.approx(
        five.entry("guess").mean("log_loss") - five.entry("bayes").mean("log_loss")
    )
    assert rows["ridge"][1] == "accuracy"
    assert rows["sure"][-1] == "yes"
    assert all(row[6] >= row[5] for row in rows.values() if not math.isnan(row[5]))


def test_tiny_p_values_are_bounds_in_tables_and_numbers_elsewhere() -> None:
    """4e-54 says no more to a reader than <0.0001."""
    x = np.random.default_rng(0).normal(size=(200, 1))
    found = compare(x, x[:, 0] + 1e-3 * x[:, 0] ** 2, models={"line": LinearRegression(), "mean": DummyRegressor()})
    (row,) = found.differences().written()
    assert row[5:7] == ["<0.0001", "<0.0001"]
    (difference,) = found.json()["differences"]
    assert 0 <= difference["p"] < 1e-4
    assert json.loads(json.dumps(difference))["p"] == difference["p"]
    sorted_by = re.findall(
        r'data-v="([^"]+)"[^>]*>(?:<span>)?&lt;0.0001<', table_html(found.differences(), PageLimits())
    )
    assert float(sorted_by[0]) == difference["p"]
