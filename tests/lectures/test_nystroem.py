"""Lecture 5, "Nyström Approximation": exact on some rows, and better than random Fourier features."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import Nystroem
from mercer.kernels import RBF

Array = np.ndarray
GAMMA, CLUSTERS, COLUMNS, SPREAD = 0.1, 20, 10, 0.3


def clusters(n: int = 2000) -> Array:
    """Rows around 20 centres in 10 dimensions."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(CLUSTERS, COLUMNS))
    return centres[rng.choice(CLUSTERS, n)] + SPREAD * rng.normal(size=(n, COLUMNS))


def fourier(X: Array, m: int, seed: int) -> Array:
    """√(2/M) cos(wᵀx + b) with w ~ √(2γ) N(0, 1) and b uniform on [0, 2π], as the lecture writes it."""
    rng = np.random.default_rng(seed)
    w, b = np.sqrt(2 * GAMMA) * rng.normal(size=(X.shape[1], m)), rng.uniform(0, 2 * np.pi, m)
    return np.sqrt(2 / m) * np.cos(X @ w + b)


def distance(features: Array, K: Array) -> float:
    return float(np.linalg.norm(K - features @ features.T) / np.linalg.norm(K))


def test_exact_on_the_chosen_data() -> None:
    """K = KᵀVVᵀK for V = K^(−½), the lecture's condition, also where K has eigenvalues of 0."""
    X = clusters(60)
    X = np.vstack([X, X[:10]])
    model = Nystroem(gamma=GAMMA, n_components=70, random_state=0).fit(X)
    K, V = RBF(gamma=GAMMA)(model.components_), model.normalization_
    assert np.linalg.matrix_rank(K) == 60
    assert_allclose(K.T @ V @ V.T @ K, K, atol=1e-10)
    features = model.transform(model.components_)
    assert_allclose(features, K @ V, atol=1e-10)
    assert_allclose(features @ features.T, K, atol=1e-10)


@pytest.mark.parametrize(("m", "nystroem", "random"), [(50, 0.10, 0.44), (100, 0.04, 0.31), (200, 0.015, 0.21)])
def test_nystroem_beats_fourier_features_on_clustered_data(m: int, nystroem: float, random: float) -> None:
    """At equal M: ‖K − ψψᵀ‖/‖K‖ on 500 rows that were not used, the mean of five seeds."""
    X = clusters()
    train, other = X[:1500], X[1500:]
    K = RBF(gamma=GAMMA)(other)
    by_rows = [
        distance(Nystroem(gamma=GAMMA, n_components=m, random_state=s).fit(train).transform(other), K) for s in range(5)
    ]
    by_waves = [distance(fourier(other, m, seed), K) for seed in range(5)]
    assert np.mean(by_rows) < nystroem
    assert np.mean(by_waves) > random
    assert max(by_rows) < min(by_waves)
