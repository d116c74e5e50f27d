"""Compiled gradient of least squares in twice the working precision, by pairs of numbers (double-double)."""

from __future__ import annotations

import numpy as np

from mercer._jit import jit

#: 2²⁷ + 1: multiplying by it splits a number into halves whose products are exact (Dekker 1971)
SPLITTER = 134217729.0


@jit(fastmath=False)
def product(a, b):  # type: ignore[no-untyped-def]
    """Return a·b as an exact sum of two numbers (Dekker 1971)."""
    p = a * b
    t = SPLITTER * a
    a_high = t - (t - a)
    a_low = a - a_high
    t = SPLITTER * b
    b_high = t - (t - b)
    b_low = b - b_high
    return p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low


@jit(fastmath=False)
def plus(high, low, a, b):  # type: ignore[no-untyped-def]
    """Return (high + low) + (a + b) as a sum of two numbers, to twice the working precision."""
    s = high + a
    t = s - high
    error = ((high - (s - t)) + (a - t)) + low + b
    total = s + error
    return total, error - (total - s)


@jit(fastmath=False)
def add_multiple(factor, rest, x, high, low):  # type: ignore[no-untyped-def]
    """Add (factor + rest)·x to high + low, entry by entry."""
    for i in range(x.shape[0]):
        p, e = product(factor, x[i])
        high[i], low[i] = plus(high[i], low[i], p, e + rest * x[i])


#: rows that are processed together: the steps of their residuals are then independent, and vectorise
REFINED_ROWS = 128


@jit(fastmath=False)
def gradient(X, Y, weight, shift, v):  # type: ignore[no-untyped-def]
    """Return Σ w·[1, x − shift]·(y − shift − [1, x − shift] v) in double precision pairs: high and low parts like v.

    `shift` has the columns of X, then those of Y. An empty `weight` means ones; rows of weight zero are skipped.
    """
    n, d = X.shape
    targets = Y.shape[1]
    high, low = np.zeros((targets, d + 1)), np.zeros((targets, d + 1))
    away, columns = np.ones((REFINED_ROWS, d + 1)), np.ones((d + 1, REFINED_ROWS))
    r, rest = np.empty(REFINED_ROWS), np.empty(REFINED_ROWS)
    weighted = weight.shape[0] > 0
    for start in range(0, n, REFINED_ROWS):
        m = min(REFINED_ROWS, n - start)
        for i in range(m):
            for j in range(d):
                away[i, j + 1] = X[start + i, j] - shift[j]
        for j in range(d):
            for i in range(m):
                columns[j + 1, i] = away[i, j + 1]
        for k in range(targets):
            for i in range(m):
                r[i], rest[i] = Y[start + i, k] - shift[d + k], 0.0
            for j in range(d + 1):
                add_multiple(-v[j, k], 0.0, columns[j, :m], r[:m], rest[:m])
            for i in range(m):
                w = weight[start + i] if weighted else 1.0
                if w != 0.0:
                    p, e = product(r[i], w)
                    add_multiple(p, rest[i] * w + e, away[i], high[k], low[k])
    return high.T.copy(), low.T.copy()
