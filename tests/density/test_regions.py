"""Highest-density regions hold what they promise, and nothing smaller does."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mercer._errors import DataError
from mercer.density import Bandwidth, Gaussian, Windows, smoothing_kernel_from
from mercer.density._bounded import on_support, support_from
from mercer.density._boxes import MIN_SORTED_POINTS
from tests.density._kernels import NAMES
from tests.density._widths import with_widths


@pytest.mark.parametrize("coverage", [0.1, 0.5, 0.95, 0.999])
def test_the_region_of_a_normal_distribution(coverage: float) -> None:
    region = Windows(Gaussian(), Bandwidth(2.0), np.array([[3.0]])).highest_density_region(coverage)
    expected = stats.norm(3, 2).interval(coverage)
    np.testing.assert_allclose(region.intervals, [expected], rtol=1e-9)
    assert region.level == pytest.approx(stats.norm(3, 2).pdf(expected[0]), rel=1e-9)


@pytest.mark.parametrize(("name", "sensitivity"), with_widths(NAMES, (0.0,), (0.5,)))
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


@pytest.mark.parametrize("bounds", [None, (0.0, None), (None, 3.0), (0.0, 3.0)])
@pytest.mark.parametrize(("name", "sensitivity"), with_widths(NAMES, (0.0,), (1.0,)))
def test_few_points_with_peaks_between_the_grid_points(
    name: str, sensitivity: float, bounds: tuple[float | None, float | None] | None
) -> None:
    """The denser part holds less than the coverage, and together with the plateau no less."""
    rng = np.random.default_rng(4)
    support = support_from(bounds, 1, "reflect", ["x"])
    for h in (0.1, 0.6, 2.5):
        points = np.append(0.0, rng.uniform(0.05, 2.95, size=6))[:, None]
        windows = Windows(smoothing_kernel_from(name), Bandwidth(h, sensitivity=sensitivity), points)
        density = on_support(windows, support)
        for coverage in (0.1, 0.5):
            region = density.highest_density_region(coverage)
            assert region.intervals is not None
            mass = density.probability(region.intervals[:, :1], region.intervals[:, 1:]).sum()
            assert mass >= coverage - 1e-6
            places = np.linspace(*np.ravel(density.extent(6.0)), 4_001)
            heights = density.density(places[:, None])
            denser = heights[heights > region.level * (1 + 1e-9)].sum() * (places[1] - places[0])
            assert denser <= coverage + 5e-3
            if name not in ("uniform", "triangular"):  # sums of these have plateaus
                assert mass == pytest.approx(coverage, abs=2e-3)


def test_on_a_bounded_support_the_region_ends_at_the_bound() -> None:
    X = np.random.default_rng(0).exponential(size=(200, 1))
    support = support_from((0, None), 1, "reflect", ["x"])
    region = on_support(Windows(Gaussian(), Bandwidth(0.4), X), support).highest_density_region(0.8)
    assert region.intervals is not None
    assert region.intervals[0, 0] == 0
    assert not region.contains([-0.1])[0]


@pytest.mark.parametrize("boundary", ["reflect", "transform"])
def test_a_region_between_two_bounds(boundary: str) -> None:
    X = np.random.default_rng(0).beta(0.5, 0.5, size=(60, 1))
    support = support_from((0, 1), 1, boundary, ["x"])
    assert support is not None
    points = support.forward(X) if boundary == "transform" else X
    density = on_support(Windows(Gaussian(), Bandwidth(0.15), points), support)
    region = density.highest_density_region(0.6)
    assert region.intervals is not None
    assert density.probability(region.intervals[:, :1], region.intervals[:, 1:]).sum() == pytest.approx(0.6, abs=1e-6)


@pytest.mark.parametrize("h", [0.05, 0.3])
@pytest.mark.parametrize("coverage", [0.5, 0.95])
def test_a_region_of_two_columns_has_its_coverage(h: float, coverage: float) -> None:
    """The coverage holds for kernels so narrow that the density at its own points is much higher than elsewhere."""
    windows = Windows(Gaussian(), Bandwidth(h), np.random.default_rng(0).normal(size=(300, 2)))
    level = windows.highest_density_region(coverage).level
    (x, y), density = windows.on_grid(400, extent=5.0)
    held = density[density >= level].sum() * (x[1] - x[0]) * (y[1] - y[0])
    assert held == pytest.approx(coverage, abs=0.01)


def test_the_region_of_many_points_agrees_with_their_distribution() -> None:
    """The region of points from a normal distribution is a disc of radius √χ²(coverage)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2))
    region = Windows(Gaussian(), Bandwidth(0.3), X).highest_density_region(0.8)
    assert region.intervals is None
    fresh = rng.normal(size=(1500, 2))
    agree = region.contains(fresh) == (np.square(fresh).sum(axis=1) <= stats.chi2(2).ppf(0.8))
    assert agree.mean() > 0.93


def test_weights_are_used() -> None:
    """Discs around both points: above c times the peak of one kernel lies ¾(1 − c/¾) + ¼(1 − c/¼) = 1 − 2c."""
    X, weight = np.array([[0.0, 0.0], [20.0, 20.0]]), np.array([3.0, 1.0])
    windows = Windows(Gaussian(), Bandwidth(1.0), X, weight)
    assert windows.highest_density_region(0.7).level == pytest.approx(0.15 / (2 * np.pi), rel=0.05)
    assert windows.highest_density_region(0.7).contains(X).tolist() == [True, True]
    assert windows.highest_density_region(0.3).contains(X).tolist() == [True, False]


@pytest.mark.parametrize("bounds", [None, (-6.0, np.inf), (-6.0, 6.0)])
@pytest.mark.parametrize("boundary", ["reflect", "transform"])
def test_cells_of_many_points_give_the_same_region(bounds: tuple[float, float] | None, boundary: str) -> None:
    """All points repeated so often that they are sorted have the density of the points themselves."""
    rng = np.random.default_rng(0)
    X, weight = np.concatenate([rng.normal(-3, size=150), rng.normal(3, 0.3, size=150)])[:, None], rng.uniform(size=300)
    support = support_from(bounds, 1, boundary, ["x"])
    points = support.forward(X) if support is not None and boundary == "transform" else X

    def region(times: int) -> np.ndarray | None:
        windows = Windows(Gaussian(), Bandwidth(0.2), np.tile(points, (times, 1)), np.tile(weight, times))
        return on_support(windows, support).highest_density_region().intervals

    np.testing.assert_allclose(region(1 + MIN_SORTED_POINTS // 300), region(1), rtol=1e-8)


def test_rows_of_other_columns_are_rejected() -> None:
    region = Windows(Gaussian(), Bandwidth(1.0), np.zeros((1, 2))).highest_density_region()
    for X in (np.zeros((4, 3)), np.zeros(4)):
        with pytest.raises(DataError, match=r"2 column.*shape \(4"):
            region.contains(X)


def test_an_invalid_coverage_is_rejected() -> None:
    for wrong in (0.0, 1.0, 95, np.nan, "most"):
        with pytest.raises(DataError, match="coverage is a probability"):
            Windows(Gaussian(), Bandwidth(2.0), np.zeros((1, 1))).highest_density_region(wrong)  # type: ignore[arg-type]
