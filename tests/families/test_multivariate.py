"""The multivariate normal: missing entries, priors, leading axes, and singular covariances."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from mercer import families as f
from mercer._errors import SingularCovarianceError

NORMAL = f.MultivariateGaussian()


def two_classes(d: int = 3) -> f.MultivariateGaussianParameters:
    rng = np.random.default_rng(4)
    root = rng.normal(size=(2, d, d))
    return f.MultivariateGaussianParameters(rng.normal(size=(2, d)), root @ root.transpose(0, 2, 1) + np.eye(d))


def test_missing_entries_leave_the_marginal_of_the_others() -> None:
    parameters = two_classes()
    x = np.random.default_rng(1).normal(size=(40, 3))
    x[np.random.default_rng(2).random(x.shape) < 0.4] = np.nan
    x[0] = np.nan
    density = NORMAL.log_density(x[:, None], parameters)
    assert density.shape == (40, 2)
    for i, k in np.ndindex(40, 2):
        observed = ~np.isnan(x[i])
        mean, covariance = parameters.mean[k, observed], parameters.covariance[k][np.ix_(observed, observed)]
        expected = stats.multivariate_normal(mean, covariance).logpdf(x[i, observed]) if observed.any() else 0.0
        assert density[i, k] == pytest.approx(expected, rel=1e-11, abs=1e-12)


def test_rows_may_pair_with_classes() -> None:
    parameters = two_classes()
    x = np.array([[0.1, np.nan, 0.3], [1.0, 2.0, 3.0]])
    all_pairs = NORMAL.log_density(x[:, None], parameters)
    np.testing.assert_array_equal(NORMAL.log_density(x, parameters), np.diagonal(all_pairs))


def test_an_infinite_entry_is_outside_the_support() -> None:
    assert (NORMAL.log_density(np.array([np.inf, 0.0, np.nan]), two_classes()) == -np.inf).all()


def test_independent_columns_agree_with_gaussians() -> None:
    x, mean, variance = np.array([0.3, -2.0]), np.array([1.0, 0.5]), np.array([2.0, 0.1])
    ours = NORMAL.log_density(x, f.MultivariateGaussianParameters(mean, np.diag(variance)))
    assert ours == pytest.approx(f.Gaussian().log_density(x, f.GaussianParameters(mean, variance)).sum(), rel=1e-13)


def test_scales_of_columns_do_not_make_a_matrix_singular() -> None:
    scale = np.array([1e-120, 1.0, 1e120])
    mean, covariance = (field[0] for field in two_classes())
    x = np.array([0.3, -1.0, 2.0])
    scaled = f.MultivariateGaussianParameters(mean * scale, covariance * scale * scale[:, None])
    unscaled = NORMAL.log_density(x, f.MultivariateGaussianParameters(mean, covariance))
    assert NORMAL.log_density(x * scale, scaled) == pytest.approx(unscaled - np.log(scale).sum(), rel=1e-12)


def test_a_prior_acts_like_additional_observations() -> None:
    rng = np.random.default_rng(0)
    real, imagined = rng.normal(3.0, 2.0, size=(40, 2)), rng.normal(-1.0, 0.5, size=(10, 2))
    statistic = SimpleNamespace(
        weight=np.array([40.0]), mean=real.mean(axis=0)[None], covariance=np.cov(real.T, bias=True)[None]
    )
    prior = NORMAL.prior(10.0, mean=imagined.mean(axis=0), covariance=np.cov(imagined.T, bias=True))
    mean, covariance = NORMAL.fit(statistic, prior)
    together = np.concatenate([real, imagined])
    np.testing.assert_allclose(mean[0], together.mean(axis=0))
    np.testing.assert_allclose(covariance[0], np.cov(together.T, bias=True))


def test_a_class_without_rows_has_the_prior() -> None:
    statistic = SimpleNamespace(weight=np.zeros(1), mean=np.full((1, 2), np.nan), covariance=np.full((1, 2, 2), np.nan))
    mean, covariance = NORMAL.fit(statistic, NORMAL.prior(2.0, mean=[1.0, 2.0], covariance=np.eye(2)))
    np.testing.assert_array_equal(mean, [[1.0, 2.0]])
    np.testing.assert_array_equal(covariance, [np.eye(2)])


def test_sample_and_fit() -> None:
    parameters = two_classes()
    draws = NORMAL.sample(parameters, 100_000, np.random.default_rng(0))
    assert draws.shape == (100_000, 2, 3)
    np.testing.assert_allclose(draws.mean(axis=0), parameters.mean, atol=0.05)
    np.testing.assert_allclose(np.cov(draws[:, 1].T), parameters.covariance[1], atol=0.15)


def test_a_singular_covariance_names_its_columns() -> None:
    singular = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [2.0, 0.0, 4.0]])
    parameters = f.MultivariateGaussianParameters(np.zeros((2, 3)), np.stack([np.eye(3), singular]))
    with pytest.raises(SingularCovarianceError, match="columns 0, 2 are collinear"):
        NORMAL.log_density(np.zeros(3), parameters)
    with pytest.raises(SingularCovarianceError, match="shrinkage"):
        NORMAL.sample(parameters, 2, np.random.default_rng(0))
