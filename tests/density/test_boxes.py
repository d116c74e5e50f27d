"""Probabilities of boxes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mercer.density import Bandwidth, Gaussian, Windows, smoothing_kernel_from
from mercer.density._boxes import MIN_SORTED_POINTS, bivariate_normal


@pytest.mark.parametrize("rho", [-0.99, -0.3, 0.0, 0.5, 0.999])
def test_probabilities_of_two_correlated_normals(rho: float) -> None:
    corners = np.array([[h, k] for h in (-3.0, -1.0, 0.0, 0.5, 2.0) for k in (-2.0, 0.0, 1e-9, 1.5)])
    normal = stats.multivariate_normal([0, 0], [[1, rho], [rho, 1]], maxpts=10**6, abseps=1e-12, releps=1e-12)
    np.testing.assert_allclose(bivariate_normal(*corners.T, rho), normal.cdf(corners), atol=1e-9)


@pytest.mark.parametrize("rho", [-0.7, 0.4])
def test_probabilities_of_two_correlated_normals_at_infinity(rho: float) -> None:
    h = np.array([-np.inf, np.inf, np.inf, 0.3, -np.inf])
    k = np.array([0.2, 0.2, np.inf, np.inf, -np.inf])
    expected = [0, stats.norm.cdf(0.2), 1, stats.norm.cdf(0.3), 0]
    np.testing.assert_allclose(bivariate_normal(h, k, rho), expected, atol=1e-15)


def test_a_box_in_the_far_tail_keeps_its_digits() -> None:
    windows = Windows(Gaussian(), Bandwidth(1.0), np.zeros((1, 1)))
    far = windows.probability(np.array([[10.0]]), np.array([[11.0]]))
    np.testing.assert_allclose(far, stats.norm.sf(10) - stats.norm.sf(11), rtol=1e-12)


@pytest.mark.parametrize("weight", [None, np.arange(1.0, 31.0)])
@pytest.mark.parametrize("d", [1, 2])
def test_probabilities_of_boxes_agree_with_scipy(d: int, weight: np.ndarray | None) -> None:
    X = np.random.default_rng(0).normal(size=(30, d)) @ np.array([[1.0, 0.6], [0.0, 0.8]])[:d, :d]
    kde = stats.gaussian_kde(X.T, weights=weight)
    low, high = np.full(d, -0.7), np.full(d, 0.9)
    windows = Windows(Gaussian(), Bandwidth(kde.covariance), X, weight)
    assert windows.probability(low[None], high[None])[0] == pytest.approx(kde.integrate_box(low, high), abs=1e-6)


@pytest.mark.parametrize("name", ["gaussian", "exponential", "uniform", "cosine"])
@pytest.mark.parametrize("weighted", [False, True])
def test_repeated_points_have_the_probabilities_of_the_points(name: str, weighted: bool) -> None:
    """Many points are sorted; few are compared with every bound."""
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(300, 1)), rng.uniform(size=300) if weighted else None
    low = np.array([[-np.inf], [-0.3], [2.0], [-np.inf], [-50.0]])
    high = np.array([[0.4], [0.1], [9.0], [np.inf], [-30.0]])
    times = 1 + MIN_SORTED_POINTS // 300
    kernel, weights = smoothing_kernel_from(name), None if weight is None else np.tile(weight, times)
    by_pairs = Windows(kernel, Bandwidth(0.2), X, weight).probability(low, high)
    by_order = Windows(kernel, Bandwidth(0.2), np.tile(X, (times, 1)), weights).probability(low, high)
    np.testing.assert_allclose(by_order, by_pairs, rtol=1e-10, atol=1e-15)
