"""Highest-density regions hold what they promise, and nothing smaller does."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mercer._errors import DataError
from mercer.smoothing import Bandwidth, Gaussian, Windows, smoothing_kernel_from
from mercer.smoothing.bounded import on_support
from mercer.smoothing.support import support_from

NAMES = ["uniform", "gaussian", "epanechnikov", "triangular", "biweight", "triweight", "cosine", "exponential"]


@pytest.mark.parametrize("coverage", [0.1, 0.5, 0.95, 0.999])
def test_that_of_a_normal_distribution(coverage: float) -> None:
    region = Windows(Gaussian(), Bandwidth(2.0), np.array([[3.0]])).highest_density_region(coverage)
    expected = stats.norm(3, 2).interval(coverage)
    np.testing.assert_allclose(region.intervals, [expected], rtol=1e-9)
    assert region.level == pytest.approx(stats.norm(3, 2).pdf(expected[0]), rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("sensitivity", [0.0, 0.5])
@pytest.mark.parametrize("coverage", [0.5, 0.95])
def test_the_pieces_hold_the_coverage_and_the_density_is_lower_outside(
    name: str, sensitivity: float, coverage: float
) -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=15), rng.normal(12, 0.5, size=10), [-60.0]])[:, None]
    windows = Windows(smoothing_kernel_from(name), Bandwidth(0.7, sensitivity=sensitivity), X)
    region = windows.highest_density_region(coverage)
    assert region.intervals is not None
    mass = windows.probability(region.intervals[:, :1], region.intervals[:, 1:]).sum()
    if name == "uniform":  # its levels are steps
        assert mass >= coverage
    else:
        assert mass == pytest.approx(coverage, abs=1e-8)
    places = np.linspace(-5, 15, 3001)
    within = ((places[:, None] >= region.intervals[:, 0]) & (places[:, None] <= region.intervals[:, 1])).any(axis=1)
    np.testing.assert_array_equal(region.contains(places), within)
    np.testing.assert_array_equal(windows.density(places[:, None]) >= region.level * (1 - 1e-9), within)


def test_on_a_bounded_support_it_ends_at_the_bound() -> None:
    X = np.random.default_rng(0).exponential(size=(200, 1))
    support = support_from((0, None), 1, "reflect", ["x"])
    region = on_support(Windows(Gaussian(), Bandwidth(0.4), X), support).highest_density_region(0.8)
    assert region.intervals is not None
    assert region.intervals[0, 0] == 0
    assert not region.contains([-0.1])[0]


@pytest.mark.parametrize("boundary", ["reflect", "transform"])
def test_between_two_bounds(boundary: str) -> None:
    X = np.random.default_rng(0).beta(0.5, 0.5, size=(60, 1))
    support = support_from((0, 1), 1, boundary, ["x"])
    assert support is not None
    points = support.forward(X) if boundary == "transform" else X
    density = on_support(Windows(Gaussian(), Bandwidth(0.15), points), support)
    region = density.highest_density_region(0.6)
    assert region.intervals is not None
    assert density.probability(region.intervals[:, :1], region.intervals[:, 1:]).sum() == pytest.approx(0.6, abs=1e-6)


def test_in_the_plane_the_level_is_a_quantile_at_the_points() -> None:
    """Hyndman 1996: of many points from a normal distribution the region is a disc of radius √χ²(coverage)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2))
    region = Windows(Gaussian(), Bandwidth(0.3), X).highest_density_region(0.8)
    assert region.intervals is None
    assert region.contains(X).mean() == pytest.approx(0.8, abs=1e-3)
    fresh = rng.normal(size=(1500, 2))
    agree = region.contains(fresh) == (np.square(fresh).sum(axis=1) <= stats.chi2(2).ppf(0.8))
    assert agree.mean() > 0.93


def test_weights_count() -> None:
    X, weight = np.array([[0.0, 0.0], [10.0, 10.0]]), np.array([3.0, 1.0])
    region = Windows(Gaussian(), Bandwidth(1.0), X, weight).highest_density_region(0.7)
    assert region.contains(X).tolist() == [True, False]


def test_no_coverage() -> None:
    with pytest.raises(DataError, match="share of the probability"):
        Windows(Gaussian(), Bandwidth(2.0), np.zeros((1, 1))).highest_density_region(1.0)
