"""The inverse Gaussian at the ends of its range."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from mercer import families as f
from mercer._errors import DegenerateDataError

a = np.array


@pytest.mark.parametrize(("mean", "shape"), [(1.0, 1.0), (3.0, 0.05), (0.01, 200.0), (5.0, 1e6)])
def test_distribution_function_and_quantiles_agree_with_scipy(mean: float, shape: float) -> None:
    theirs = stats.invgauss(mean / shape, scale=shape)
    q = a([1e-6, 0.1, 0.5, 0.9, 0.999])
    x = f.InverseGaussian().quantile(q, f.InverseGaussianParameters(np.full(5, mean), np.full(5, shape)))
    np.testing.assert_allclose(x, theirs.ppf(q), rtol=1e-7)
    at = f.InverseGaussianParameters(a(mean), a(shape))
    np.testing.assert_allclose(f.InverseGaussian().cdf(x, at), q, rtol=1e-9)
    np.testing.assert_allclose(f.InverseGaussian().cdf(x, at), theirs.cdf(x), rtol=1e-8)


def test_a_large_shape_does_not_overflow() -> None:
    """e^(2λ/μ) alone is infinite."""
    at = f.InverseGaussianParameters(a(1.0), a(1e8))
    np.testing.assert_allclose(
        f.InverseGaussian().cdf(a([1 - 1e-4, 1.0, 1 + 1e-4]), at), [0.158, 0.5, 0.841], atol=1e-3
    )
    assert f.InverseGaussian().cdf(a([-1.0, 0.0, np.inf]), at).tolist() == [0.0, 0.0, 1.0]


def test_quantiles_outside_0_to_1() -> None:
    at = f.InverseGaussianParameters(np.ones(4), np.ones(4))
    q = f.InverseGaussian().quantile(a([0.0, 1.0, -0.5, np.nan]), at)
    np.testing.assert_array_equal(q, [0.0, np.inf, np.nan, np.nan])


def test_the_fit_agrees_with_scipy() -> None:
    x = f.InverseGaussian().sample(f.InverseGaussianParameters(a(2.0), a(3.0)), 500, np.random.default_rng(0))
    t = f.InverseGaussian().sufficient(x)
    mean, shape = f.InverseGaussian().fit(SimpleNamespace(weight=a(500.0), mean=t.mean(axis=0)))
    mu, _, scale = stats.invgauss.fit(x, floc=0)
    np.testing.assert_allclose([mean, shape], [mu * scale, scale], rtol=1e-6)


@pytest.mark.parametrize(("x", "words"), [([2.0, 2.0], "without spread"), ([0.0, 2.0], "above 0")])
def test_data_without_a_fit(x: list[float], words: str) -> None:
    t = f.InverseGaussian().sufficient(a(x))
    with pytest.raises(DegenerateDataError, match=words):
        f.InverseGaussian().fit(SimpleNamespace(weight=a(2.0), mean=t.mean(axis=0)))


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_extreme_scales(scale: float) -> None:
    x = a([0.1, 1.0, 3.0])
    plain = f.InverseGaussian().log_density(x, f.InverseGaussianParameters(1.0, 2.0))
    scaled = f.InverseGaussian().log_density(x * scale, f.InverseGaussianParameters(scale, 2.0 * scale))
    np.testing.assert_allclose(scaled + np.log(scale), plain, rtol=1e-12)
