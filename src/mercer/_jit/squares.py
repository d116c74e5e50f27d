"""Weighted squares of the columns of a CSR matrix."""

from __future__ import annotations

import numpy as np

from mercer._jit import jit


@jit
def of_sparse(indptr, indices, values, start, stop, h, n_columns):  # type: ignore[no-untyped-def]
    """Σ h x² of each column over the rows start…stop; each entry is squared by itself."""
    total = np.zeros(n_columns)
    for i in range(start, stop):
        of_row = h[i - start]
        for entry in range(indptr[i], indptr[i + 1]):
            total[indices[entry]] += of_row * (values[entry] * values[entry])
    return total
