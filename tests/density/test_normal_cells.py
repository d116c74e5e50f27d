"""Cells of points have the distribution function of the points."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from mercer.density._boxes import NormalCells


@pytest.mark.parametrize("h", [1e-3, 0.1, 3.0, 1e4])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_cells_have_the_sums_of_the_points(h: float, offset: float) -> None:
    rng = np.random.default_rng(0)
    points = offset + np.sort(np.append(rng.normal(size=800), [-400.0, 1e4]))
    weight = rng.uniform(size=len(points))
    places = np.concatenate([points[::50], offset + rng.normal(size=90), [-np.inf, np.inf, offset - 1e6, offset + 5e3]])
    away, cells = (places[:, None] - points) / h, NormalCells(points, weight, h)
    np.testing.assert_allclose(cells.cdf(places), ndtr(away) @ weight / weight.sum(), rtol=0, atol=4e-15)
    heights = np.exp(-0.5 * away**2) / np.sqrt(2 * np.pi) @ weight / weight.sum()
    np.testing.assert_allclose(h * cells.density(places), heights, rtol=0, atol=4e-15)


def test_queries_near_many_cells_agree_with_single_queries() -> None:
    rng = np.random.default_rng(0)
    cells, queries = NormalCells(np.sort(rng.uniform(size=2000)), np.ones(2000), 1e-4), rng.uniform(size=200)
    together = cells.density(queries)
    alone = np.concatenate([cells.density(query) for query in queries[:, None]])
    np.testing.assert_allclose(alone, together, rtol=1e-12, atol=1e-15 / 1e-4)


def test_the_distribution_function_is_monotone_and_ends_at_one() -> None:
    cells = NormalCells(np.linspace(0, 1, 5000) ** 2, np.ones(5000), 0.01)
    found = cells.cdf(np.linspace(-1, 2, 2001))
    assert np.diff(found).min() >= -1e-15
    assert found[[0, -1]].tolist() == [0.0, 1.0]
