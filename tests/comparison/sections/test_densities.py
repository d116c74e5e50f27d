"""Densities of columns on the page."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.report import Chart, Line, Page
from tests.comparison.sections._pages import blocks, section


def test_densities_integrate_to_one(of_iris: Page) -> None:
    chart = blocks(section(of_iris, "densities"), Chart)[0]
    assert chart.title.startswith("petal")
    for line in chart.marks:
        assert isinstance(line, Line)
        assert np.trapezoid(line.y, line.x) == pytest.approx(1, abs=0.05)
