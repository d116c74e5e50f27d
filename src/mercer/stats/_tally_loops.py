"""Compiled counts of codes in each group and column."""

from __future__ import annotations

import numpy as np

from mercer._jit import jit


@jit
def tally(codes, groups, weight, n_groups, n_codes):  # type: ignore[no-untyped-def]
    """Return the rows and the weight of each code, both (groups, columns, codes); −1 is missing.

    An empty `weight` means ones; rows of weight zero are ignored.
    """
    n, d = codes.shape
    rows = np.zeros((n_groups, d, n_codes), dtype=np.int64)
    counts = np.zeros((n_groups, d, n_codes))
    weighted = weight.shape[0] > 0
    for i in range(n):
        c = groups[i]
        if weighted and weight[i] == 0.0:
            continue
        for j in range(d):
            code = codes[i, j]
            if code >= 0:
                rows[c, j, code] += 1
                if weighted:
                    counts[c, j, code] += weight[i]
    if not weighted:
        counts[:] = rows
    return rows, counts


@jit
def tally_bins(X, edges, groups, weight, n_groups):  # type: ignore[no-untyped-def]
    """Return the rows and the weight of each bin, both (groups, columns, bins), for `edges` (columns, bins + 1).

    Values beyond the edges are counted in the outermost bins, and infinite ones make the weight NaN; NaN is missing.
    """
    n, d = X.shape
    bins = edges.shape[1] - 1
    rows = np.zeros((n_groups, d, bins), dtype=np.int64)
    counts = np.zeros((n_groups, d, bins))
    weighted = weight.shape[0] > 0
    for i in range(n):
        c = groups[i]
        w = weight[i] if weighted else 1.0
        if w == 0.0:
            continue
        for j in range(d):
            x = X[i, j]
            if np.isnan(x):
                continue
            low, high = 0, bins - 1
            while low < high:
                middle = (low + high) // 2
                if x < edges[j, middle + 1]:
                    high = middle
                else:
                    low = middle + 1
            rows[c, j, low] += 1
            counts[c, j, low] += np.inf if np.isinf(x) else w
    return rows, counts
