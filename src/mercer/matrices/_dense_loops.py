"""Tiles of a matrix in working coordinates, shifted, scaled and weighted in one pass; and ranges of its columns."""

from __future__ import annotations

from mercer._jit import jit


@jit
def widen(X, lowest, highest):  # type: ignore[no-untyped-def]
    """Update `lowest` and `highest` of each column with these rows; return 0, or NaN if a number is not finite."""
    not_finite = 0.0
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            value = X[i, j]
            lowest[j] = min(lowest[j], value)
            highest[j] = max(highest[j], value)
            not_finite += 0.0 * value
    return not_finite


@jit
def fill(X, shift, inverse_scale, root, tile):  # type: ignore[no-untyped-def]
    """Write root · (x − shift) · inverse_scale for every row; a tile wider than `shift` has `root` in its last column.

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
    """Do the work of `fill` in place for a tile that is stored column by column: `columns` is its transpose."""
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
