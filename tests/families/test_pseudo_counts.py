"""Add-α smoothing is the mode under Dirichlet(1 + α), and the mean under Dirichlet(α)."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax

from mercer import families as f
from mercer._errors import ColumnTypeError
from mercer.families.pseudo_counts import add_alpha

COUNTS = np.array([3.0, 0.0, 5.0, 1.0])


def statistic(counts: np.ndarray) -> SimpleNamespace:
    return SimpleNamespace(weight=np.array([counts.sum()]), mean=counts[None] / counts.sum())


@pytest.mark.parametrize("alpha", [0.5, 1.0, np.array([0.1, 2.0, 1.0, 0.3])])
def test_add_alpha_is_the_mode_under_a_dirichlet(alpha: float | np.ndarray) -> None:
    def loss(free: np.ndarray) -> float:
        log_p = log_softmax(free)
        posterior = f.Dirichlet().log_density(np.exp(log_p), f.DirichletParameters(1 + alpha + COUNTS))
        return -float(posterior)

    family = f.Categorical(4)
    fitted = family.fit(statistic(COUNTS), add_alpha(family, alpha)).probabilities[0]
    np.testing.assert_allclose(fitted, (COUNTS + alpha) / (COUNTS + alpha).sum(), rtol=1e-14)
    mode = np.exp(log_softmax(minimize(loss, np.zeros(4), tol=1e-12).x))
    np.testing.assert_allclose(fitted, mode, atol=1e-5)


def test_add_alpha_is_the_mean_under_a_dirichlet_of_alpha() -> None:
    alpha = 0.7
    draws = f.Dirichlet().sample(f.DirichletParameters(alpha + COUNTS), 200_000, np.random.default_rng(0))
    fitted = f.Categorical(4).fit(statistic(COUNTS), add_alpha(f.Categorical(4), alpha)).probabilities[0]
    np.testing.assert_allclose(draws.mean(axis=0), fitted, atol=2e-3)


@settings(max_examples=50)
@given(ones=st.integers(0, 50), zeros=st.integers(1, 50), alpha=st.floats(0, 10), trials=st.integers(1, 5))
def test_every_family_adds_the_same_counts(ones: int, zeros: int, alpha: float, trials: int) -> None:
    n = ones + zeros
    expected = (ones + alpha) / (n + 2 * alpha)
    rows = SimpleNamespace(weight=np.array(n / trials), mean=np.array([trials * ones / n]))
    words = SimpleNamespace(weight=np.array(n / trials), mean=trials * np.array([zeros, ones]) / n)
    single = SimpleNamespace(weight=np.array(float(n)), mean=np.array([zeros, ones]) / n)
    found = [
        f.Binomial(trials).fit(rows, add_alpha(f.Binomial(trials), alpha)).probability,
        f.Multinomial().fit(words, add_alpha(f.Multinomial(), alpha, levels=2)).probabilities[1],
        f.Multinomial(trials).fit(words, add_alpha(f.Multinomial(trials), alpha, levels=2)).probabilities[1],
        f.Categorical().fit(single, add_alpha(f.Categorical(), alpha, levels=2)).probabilities[1],
        f.Histogram(2).fit(single, add_alpha(f.Histogram(2), alpha)).probabilities[1],
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def test_a_bernoulli_takes_counts_for_zero_and_one_of_each_column() -> None:
    prior = add_alpha(f.Bernoulli(), [[1.0, 3.0], [2.0, 2.0]])
    ones = SimpleNamespace(weight=np.full((1, 2), 6.0), mean=np.full((1, 2, 1), 0.5))
    np.testing.assert_allclose(f.Bernoulli().fit(ones, prior).probability, [[0.6, 0.5]])


def test_alpha_zero_is_maximum_likelihood() -> None:
    fitted = f.Categorical(4).fit(statistic(COUNTS), add_alpha(f.Categorical(4), 0.0))
    np.testing.assert_array_equal(fitted.probabilities[0], COUNTS / 9)


def test_families_without_smoothing_are_rejected() -> None:
    with pytest.raises(ColumnTypeError, match="no levels"):
        add_alpha(f.Gaussian(), 1.0)
    with pytest.raises(ValueError, match="give `levels`"):
        add_alpha(f.Multinomial(), 1.0)
    with pytest.raises(ValueError, match="3 levels, but alpha gives pseudo-counts for 2"):
        add_alpha(f.Categorical(3), [1.0, 2.0])
    with pytest.raises(ValueError, match="not negative"):
        add_alpha(f.Bernoulli(), -1.0)
