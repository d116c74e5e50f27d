"""Lectures 1 and 3: the recipe of generalised linear models, and Poisson regression by it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit, gammaln

from mercer import GLM
from mercer.families import L2, Bernoulli, Gaussian, Poisson

#: lecture 3, "Recipe of GLMs": a distribution for y, and the function that takes η to its mean
RECIPE = {
    "gaussian": (Gaussian(), lambda eta: eta),
    "bernoulli": (Bernoulli(), expit),
    "poisson": (Poisson(), np.exp),
}


def visitors(n: int = 60) -> tuple[Any, Any]:
    """Lecture 1: people entering a restaurant at lunch time, by temperature and day of the week."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 30, size=n), rng.integers(0, 2, size=n)])
    return X, rng.poisson(np.exp(X @ [0.04, 0.7] + 1.5))


def log_likelihood(w: Any, X: Any, y: Any) -> float:
    """Lecture 1, eq. 32: Σ y wᵀx − exp(wᵀx) − log y!."""
    eta = X @ w
    return float(np.sum(y * eta - np.exp(eta) - gammaln(y + 1)))


@pytest.mark.parametrize("name", RECIPE)
def test_the_recipe(name: str) -> None:
    """Distribution, linear predictor, link: the mean is the function of the recipe, and the link is canonical."""
    family, mean = RECIPE[name]
    eta = np.linspace(-2, 2, 9)
    np.testing.assert_allclose(family.response_link.inverse(eta), mean(eta))
    X = np.random.default_rng(0).normal(size=(50, 2))
    y = {"gaussian": X[:, 0], "bernoulli": X[:, 0] + X[:, 1] ** 2 > 0.5, "poisson": np.round(np.exp(X[:, 0]))}[name]
    model = GLM(name, penalty=L2(1.0)).fit(X, y)
    predicted = model.predict_proba(X)[:, 1] if name == "bernoulli" else model.predict(X)
    np.testing.assert_allclose(predicted, mean(X @ model.coef_ + model.intercept_))


@pytest.mark.parametrize("name", RECIPE)
def test_the_gradient_is_the_same_for_all(name: str) -> None:
    """Lecture 1, eq. 15 (its sign corrected), 27: ∂ℓ/∂θ = Σ (y − f(θᵀx)) x, which vanishes at the estimate."""
    family, mean = RECIPE[name]
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=(40, 2)), np.ones(40)])
    theta = np.array([0.3, -0.5, 0.2])
    y = family.sample(family.at_mean(mean(X @ theta), 1.0), 1, rng)[0].astype(float)

    def likelihood(at: Any) -> float:
        return float(family.log_density(y, family.at_mean(mean(X @ at), 1.0)).sum())

    step = 1e-6 * np.eye(3)
    slope = [(likelihood(theta + h) - likelihood(theta - h)) / 2e-6 for h in step]
    np.testing.assert_allclose(slope, X.T @ (y - mean(X @ theta)), rtol=1e-5, atol=1e-5)
    best = GLM(name, fit_intercept=False).fit(X, y).coef_
    np.testing.assert_allclose(X.T @ (y - mean(X @ best)), 0.0, atol=1e-6)


def test_poisson_regression() -> None:
    """Lecture 1, eq. 29–32: the fit maximises the likelihood, and predicts by exp(wᵀx)."""
    X, y = visitors()
    model = GLM("poisson").fit(X, y)
    w, ones = np.append(model.coef_, model.intercept_), np.column_stack([X, np.ones(len(y))])
    assert model.log_likelihood_ == pytest.approx(log_likelihood(w, ones, y))
    np.testing.assert_allclose(model.predict(X), np.exp(ones @ w))
    rng = np.random.default_rng(0)
    assert all(log_likelihood(w + step, ones, y) < model.log_likelihood_ for step in 1e-3 * rng.normal(size=(50, 3)))


def test_poisson_regression_by_gradient_ascent() -> None:
    """Lecture 1: closed solutions do not exist in general, so we use gradient ascent; Newton's method agrees."""
    X, y = visitors()
    X = np.column_stack([X / [30, 1], np.ones(len(y))])
    w = np.array([0.0, 0.0, np.log(y.mean())])
    for _ in range(20_000):
        w = w + 5e-4 * X.T @ (y - np.exp(X @ w))
    model = GLM("poisson", fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, w, rtol=1e-6)
    assert model.n_iter_ < 20


def test_the_fitted_distribution_of_counts() -> None:
    """Lecture 1, eq. 29: p(Y = k; λ) = λᵏ e^−λ / k!, with E Y = λ."""
    X, y = visitors()
    model = GLM("poisson").fit(X, y)
    rate, k = model.predict(X[:1]), np.arange(200.0)[:, None]
    rows = model.predict_distribution(X[:1])
    probabilities = rows.density(k)
    np.testing.assert_allclose(probabilities[:5, 0], np.exp(-rate) * rate ** k[:5, 0] / [1, 1, 2, 6, 24])
    assert probabilities.sum() == pytest.approx(1.0)
    assert (k * probabilities).sum() == pytest.approx(rate[0])
