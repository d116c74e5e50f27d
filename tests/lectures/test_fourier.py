"""Lecture 5, "Random Fourier Features": a kernel of x − y as the mean of products of cosines."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import LogisticRegression, RandomFourierFeatures, RBFSampler
from mercer.kernels import RBF

Array = np.ndarray


def rows(n: int = 40, d: int = 3) -> Array:
    return np.random.default_rng(0).normal(size=(n, d))


def test_the_spectrum_is_the_fourier_transform() -> None:
    """k(x − y) = ∫ p(w) exp(i wᵀ(x − y)) dw, where p is the standard normal density for γ = ½: by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    away = np.linspace(-3, 3, 13)
    mean = (weights / weights.sum()) @ np.exp(1j * np.outer(nodes, away))
    assert_allclose(mean.imag, 0, atol=1e-12)
    assert_allclose(mean.real, RBF(gamma=0.5)(away[:, None], [[0.0]])[:, 0], atol=1e-12)
    assert RBF(gamma=0.5).spectrum(1).scale == 1
    assert RBF(gamma=2.0).spectrum(1).scale == 2  # w ~ √(2γ) N(0, 1)


@pytest.mark.parametrize("upper", [np.pi, 2 * np.pi])
def test_a_random_offset_removes_the_sum_of_angles(upper: float) -> None:
    """E √2 cos(wᵀx + b) √2 cos(wᵀy + b) = cos wᵀ(x − y) for b ~ U[0, 2π]; "actually, [0, π] would be sufficient"."""
    offsets = np.linspace(0, upper, 1000, endpoint=False)
    x, y = 1.3, -0.4
    assert np.mean(2 * np.cos(x + offsets) * np.cos(y + offsets)) == pytest.approx(np.cos(x - y))


def test_the_features_of_the_lecture() -> None:
    """ψᵢ(x) = √(2/M) cos(wᵢᵀx + bᵢ)."""
    X, sampler = rows(), RBFSampler(gamma=0.3, n_components=50, random_state=0)
    psi = sampler.fit_transform(X)
    assert_allclose(psi, np.sqrt(2 / 50) * np.cos(X @ sampler.random_weights_ + sampler.random_offset_), atol=1e-12)


def test_the_estimate_is_unbiased_and_its_variance_decreases_with_m() -> None:
    X = rows()
    K = RBF(gamma=0.3)(X)
    errors = {}
    for M in (50, 800):
        psi = [RBFSampler(gamma=0.3, n_components=M, random_state=seed).fit_transform(X) for seed in range(50)]
        errors[M] = np.array([features @ features.T - K for features in psi])
    for error in errors.values():
        assert np.sqrt(np.mean(error.mean(axis=0) ** 2)) < 2 * np.sqrt(np.mean(error**2) / 50)
    assert np.std(errors[50]) / np.std(errors[800]) == pytest.approx(4, rel=0.1)


def test_an_rbf_kernel_in_a_parametric_model() -> None:
    """Used "as input to a parametric classifier": logistic regression learns a ring."""
    X = rows(400, 2)
    ring = (np.abs(np.linalg.norm(X, axis=1) - 1.2) < 0.5).astype(int)
    psi = RandomFourierFeatures(gamma=1.0, n_components=200, random_state=0).fit_transform(X)
    assert LogisticRegression(C=10.0).fit(psi, ring).score(psi, ring) > 0.9
    assert LogisticRegression(C=10.0).fit(X, ring).score(X, ring) < 0.7
