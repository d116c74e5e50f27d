"""Decisions on the page: confusions and their costs."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.comparison.comparison import Comparison
from mercer.report import Chart, CostTable, Heat, Page
from tests.comparison.sections._pages import blocks, section


def test_confusions_add_up_to_the_accuracy(iris: Comparison, of_iris: Page) -> None:
    heat = blocks(section(of_iris, "decisions"), Chart)[0].marks[0]
    assert isinstance(heat, Heat)
    counts = np.array(heat.values)
    assert counts.sum() == 150
    assert counts.sum(axis=1).tolist() == [50, 50, 50]
    best = iris.entries[0]
    assert np.trace(counts) / 150 == pytest.approx((best.held_out.argmax(axis=1) == iris.task.truth).mean())


def test_costs_hold_probabilities_of_the_rows(of_iris: Page) -> None:
    (costs,) = blocks(section(of_iris, "decisions"), CostTable)
    assert costs.classes == ("setosa", "versicolor", "virginica")
    assert "nothing" not in costs.models
    proba, codes = next(iter(costs.models.values()))
    assert len(codes) == 150
    np.testing.assert_allclose(np.array(proba).sum(axis=1), 1, atol=1e-3)
