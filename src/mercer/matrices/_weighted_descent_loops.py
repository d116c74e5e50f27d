"""Compiled coordinate descent on a quadratic model of weighted losses, whose slopes are known at the start.

The model is  c · (w₀ − w) + ½ Σ h (X (w − w₀))² + penalty: `c` is the negative gradient at the start w₀, and the vector
v = −h X (w − w₀) is the change in each row since then. As v begins at 0 it may be float32: rounding is then a portion
of the step, not of the slope.

Sums over stored entries are not vectorised: gathering several entries into one register takes longer than reading them.
"""

from __future__ import annotations

import numpy as np

from mercer._jit import IN_ORDER, jit
from mercer.matrices.descent_loops import lowest

#: 1 as positions of entries are counted: a signed 1 would make their sums floats
UINT_1 = np.uint64(1)
#: 2 as positions are counted
UINT_2 = np.uint64(2)
#: 3 as positions are counted
UINT_3 = np.uint64(3)
#: 4 as positions are counted
UINT_4 = np.uint64(4)


@jit(forceinline=True, **IN_ORDER)
def gather_dot(indices, values, v, begin, end):  # type: ignore[no-untyped-def]
    """Return Σ values · v[indices] of the entries begin…end, by four independent sums."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = end - (end - begin) % UINT_4
    entry = begin
    while entry < whole:
        a += values[entry] * v[indices[entry]]
        b += values[entry + UINT_1] * v[indices[entry + UINT_1]]
        c += values[entry + UINT_2] * v[indices[entry + UINT_2]]
        d += values[entry + UINT_3] * v[indices[entry + UINT_3]]
        entry += UINT_4
    while entry < end:
        a += values[entry] * v[indices[entry]]
        entry += UINT_1
    return (a + b) + (c + d)


@jit(**IN_ORDER)
def sparse_sweep(indptr, indices, values, ids, c, h, curvature, l1, l2, w, v):  # type: ignore[no-untyped-def]
    """Sweep once over the columns `ids` of a CSC matrix; return the decrease of the model."""
    decrease = 0.0
    for t in range(ids.shape[0]):
        total_curvature = curvature[t] + l2[t]
        if total_curvature <= 0.0:
            continue
        begin, end = indptr[ids[t]], indptr[ids[t] + 1]
        slope = gather_dot(indices, values, v, begin, end)
        step = lowest(c[t] + slope + curvature[t] * w[t], curvature[t], l1[t], l2[t], False) - w[t]
        if step != 0.0:
            decrease += 0.5 * total_curvature * step * step
            w[t] += step
            in_rows = v.dtype.type(step)
            for entry in range(begin, end):
                i = indices[entry]
                v[i] -= in_rows * h[i] * values[entry]
    return decrease


@jit
def dense_sweep(columns, c, h, curvature, l1, l2, w, v):  # type: ignore[no-untyped-def]
    """Sweep once over columns that are the rows of `columns`; return the decrease of the model."""
    decrease = 0.0
    for t in range(columns.shape[0]):
        total_curvature = curvature[t] + l2[t]
        if total_curvature <= 0.0:
            continue
        slope = 0.0
        for i in range(columns.shape[1]):
            slope += columns[t, i] * v[i]
        step = lowest(c[t] + slope + curvature[t] * w[t], curvature[t], l1[t], l2[t], False) - w[t]
        if step != 0.0:
            decrease += 0.5 * total_curvature * step * step
            w[t] += step
            for i in range(columns.shape[1]):
                v[i] -= step * h[i] * columns[t, i]
    return decrease


@jit(**IN_ORDER)
def combine(indptr, indices, values, ids, d, start, stop, out):  # type: ignore[no-untyped-def]
    """Add Σ_t d[t] x_ids[t] to `out`, t in start…stop."""
    for t in range(start, stop):
        step = out.dtype.type(d[t])
        for entry in range(indptr[ids[t]], indptr[ids[t] + 1]):
            out[indices[entry]] += step * values[entry]


@jit(**IN_ORDER)
def products(indptr, indices, values, ids, q, start, stop, out):  # type: ignore[no-untyped-def]
    """Compute out[t] = x_ids[t] · q, t in start…stop."""
    for t in range(start, stop):
        out[t] = gather_dot(indices, values, q, indptr[ids[t]], indptr[ids[t] + 1])


@jit
def count_entries(indptr, indices, start, stop, counts):  # type: ignore[no-untyped-def]
    """Add the number of stored entries in the rows start…stop to the counts of their columns."""
    for entry in range(indptr[start], indptr[stop]):
        counts[indices[entry]] += UINT_1


@jit
def has_duplicates(indptr, rows):  # type: ignore[no-untyped-def]
    """Return whether a row occurs twice in a column, given entries by columns in the order of their rows."""
    for j in range(indptr.shape[0] - 1):
        for entry in range(indptr[j] + UINT_1, indptr[j + 1]):
            if rows[entry] == rows[entry - UINT_1]:
                return True
    return False


@jit
def transpose_entries(indptr, indices, values, start, stop, first, scale, places, rows, turned):  # type: ignore[no-untyped-def]
    """Write the entries of the rows start…stop of a CSR matrix, divided by the scales of their columns, by columns.

    `places` has the next free position of each column and is advanced. Rows are counted from `first` on.
    """
    for i in range(start, stop):
        for entry in range(indptr[i], indptr[i + 1]):
            j = indices[entry]
            place = places[j]
            places[j] = place + UINT_1
            rows[place] = i - first
            turned[place] = values[entry] / scale[j]
