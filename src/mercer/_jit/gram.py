"""A tile of rows times itself, in vector instructions that are written out.

BLAS is made for large matrices: for some fifty columns its symmetric product runs at a third of what the machine can
do, and the tile has to be filled before it is called. Here a tile is small enough for the L1 cache, is multiplied
right after it is filled, and the rows that come next are fetched meanwhile.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._jit import jit, overload

#: columns of a tile are a multiple of this; those that are not needed are 0
UNIT = 8
#: numbers in a tile, and rows below which sums would be written too often
NUMBERS, ROWS = 2688, 48


def padded(columns: int) -> int:
    """Columns of a tile that holds so many."""
    return max(UNIT, -(-columns // UNIT) * UNIT)


@jit
def add_square(tile, first, last, total, ahead):  # type: ignore[no-untyped-def]
    """Add tileᵀ tile, of the rows first…last, to the lower triangle of `total` (what is above it is not to be read).

    `ahead` is what will be read next: as many of its bytes as the tile has are fetched into the cache.
    """
    side, width, rows = lanes(), tile.shape[1], last - first
    begin, fetched, enough = first * width, 0, 8 * width * rows
    for i in range(0, width, side):
        j = 0
        while j <= i:
            left, right, out = (begin + i, width, 1), (begin + j, width), (i * width + j, width)
            wide = (i - j) // side + 1
            if wide >= 3:
                add_panel_3(tile, left, tile, right, rows, total, out, ahead, fetched)
                j += 3 * side
            elif wide == 2:
                add_panel_2(tile, left, tile, right, rows, total, out, ahead, fetched)
                j += 2 * side
            else:
                add_panel_1(tile, left, tile, right, rows, total, out, ahead, fetched)
                j += side
            fetched = min(fetched + 64 * rows, enough)


@jit
def add_gram(X, Y, weight, shift, inverse_scale, total):  # type: ignore[no-untyped-def]
    """Add Σ weight · z zᵀ to the lower triangle of `total`, for z = [((x, y) − shift) · inverse_scale, 1, 0, …].

    An empty `weight` means ones.
    """
    n = X.shape[0]
    tile = new_tile(X.shape[1] + Y.shape[1] + 1, ROWS)
    for start in range(0, n, tile.shape[0]):
        stop = min(start + tile.shape[0], n)
        fill(X, Y, start, stop, shift, inverse_scale, tile)
        if weight.shape[0] > 0:
            scale_rows(tile, weight[start:stop])
        add_square(tile, 0, stop - start, total, X[stop:])


@jit
def new_tile(columns, least_rows):  # type: ignore[no-untyped-def]
    """Of zeros, for so many columns: it stays in the L1 cache unless more rows are asked for.

    It begins with a line of the cache: vectors that lie in two of them take twice as long.
    """
    width = max(UNIT, (columns + UNIT - 1) // UNIT * UNIT)
    rows = max(least_rows, NUMBERS // width)
    numbers = np.zeros(rows * width + UNIT)
    first = -(numbers.ctypes.data // 8) % UNIT
    return numbers[first : first + rows * width].reshape(rows, width)


@jit
def fill(X, Y, start, stop, shift, inverse_scale, tile):  # type: ignore[no-untyped-def]
    """The rows start…stop as [((x, y) − shift) · inverse_scale, 1] from the first row of a tile on."""
    d, columns = X.shape[1], X.shape[1] + Y.shape[1]
    for i in range(start, stop):
        for j in range(d):
            tile[i - start, j] = (X[i, j] - shift[j]) * inverse_scale[j]
        tile[i - start, columns] = 1.0
    for j in range(d, columns):  # there are few: column by column is faster
        for i in range(start, stop):
            tile[i - start, j] = (Y[i, j - d] - shift[j]) * inverse_scale[j]


@jit
def scale_rows(tile, weight):  # type: ignore[no-untyped-def]
    """Multiply as many rows as there are weights by their square roots."""
    for i in range(weight.shape[0]):
        root = np.sqrt(weight[i])
        for j in range(tile.shape[1]):
            tile[i, j] *= root


@jit
def mirror(matrix):  # type: ignore[no-untyped-def]
    """Copy the lower triangle of a square matrix into the upper one, by squares that stay in the L1 cache."""
    n, side = matrix.shape[0], 32
    for top in range(0, n, side):
        for left in range(0, top + 1, side):
            for i in range(top, min(top + side, n)):
                for j in range(left, min(left + side, i)):
                    matrix[j, i] = matrix[i, j]


# The panels: products of `lanes` columns with one, two or three vectors of others. They are held in registers while the
# rows go by, which no compiler can be talked into by ordinary loops.


def lanes() -> int:
    """Numbers of float64 in a vector of the machine; of float32 there are twice as many."""
    return UNIT


@overload(lanes)
def _of_the_machine() -> Any:
    from mercer._jit._panel import machine_lanes

    known = machine_lanes()
    return lambda: known


def _panel(vectors: int) -> Any:
    def add_panel(left, left_at, right, right_at, count, out, out_at, ahead, fetched):  # type: ignore[no-untyped-def]
        """out[r, v] += Σ left[k, r] · right[k, v] over k < count, for `lanes` r and `vectors` vectors of v.

        Sums are taken in the precision of `out`. Places are counted in arrays laid flat: (start, from k to k + 1, from
        r to r + 1) of `left`, (start, from k to k + 1) of `right`, (start, from r to r + 1) of `out`. With each k a
        line of `ahead` is fetched into the cache, from the byte `fetched` on.
        """
        k, r, v = np.arange(count)[:, None], np.arange(lanes()), np.arange(vectors * lanes() * 8 // out.itemsize)
        a = left.ravel()[left_at[0] + k * left_at[1] + r * left_at[2]]
        b = right.ravel()[right_at[0] + k * right_at[1] + v]
        out.ravel()[out_at[0] + r[:, None] * out_at[1] + v] += a.T @ b

    @overload(add_panel)
    def _choose(left, left_at, right, right_at, count, out, out_at, ahead, fetched) -> Any:  # type: ignore[no-untyped-def]
        from mercer._jit._panel import panel

        compiled = panel(vectors)

        def call(left, left_at, right, right_at, count, out, out_at, ahead, fetched):  # type: ignore[no-untyped-def]
            compiled(left, left_at, right, right_at, count, out, out_at, ahead, fetched)

        return call

    return add_panel


add_panel_1, add_panel_2, add_panel_3 = _panel(1), _panel(2), _panel(3)
