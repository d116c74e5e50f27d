"""The negative binomial: r from a histogram of counts, the Poisson limit, and priors as imagined counts."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from mercer import families as f
from mercer.families._dispersion import dispersion
from mercer.families.negative_binomial import _imagined_counts

FREE = f.NegativeBinomial()


def counts_of(*columns: np.ndarray) -> SimpleNamespace:
    """Substitute for the statistic of one group."""
    histograms = [np.unique(column, return_counts=True) for column in columns]
    return SimpleNamespace(
        weight=np.array([[float(len(column)) for column in columns]]),
        histogram=lambda group, column: histograms[column],
    )


def profile_maximum(values: np.ndarray, weights: np.ndarray) -> float:
    mean = np.average(values, weights=weights)

    def loss(log_r: float) -> float:
        density = FREE.log_density(values, f.NegativeBinomialParameters(mean, np.exp(log_r)))
        return -float(density @ weights)

    return float(np.exp(minimize_scalar(loss, bounds=(-12, 25), method="bounded", options={"xatol": 1e-9}).x))


@pytest.mark.parametrize(("mean", "r"), [(0.3, 0.05), (5.0, 2.0), (40.0, 300.0), (3e5, 0.8)])
def test_r_maximises_the_likelihood(mean: float, r: float) -> None:
    draws = FREE.sample(f.NegativeBinomialParameters(np.array(mean), np.array(r)), 5_000, np.random.default_rng(2))
    values, weights = np.unique(draws, return_counts=True)
    assert dispersion(values, weights) == pytest.approx(profile_maximum(values, weights), rel=1e-5)


def test_sample_and_fit() -> None:
    truth = f.NegativeBinomialParameters(np.array([[2.0, 30.0]]), np.array([[0.7, 12.0]]))
    draws = FREE.sample(truth, 100_000, np.random.default_rng(0))
    fitted = FREE.fit(counts_of(draws[:, 0, 0], draws[:, 0, 1]))
    np.testing.assert_allclose(fitted.mean, truth.mean, rtol=0.02)
    np.testing.assert_allclose(fitted.r, truth.r, rtol=0.05)


@pytest.mark.parametrize("column", [np.zeros(5), np.full(9, 4), np.array([0, 1, 1, 0]), np.arange(3) + 1000])
def test_counts_without_overdispersion_are_poisson(column: np.ndarray) -> None:
    fitted = FREE.fit(counts_of(column))
    assert fitted.r[0, 0] == np.inf
    assert fitted.mean[0, 0] == column.mean()
    poisson = f.Poisson().log_density(np.arange(9), f.PoissonParameters(column.mean()))
    np.testing.assert_array_equal(FREE.log_density(np.arange(9)[:, None, None], fitted).ravel(), poisson)


def test_barely_overdispersed_counts_have_a_large_r() -> None:
    """Mean 10; the variance is 10 at w = 28/30, and r grows without bound towards it."""

    def found(w: float) -> float:
        return dispersion(np.array([5, 9, 10, 11, 15]), np.array([w, 1.0, 1.0, 1.0, w]))

    assert found(28 / 30 - 1e-3) == np.inf
    assert found(28 / 30 + 1e-3) < found(28 / 30 + 1e-5) < found(28 / 30 + 1e-7) < np.inf


def test_overdispersion_below_rounding_is_zero() -> None:
    """Counts about 1e9 with a variance 1e-8 above a Poisson's: every θ that is not too large looks too large."""
    mean, away, excess = 1e9, 5e8, 1e-8
    values = np.array([mean - away, mean, mean + away])
    weights = np.array([1.0, 2 * away**2 / (mean * (1 + excess)) - 2, 1.0])
    assert np.average(np.square(values - mean), weights=weights) / mean - 1 == pytest.approx(excess, rel=1e-6)
    assert dispersion(values, weights) == np.inf


def test_large_values_need_no_long_sums() -> None:
    values, weights = np.array([0, 10**4, 10**9, 3 * 10**9]), np.array([1.0, 2.0, 3.0, 1.0])
    assert dispersion(values, weights) == pytest.approx(profile_maximum(values, weights), rel=1e-4)


def test_a_class_without_counts_has_the_prior_or_nothing() -> None:
    empty = counts_of(np.array([], dtype=int))
    assert np.isnan(FREE.fit(empty).mean).all()
    prior = FREE.prior(5.0, mean=3.0, r=0.5)
    np.testing.assert_allclose(np.ravel(FREE.fit(empty, prior)), [3.0, 0.5], rtol=1e-8)


def test_a_strong_prior_outweighs_the_data() -> None:
    data = counts_of(np.array([0, 0, 9, 30]))
    alone = FREE.fit(data)
    light, heavy = (FREE.fit(data, FREE.prior(strength, mean=3.0, r=8.0)) for strength in (1.0, 1e6))
    assert alone.r < light.r < heavy.r
    assert heavy.r[0, 0] == pytest.approx(8.0, rel=1e-3)
    assert heavy.mean[0, 0] == pytest.approx(3.0, rel=1e-4)


def test_given_r_is_an_exponential_family_and_found_r_is_not() -> None:
    assert f.NegativeBinomial(2.0).statistic == "sums"
    assert FREE.statistic == "values"
    assert not FREE.exponential
    with pytest.raises(ValueError, match=r"give NegativeBinomial\(r=…\)"):
        FREE.log_partition(np.array([-1.0]))
    with pytest.raises(ValueError, match="finite r above 0"):
        f.NegativeBinomial(r=0.0)


def test_mean_zero_is_certain() -> None:
    parameters = f.NegativeBinomialParameters(np.array(0.0), np.array([0.5, np.inf]))
    np.testing.assert_array_equal(FREE.log_density(np.array([[0], [1]]), parameters), [[0.0, 0.0], [-np.inf, -np.inf]])


def test_a_prior_with_a_large_mean_is_represented_by_few_counts() -> None:
    """Runs of counts, imagined at their middle, have the mean and all but the variance within."""
    counts, shares = _imagined_counts(f.NegativeBinomialParameters(np.array(5e4), np.array(2.0)))
    assert len(counts) < 50_000
    assert shares.sum() == pytest.approx(1.0)
    assert shares @ counts == pytest.approx(5e4, rel=1e-3)
    assert shares @ np.square(counts - 5e4) == pytest.approx(5e4 + 5e4**2 / 2.0, rel=1e-2)
