"""The direct plug-in rule: Wand and Jones on the line, the best width for Gaussian data in any dimension."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from mercer.density import Gaussian, PlugIn, Silverman, Windows
from mercer.density._rules import silverman_factor

RNG = np.random.default_rng(4)


def wand_and_jones(x: np.ndarray) -> float:
    """Section 3.6.1 by double sums over derivatives of the Gaussian."""
    n = len(x)
    iqr = np.ptp(np.percentile(x, [25, 75])) / 1.349
    sigma = min(x.std(ddof=1), iqr)

    def psi(order: int, g: float) -> float:
        hermite = {4: lambda u: u**4 - 6 * u**2 + 3, 6: lambda u: u**6 - 15 * u**4 + 45 * u**2 - 15}[order]
        u = np.subtract.outer(x, x) / g
        return float((hermite(u) * norm.pdf(u)).sum() / (n**2 * g ** (order + 1)))

    psi_8 = 105 / (32 * np.sqrt(np.pi) * sigma**9)
    g_6 = (2 * 15 / np.sqrt(2 * np.pi) / (psi_8 * n)) ** (1 / 9)
    g_4 = (-2 * 3 / np.sqrt(2 * np.pi) / (psi(6, g_6) * n)) ** (1 / 7)
    return float((1 / (2 * np.sqrt(np.pi) * psi(4, g_4) * n)) ** 0.2)


@pytest.mark.parametrize("x", [RNG.normal(size=250), RNG.gamma(3, size=400), RNG.standard_t(2, size=300)])
def test_the_bandwidth_of_one_column_agrees_with_wand_and_jones(x: np.ndarray) -> None:
    assert PlugIn().choose(x[:, None], None, Gaussian()).value == pytest.approx(wand_and_jones(x), rel=1e-4)


@pytest.mark.parametrize("columns", [1, 2, 3, 5])
def test_gaussian_data_get_a_nearly_optimal_bandwidth(columns: int) -> None:
    X = RNG.normal(size=(1500, columns))
    widths = PlugIn().choose(X, None, Gaussian()).value
    # one standard deviation of the estimate, and some
    np.testing.assert_allclose(widths, silverman_factor(1500, columns), rtol=0.12)


@pytest.mark.parametrize("columns", [2, 3])
def test_binning_and_pairs_agree(columns: int) -> None:
    class BinnedPlugIn(PlugIn):
        paired_points = 0

    X = RNG.normal(size=(800, columns))
    X[:300] += 3
    pairs = PlugIn("matrix").choose(X, None, Gaussian()).value
    np.testing.assert_allclose(BinnedPlugIn("matrix").choose(X, None, Gaussian()).value, pairs, rtol=1e-3)


def test_more_points_than_grid_cells_still_get_the_optimal_bandwidth() -> None:
    """The finest cells would cover only the middle of 200,000 points of three columns."""
    X = np.random.default_rng(5).normal(size=(200_000, 3))
    widths = PlugIn().choose(X, None, Gaussian()).value
    np.testing.assert_allclose(widths, silverman_factor(200_000, 3), rtol=0.02)


def test_two_modes_get_a_better_density_than_with_silverman() -> None:
    x = np.concatenate([RNG.normal(-3, 0.5, 400), RNG.normal(3, 0.5, 400)])[:, None]
    grid = np.linspace(-6, 6, 400)[:, None]
    truth = 0.5 * norm.pdf(grid[:, 0], -3, 0.5) + 0.5 * norm.pdf(grid[:, 0], 3, 0.5)

    def error(rule: PlugIn | Silverman) -> float:
        windows = Windows(Gaussian(), rule.choose(x, None, Gaussian()), x)
        return float(np.square(np.exp(windows.log_density(grid)) - truth).mean())

    assert error(PlugIn()) < 0.2 * error(Silverman())


def test_a_matrix_is_a_multiple_of_the_covariance() -> None:
    X = RNG.normal(size=(200, 2)) @ np.array([[1.0, 0.9], [0.0, 0.3]])
    ratio = PlugIn("matrix").choose(X, None, Gaussian()).value / np.cov(X.T)
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-10)
