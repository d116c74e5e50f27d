"""Loss and gradient of a softmax of linear predictors in one pass over the rows of a matrix.

BLAS is optimised for larger products than those with ten columns: panels held in registers are several times faster.
"""

from __future__ import annotations

import numpy as np

from mercer._jit import jit
from mercer._jit.gram import COLUMN_MULTIPLE, add_panel_1, add_panel_2, add_panel_3, lanes
from mercer.families.softmax_loops import slopes

#: rows that are multiplied twice while they are in the cache; a multiple of `COLUMN_MULTIPLE`
SOFTMAX_BLOCK_ROWS = 32


@jit
def loss_and_gradient(X, W, level, codes, weight, implied, total):  # type: ignore[no-untyped-def]
    """Return Σ weight · loss at η = X W + level, and Σ weight · ∂loss/∂η; add Xᵀ times its terms to `total`ᵀ.

    `W` has a column for each column of η and columns of zeros, a multiple of `COLUMN_MULTIPLE` in all. `total` has as
    many rows, and the columns of X plus unused ones, again a multiple of `COLUMN_MULTIPLE`.
    """
    n, d, k, loss = X.shape[0], X.shape[1], level.shape[0], 0.0
    sums = np.zeros(k)
    scores, eta = np.empty((SOFTMAX_BLOCK_ROWS, W.shape[1])), np.empty((SOFTMAX_BLOCK_ROWS, k))
    # panels read whole vectors beyond the end of a row: the last rows are copied to a larger array
    apart = max(0, (n - COLUMN_MULTIPLE) // SOFTMAX_BLOCK_ROWS * SOFTMAX_BLOCK_ROWS)
    tail = np.zeros((2 * SOFTMAX_BLOCK_ROWS + COLUMN_MULTIPLE, d), dtype=X.dtype)
    tail[: n - apart] = X[apart:]
    for start in range(0, n, SOFTMAX_BLOCK_ROWS):
        m = min(SOFTMAX_BLOCK_ROWS, n - start)
        source, row = (X, start) if start < apart else (tail, start - apart)
        times(source, row, m, W, scores, X[min(start + SOFTMAX_BLOCK_ROWS, apart) :])
        for i in range(m):
            for c in range(k):
                eta[i, c] = scores[i, c] + level[c]
        of_rows = weight[start : start + m] if weight.shape[0] else weight
        loss += slopes(codes[start : start + m], eta[:m], of_rows, implied)
        for i in range(m):
            for c in range(k):
                scores[i, c] = eta[i, c]
                sums[c] += eta[i, c]
        add_transposed(source, row, m, scores, total)
    return loss, sums


@jit
def times(X, row, m, W, scores, ahead):  # type: ignore[no-untyped-def]
    """Write X W of m rows into `scores`; rows up to a whole number of vectors are read, and `ahead` is prefetched."""
    side, d, width = lanes(), X.shape[1], W.shape[1]
    scores[:] = 0.0
    fetched = 0
    for i in range(0, m, side):
        c = 0
        while c < width:
            left, right, out = ((row + i) * d, 1, d), (c, width), (i * width + c, width)
            if width - c >= 3 * side:
                add_panel_3(X, left, W, right, d, scores, out, ahead, fetched)
                c += 3 * side
            elif width - c >= 2 * side:
                add_panel_2(X, left, W, right, d, scores, out, ahead, fetched)
                c += 2 * side
            else:
                add_panel_1(X, left, W, right, d, scores, out, ahead, fetched)
                c += side
            fetched += 64 * d


@jit
def add_transposed(X, row, m, R, total):  # type: ignore[no-untyped-def]
    """Add Rᵀ X of m rows to `total`."""
    side, d, width = lanes(), X.shape[1], R.shape[1]
    for c in range(0, width, side):
        j = 0
        while j < d:
            left, right, out = (c, width, 1), (row * d + j, d), (c * total.shape[1] + j, total.shape[1])
            if d - j > 2 * side:
                add_panel_3(R, left, X, right, m, total, out, R, 0)
                j += 3 * side
            elif d - j > side:
                add_panel_2(R, left, X, right, m, total, out, R, 0)
                j += 2 * side
            else:
                add_panel_1(R, left, X, right, m, total, out, R, 0)
                j += side
