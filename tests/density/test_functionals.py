"""∫ p Δʳp from points: two ways to one number, the number of a known density, and binning that keeps all weight."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from mercer.density._plug_in import CosineFunctional, PairFunctional, bin_linearly, laplacian_at_zero

RNG = np.random.default_rng(2)


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_cosine_sums_of_bins_agree_with_sums_over_pairs(columns: int, order: int, weighted: bool) -> None:
    points = RNG.normal(size=(300, columns))
    share = RNG.dirichlet(np.ones(300)) if weighted else None
    exact = PairFunctional(points, share)(order, 0.5)
    assert CosineFunctional(points, share, 0.3, 1.0)(order, 0.5) == pytest.approx(
        exact, rel=2e-3 if columns == 3 else 1e-3
    )


def test_sums_over_pairs_in_one_dimension_are_derivatives_of_the_gaussian() -> None:
    x, g = RNG.normal(size=40), 0.4
    u = np.subtract.outer(x, x) / g
    fourth = (u**4 - 6 * u**2 + 3) * norm.pdf(u) / g**5
    assert PairFunctional(x[:, None], None)(2, g) == pytest.approx(fourth.mean(), rel=1e-12)


@pytest.mark.parametrize("columns", [1, 2, 4])
def test_sums_over_pairs_agree_with_finite_difference_laplacians(columns: int) -> None:
    """The Gaussian obeys the heat equation: Δφ_g = 2 ∂φ_g/∂(g²)."""
    points, g, step = RNG.normal(size=(30, columns)), 0.7, 1e-5
    pairs = PairFunctional(points, None)
    for order in (0, 1, 2):
        wider, narrower = (pairs(order, np.sqrt(g**2 + sign * step)) for sign in (1, -1))
        assert pairs(order + 1, g) == pytest.approx((wider - narrower) / step, rel=1e-6)


@pytest.mark.parametrize("order", [2, 3])
def test_many_points_of_a_gaussian_give_its_integral(order: int) -> None:
    g, points = 0.6, RNG.normal(size=(200_000, 1))
    variance = 2 + g**2  # of a difference of points, and of the kernel
    diagonal = laplacian_at_zero(order, 1) * g ** (-1 - 2 * order) / len(points)
    expected = laplacian_at_zero(order, 1) * variance ** (-0.5 - order)
    assert CosineFunctional(points, None, 0.2, 1.0)(order, g) - diagonal == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_bins_keep_weights_and_means(columns: int) -> None:
    points, share = RNG.uniform(1, 7, size=(400, columns)), RNG.dirichlet(np.ones(400))
    binned = bin_linearly(points, np.zeros(columns), 0.5, 16, share)
    assert binned.sum() == pytest.approx(1)
    places = np.moveaxis(np.indices(binned.shape), 0, -1) * 0.5
    means = (binned[..., None] * places).sum(axis=tuple(range(columns)))
    np.testing.assert_allclose(means, share @ points, rtol=1e-12)


def test_blocks_do_not_change_the_result() -> None:
    points = RNG.normal(size=(500, 2))
    blocks = PairFunctional(points, None, block_size=700)(2, 0.5)
    np.testing.assert_allclose(blocks, PairFunctional(points, None)(2, 0.5), rtol=1e-12)
    low, share = points.min(axis=0), RNG.dirichlet(np.ones(500))
    binned = bin_linearly(points, low, 0.5, 32, share, block_size=70)
    np.testing.assert_allclose(binned, bin_linearly(points, low, 0.5, 32, share), rtol=1e-12, atol=1e-15)


def test_far_outliers_do_not_blur_the_others() -> None:
    points = RNG.normal(size=(2000, 2))
    share = PairFunctional(points, None)(2, 0.5)
    outlying = np.vstack([points, [[1e9, 0.0]]])
    assert CosineFunctional(outlying, None, 0.3, 1.0)(2, 0.5) == pytest.approx(share, rel=5e-3)
