"""From the joint log probabilities of rows to their posteriors: loops over short rows, which NumPy is slow at."""

from __future__ import annotations

import numpy as np

from mercer._jit import jit


@jit
def replace_impossible(scores, row):  # type: ignore[no-untyped-def]
    """Put `row` in the place of rows that are −inf throughout."""
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
def row_sums(p):  # type: ignore[no-untyped-def]
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
    n, k = p.shape
    for i in range(n):
        for c in range(k):
            p[i, c] /= by[i]


@jit
def largest_of_row(scores):  # type: ignore[no-untyped-def]
    """Index of the first largest entry of each row."""
    n, k = scores.shape
    best = np.zeros(n, dtype=np.int64)
    for i in range(n):
        for c in range(1, k):
            if scores[i, c] > scores[i, best[i]]:
                best[i] = c
    return best
