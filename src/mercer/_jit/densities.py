"""Gaussian log likelihoods of rows under each class."""

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
