"""Rows that support vector regression is tried on, and the coefficients of all of them."""

from __future__ import annotations

import numpy as np

from mercer import SVR

Array = np.ndarray


def waves(n: int = 80) -> tuple[Array, Array]:
    """Noisy values of a sine."""
    rng = np.random.default_rng(3)
    X = rng.uniform(0, 6, size=(n, 1))
    return X, np.sin(X[:, 0]) + 0.2 * rng.normal(size=n)


def tube(model: SVR, n: int) -> tuple[Array, Array]:
    """a⁺ and a⁻ of all rows."""
    plus, minus = np.zeros(n), np.zeros(n)
    plus[model.support_], minus[model.support_] = model.a_plus_, model.a_minus_
    return plus, minus
