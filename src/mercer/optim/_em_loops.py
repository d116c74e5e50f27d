"""Compiled likelihood of normal rows with missing values and its derivatives, one pattern of missing values at a time.

Every inner loop runs along a row of a small matrix, so that it vectorises; patterns are too many and too small for
calls of LAPACK.
"""

from __future__ import annotations

import numpy as np

from mercer._jit import jit


@jit
def invert(A):  # type: ignore[no-untyped-def]
    """Return A⁻¹ and log|A| of a symmetric matrix by its lower triangle; NaN for log|A| if it is not definite."""
    n = A.shape[0]
    L = np.empty((n, n))
    M = np.zeros((n, n))  # L⁻¹
    K = np.zeros((n, n))
    log_determinant = 0.0
    for i in range(n):
        for j in range(i + 1):
            s = A[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if j < i:
                L[i, j] = s / L[j, j]
            elif s > 0.0:
                L[i, i] = np.sqrt(s)
                log_determinant += np.log(s)
            else:
                return K, np.nan
        for k in range(i):
            for j in range(k + 1):
                M[i, j] -= L[i, k] * M[k, j]
        M[i, i] = 1.0
        for j in range(i + 1):
            M[i, j] /= L[i, i]
    for k in range(n):
        for i in range(k + 1):
            for j in range(i + 1):
                K[i, j] += M[k, i] * M[k, j]
    for i in range(n):
        for j in range(i):
            K[j, i] = K[i, j]
    return K, log_determinant


@jit
def slope(observed, group, weight, mean, scatter, several, mu, sigma):  # type: ignore[no-untyped-def]
    """Sum −2 log likelihood (less its constants), ∂/∂μ and 2 ∂/∂Σ of the log likelihood over the cells of each group.

    The rows of a cell have the same columns observed; `scatter` has matrices only for cells of `several` rows, in
    order. The first result is NaN where Σ is not positive definite.
    """
    cells, d = observed.shape
    deviance = np.zeros(mu.shape[0])
    by_mean = np.zeros(mu.shape)
    by_covariance = np.zeros((mu.shape[0], d, d))
    with_scatter = 0
    for c in range(cells):
        g, n = group[c], weight[c]
        present = np.flatnonzero(observed[c])
        m = present.shape[0]
        A = np.empty((m, m))
        away = np.empty(m)
        for i in range(m):
            away[i] = mean[c, present[i]] - mu[g, present[i]]
            for j in range(m):
                A[i, j] = sigma[present[i], present[j]]
        K, log_determinant = invert(A)
        pull = np.zeros(m)
        distance = 0.0
        for i in range(m):
            for j in range(m):
                pull[i] += K[i, j] * away[j]
            distance += away[i] * pull[i]
        deviance[g] += n * (log_determinant + distance)
        if several[c]:
            for i in range(m):
                for j in range(m):
                    A[i, j] = scatter[with_scatter, present[i], present[j]]
            with_scatter += 1
            half = np.dot(K, A)
            A = np.dot(half, K)
            for i in range(m):
                deviance[g] += half[i, i]
        else:
            A[:, :] = 0.0
        for i in range(m):
            by_mean[g, present[i]] += n * pull[i]
            for j in range(m):
                by_covariance[g, present[i], present[j]] += A[i, j] + n * (pull[i] * pull[j] - K[i, j])
    return deviance, by_mean, by_covariance
