"""Small regressions for the tests of inference."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import GLM

Array = np.ndarray[Any, Any]


def columns(rows: int, seed: int = 0) -> Array:
    """Three columns, two of them correlated and none of them centred."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    X[:, 1] += 0.5 * X[:, 0] + 2.0
    return X


def responses(family: str, X: Array, seed: int = 0) -> Array:
    """Draws from a GLM with a modest effect of each column."""
    rng = np.random.default_rng(seed + 1)
    eta = 0.3 + (X - X.mean(axis=0)) @ [0.4, -0.3, 0.1]
    draw = {
        "gaussian": lambda: eta + rng.normal(size=len(eta)),
        "bernoulli": lambda: (rng.uniform(size=len(eta)) < 1 / (1 + np.exp(-eta))).astype(float),
        "poisson": lambda: rng.poisson(np.exp(eta)).astype(float),
        "gamma": lambda: rng.gamma(2.0, np.exp(eta) / 2.0),
    }
    return np.asarray(draw[family]())


def glm(family: str, **options: Any) -> GLM:
    """The GLM that `responses` are drawn from."""
    return GLM(family, "log" if family == "gamma" else "canonical", **options)


def three_classes(rows: int) -> tuple[Array, Array]:
    """X, and classes 0, 1 and 2 that overlap."""
    X = columns(rows)
    return X, (X[:, 0] > 0.3).astype(int) + responses("bernoulli", X).astype(int)


def clustered_counts(rows: int = 400) -> tuple[Array, Array, Array]:
    """X, y of a Poisson model whose rows come in clusters of four with a common effect, and the clusters."""
    rng = np.random.default_rng(3)
    X, clusters = columns(rows), np.repeat(np.arange(rows // 4), 4)
    effect = rng.normal(scale=0.7, size=rows // 4)[clusters]
    return X, rng.poisson(np.exp(0.2 * X[:, 0] + effect)).astype(float), clusters
