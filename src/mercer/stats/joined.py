"""Columns of x and y side by side, about values close to them, in tiles that stay in the cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._threads import row_blocks
from mercer._typing import Array

#: bytes of a tile: stays in the L2 cache, with its product, while it is filled and multiplied
TILE = 1 << 19
#: bytes of a tile of many columns, whose product is so large that few additions of it matter more
WIDE_TILE = 1 << 24
#: columns from which on tiles are wide
MANY_COLUMNS = 256
#: rows that show where a column lies
PILOT_ROWS = 64
#: a column whose mean is within so many spreads of zero is left where it is: its squares lose no more than a digit
NEAR_ZERO = 4.0


def tile_rows(columns: int) -> int:
    """Rows of a tile."""
    return max(64, (TILE if columns < MANY_COLUMNS else WIDE_TILE) // (8 * columns))


def dense(x: Any) -> Array:
    """Some rows as an array, of whatever type and layout they are."""
    return np.asarray(x.toarray() if hasattr(x, "toarray") else x)


def pilot(x: Any) -> Array:
    """A value near each column, such that x − pilot is exact for most x.

    The mean of the first rows, rounded to a multiple of a power of two no larger than their spread; 0 where that is
    near enough; and the value itself of a column that is constant in them.
    """
    head = dense(x[:PILOT_ROWS]).astype(np.float64)
    if not len(head):
        return np.zeros(x.shape[1])
    with np.errstate(invalid="ignore", over="ignore"):
        mean = head[0] + (head - head[0]).mean(axis=0)
        spread = np.linalg.norm(head - mean, axis=0) / np.sqrt(len(head))
        unit = 2.0 ** np.floor(np.log2(np.where(spread > 0, spread, 1.0)))
        coarse = np.where(spread > 0, np.rint(mean / unit) * unit, mean)
    return np.where((np.abs(mean) > NEAR_ZERO * spread) & np.isfinite(coarse), coarse, 0.0)


def triangle(A: Array) -> Array:
    """R of the QR factorisation of A."""
    return np.asarray(np.linalg.qr(A, mode="r"))


def tiles(X: Any, Y: Array, weight: Array | None, shift: Array) -> Iterator[Array]:
    """√weight · [1, x − shift, y − shift] of some rows at a time; the next tile overwrites it.

    Rows of weight zero are no rows.
    """
    d, columns = X.shape[1], 1 + len(shift)
    size = max(1, min(tile_rows(columns), X.shape[0]))
    buffer = np.empty((size, columns))
    for rows in row_blocks(X.shape[0], size):
        x, y = dense(X[rows]), Y[rows]
        root = None if weight is None else np.sqrt(weight[rows])
        if root is not None and not root.all():
            x, y, root = x[root > 0], y[root > 0], root[root > 0]
        tile = buffer[: len(x)]
        tile[:, 0] = 1.0
        np.subtract(x, shift[:d], out=tile[:, 1 : d + 1])
        np.subtract(y, shift[d:], out=tile[:, d + 1 :])
        if root is not None:
            tile *= root[:, None]
        yield tile
