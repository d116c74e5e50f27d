"""Rows whose offsets or responses lie dozens of orders of magnitude apart: an optimum, or no certificate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer import GLM, GammaRegressor
from mercer.families import Tweedie

SOLVERS = ("newton", "newton-cg", "lbfgs")


def half_deviance(y: np.ndarray, eta: np.ndarray, power: float) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        if power == 1:
            value = np.exp(eta) - y * eta + np.where(y > 0, y * np.log(np.maximum(y, 1)) - y, 0)
        elif power == 2:
            value = eta - np.log(y) + y * np.exp(-eta) - 1
        else:
            a, b = 2 - power, 1 - power
            value = y**a / (a * b) - y * np.exp(b * eta) / b + np.exp(a * eta) / a
    return float(value.sum()) if np.isfinite(value).all() else 1e300


@pytest.mark.filterwarnings("ignore:the .* solver has not converged")
@pytest.mark.parametrize(
    ("X", "offset", "deviance"),
    [
        ([[1.0], [1.1], [1.2]], [-40.0, -41.0, -42.0], 11.0977),
        ([[0.4, -0.95], [0.18, -0.15], [-2.3, 1.6]], [-39.2, -1.9, -3.0], 0.56142),
    ],
)
def test_a_gamma_without_an_intercept_is_fitted_with_extreme_offsets(X: Any, offset: Any, deviance: float) -> None:
    """A first step of e⁴⁰ lowered the objective from 1e17 to 7e16, and no further step followed."""
    model = GLM("gamma", link="log", fit_intercept=False).fit(X, [1.0] * 3, offset=offset)
    assert model.certificate_.holds
    assert model.deviance_ == pytest.approx(deviance, rel=1e-4)


def test_a_gamma_is_fitted_to_responses_over_sixty_orders_of_magnitude() -> None:
    x, y = np.array([1.8, 1.7, 2.4]), np.array([1e30, 1e-30, 1.0])
    model = GammaRegressor(alpha=0, fit_intercept=False, tol=1e-8).fit(x[:, None], y)
    assert model.certificate_.holds
    assert np.sum(x * (1 - y * np.exp(-model.coef_[0] * x))) == pytest.approx(0, abs=1e-6)


@pytest.mark.filterwarnings("ignore:the .* solver has not converged")
@pytest.mark.parametrize("seed", [3, 9, 12, 27, 35])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("family", "power"), [("gamma", 2), (Tweedie(1.5), 1.5), ("poisson", 1)])
def test_a_certificate_with_extreme_offsets_holds_at_the_minimum_only(
    family: Any, power: float, solver: str, intercept: bool, seed: int
) -> None:
    """Curvatures over 80 decades leave nothing of most rows in products with the Hessian, or in its inverse."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 12))
    X = rng.normal(size=(n, 1))
    offset, y = rng.uniform(-200, 200, size=n), rng.gamma(2, 0.5, size=n)
    y = np.round(3 * y) + (np.arange(n) == 0) if power == 1 else y
    model = GLM(family, link="log", solver=solver, fit_intercept=intercept).fit(X, y, offset=offset)
    assert model.certificate_.holds or solver != "newton" or power == 1
    design = np.column_stack([X, np.ones(n)])[:, : 1 + intercept]
    point = np.append(model.coef_, model.intercept_)[: 1 + intercept]

    def logarithm(w: np.ndarray) -> float:
        return float(np.log1p(half_deviance(y, design @ w + offset, power)))

    starts = (point + far * rng.normal(size=len(point)) for far in (0.0, 1.0, 10.0))
    least = min(minimize(logarithm, start, method="Nelder-Mead", options={"maxiter": 1000}).fun for start in starts)
    if model.certificate_.holds:
        assert logarithm(point) <= least + 1e-9 * abs(least)


def test_a_newton_step_as_far_as_a_gradient_of_a_hundred_decades_is_not_taken() -> None:
    """Steps are as few as the logarithms of the offsets need, not as many as the offsets."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.gamma(2, 0.5, size=30)
    model = GLM("gamma", link="log", fit_intercept=False).fit(X, y, offset=rng.uniform(-300, 300, size=30))
    assert model.certificate_.holds
    assert model.n_iter_ <= 40
