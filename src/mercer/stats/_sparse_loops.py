"""Compiled loops over the stored entries of CSR matrices: those of row i are indptr[i] … indptr[i + 1].

Column indices are unsigned, so that loops need not check for negative ones (a quarter of the time).
"""

from __future__ import annotations

import numpy as np

from mercer._jit import jit


@jit
def add_stored(indptr, indices, values, groups, weight, total):  # type: ignore[no-untyped-def]
    """Add w·value of every entry to `total` (groups, columns); return the sum of the values of each row.

    An empty `weight` means ones; rows of weight zero are ignored. NaN propagates.
    """
    n = indptr.shape[0] - 1
    row_sums = np.zeros(n)
    weighted = weight.shape[0] > 0
    for i in range(n):
        w = weight[i] if weighted else 1.0
        if w == 0.0:
            continue
        of_group = total[groups[i]]
        row_sum = 0.0
        for entry in range(indptr[i], indptr[i + 1]):
            value = values[entry]
            of_group[indices[entry]] += w * value
            row_sum += value
        row_sums[i] = row_sum
    return row_sums


@jit
def stores_twice(indptr, indices, n_columns):  # type: ignore[no-untyped-def]
    """Return whether any position of the matrix has more than one entry."""
    last_row = np.full(n_columns, -1, dtype=np.int64)
    for i in range(indptr.shape[0] - 1):
        for entry in range(indptr[i], indptr[i + 1]):
            j = indices[entry]
            if last_row[j] == i:
                return True
            last_row[j] = i
    return False
