"""Densities that are constant on cells: shares, distribution functions, quantiles, draws."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mercer.density._histogram import HistogramCells
from mercer.families.bins import BinAxis

EDGES = [np.array([0.0, 1.0, 1.5, 4.0]), np.array([-1.0, 0.0, 5.0]), np.linspace(0, 1e-3, 5)]


def cells(d: int) -> HistogramCells:
    rng = np.random.default_rng(d)
    counts = rng.integers(0, 6, [len(edges) - 1 for edges in EDGES[:d]]).astype(float)
    counts.flat[0] = 3.0
    return HistogramCells([BinAxis.given(edges) for edges in EDGES[:d]], counts)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_density_of_cells_integrates_to_one(d: int) -> None:
    density = cells(d)
    volumes = np.ones(())
    for axis in density.axes:
        volumes = np.multiply.outer(volumes, axis.widths)
    assert (density.density * volumes).sum() == pytest.approx(1, rel=1e-14)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(density.log_densities, np.log(density.density), rtol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_distribution_function_is_the_mass_below(d: int) -> None:
    density, rng = cells(d), np.random.default_rng(7)
    corner = np.array([edges[0] + rng.random() * np.ptp(edges) for edges in EDGES[:d]])
    mass = 0.0
    for place in itertools.product(*(range(axis.bins) for axis in density.axes)):
        share = 1.0
        for axis, k, x in zip(density.axes, place, corner, strict=True):
            share *= np.clip((x - axis.edges[k]) / axis.widths[k], 0, 1)
        mass += share * density.counts[place] / density.total
    np.testing.assert_allclose(density.cdf(corner[None]), [mass], rtol=1e-13)
    np.testing.assert_allclose(density.cdf(np.array([[-np.inf] * d, [np.inf] * d])), [0, 1])


def test_quantiles_invert_the_distribution_function_and_skip_empty_bins() -> None:
    density = HistogramCells([BinAxis.given([0.0, 1.0, 2.0, 3.0, 5.0])], np.array([0.0, 1.0, 0.0, 3.0]))
    np.testing.assert_allclose(density.quantile(np.array([0.0, 0.125, 0.25, 0.625, 1.0])), [1, 1.5, 2, 4, 5])
    q = np.linspace(0, 1, 101)
    np.testing.assert_allclose(density.cdf(density.quantile(q)[:, None]), q, atol=1e-14)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_samples_fall_into_cells_with_their_probabilities(d: int) -> None:
    density = cells(d)
    X = density.sample(20_000, np.random.default_rng(3))
    assert X.shape == (20_000, d)
    assert np.isfinite(density.log_density(X)).all()
    counts, _ = np.histogramdd(X, EDGES[:d])
    expected = density.counts / density.total * len(X)
    assert (np.abs(counts - expected) <= 5 * np.sqrt(expected) + 1e-9).all()


def test_a_sample_never_rounds_into_the_next_cell() -> None:
    step = 2e-8  # near 10⁸ a bin has two numbers in it
    axis = BinAxis.given([1e8, 1e8 + step, 1e8 + 2 * step])
    density = HistogramCells([axis], np.array([1.0, 0.0]))
    assert np.isfinite(density.log_density(density.sample(1000, np.random.default_rng(0)))).all()


def test_marginals_sum_over_the_other_columns_in_the_requested_order() -> None:
    density = cells(3)
    one, two = density.marginal([1]), density.marginal([2, 0])
    np.testing.assert_allclose(one.counts, density.counts.sum(axis=(0, 2)))
    np.testing.assert_allclose(two.counts, density.counts.sum(axis=1).T)
    assert [axis.bins for axis in two.axes] == [4, 3]


def test_volumes_too_small_for_float64_keep_their_logarithm() -> None:
    tiny = BinAxis.even(0.0, 1e-150, 1)
    density = HistogramCells([tiny] * 3, np.ones((1, 1, 1)))
    assert density.density[0, 0, 0] == np.inf
    np.testing.assert_allclose(density.log_density(np.zeros((1, 3))), 450 * np.log(10))
