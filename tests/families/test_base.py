"""What all families share: edges of the support, missing values, dtypes, and conjugate priors as imagined data."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from mercer import families as f

a = np.array

SCALAR: list[tuple[f.Family, Any, list[float], list[float]]] = [
    (f.Gaussian(), f.GaussianParameters(a(0.5), a(2.0)), [-3.0, 4.0], [np.inf, -np.inf]),
    (f.Bernoulli(), f.BernoulliParameters(a(0.2)), [0, 1], [-1, 2, 0.5, np.inf]),
    (f.Binomial(4), f.BernoulliParameters(a(0.2)), [0, 3, 4], [-1, 5, 0.5, np.inf]),
    (f.Categorical(3), f.CategoricalParameters(a([0.2, 0.3, 0.5])), [0, 1, 2], [-2, 3, 0.5, np.inf]),
    (f.Poisson(), f.PoissonParameters(a(3.0)), [0, 1, 9], [-1, 0.5, np.inf]),
    (f.Exponential(), f.ExponentialParameters(a(3.0)), [0.0, 2.0], [-0.1, np.inf]),
    (f.Gamma(), f.GammaParameters(a(3.0), a(1.0)), [0.1, 2.0], [0.0, -1.0, np.inf]),
    (f.InverseGaussian(), f.InverseGaussianParameters(a(3.0), a(1.0)), [0.1, 2.0], [0.0, -1.0, np.inf]),
    (f.Tweedie(1.5, 1.0), f.TweedieParameters(a(3.0), a(1.0)), [0.0, 0.1, 2.0], [-1.0, np.inf]),
    (f.Tweedie(2.0, 1.0), f.TweedieParameters(a(3.0), a(1.0)), [0.1, 2.0], [0.0, -1.0, np.inf]),
    (f.Beta(), f.BetaParameters(a(3.0), a(1.0)), [0.1, 0.9], [0.0, 1.0, -1.0, 2.0, np.inf]),
    (f.NegativeBinomial(2.0), f.NegativeBinomialParameters(a(3.0), a(2.0)), [0, 1, 9], [-1, 0.5, np.inf]),
    (f.LogNormal(), f.LogNormalParameters(a(3.0), a(1.0)), [0.1, 2.0], [0.0, -1.0, np.inf]),
    (f.Histogram([0.0, 1.0, 3.0]), f.CategoricalParameters(a([0.4, 0.6])), [0.0, 3.0, -7.0, 9.0], [np.inf, -np.inf]),
]
NAMES = [repr(case[0]) for case in SCALAR]


@pytest.mark.parametrize(("family", "parameters", "inside", "outside"), SCALAR, ids=NAMES)
def test_the_support(family: f.Family, parameters: Any, inside: list[float], outside: list[float]) -> None:
    assert not family.outside(a(inside)).any()
    assert family.outside(a(outside)).all()
    assert np.isfinite(family.log_density(a(inside), parameters)).all()
    assert (family.log_density(a(outside), parameters) == -np.inf).all()
    assert (family.log_base(a(outside)) == -np.inf).all()
    assert not family.outside(a([np.nan])).any()
    assert family.log_density(a([np.nan]), parameters) == 0.0


@pytest.mark.parametrize(("family", "parameters", "inside", "outside"), SCALAR, ids=NAMES)
def test_any_dtype_and_read_only_arrays(
    family: f.Family, parameters: Any, inside: list[float], outside: list[float]
) -> None:
    x = np.array(inside, dtype=np.float32)
    x.flags.writeable = False
    density = family.log_density(x, parameters)
    assert density.dtype == np.float64
    np.testing.assert_allclose(density, family.log_density(x.astype(float), parameters), rtol=0)
    if (x == np.round(x)).all():
        np.testing.assert_array_equal(density, family.log_density(x.astype(np.int8), parameters))
        np.testing.assert_array_equal(family.sufficient(x.astype(np.int8)), family.sufficient(x))


@pytest.mark.parametrize(("family", "parameters", "inside", "outside"), SCALAR, ids=NAMES)
def test_a_value_outside_the_support_never_looks_missing(
    family: f.Family, parameters: Any, inside: list[float], outside: list[float]
) -> None:
    assert not np.isnan(family.transform(family.sufficient(a(outside)))).any()


@pytest.mark.parametrize(
    ("family", "columns", "order"),
    [(f.Gaussian(), 1, 2), (f.Gaussian(variance=1.0), 1, 1), (f.Categorical(4), 1, 4), (f.Dirichlet(), 5, 5)],
)
def test_order_counts_the_components_of_the_statistic(family: f.Family, columns: int, order: int) -> None:
    assert family.order(columns) == order


def test_squares_of_small_integers_do_not_overflow() -> None:
    np.testing.assert_array_equal(f.Gaussian().sufficient(np.array([100], dtype=np.int8)), [[100.0, 10_000.0]])


def test_lecture_3_log_partitions() -> None:
    eta = np.linspace(-4, 4, 9)[:, None]
    np.testing.assert_allclose(f.Gaussian(variance=1.0).log_partition(eta), eta[:, 0] ** 2 / 2)
    np.testing.assert_allclose(f.Bernoulli().log_partition(eta), np.log(1 + np.exp(eta[:, 0])))


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


def test_a_prior_joins_moments_as_if_its_observations_had_been_seen() -> None:
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
def test_a_prior_is_as_strong_as_some_number_of_observations(strength: Any) -> None:
    with pytest.raises(ValueError, match="0 or more"):
        f.Poisson().prior(strength, rate=1.0)


@pytest.mark.parametrize("variance", [0.0, -1.0, np.nan, np.inf])
def test_a_known_variance_is_one(variance: float) -> None:
    with pytest.raises(ValueError, match="finite number above 0"):
        f.Gaussian(variance=variance)


def test_certain_outcomes_have_infinite_natural_parameters() -> None:
    assert f.Poisson().natural(f.PoissonParameters(a(0.0))) == -np.inf
    assert f.Bernoulli().natural(f.BernoulliParameters(a(1.0))) == np.inf


@pytest.mark.parametrize(("family", "parameters", "inside", "outside"), SCALAR, ids=NAMES)
def test_the_general_formula_gives_the_same_density(
    family: f.Family, parameters: Any, inside: list[float], outside: list[float]
) -> None:
    """log b + ⟨η, T⟩ − A, which a family written elsewhere may leave as it is."""
    x = a(inside)
    general = f.Family.log_density_inside(family, x, parameters)
    np.testing.assert_allclose(general, family.log_density(x, parameters), rtol=1e-12)
