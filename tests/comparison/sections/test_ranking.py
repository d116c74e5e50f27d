"""Curves over all thresholds on the page."""

from __future__ import annotations

import numpy as np

from mercer.comparison.sections.ranking import thin_curve


def test_a_thinned_curve_keeps_its_ends() -> None:
    x, y = thin_curve(np.linspace(0, 1, 5000), np.linspace(0, 1, 5000) ** 2)
    assert (len(x) <= 150, x[0], x[-1], y[-1]) == (True, 0, 1, 1)
