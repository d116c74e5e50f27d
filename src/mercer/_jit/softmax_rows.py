"""Loss and gradient of a softmax of linear predictors in one pass over the rows of a matrix.

BLAS is made for larger products than those with ten columns: four rows and four classes at a time, held in registers,
are two to three times as fast.
"""

from __future__ import annotations

import numpy as np

from mercer._jit import jit
from mercer._jit.softmax import slopes

#: rows that are multiplied twice while they are in the cache; a multiple of four
BLOCK = 32


@jit
def loss_and_gradient(X, W, level, codes, weight, implied, total):  # type: ignore[no-untyped-def]
    """Σ weight · loss at η = X Wᵀ + level, and Σ weight · ∂loss/∂η; `total` grows by its product with X.

    `W` and `total` have a row for each column of η, and rows of zeros to make their number a multiple of four.
    """
    n, k = X.shape[0], level.shape[0]
    scores, eta = np.empty((BLOCK, W.shape[0])), np.empty((BLOCK, k))
    loss, sums = 0.0, np.zeros(k)
    for start in range(0, n, BLOCK):
        m = min(BLOCK, n - start)
        add_products(X[start : start + m], W, scores)
        for i in range(m):
            for c in range(k):
                eta[i, c] = scores[i, c] + level[c]
        of_rows = weight[start : start + m] if weight.shape[0] else weight
        loss += slopes(codes[start : start + m], eta[:m], of_rows, implied)
        for i in range(m):
            for c in range(k):
                scores[i, c] = eta[i, c]
                sums[c] += eta[i, c]
        add_transposed(X[start : start + m], scores, total)
    return loss, sums


@jit
def add_products(X, W, scores):  # type: ignore[no-untyped-def]
    """X Wᵀ into `scores`."""
    n, p = X.shape
    whole = n - n % 4
    for c in range(0, W.shape[0], 4):
        w0, w1, w2, w3 = W[c], W[c + 1], W[c + 2], W[c + 3]
        for i in range(0, whole, 4):
            x0, x1, x2, x3 = X[i], X[i + 1], X[i + 2], X[i + 3]
            a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0.0
            c0 = c1 = c2 = c3 = d0 = d1 = d2 = d3 = 0.0
            for j in range(p):
                u0, u1, u2, u3 = w0[j], w1[j], w2[j], w3[j]
                x = x0[j]
                a0 += x * u0
                a1 += x * u1
                a2 += x * u2
                a3 += x * u3
                x = x1[j]
                b0 += x * u0
                b1 += x * u1
                b2 += x * u2
                b3 += x * u3
                x = x2[j]
                c0 += x * u0
                c1 += x * u1
                c2 += x * u2
                c3 += x * u3
                x = x3[j]
                d0 += x * u0
                d1 += x * u1
                d2 += x * u2
                d3 += x * u3
            scores[i, c], scores[i, c + 1], scores[i, c + 2], scores[i, c + 3] = a0, a1, a2, a3
            scores[i + 1, c], scores[i + 1, c + 1], scores[i + 1, c + 2], scores[i + 1, c + 3] = b0, b1, b2, b3
            scores[i + 2, c], scores[i + 2, c + 1], scores[i + 2, c + 2], scores[i + 2, c + 3] = c0, c1, c2, c3
            scores[i + 3, c], scores[i + 3, c + 1], scores[i + 3, c + 2], scores[i + 3, c + 3] = d0, d1, d2, d3
        for i in range(whole, n):
            x0 = X[i]
            a0 = a1 = a2 = a3 = 0.0
            for j in range(p):
                x = x0[j]
                a0 += x * w0[j]
                a1 += x * w1[j]
                a2 += x * w2[j]
                a3 += x * w3[j]
            scores[i, c], scores[i, c + 1], scores[i, c + 2], scores[i, c + 3] = a0, a1, a2, a3


@jit
def add_transposed(X, R, total):  # type: ignore[no-untyped-def]
    """Rᵀ X added to `total`."""
    n, p = X.shape
    whole = n - n % 4
    for c in range(0, total.shape[0], 4):
        g0, g1, g2, g3 = total[c], total[c + 1], total[c + 2], total[c + 3]
        for i in range(0, whole, 4):
            x0, x1, x2, x3 = X[i], X[i + 1], X[i + 2], X[i + 3]
            a0, a1, a2, a3 = R[i, c], R[i, c + 1], R[i, c + 2], R[i, c + 3]
            b0, b1, b2, b3 = R[i + 1, c], R[i + 1, c + 1], R[i + 1, c + 2], R[i + 1, c + 3]
            c0, c1, c2, c3 = R[i + 2, c], R[i + 2, c + 1], R[i + 2, c + 2], R[i + 2, c + 3]
            d0, d1, d2, d3 = R[i + 3, c], R[i + 3, c + 1], R[i + 3, c + 2], R[i + 3, c + 3]
            for j in range(p):
                u0, u1, u2, u3 = x0[j], x1[j], x2[j], x3[j]
                g0[j] += a0 * u0 + b0 * u1 + c0 * u2 + d0 * u3
                g1[j] += a1 * u0 + b1 * u1 + c1 * u2 + d1 * u3
                g2[j] += a2 * u0 + b2 * u1 + c2 * u2 + d2 * u3
                g3[j] += a3 * u0 + b3 * u1 + c3 * u2 + d3 * u3
        for i in range(whole, n):
            x0 = X[i]
            a0, a1, a2, a3 = R[i, c], R[i, c + 1], R[i, c + 2], R[i, c + 3]
            for j in range(p):
                u0 = x0[j]
                g0[j] += a0 * u0
                g1[j] += a1 * u0
                g2[j] += a2 * u0
                g3[j] += a3 * u0
