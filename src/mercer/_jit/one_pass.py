"""Loss and gradient of a linear predictor in one pass over the rows of a matrix, four at a time."""

from __future__ import annotations

import numpy as np

from mercer._jit import jit
from mercer._jit.losses import slopes

#: rows that are multiplied twice while they are in the cache; a multiple of four
BLOCK = 128


@jit
def loss_and_gradient(loss, X, w, level, y, weight, total):  # type: ignore[no-untyped-def]
    """Σ weight · loss at η = X w + level, and r = Σ weight · ∂loss/∂η; `total` grows by Xᵀ of the latter's terms."""
    n = X.shape[0]
    eta, second = np.empty(BLOCK), np.empty(BLOCK)
    value, sum_of_slopes = 0.0, 0.0
    for start in range(0, n, BLOCK):
        m = min(BLOCK, n - start)
        rows = X[start : start + m]
        products(rows, w, level, eta)
        of_rows = weight[start : start + m] if weight.shape[0] else weight
        value += slopes(loss, y[start : start + m], eta[:m], of_rows, eta[:m], second[:m])
        for i in range(m):
            sum_of_slopes += eta[i]
        add_transposed(rows, eta, total)
    return value, sum_of_slopes


@jit
def products(X, w, level, eta):  # type: ignore[no-untyped-def]
    """X w + level."""
    n, p = X.shape
    whole = n - n % 4
    for i in range(0, whole, 4):
        x0, x1, x2, x3 = X[i], X[i + 1], X[i + 2], X[i + 3]
        a = b = c = d = 0.0
        for j in range(p):
            u = w[j]
            a += x0[j] * u
            b += x1[j] * u
            c += x2[j] * u
            d += x3[j] * u
        eta[i], eta[i + 1], eta[i + 2], eta[i + 3] = a + level, b + level, c + level, d + level
    for i in range(whole, n):
        a = 0.0
        for j in range(p):
            a += X[i, j] * w[j]
        eta[i] = a + level


@jit
def add_transposed(X, r, total):  # type: ignore[no-untyped-def]
    """Xᵀ r added to `total`."""
    n, p = X.shape
    whole = n - n % 4
    for i in range(0, whole, 4):
        x0, x1, x2, x3 = X[i], X[i + 1], X[i + 2], X[i + 3]
        a, b, c, d = r[i], r[i + 1], r[i + 2], r[i + 3]
        for j in range(p):
            total[j] += a * x0[j] + b * x1[j] + c * x2[j] + d * x3[j]
    for i in range(whole, n):
        for j in range(p):
            total[j] += r[i] * X[i, j]
