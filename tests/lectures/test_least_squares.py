"""Least squares and ridge regression as lectures 1 and 5 have them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from mercer import LinearRegression, Ridge
from mercer.families import Gaussian

Array = np.ndarray


def draw(n: int, d: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + 0.5 * rng.normal(size=n)


def test_least_squares_in_closed_form() -> None:
    """L1: θ = (XᵀX)⁻¹Xᵀy, with the intercept as a column of ones."""
    X, y = draw(50, 3)
    ones = np.column_stack([np.ones(50), X])
    theta = np.linalg.solve(ones.T @ ones, ones.T @ y)
    model = LinearRegression().fit(X, y)
    np.testing.assert_allclose([model.intercept_, *model.coef_], theta, rtol=1e-10)


def test_maximum_likelihood_is_least_squares() -> None:
    """L1 eq. 13, and eq. 15 with its sign put right: ∂ℓ/∂θ = +Σ (y − θᵀx) x / σ², which vanishes at the fit."""
    X, y = draw(50, 3)
    model = LinearRegression(fit_intercept=False).fit(X, y)
    sigma = 0.7

    def log_likelihood(theta: Array) -> float:
        return float(stats.norm.logpdf(y, X @ theta, sigma).sum())

    at = model.coef_ + np.array([0.1, -0.2, 0.3])
    slope = optimize.approx_fprime(at, log_likelihood, 1e-7)
    np.testing.assert_allclose(slope, X.T @ (y - X @ at) / sigma**2, rtol=1e-4)
    assert np.abs(optimize.approx_fprime(model.coef_, log_likelihood, 1e-7)).max() < 1e-3


@pytest.mark.parametrize("shape", [(30, 4), (4, 30)], ids=str)
def test_the_mean_of_squares_takes_n_times_lambda(shape: tuple[int, int]) -> None:
    """L1, corrected: (1/n)Σ(wᵀx − y)² + λ‖w‖² is solved by (XᵀX + nλI)⁻¹Xᵀy; the printed form goes without 1/n."""
    X, y = draw(*shape)
    n, d = shape
    lam = 0.3

    def mean_objective(w: Array) -> float:
        return float(np.mean((X @ w - y) ** 2) + lam * w @ w)

    w = Ridge(alpha=n * lam, fit_intercept=False).fit(X, y).coef_
    np.testing.assert_allclose(w, np.linalg.solve(X.T @ X + n * lam * np.eye(d), X.T @ y), rtol=1e-8)
    np.testing.assert_allclose(2 * X.T @ (X @ w - y) / n + 2 * lam * w, 0.0, atol=1e-12)
    printed = Ridge(alpha=lam, fit_intercept=False).fit(X, y).coef_
    assert mean_objective(w) < mean_objective(printed)
    assert np.sum((X @ printed - y) ** 2) + lam * printed @ printed < np.sum((X @ w - y) ** 2) + lam * w @ w


@pytest.mark.parametrize("shape", [(30, 4), (4, 30)], ids=str)
def test_the_ridge_solution_is_in_the_span_of_the_data(shape: tuple[int, int]) -> None:
    """L1: α* = (y − X w*)/λ and w* = Xᵀα*; over α, of which there are n, the same minimum is found."""
    X, y = draw(*shape)
    lam = 2.0
    w = Ridge(alpha=lam, fit_intercept=False).fit(X, y).coef_
    dual = (y - X @ w) / lam
    np.testing.assert_allclose(X.T @ dual, w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(np.linalg.solve(X @ X.T + lam * np.eye(len(y)), y), dual, rtol=1e-8)


def test_ridge_is_the_mode_of_the_posterior_under_a_normal_prior() -> None:
    """L5, the prior counted once: with residuals N(0, σ²) and w ~ N(0, σ²/λ), ridge finds the mode of p(w | data)."""
    X, y = draw(40, 3)
    lam, sigma = 1.5, 0.8

    def minus_log_posterior(w: Array) -> float:
        likelihood = stats.norm.logpdf(y, X @ w, sigma).sum()
        return -float(likelihood + stats.norm.logpdf(w, 0.0, sigma / np.sqrt(lam)).sum())

    mode = optimize.minimize(minus_log_posterior, np.zeros(3), tol=1e-12).x
    np.testing.assert_allclose(Ridge(alpha=lam, fit_intercept=False).fit(X, y).coef_, mode, rtol=1e-4)
    counted_per_row = Ridge(alpha=len(y) * lam, fit_intercept=False).fit(X, y).coef_
    assert minus_log_posterior(counted_per_row) > minus_log_posterior(mode)


def test_the_sign_of_the_constant_in_the_negative_log_posterior() -> None:
    """L5, corrected: −log N(w; 0, σ²) = w²/2σ² + ½ log 2πσ²; with a minus, wider priors would always be likelier."""
    w = np.array([0.3, -1.2, 2.0])
    for variance in (0.5, 1.0, 4.0):
        prior = Gaussian(variance=variance)
        minus_log = -prior.log_density(w, prior.at_mean(np.zeros(3), variance))
        np.testing.assert_allclose(minus_log, w**2 / (2 * variance) + 0.5 * np.log(2 * np.pi * variance))


def test_singular_normal_equations() -> None:
    """L1's review question: many θ are as good; taken is the shortest, the limit of ridge for λ → 0, and it is said."""
    X, y = draw(20, 3)
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    model = LinearRegression().fit(X, y)
    assert model.rank_ == 3
    assert model.diagnosis_.codes == ("collinear",)
    assert model.diagnosis_.findings[0].columns == ("x0", "x1", "x3")
    np.testing.assert_allclose(Ridge(alpha=1e-7).fit(X, y).coef_, model.coef_, rtol=1e-6)
