"""Loss, gradient and Hessian of a linear predictor in one pass over the rows of a matrix."""

from __future__ import annotations

import numpy as np

from mercer._jit import jit
from mercer._jit.gram import MIN_GRAM_TILE_ROWS, add_square, fill, new_tile, scale_rows
from mercer.families.loss_loops import slopes

#: rows that are multiplied twice while they are in the cache; a multiple of four
ROWS_READ_TWICE = 128


@jit
def loss_and_gradient(loss, X, w, level, y, weight, total):  # type: ignore[no-untyped-def]
    """Return Σ weight · loss at η = X w + level, and r = Σ weight · ∂loss/∂η; add Xᵀ r to `total`."""
    n = X.shape[0]
    eta, second = np.empty(ROWS_READ_TWICE), np.empty(ROWS_READ_TWICE)
    value, sum_of_slopes = 0.0, 0.0
    for start in range(0, n, ROWS_READ_TWICE):
        m = min(ROWS_READ_TWICE, n - start)
        rows = X[start : start + m]
        products(rows, w, level, eta)
        of_rows = weight[start : start + m] if weight.shape[0] else weight
        value += slopes(loss, y[start : start + m], eta[:m], of_rows, eta[:m], second[:m])
        for i in range(m):
            sum_of_slopes += eta[i]
        add_transposed(rows, eta, total)
    return value, sum_of_slopes


@jit
def newton(loss, X, shift, inverse_scale, w, y, weight, offset, gradient, hessian):  # type: ignore[no-untyped-def]
    """Return Σ weight · loss at η = z w + offset, and add to the gradient and the lower triangle of the Hessian.

    z = [(x − shift) · inverse_scale, 1, 0, …] has the length of w. Empty `weight` and `offset` mean ones and zeros.
    """
    n = X.shape[0]
    tile, empty = new_tile(X.shape[1] + 1, MIN_GRAM_TILE_ROWS), np.zeros((n, 0))
    eta, first, second = np.empty((3, tile.shape[0]))
    value = 0.0
    for start in range(0, n, tile.shape[0]):
        stop = min(start + tile.shape[0], n)
        m = stop - start
        fill(X, empty, start, stop, shift, inverse_scale, tile)
        rows = tile[:m]
        products(rows, w, 0.0, eta)
        for i in range(min(m, offset.shape[0])):
            eta[i] += offset[start + i]
        of_rows = weight[start:stop] if weight.shape[0] else weight
        value += slopes(loss, y[start:stop], eta[:m], of_rows, first[:m], second[:m])
        add_transposed(rows, first, gradient)
        scale_rows(tile, second[:m])
        add_square(tile, 0, m, hessian, X[stop:])
    return value


@jit
def products(X, w, level, eta):  # type: ignore[no-untyped-def]
    """Compute X w + level."""
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
    """Add Xᵀ r to `total`."""
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
