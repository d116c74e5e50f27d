"""Cells of points have the distribution function of the points."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from mercer.smoothing.normal_cells import NormalCells


@pytest.mark.parametrize("h", [1e-3, 0.1, 3.0, 1e4])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_cells_say_what_points_say(h: float, offset: float) -> None:
    rng = np.random.default_rng(0)
    points = offset + np.sort(np.append(rng.normal(size=800), [-400.0, 1e4]))
    weight = rng.uniform(size=len(points))
    places = np.concatenate([points[::50], offset + rng.normal(size=90), [-np.inf, np.inf, offset - 1e6, offset + 5e3]])
    direct = ndtr((places[:, None] - points) / h) @ weight / weight.sum()
    np.testing.assert_allclose(NormalCells(points, weight, h).cdf(places), direct, rtol=0, atol=4e-15)


def test_it_never_falls_and_ends_at_one() -> None:
    cells = NormalCells(np.linspace(0, 1, 5000) ** 2, np.ones(5000), 0.01)
    found = cells.cdf(np.linspace(-1, 2, 2001))
    assert np.diff(found).min() >= -1e-15
    assert found[[0, -1]].tolist() == [0.0, 1.0]
