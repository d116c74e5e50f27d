"""Scores of normal classes: every fast way gives what the density itself gives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from mercer.discriminant_analysis._classes import GaussianClasses, LinearScores
from mercer.optim.em import EMLabels


def classes_with(*covariances: np.ndarray, centre: float = 0.0) -> GaussianClasses:
    rng = np.random.default_rng(0)
    k, d = len(covariances), len(covariances[0])
    words = EMLabels([f"x{j}" for j in range(d)], [f"class {c}" for c in range(k)])
    away = rng.normal(size=(k, d))
    return GaussianClasses(np.full(d, centre), away, np.stack(covariances), np.ones(k, dtype=bool), words)


def spread(d: int, seed: int) -> np.ndarray:
    root = np.random.default_rng(seed).normal(size=(2 * d, d))
    return root.T @ root / d


@pytest.mark.parametrize("centre", [0.0, 1e8])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_quadratic_scores_are_log_densities(n_classes: int, centre: float) -> None:
    classes = classes_with(*(spread(4, seed) for seed in range(n_classes)), centre=centre)
    assert (classes.shared_axes is not None) == (n_classes == 2)
    X = centre + np.random.default_rng(1).normal(size=(50, 4))
    away = X - centre
    expected = [multivariate_normal(*c).logpdf(away) for c in zip(classes.away, classes.covariance, strict=True)]
    np.testing.assert_allclose(classes.score(X), np.transpose(expected), rtol=1e-10)


def test_axes_are_not_shared_if_digits_would_be_lost() -> None:
    classes = classes_with(np.eye(2), np.diag([1e-5, 1e5]))
    assert classes.shared_axes is None


@pytest.mark.parametrize("n_scores", [1, 3])
def test_few_linear_scores_agree_with_the_product(n_scores: int) -> None:
    rng = np.random.default_rng(0)
    scores = LinearScores(rng.normal(size=5), rng.normal(size=(5, n_scores)), rng.normal(size=n_scores))
    X = rng.normal(size=(200, 5))
    np.testing.assert_allclose(scores(X), scores(X, most_by_loop=0), rtol=1e-12, atol=1e-12)
