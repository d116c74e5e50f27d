"""The product of a tile of rows with itself, in explicit vector instructions.

BLAS is optimized for large matrices: for about fifty columns its symmetric product runs at a third of peak speed, and
the tile has to be filled before the call. Here a tile fits into the L1 cache, is multiplied right after it is
filled, and the next rows are prefetched meanwhile.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._jit import jit, overload

#: the number of columns of a tile is a multiple of this; the last columns are 0
COLUMN_MULTIPLE = 8
#: numbers in a tile: 21 KiB, so that it stays in the L1 cache
TILE_NUMBERS = 2688
#: rows of a tile, at least; with fewer, sums would be written to memory too often
MIN_GRAM_TILE_ROWS = 48
#: bytes of a line of the cache
CACHE_LINE = 64


def padded(columns: int) -> int:
    """Number of columns of a tile for `columns` columns."""
    return max(COLUMN_MULTIPLE, -(-columns // COLUMN_MULTIPLE) * COLUMN_MULTIPLE)


@jit
def add_square(tile, first, last, total, ahead):  # type: ignore[no-untyped-def]
    """Add tileᵀ tile of the rows first…last to the lower triangle of `total`; its upper triangle has no meaning.

    `ahead` is the array that is read next: as many of its bytes as the tile has are prefetched.
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
    tile = new_tile(X.shape[1] + Y.shape[1] + 1, MIN_GRAM_TILE_ROWS)
    for start in range(0, n, tile.shape[0]):
        stop = min(start + tile.shape[0], n)
        fill(X, Y, start, stop, shift, inverse_scale, tile)
        if weight.shape[0] > 0:
            scale_rows(tile, weight[start:stop])
        add_square(tile, 0, stop - start, total, X[stop:])


@jit
def new_tile(columns, least_rows):  # type: ignore[no-untyped-def]
    """Allocate a tile of zeros, which fits into the L1 cache unless `least_rows` is larger.

    It is aligned to a cache line, as loads of vectors across two lines take twice as long.
    """
    width = max(COLUMN_MULTIPLE, (columns + COLUMN_MULTIPLE - 1) // COLUMN_MULTIPLE * COLUMN_MULTIPLE)
    rows = max(least_rows, TILE_NUMBERS // width)
    numbers = np.zeros(rows * width + COLUMN_MULTIPLE)
    first = -(numbers.ctypes.data // 8) % COLUMN_MULTIPLE
    return numbers[first : first + rows * width].reshape(rows, width)


@jit
def fill(X, Y, start, stop, shift, inverse_scale, tile):  # type: ignore[no-untyped-def]
    """Write the rows start…stop as [((x, y) − shift) · inverse_scale, 1] to the first rows of a tile."""
    d, columns = X.shape[1], X.shape[1] + Y.shape[1]
    for i in range(start, stop):
        for j in range(d):
            tile[i - start, j] = (X[i, j] - shift[j]) * inverse_scale[j]
        tile[i - start, columns] = 1.0
    for j in range(d, columns):  # Y has few columns, for which this order of the loops is faster
        for i in range(start, stop):
            tile[i - start, j] = (Y[i, j - d] - shift[j]) * inverse_scale[j]


@jit
def scale_rows(tile, weight):  # type: ignore[no-untyped-def]
    """Multiply the first rows by the square roots of their weights."""
    for i in range(weight.shape[0]):
        root = np.sqrt(weight[i])
        for j in range(tile.shape[1]):
            tile[i, j] *= root


@jit
def mirror(matrix):  # type: ignore[no-untyped-def]
    """Copy the lower triangle of a square matrix into the upper one, in squares that fit into the L1 cache."""
    n, side = matrix.shape[0], 32
    for top in range(0, n, side):
        for left in range(0, top + 1, side):
            for i in range(top, min(top + side, n)):
                for j in range(left, min(left + side, i)):
                    matrix[j, i] = matrix[i, j]


# The panels: products of `lanes` columns with one, two or three vectors of others. The sums stay in registers during
# the loop over the rows, which compilers do not achieve for ordinary loops.


def lanes() -> int:
    """Number of float64 values in a vector of the machine; of float32 there are twice as many."""
    return COLUMN_MULTIPLE


@overload(lanes)
def _lanes_of_machine() -> Any:
    from mercer._jit._panel import machine_lanes

    count = machine_lanes()
    return lambda: count


def _panel(vectors: int) -> Any:
    def add_panel(left, left_at, right, right_at, count, out, out_at, ahead, fetched):  # type: ignore[no-untyped-def]
        """out[r, v] += Σ left[k, r] · right[k, v] over k < count, for `lanes` r and `vectors` vectors of v.

        Sums have the precision of `out`. Positions are those of flattened arrays: (start, stride of k, stride of r) of
        `left`, (start, stride of k) of `right`, (start, stride of r) of `out`. With each k a cache line of `ahead` is
        prefetched, from the byte `fetched` on.
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
