"""The r of a negative binomial with means of its own: the maximum of the likelihood."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import GLM
from mercer.families import NegativeBinomial
from mercer.models.glm.negative_binomial import _slope
from tests.models.glm._responses import rows_of


@pytest.mark.parametrize("theta", [1e-6, 1e-3, 0.1, 1.0, 30.0])
@pytest.mark.parametrize("scale", [1.0, 1e4, 3e6])
def test_the_slope_is_that_of_the_log_likelihood(theta: float, scale: float) -> None:
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


def test_near_the_poisson_limit_it_is_half_the_excess() -> None:
    rng = np.random.default_rng(0)
    mu = rng.uniform(0.5, 2, size=20)
    y = rng.poisson(mu).astype(float)
    excess = float(np.sum(np.square(y - mu) - y)) / 2
    assert _slope(y, mu, None)(0.0) == pytest.approx(excess)
    assert _slope(y, mu, None)(1e-12) == pytest.approx(excess, rel=1e-9)


def test_counts_that_do_not_spread_are_a_poisson_for_the_negative_binomial() -> None:
    X, y = rows_of("poisson")
    y = np.minimum(y, 2)
    model, poisson = GLM("negative_binomial").fit(X, y), GLM("poisson").fit(X, y)
    assert model.family_.r > 1e9
    np.testing.assert_allclose(model.coef_, poisson.coef_, rtol=1e-6)
