"""Compiled sums of rows within groups. An empty `weight` means ones; rows of weight zero are ignored."""

from __future__ import annotations

import numpy as np

from mercer._jit import jit


@jit
def group_sums(T, groups, weight, n_groups):  # type: ignore[no-untyped-def]
    """Return rows, weight and Σw·T of each group; NaN propagates."""
    n, m = T.shape
    rows = np.zeros(n_groups, dtype=np.int64)
    total_weight = np.zeros(n_groups)
    total = np.zeros((n_groups, m))
    weighted = weight.shape[0] > 0
    for i in range(n):
        c = groups[i]
        w = weight[i] if weighted else 1.0
        if w == 0.0:
            continue
        rows[c] += 1
        total_weight[c] += w
        for j in range(m):
            total[c, j] += w * T[i, j]
    return rows, total_weight, total


@jit
def group_sums_without_missing(T, groups, weight, n_groups):  # type: ignore[no-untyped-def]
    """Do the same for T of shape (rows, columns, components), leaving out columns that are missing in a row."""
    n, d, m = T.shape
    rows = np.zeros((n_groups, d), dtype=np.int64)
    total_weight = np.zeros((n_groups, d))
    total = np.zeros((n_groups, d, m))
    weighted = weight.shape[0] > 0
    for i in range(n):
        c = groups[i]
        w = weight[i] if weighted else 1.0
        if w == 0.0:
            continue
        for j in range(d):
            if not np.isnan(T[i, j, 0]):
                rows[c, j] += 1
                total_weight[c, j] += w
                for component in range(m):
                    total[c, j, component] += w * T[i, j, component]
    return rows, total_weight, total
