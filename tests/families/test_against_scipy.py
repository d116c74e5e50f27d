"""Every log density agrees with scipy.stats, over ordinary and extreme parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mercer import families as f

CLOSE = 1e-12
a = np.array

probability = st.floats(1e-9, 1 - 1e-9)
positive = st.floats(1e-2, 1e2)
real = st.floats(-1e3, 1e3)
count = st.integers(0, 60)
unit = st.floats(1e-6, 1 - 1e-6)

SCALAR: dict[str, tuple[st.SearchStrategy[Any], tuple[st.SearchStrategy[Any], ...], Callable[..., Any]]] = {
    "gaussian": (
        real,
        (real, positive),
        lambda x, m, v: (f.Gaussian().log_density(x, f.GaussianParameters(m, v)), stats.norm(m, v**0.5).logpdf(x)),
    ),
    "bernoulli": (
        st.integers(0, 1),
        (probability,),
        lambda x, p: (f.Bernoulli().log_density(x, f.BernoulliParameters(p)), stats.bernoulli(p).logpmf(x)),
    ),
    "binomial": (
        count,
        (probability,),
        lambda x, p: (f.Binomial(60).log_density(x, f.BernoulliParameters(p)), stats.binom(60, p).logpmf(x)),
    ),
    "poisson": (
        count,
        (positive,),
        lambda x, r: (f.Poisson().log_density(x, f.PoissonParameters(r)), stats.poisson(r).logpmf(x)),
    ),
    "exponential": (
        positive,
        (positive,),
        lambda x, r: (f.Exponential().log_density(x, f.ExponentialParameters(r)), stats.expon(scale=1 / r).logpdf(x)),
    ),
    "gamma": (
        positive,
        (positive, positive),
        lambda x, a, b: (f.Gamma().log_density(x, f.GammaParameters(a, b)), stats.gamma(a, scale=1 / b).logpdf(x)),
    ),
    "inverse gaussian": (
        positive,
        (positive, positive),
        lambda x, m, s: (
            f.InverseGaussian().log_density(x, f.InverseGaussianParameters(m, s)),
            stats.invgauss(m / s, scale=s).logpdf(x),
        ),
    ),
    "beta": (
        unit,
        (positive, positive),
        lambda x, a, b: (f.Beta().log_density(x, f.BetaParameters(a, b)), stats.beta(a, b).logpdf(x)),
    ),
    "negative binomial": (
        count,
        (positive, positive),
        lambda x, m, r: (
            f.NegativeBinomial().log_density(x, f.NegativeBinomialParameters(m, r)),
            stats.nbinom(r, r / (r + m)).logpmf(x),
        ),
    ),
    "lognormal": (
        positive,
        (st.floats(-5, 5), positive),
        lambda x, m, v: (
            f.LogNormal().log_density(x, f.LogNormalParameters(m, v)),
            stats.lognorm(v**0.5, scale=np.exp(m)).logpdf(x),
        ),
    ),
}


@pytest.mark.parametrize("name", SCALAR)
@settings(max_examples=60)
@given(data=st.data())
def test_scalar_families_agree_with_scipy(name: str, data: st.DataObject) -> None:
    xs, parameters, both = SCALAR[name]
    x, values = data.draw(xs), [data.draw(strategy) for strategy in parameters]
    ours, theirs = both(np.asarray(x, dtype=float), *values)
    # scipy's own formulas subtract terms of this size
    size = 1 + sum(abs(float(v)) for v in values) + abs(float(x)) * (1 + np.log1p(abs(float(x))))
    np.testing.assert_allclose(ours, theirs, rtol=CLOSE, atol=1e-14 * size)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(2, 6))
def test_vector_families_agree_with_scipy(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    p, alpha, mean, root = (
        rng.dirichlet(np.ones(d)),
        rng.gamma(2.0, size=d),
        rng.normal(size=d),
        rng.normal(size=(d, d)),
    )
    covariance = root @ root.T + 0.1 * np.eye(d)
    counts, shares, row = rng.multinomial(20, p), rng.dirichlet(alpha + 1), rng.normal(size=d)
    pairs = [
        (f.Multinomial().log_density(counts, f.CategoricalParameters(p)), stats.multinomial(20, p).logpmf(counts)),
        (f.Multinomial(20).log_density(counts, f.CategoricalParameters(p)), stats.multinomial(20, p).logpmf(counts)),
        (f.Dirichlet().log_density(shares, f.DirichletParameters(alpha)), stats.dirichlet(alpha).logpdf(shares)),
        (
            f.MultivariateGaussian().log_density(row, f.MultivariateGaussianParameters(mean, covariance)),
            stats.multivariate_normal(mean, covariance).logpdf(row),
        ),
    ]
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-11)


def test_the_histogram_agrees_with_scipy() -> None:
    rng = np.random.default_rng(3)
    x, edges = rng.normal(size=500), np.array([-5.0, -1.0, 0.0, 0.25, 5.0])
    counts, _ = np.histogram(x, edges)
    ours = f.Histogram(edges).log_density(x, f.CategoricalParameters(counts / counts.sum()))
    np.testing.assert_allclose(ours, stats.rv_histogram((counts, edges), density=False).logpdf(x), rtol=CLOSE)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_extreme_scales_have_finite_densities(scale: float) -> None:
    x = np.array([0.1, 1.0, 3.0]) * scale
    pairs = [
        (f.Gaussian().log_density(x, f.GaussianParameters(scale, scale**2)), stats.norm(scale, scale).logpdf(x)),
        (f.Exponential().log_density(x, f.ExponentialParameters(1 / scale)), stats.expon(scale=scale).logpdf(x)),
        (f.Gamma().log_density(x, f.GammaParameters(2.5, 1 / scale)), stats.gamma(2.5, scale=scale).logpdf(x)),
        (
            f.LogNormal().log_density(x, f.LogNormalParameters(np.log(scale), 1.0)),
            stats.lognorm(1.0, scale=scale).logpdf(x),
        ),
    ]
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, rtol=CLOSE)


def test_values_far_beyond_their_scale_have_accurate_densities() -> None:
    """Squares and products that no float holds are not formed, or do not matter."""
    far = f.Gaussian().log_density(np.array([1e300, 1e200]), f.GaussianParameters(a(0.0), a(1e300)))
    np.testing.assert_allclose(far, stats.norm(0, 1e150).logpdf([1e300, 1e200]), rtol=CLOSE)
    small = f.Gamma().log_density(a(1e-300), f.GammaParameters(a([1.0, 0.5]), a(1e-100)))
    # where scipy's own answer for the second shape is infinite: log √(b/πx)
    np.testing.assert_allclose(small, [np.log(1e-100), 0.5 * np.log(1e200 / np.pi)], rtol=CLOSE)
    assert f.Gamma().log_density(a(1e300), f.GammaParameters(a(2.0), a(1e100))) == -np.inf
