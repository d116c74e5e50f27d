"""Data for the solvers of penalised least squares, and violations of optimality."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.families.penalties import Strengths

Array = np.ndarray


def regression(n: int = 60, p: int = 30, *, seed: int = 0, correlated: float = 0.0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + correlated * rng.normal(size=(n, 1))
    truth = rng.normal(size=p) * (rng.random(p) < 0.3)
    return np.asfortranarray(X), 2.0 + X @ truth + 0.5 * rng.normal(size=n)


def strengths(l1: Any, l2: Any = 0.0, mean: Any = 0.0, *, columns: int = 30) -> Strengths:
    return Strengths(*(np.array(np.broadcast_to(np.asarray(v, dtype=float), columns)) for v in (l1, l2, mean)))


def objective(X: Any, y: Array, b: Array, intercept: float, penalty: Strengths, weight: Array | None = None) -> float:
    squares = np.square(y - X @ b - intercept)
    return 0.5 * float(squares.sum() if weight is None else weight @ squares) + penalty.value(b)


def violation(X: Any, y: Array, b: Array, intercept: float, penalty: Strengths, weight: Array | None = None) -> float:
    """Return the largest entry of the shortest subgradient, as a portion of the slopes at zero."""
    weight = np.ones(len(y)) if weight is None else weight
    residual = weight * (y - X @ b - intercept)
    away = b - penalty.mean
    rest = X.T @ residual - penalty.l2 * away
    short = np.where(away == 0, np.maximum(np.abs(rest) - penalty.l1, 0.0), np.abs(rest - penalty.l1 * np.sign(away)))
    return float(short.max() / np.abs(X.T @ (weight * (y - np.average(y, weights=weight)))).max())
