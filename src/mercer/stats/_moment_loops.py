"""Compiled loops for the centred moments of each column in each group, in one pass over the rows.

Sums are taken about a *pilot*, a value close to the mean of the group: the first rows' own mean. Since it lies
among the data, Σ(x−pilot)² exceeds the centred sum by a factor of at most n/PILOT_ROWS + 1, and typically not
at all, so that a column with mean 1e8 and variance 1 keeps its digits at the cost of one subtraction.
"""

from __future__ import annotations

import numpy as np

from mercer._jit import jit

#: rows of a group, or of a block, from which a pilot is computed
PILOT_ROWS = 64


@jit
def pilot(X, groups, weight, n_groups):  # type: ignore[no-untyped-def]
    """Return the mean of the first PILOT_ROWS observed values of positive weight of each group and column.

    It is computed as first + mean(x − first), which is exact for a constant column.
    """
    n, d = X.shape
    first = np.zeros((n_groups, d))
    total = np.zeros((n_groups, d))
    count = np.zeros((n_groups, d), dtype=np.int64)
    rows = np.zeros(n_groups, dtype=np.int64)
    unfinished = n_groups
    weighted = weight.shape[0] > 0
    for i in range(n):
        c = groups[i]
        if rows[c] == PILOT_ROWS or (weighted and weight[i] == 0.0):
            continue
        rows[c] += 1
        for j in range(d):
            x = np.float64(X[i, j])
            if np.isfinite(x):
                if count[c, j] == 0:
                    first[c, j] = x
                count[c, j] += 1
                total[c, j] += x - first[c, j]
        if rows[c] == PILOT_ROWS:
            unfinished -= 1
            if unfinished == 0:
                break
    for c in range(n_groups):
        for j in range(d):
            if count[c, j] > 0:
                first[c, j] += total[c, j] / count[c, j]
    return first


@jit
def sums(X, groups, weight, shift):  # type: ignore[no-untyped-def]
    """Return rows, weight, Σw(x−shift) and Σw(x−shift)² per group; NaN propagates. An empty `weight` means ones."""
    n, d = X.shape
    k = shift.shape[0]
    rows = np.zeros(k, dtype=np.int64)
    total = np.zeros(k)
    first = np.zeros((k, d))
    second = np.zeros((k, d))
    weighted = weight.shape[0] > 0
    for i in range(n):
        c = groups[i]
        if weighted:
            w = weight[i]
            if w == 0.0:
                continue
            rows[c] += 1
            total[c] += w
            for j in range(d):
                t = X[i, j] - shift[c, j]
                first[c, j] += w * t
                second[c, j] += w * t * t
        else:
            rows[c] += 1
            for j in range(d):
                t = X[i, j] - shift[c, j]
                first[c, j] += t
                second[c, j] += t * t
    if not weighted:
        for c in range(k):
            total[c] = rows[c]
    return rows, total, first, second


@jit
def sums_without_missing(X, groups, weight, shift):  # type: ignore[no-untyped-def]
    """Do the same as `sums` without missing values: rows and weight are counted per column."""
    n, d = X.shape
    k = shift.shape[0]
    rows = np.zeros((k, d), dtype=np.int64)
    total = np.zeros((k, d))
    first = np.zeros((k, d))
    second = np.zeros((k, d))
    weighted = weight.shape[0] > 0
    for i in range(n):
        c = groups[i]
        w = weight[i] if weighted else 1.0
        if w == 0.0:
            continue
        for j in range(d):
            x = X[i, j]
            if not np.isnan(x):
                t = x - shift[c, j]
                rows[c, j] += 1
                total[c, j] += w
                first[c, j] += w * t
                second[c, j] += w * t * t
    return rows, total, first, second
