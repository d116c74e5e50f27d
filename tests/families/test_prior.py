"""Conjugate priors are imagined data: a fit with them is the posterior mode, and they join moments like any other."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from mercer import families as f

a = np.array


def maximum(log_posterior: Callable[[float], float], low: float, high: float) -> float:
    return float(
        minimize_scalar(lambda m: -log_posterior(m), bounds=(low, high), method="bounded", options={"xatol": 1e-10}).x
    )


CONJUGATE: list[tuple[f.Family, f.Prior, list[float], tuple[float, float]]] = [
    (f.Poisson(), f.Poisson().prior(3.0, rate=2.0), [0, 4, 7], (1e-3, 20.0)),
    (f.Gaussian(variance=2.0), f.Gaussian(2.0).prior(1.5, mean=-1.0, variance=2.0), [0.3, 4.0, 2.2], (-10.0, 10.0)),
    (f.Bernoulli(), f.Bernoulli().prior(2.5, probability=0.3), [1, 1, 0, 1], (1e-6, 1 - 1e-6)),
    (f.Binomial(5), f.Binomial(5).prior(0.7, probability=0.3), [1, 5, 4], (1e-6, 5 - 1e-6)),
    (f.Exponential(), f.Exponential().prior(2.0, rate=3.0), [0.1, 4.0], (1e-3, 10.0)),
    (f.NegativeBinomial(2.0), f.NegativeBinomial(2.0).prior(2.0, mean=3.0, r=2.0), [0, 8, 1], (1e-3, 20.0)),
]


@pytest.mark.parametrize(("family", "prior", "data", "bounds"), CONJUGATE, ids=[repr(case[0]) for case in CONJUGATE])
def test_the_fit_with_a_prior_is_the_posterior_mode_in_the_mean_parameter(
    family: f.Family, prior: f.Prior, data: list[float], bounds: tuple[float, float]
) -> None:
    tau = family.expected(prior.parameters)

    def log_posterior(mean: float) -> float:
        parameters = family.from_mean(a([mean]))
        eta = family.natural(parameters)
        conjugate = prior.strength * ((eta * tau).sum() - family.log_partition(eta))
        return float(family.log_density(a(data, dtype=float), parameters).sum() + conjugate)

    t = family.sufficient(a(data, dtype=float))
    statistic = SimpleNamespace(weight=a(float(len(data))), mean=t.mean(axis=0), variance=a(0.0))
    if family.statistic == "moments":
        statistic.mean = statistic.mean[..., 0]
    fitted = family.expected(family.fit(statistic, prior))[0]
    assert fitted == pytest.approx(maximum(log_posterior, *bounds), abs=1e-5)


def test_the_poissons_conjugate_prior_is_a_gamma() -> None:
    """Imagined counts s with mean τ are Gamma(sτ + 1, s) in the rate: its mode is τ."""
    rate, strength, tau = np.linspace(0.1, 9.0, 50), 3.0, 2.0
    imagined = strength * (tau * np.log(rate) - rate)
    gamma = f.Gamma().log_density(rate, f.GammaParameters(strength * tau + 1, strength))
    np.testing.assert_allclose(np.ptp(imagined - gamma), 0.0, atol=1e-12)


def test_a_prior_of_moments_acts_like_additional_observations() -> None:
    rng = np.random.default_rng(0)
    real, imagined = rng.normal(3.0, 2.0, size=40), rng.normal(-1.0, 0.5, size=10)
    statistic = SimpleNamespace(weight=a(40.0), mean=real.mean(), variance=real.var())
    fitted = f.Gaussian().fit(statistic, f.Gaussian().prior(10.0, mean=imagined.mean(), variance=imagined.var()))
    together = np.concatenate([real, imagined])
    np.testing.assert_allclose(fitted, (together.mean(), together.var()), rtol=1e-12)


@pytest.mark.parametrize("unseen", [0.0, np.nan])
def test_a_class_without_data_has_the_prior_or_nothing(unseen: float) -> None:
    statistic = SimpleNamespace(weight=a([[0.0, 2.0]]), mean=a([[[unseen], [3.0]]]))
    np.testing.assert_array_equal(f.Poisson().fit(statistic).rate, [[np.nan, 3.0]])
    np.testing.assert_array_equal(f.Poisson().fit(statistic, f.Poisson().prior(1.0, rate=6.0)).rate, [[6.0, 4.0]])
    np.testing.assert_array_equal(f.Poisson().fit(statistic, f.Poisson().prior(0.0, rate=6.0)).rate, [[np.nan, 3.0]])


TWO_SHAPES = [
    (f.Gamma(), f.Gamma().prior(2.0, shape=3.0, rate=0.5), [0.3, 4.0, 2.2]),
    (f.Beta(), f.Beta().prior(2.0, a=3.0, b=0.5), [0.3, 0.9, 0.2]),
]


@pytest.mark.parametrize(("family", "prior", "data"), TWO_SHAPES, ids=["gamma", "beta"])
def test_the_posterior_mode_of_two_shapes(family: f.Family, prior: f.Prior, data: list[float]) -> None:
    tau = family.expected(prior.parameters)

    def loss(log_shapes: np.ndarray) -> float:
        parameters = family.parameters_type(*np.exp(log_shapes))
        eta = family.natural(parameters)
        conjugate = prior.strength * ((eta * tau).sum() - family.log_partition(eta))
        return -float(family.log_density(a(data), parameters).sum() + conjugate)

    statistic = SimpleNamespace(weight=a(3.0), mean=family.sufficient(a(data)).mean(axis=0))
    mode = np.exp(minimize(loss, np.zeros(2), tol=1e-12).x)
    np.testing.assert_allclose(family.fit(statistic, prior), mode, rtol=1e-5)


def test_a_prior_gives_constant_data_a_fit() -> None:
    statistic = SimpleNamespace(weight=a(9.0), mean=f.Gamma().sufficient(a(2.0)))
    shape, rate = f.Gamma().fit(statistic, f.Gamma().prior(1.0, shape=4.0, rate=2.0))
    assert shape > 4.0
    assert shape / rate == pytest.approx(2.0)


@pytest.mark.parametrize("strength", [-1.0, np.nan, np.inf, a([1.0, -2.0])])
def test_the_strength_of_a_prior_is_a_number_of_observations(strength: Any) -> None:
    with pytest.raises(ValueError, match="0 or more"):
        f.Poisson().prior(strength, rate=1.0)
