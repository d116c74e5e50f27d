"""Compiled passes over the columns of a matrix: means, squared lengths, and products with a few vectors.

Each value is centred before it is multiplied, so that a mean of 1e8 costs no digits. Products are with four vectors at
a time, since reading the matrix takes longer than the arithmetic. A loop over part of a row is a function of that part:
a loop that starts in the middle of a row is not vectorised.
"""

from __future__ import annotations

import numpy as np

from mercer._jit import IN_ORDER, jit

#: vectors that are multiplied in one pass
VECTORS_AT_ONCE = 4
#: columns of a row-major matrix that are read together: their sums stay in the L1 cache
PANEL_WIDTH = 256


@jit
def dot(row, other):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(row.shape[0]):
        total += row[i] * other[i]
    return total


@jit
def moments_by_column(columns, weight, total, start, stop, centred, mean, squares):  # type: ignore[no-untyped-def]
    """Compute weighted means (0 unless `centred`) and Σ w (x − mean)² of the rows start…stop of `columns`."""
    n = columns.shape[1]
    for j in range(start, stop):
        first = np.float64(columns[j, 0])
        middle = 0.0
        if centred:
            away = 0.0
            for i in range(n):
                away += weight[i] * (columns[j, i] - first)
            middle = first + away / total
        square = 0.0
        for i in range(n):
            t = columns[j, i] - middle
            square += weight[i] * t * t
        mean[j], squares[j] = middle, square


@jit
def moments_by_row(X, weight, total, start, stop, centred, mean, squares):  # type: ignore[no-untyped-def]
    """Compute the same as `moments_by_column` for the columns start…stop of X."""
    n = X.shape[0]
    middle, square = mean[start:stop], squares[start:stop]
    if centred:
        first, away = X[0, start:stop].astype(np.float64), np.zeros(stop - start)
        for i in range(n):
            add_weighted(weight[i], X[i, start:stop], first, away)
        middle[:] = first + away / total
    for i in range(n):
        add_squares(weight[i], X[i, start:stop], middle, square)


@jit
def add_weighted(weight, x, middle, out):  # type: ignore[no-untyped-def]
    for j in range(x.shape[0]):
        out[j] += weight * (x[j] - middle[j])


@jit
def add_squares(weight, x, middle, out):  # type: ignore[no-untyped-def]
    for j in range(x.shape[0]):
        t = x[j] - middle[j]
        out[j] += weight * t * t


@jit
def products_by_column(columns, ids, centre, V, start, stop, out):  # type: ignore[no-untyped-def]
    """Compute out[:, t] = V (x − centre) for the rows ids[t] of `columns`, t in start…stop."""
    n = columns.shape[1]
    for t in range(start, stop):
        j = ids[t]
        middle = centre[j]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for i in range(n):
            x = columns[j, i] - middle
            a += x * V[0, i]
            b += x * V[1, i]
            c += x * V[2, i]
            d += x * V[3, i]
        out[0, t], out[1, t], out[2, t], out[3, t] = a, b, c, d


@jit
def product_by_column(columns, ids, centre, v, start, stop, out):  # type: ignore[no-untyped-def]
    """Compute the same as `products_by_column` for one vector."""
    n = columns.shape[1]
    for t in range(start, stop):
        j = ids[t]
        middle, a = centre[j], 0.0
        for i in range(n):
            a += (columns[j, i] - middle) * v[i]
        out[t] = a


@jit
def products_by_row(X, centre, V, start, stop, out):  # type: ignore[no-untyped-def]
    """Compute out[:, j] = V (x_j − centre_j) for the columns start…stop of X."""
    sums, middle = np.zeros((4, stop - start)), centre[start:stop]
    for i in range(X.shape[0]):
        add_four(V[0, i], V[1, i], V[2, i], V[3, i], X[i, start:stop], middle, sums[0], sums[1], sums[2], sums[3])
    out[:, start:stop] = sums


@jit
def add_four(s, t, u, v, x, middle, a, b, c, d):  # type: ignore[no-untyped-def]
    for j in range(x.shape[0]):
        away = x[j] - middle[j]
        a[j] += away * s
        b[j] += away * t
        c[j] += away * u
        d[j] += away * v


@jit
def product_by_row(X, centre, v, start, stop, out):  # type: ignore[no-untyped-def]
    """Compute the same as `products_by_row` for one vector."""
    total, middle = np.zeros(stop - start), centre[start:stop]
    for i in range(X.shape[0]):
        add_weighted(v[i], X[i, start:stop], middle, total)
    out[start:stop] = total


@jit
def combine_by_column(columns, ids, centre, W, start, stop, out):  # type: ignore[no-untyped-def]
    """Add Σ_t W[:, t] (x − centre) of the rows ids[t] of `columns` to out[:, i], for i in start…stop."""
    for t in range(ids.shape[0]):
        x, middle = columns[ids[t], start:stop], centre[ids[t]]
        for k in range(W.shape[0]):
            if W[k, t] != 0.0:
                add(W[k, t], x, middle, out[k, start:stop])


@jit
def add(factor, x, middle, out):  # type: ignore[no-untyped-def]
    for i in range(x.shape[0]):
        out[i] += factor * (x[i] - middle)


@jit
def combine_by_row(X, ids, centre, W, start, stop, out):  # type: ignore[no-untyped-def]
    """Add Σ_t W[:, t] (x − centre) of the columns ids[t] of X to out[:, i], for the rows i in start…stop."""
    away, middle = np.empty(ids.shape[0]), centre[ids]
    for i in range(start, stop):
        row = X[i]
        for t in range(ids.shape[0]):
            away[t] = row[ids[t]] - middle[t]
        for k in range(W.shape[0]):
            out[k, i] += dot(W[k], away)


@jit(**IN_ORDER)
def products_of_sparse(indptr, indices, values, ids, V, start, stop, out):  # type: ignore[no-untyped-def]
    """Compute out[t] = Σ x V[i] over the stored entries of the columns ids[t] of a CSC matrix, t in start…stop."""
    for t in range(start, stop):
        j = ids[t]
        for k in range(V.shape[1]):
            out[t, k] = 0.0
        for entry in range(indptr[j], indptr[j + 1]):
            x, i = values[entry], indices[entry]
            for k in range(V.shape[1]):
                out[t, k] += x * V[i, k]


@jit(**IN_ORDER)
def squares_of_sparse(indptr, indices, values, ids, h, start, stop, out):  # type: ignore[no-untyped-def]
    """Compute out[t] = Σ h x² over the stored entries of the columns ids[t], t in start…stop."""
    for t in range(start, stop):
        total = 0.0
        for entry in range(indptr[ids[t]], indptr[ids[t] + 1]):
            total += h[indices[entry]] * values[entry] * values[entry]
        out[t] = total


@jit
def combine_sparse(indptr, indices, values, ids, W, out):  # type: ignore[no-untyped-def]
    """Add Σ_t x_{i, ids[t]} W[t] to out[i]."""
    for t in range(ids.shape[0]):
        for entry in range(indptr[ids[t]], indptr[ids[t] + 1]):
            x, i = values[entry], indices[entry]
            for k in range(W.shape[1]):
                out[i, k] += x * W[t, k]
