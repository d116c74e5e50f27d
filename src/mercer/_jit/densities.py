"""Gaussian log likelihoods of rows under each class, and the step from joint to posterior."""

from __future__ import annotations

import numpy as np

from mercer._jit import jit


@jit
def gaussian_columns(X, mean, inverse_deviation, constant):  # type: ignore[no-untyped-def]
    """constant[c] − ½ Σ_j ((x_j − mean[c, j]) · inverse_deviation[c, j])²; NaN spoils its row."""
    n, d = X.shape
    k = mean.shape[0]
    out = np.empty((n, k))
    for i in range(n):
        for c in range(k):
            total = 0.0
            for j in range(d):
                z = (X[i, j] - mean[c, j]) * inverse_deviation[c, j]
                total += z * z
            out[i, c] = constant[c] - 0.5 * total
    return out


@jit
def observed_gaussian_columns(X, mean, inverse_deviation, constants):  # type: ignore[no-untyped-def]
    """Like `gaussian_columns` with missing values integrated out; `constants` is per class and column."""
    n, d = X.shape
    k = mean.shape[0]
    out = np.zeros((n, k))
    for i in range(n):
        for c in range(k):
            total = 0.0
            for j in range(d):
                x = X[i, j]
                if not np.isnan(x):
                    z = (x - mean[c, j]) * inverse_deviation[c, j]
                    total += constants[c, j] - 0.5 * z * z
            out[i, c] = total
    return out


@jit
def subtract_row_maximum(scores):  # type: ignore[no-untyped-def]
    """In place; returns the maxima. A row of −inf alone is left as it is (its maximum is then −inf)."""
    n, k = scores.shape
    top = np.empty(n)
    for i in range(n):
        best = -np.inf
        for c in range(k):
            best = max(best, scores[i, c])
        top[i] = best
        if np.isfinite(best):
            for c in range(k):
                scores[i, c] -= best
    return top


@jit
def divide_by_row_sum(p):  # type: ignore[no-untyped-def]
    """In place; returns the sums."""
    n, k = p.shape
    sums = np.empty(n)
    for i in range(n):
        total = 0.0
        for c in range(k):
            total += p[i, c]
        sums[i] = total
        for c in range(k):
            p[i, c] /= total
    return sums
