"""Sums over coordinates that are not matrix products: for kernels of histograms and of city-block distances.

`columns` is Zᵀ everywhere, so that the inner loop runs along a row of the tile.
"""

from __future__ import annotations

from mercer._jit import jit


@jit
def manhattan(X, columns, tile):  # type: ignore[no-untyped-def]
    """Compute Σ |x − z|."""
    for i in range(tile.shape[0]):
        row = tile[i]
        row[:] = 0.0
        for k in range(columns.shape[0]):
            x, column = X[i, k], columns[k]
            for j in range(row.shape[0]):
                row[j] += abs(x - column[j])


@jit
def chi_squared(X, columns, tile):  # type: ignore[no-untyped-def]
    """Compute Σ (x − z)²/(x + z), where 0/0 is 0."""
    for i in range(tile.shape[0]):
        row = tile[i]
        row[:] = 0.0
        for k in range(columns.shape[0]):
            x, column = X[i, k], columns[k]
            for j in range(row.shape[0]):
                away, total = x - column[j], x + column[j]
                row[j] += away * (away / total) if total > 0.0 else 0.0


@jit
def intersection(X, columns, tile):  # type: ignore[no-untyped-def]
    """Compute Σ min(x, z)."""
    for i in range(tile.shape[0]):
        row = tile[i]
        row[:] = 0.0
        for k in range(columns.shape[0]):
            x, column = X[i, k], columns[k]
            for j in range(row.shape[0]):
                row[j] += x if x < column[j] else column[j]
