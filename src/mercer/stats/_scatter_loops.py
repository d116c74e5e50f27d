"""Compiled loops that sort rows by group, tile by tile, so that the scatter of each group is one product."""

from __future__ import annotations

import numpy as np

from mercer._jit import jit
from mercer._jit.gram import add_square, mirror


@jit
def add_scatter(X, groups, weight, shift, tile, rows, total, first, second):  # type: ignore[no-untyped-def]
    """Add Σ weight · (x − shift)(x − shift)ᵀ of each group to `second`; update the rest like `sort_into_tile`."""
    n, k, size = X.shape[0], shift.shape[0], tile.shape[0]
    ends = np.empty(k, dtype=np.int64)
    for start in range(0, n, size):
        stop = min(start + size, n)
        sort_into_tile(X, groups, weight, shift, start, stop, tile, ends, rows, total, first)
        begin = 0
        for c in range(k):
            add_square(tile, begin, ends[c], second[c], X[stop:])
            begin = ends[c]
    for c in range(k):
        mirror(second[c])


@jit
def sort_into_tile(X, groups, weight, shift, start, stop, tile, ends, rows, total, first):  # type: ignore[no-untyped-def]
    """Write √weight · (x − shift) of the rows start…stop of X by group; those of group c end at `ends[c]` of `tile`.

    Also add to `rows`, `total` (of weight) and `first` = Σ weight · (x − shift). An empty `weight` means
    ones; rows of weight zero are left out.
    """
    k, d = shift.shape
    weighted = weight.shape[0] > 0
    ends[:] = 0
    for i in range(start, stop):
        if not (weighted and weight[i] == 0.0):
            ends[groups[i]] += 1
    begin = 0
    for c in range(k):
        size = ends[c]
        rows[c] += size
        ends[c] = begin
        begin += size
    for i in range(start, stop):
        c = groups[i]
        p = ends[c]
        if weighted:
            w = weight[i]
            if w == 0.0:
                continue
            root = np.sqrt(w)
            total[c] += w
            for j in range(d):
                t = X[i, j] - shift[c, j]
                tile[p, j] = root * t
                first[c, j] += w * t
        else:
            total[c] += 1.0
            for j in range(d):
                t = X[i, j] - shift[c, j]
                tile[p, j] = t
                first[c, j] += t
        ends[c] = p + 1
