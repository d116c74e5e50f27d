"""The r of a negative binomial with means of its own: the maximum of the likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import digamma

from mercer import GLM
from mercer._errors import NonFiniteError
from mercer.families import NegativeBinomial
from mercer.linear_model.glm_solve import _slope
from tests.linear_model._responses import rows_of


@pytest.mark.parametrize("theta", [1e-6, 1e-3, 0.1, 1.0, 30.0])
@pytest.mark.parametrize("scale", [1.0, 1e4, 3e6])
def test_the_slope_agrees_with_the_log_likelihood(theta: float, scale: float) -> None:
    rng = np.random.default_rng(0)
    mu = scale * rng.uniform(0.5, 2, size=20)
    y = np.round(mu * rng.gamma(2, 0.5, size=20))
    weight = rng.uniform(size=20)

    def log_likelihood(at: float) -> float:
        family = NegativeBinomial(1 / at)
        return float(weight @ family.log_density(y, family.at_mean(mu)))

    h = 1e-4 * theta
    expected = (log_likelihood(theta + h) - log_likelihood(theta - h)) / (2 * h)
    size = weight @ (y + mu) / theta
    assert _slope(y, mu, weight)(theta) == pytest.approx(expected, rel=1e-4, abs=1e-9 * size)


@pytest.mark.parametrize("r", [0.5, 30.0, 1e4])
def test_the_slope_keeps_its_digits_for_counts_of_any_size(r: float) -> None:
    """Counts of 1e12 are gamma variables of shape r; sums that cancel had lost r in the fourth digit."""
    rng = np.random.default_rng(0)
    mu = 1e12 * rng.uniform(0.5, 2, size=20)
    y = np.round(mu * rng.gamma(r, 1 / r, size=20))
    ratio = y / mu
    slope = np.sum(ratio - 1 - np.log(ratio)) - 20 * (np.log(r) - digamma(r))
    assert _slope(y, mu, None)(1 / r) == pytest.approx(r**2 * slope, rel=1e-7)


def test_r_is_found_for_offsets_of_any_size() -> None:
    rng = np.random.default_rng(6)
    X, offset = rng.normal(size=(200, 2)), rng.choice([-200.0, 0.0, 200.0], 200)
    y = np.round(rng.gamma(2.0, np.exp(0.3 * X[:, 0] + offset) / 2))
    model = GLM("negative_binomial", max_iter=1000).fit(X, y, offset=offset)
    assert model.certificate_.holds
    assert 1.0 < model.family_.r < 3.0


def test_no_minimum_is_claimed_where_r_is_estimated() -> None:
    """The minimum of the objective at this r may lie above that of another."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(200, 2))
    y = np.round(rng.gamma(2.0, np.exp(1 + 0.3 * X[:, 0]) / 2))
    certificate = GLM("negative_binomial").fit(X, y).certificate_
    assert (certificate.holds, certificate.is_global) == (True, False)
    assert "of its minimum" not in certificate.sentence
    assert "of its minimum" in GLM("poisson").fit(X, y).certificate_.sentence


@pytest.mark.filterwarnings("ignore::mercer.errors.SeparationWarning")
@pytest.mark.parametrize("weight", [None, np.append(np.ones(19), 0.0)])
def test_counts_of_zero_have_no_overdispersion(weight: Any) -> None:
    X, y = np.arange(20.0)[:, None], np.zeros(20)
    y[-1] = 0.0 if weight is None else 7.0
    assert GLM("negative_binomial").fit(X, y, weight).family_.r > 1e9


def test_counts_whose_means_overflow_are_rejected_with_a_sentence() -> None:
    X, y = np.random.default_rng(9).normal(size=(60, 1)), np.append(np.zeros(59), 1e300)
    with pytest.raises(NonFiniteError, match="divide the largest counts"):
        GLM("negative_binomial").fit(X, y)


def test_near_the_poisson_limit_the_slope_is_half_the_excess() -> None:
    rng = np.random.default_rng(0)
    mu = rng.uniform(0.5, 2, size=20)
    y = rng.poisson(mu).astype(float)
    excess = float(np.sum(np.square(y - mu) - y)) / 2
    assert _slope(y, mu, None)(0.0) == pytest.approx(excess)
    assert _slope(y, mu, None)(1e-12) == pytest.approx(excess, rel=1e-9)


def test_counts_without_overdispersion_give_a_poisson_model() -> None:
    X, y = rows_of("poisson")
    y = np.minimum(y, 2)
    model, poisson = GLM("negative_binomial").fit(X, y), GLM("poisson").fit(X, y)
    assert model.family_.r > 1e9
    np.testing.assert_allclose(model.coef_, poisson.coef_, rtol=1e-6)
