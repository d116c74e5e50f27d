"""Scores of normal classes: a few linear ones in one pass, and what BLAS leaves over of Mahalanobis distances."""

from __future__ import annotations

import numpy as np

from mercer._jit import jit


@jit
def linear_scores(X, centre, weights, intercept):  # type: ignore[no-untyped-def]
    """intercept[c] + Σ_j (X[i, j] − centre[j]) · weights[c, j]."""
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
    """out = rows start…stop of X, less `centre`; float64 whatever X is."""
    for i in range(start, stop):
        for j in range(centre.shape[0]):
            out[i - start, j] = X[i, j] - centre[j]


@jit
def quadratic_scores(Z, shift, constant, out):  # type: ignore[no-untyped-def]
    """out[i, c] = constant[c] − ½ Σ_j (Z[i, c·w + j] − shift[c, j])², with w columns of Z for each class c."""
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
def quadratic_scores_of_shared_axes(Z, shift, scale, constant, out):  # type: ignore[no-untyped-def]
    """out[i, c] = constant[c] − ½ Σ_j ((Z[i, j] − shift[c, j]) · scale[c, j])²."""
    n, w = Z.shape
    k = shift.shape[0]
    for i in range(n):
        for c in range(k):
            total = 0.0
            for j in range(w):
                z = (Z[i, j] - shift[c, j]) * scale[c, j]
                total += z * z
            out[i, c] = constant[c] - 0.5 * total
