"""Rows of a matrix: as a tile of working coordinates, shifted, scaled and weighted in one pass; and how far they go."""

from __future__ import annotations

from mercer._jit import jit


@jit
def widen(X, lowest, highest):  # type: ignore[no-untyped-def]
    """Let `lowest` and `highest` of each column take in these rows; NaN instead of 0 if a number is not finite."""
    spoilt = 0.0
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            value = X[i, j]
            lowest[j] = min(lowest[j], value)
            highest[j] = max(highest[j], value)
            spoilt += 0.0 * value
    return spoilt


@jit
def fill(X, shift, inverse_scale, root, tile):  # type: ignore[no-untyped-def]
    """root · (x − shift) · inverse_scale for every row; a tile wider than `shift` has `root` in its last column.

    An empty `root` means ones. X may be the tile itself.
    """
    n, d = tile.shape[0], shift.shape[0]
    intercept = tile.shape[1] > d
    weighted = root.shape[0] > 0
    for i in range(n):
        if weighted:
            r = root[i]
            for j in range(d):
                tile[i, j] = (X[i, j] - shift[j]) * inverse_scale[j] * r
            if intercept:
                tile[i, d] = r
        else:
            for j in range(d):
                tile[i, j] = (X[i, j] - shift[j]) * inverse_scale[j]
            if intercept:
                tile[i, d] = 1.0


@jit
def fill_columns(columns, shift, inverse_scale, root):  # type: ignore[no-untyped-def]
    """`fill` in place for a tile that is stored column by column: `columns` is its transpose."""
    d, n = shift.shape[0], columns.shape[1]
    weighted = root.shape[0] > 0
    for j in range(d):
        s, f = shift[j], inverse_scale[j]
        if weighted:
            for i in range(n):
                columns[j, i] = (columns[j, i] - s) * f * root[i]
        else:
            for i in range(n):
                columns[j, i] = (columns[j, i] - s) * f
    for j in range(d, columns.shape[0]):
        for i in range(n):
            columns[j, i] = root[i] if weighted else 1.0
