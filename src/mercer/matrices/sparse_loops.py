"""Products with the rows start…stop of a CSR matrix; duplicate entries count as their sum.

`indptr` and `indices` are unsigned, so that loops do not test for negative indices. Sums are not reordered where
entries of a vector are gathered: see `IN_ORDER`.
"""

from __future__ import annotations

import numpy as np

from mercer._jit import IN_ORDER, jit


@jit(**IN_ORDER)
def times(indptr, indices, values, start, stop, w):  # type: ignore[no-untyped-def]
    """X w."""
    product = np.empty(stop - start)
    for i in range(start, stop):
        total = 0.0
        for entry in range(indptr[i], indptr[i + 1]):
            total += values[entry] * w[indices[entry]]
        product[i - start] = total
    return product


@jit
def times_matrix(indptr, indices, values, start, stop, W):  # type: ignore[no-untyped-def]
    """X W."""
    product = np.zeros((stop - start, W.shape[1]))
    for i in range(start, stop):
        for entry in range(indptr[i], indptr[i + 1]):
            value, j = values[entry], indices[entry]
            for c in range(W.shape[1]):
                product[i - start, c] += value * W[j, c]
    return product


@jit(**IN_ORDER)
def rmatvec(indptr, indices, values, start, stop, r, n_columns):  # type: ignore[no-untyped-def]
    """Xᵀ r."""
    total = np.zeros(n_columns)
    for i in range(start, stop):
        row_value = r[i - start]
        for entry in range(indptr[i], indptr[i + 1]):
            total[indices[entry]] += values[entry] * row_value
    return total


@jit
def transposed_times_matrix(indptr, indices, values, start, stop, R, n_columns):  # type: ignore[no-untyped-def]
    """Xᵀ R."""
    total = np.zeros((n_columns, R.shape[1]))
    for i in range(start, stop):
        for entry in range(indptr[i], indptr[i + 1]):
            value, j = values[entry], indices[entry]
            for c in range(R.shape[1]):
                total[j, c] += value * R[i - start, c]
    return total


@jit
def add_pairs(indptr, indices, values, weight, every, pairs):  # type: ignore[no-untyped-def]
    """Add w·v·v' of every pair of entries of a row to `pairs`, at the columns of the first and the second.

    The rows are all those of `indptr`. Each pair is added once, in the order in which its entries are stored, and half
    of each square, so that pairs + pairsᵀ is Σ w x xᵀ. An empty `weight` means ones. Rows of weight zero are skipped
    unless `every` row counts: values in them that are not finite then make the sums not finite.
    """
    weighted = weight.shape[0] > 0
    for i in range(indptr.shape[0] - 1):
        w = weight[i] if weighted else 1.0
        if w == 0.0 and not every:
            continue
        end = indptr[i + 1]
        for a in range(indptr[i], end):
            value = w * values[a]
            row = pairs[indices[a]]
            row[indices[a]] += 0.5 * value * values[a]
            for b in range(a + 1, end):
                row[indices[b]] += value * values[b]


@jit
def gram_with_codes(indptr, indices, values, start, stop, h, cells, begins, first, n_columns):  # type: ignore[no-untyped-def]
    """Cᵀ diag(h) X, where C has a column for each of the `cells` (see `_code_loops`), from its row `first` on."""
    total = np.zeros((begins[-1], n_columns))
    for g in range(cells.shape[0]):
        group_total = total[begins[g] : begins[g + 1]]
        for i in range(start, stop):
            cell_total = group_total[cells[g, first + i - start]]
            for entry in range(indptr[i], indptr[i + 1]):
                cell_total[indices[entry]] += h[i - start] * values[entry]
    return total


@jit
def squares(indptr, indices, values, start, stop, h, n_columns):  # type: ignore[no-untyped-def]
    """Σ h x² of each column; duplicate entries are squared one by one."""
    total = np.zeros(n_columns)
    for i in range(start, stop):
        row_weight = h[i - start]
        for entry in range(indptr[i], indptr[i + 1]):
            total[indices[entry]] += row_weight * (values[entry] * values[entry])
    return total


@jit
def largest(indices, values, first, last, n_columns):  # type: ignore[no-untyped-def]
    """max |value| of each column among the finite entries first…last."""
    total = np.zeros(n_columns)
    for entry in range(first, last):
        size = abs(values[entry])
        if size > total[indices[entry]] and size < np.inf:
            total[indices[entry]] = size
    return total


@jit
def outside(bits, first, last, sign, low, high):  # type: ignore[no-untyped-def]
    """Count the entries first…last with 0 < |entry| < `low` or |entry| > `high`.

    Floats are given as the unsigned integers of the same bits, which without the `sign` bit have the order of sizes:
    comparisons need no case for NaN, and run at the speed of memory.
    """
    count = 0
    for entry in range(first, last):
        size = bits[entry] & ~sign
        count += (size != 0) & ((size < low) | (size > high))
    return count
