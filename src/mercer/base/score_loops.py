"""Compiled loops for scores of normal classes and for posteriors, over short rows, for which NumPy is slow."""

from __future__ import annotations

import numpy as np

from mercer._jit import jit


@jit
def linear_scores(X, centre, weights, intercept):  # type: ignore[no-untyped-def]
    """Return intercept[c] + Σ_j (X[i, j] − centre[j]) · weights[c, j]."""
    n, d = X.shape
    k = intercept.shape[0]
    out = np.empty((n, k))
    for i in range(n):
        for c in range(k):
            total = 0.0
            for j in range(d):
                total += (X[i, j] - centre[j]) * weights[c, j]
            out[i, c] = intercept[c] + total
    return out


@jit
def centre_rows(X, start, stop, centre, out):  # type: ignore[no-untyped-def]
    """Set out = X[start:stop] − centre, in float64 for X of any type."""
    for i in range(start, stop):
        for j in range(centre.shape[0]):
            out[i - start, j] = X[i, j] - centre[j]


@jit
def quadratic_scores(Z, shift, constant, out):  # type: ignore[no-untyped-def]
    """Set out[i, c] = constant[c] − ½ Σ_j (Z[i, c·w + j] − shift[c, j])², with w columns of Z for each class c."""
    n = Z.shape[0]
    k, w = shift.shape
    for i in range(n):
        for c in range(k):
            total = 0.0
            for j in range(w):
                z = Z[i, c * w + j] - shift[c, j]
                total += z * z
            out[i, c] = constant[c] - 0.5 * total


@jit
def gaussian_columns(X, mean, inverse_deviation, constant):  # type: ignore[no-untyped-def]
    """Return constant[c] − ½ Σ_j ((x_j − mean[c, j]) · inverse_deviation[c, j])²; NaN in a row makes its scores NaN."""
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
    """Compute `gaussian_columns` with missing values integrated out; `constants` is per class and column."""
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
def replace_impossible(scores, row):  # type: ignore[no-untyped-def]
    """Replace rows that are −inf throughout by `row`."""
    n, k = scores.shape
    for i in range(n):
        possible = False
        for c in range(k):
            possible |= scores[i, c] != -np.inf
        if not possible:
            for c in range(k):
                scores[i, c] = row[c]


@jit
def subtract_row_maximum(scores):  # type: ignore[no-untyped-def]
    """Subtract the maximum of each row in place, and return the maxima; a row of −inf alone stays."""
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
def row_sums(p):  # type: ignore[no-untyped-def]
    """Return the sum of each row."""
    n, k = p.shape
    sums = np.empty(n)
    for i in range(n):
        total = 0.0
        for c in range(k):
            total += p[i, c]
        sums[i] = total
    return sums


@jit
def divide_rows(p, by):  # type: ignore[no-untyped-def]
    """Divide row i by by[i] in place."""
    n, k = p.shape
    for i in range(n):
        for c in range(k):
            p[i, c] /= by[i]


@jit
def largest_of_row(scores):  # type: ignore[no-untyped-def]
    """Return the index of the first largest entry of each row."""
    n, k = scores.shape
    best = np.zeros(n, dtype=np.int64)
    for i in range(n):
        for c in range(1, k):
            if scores[i, c] > scores[i, best[i]]:
                best[i] = c
    return best
