"""Both products of a tile of a symmetric matrix that stands for itself and its mirror image, in one reading."""

from __future__ import annotations

import numpy as np

from mercer._jit import jit, wide_vectors
from mercer._jit.product import multiply
from mercer.kernels._value_loops import value

# Rows of a kernel matrix, written to where they are kept, and added up.

#: rows and columns of a tile that is made of a product before the kernel is applied to it: it stays in the L2 cache
HEIGHT, WIDTH = 256, 1000


@jit
def put(tile, kept, slots, first):  # type: ignore[no-untyped-def]
    """Rows of a tile into their slots, from a column on."""
    for i in range(tile.shape[0]):
        row, kept_row = tile[i], kept[slots[i], first : first + tile.shape[1]]
        for j in range(row.shape[0]):
            kept_row[j] = row[j]


@jit
def _of_distances(kernel, products, left, right, out):  # type: ignore[no-untyped-def]
    """A kernel of ‖x − z‖² from products x·z of one x, given ‖x‖² and ‖z‖²."""
    nothing = products.dtype.type(0)
    for j in range(products.shape[0]):
        s = (left - products[j]) + (right[j] - products[j])
        out[j] = value(kernel, nothing if s < nothing else s)


@jit
def _in_place(kernel, products, left, right):  # type: ignore[no-untyped-def]
    """`_of_distances` in the place of the products; apart, since a loop does not vectorise if its arrays overlap."""
    wide_vectors()
    nothing = products.dtype.type(0)
    for j in range(products.shape[0]):
        s = (left - products[j]) + (right[j] - products[j])
        products[j] = value(kernel, nothing if s < nothing else s)


@jit
def fill_radial(kernel, X, left, Z, right, tile):  # type: ignore[no-untyped-def]
    """A kernel of ‖x − z‖², given ‖x‖² and ‖z‖², into a tile that lies in the cache."""
    multiply(X, Z.T, tile)
    for i in range(tile.shape[0]):
        _in_place(kernel, tile[i], left[i], right)


@jit
def _tile(scratch, X, Z):  # type: ignore[no-untyped-def]
    """X Zᵀ in some of the memory given."""
    tile = scratch[: X.shape[0] * Z.shape[0]].reshape(X.shape[0], Z.shape[0])
    multiply(X, Z.T, tile)
    return tile


@jit
def put_radial(kernel, X, left, Z, right, kept, slots, first):  # type: ignore[no-untyped-def]
    """A kernel of ‖x − z‖², given ‖x‖² and ‖z‖², into the slots of its rows, from a column on."""
    scratch = np.empty(HEIGHT * WIDTH, X.dtype)
    for top in range(0, X.shape[0], HEIGHT):
        bottom = min(top + HEIGHT, X.shape[0])
        for start in range(0, Z.shape[0], WIDTH):
            stop = min(start + WIDTH, Z.shape[0])
            tile = _tile(scratch, X[top:bottom], Z[start:stop])
            for i in range(tile.shape[0]):
                kept_row = kept[slots[top + i], first + start : first + stop]
                _of_distances(kernel, tile[i], left[top + i], right[start:stop], kept_row)


@jit
def add_radial(kernel, X, left, Z, right, factors, total):  # type: ignore[no-untyped-def]
    """total_z += Σ_x factor_x k(x, z), of a kernel that is nowhere kept."""
    rows = np.arange(HEIGHT)
    scratch = np.empty(HEIGHT * WIDTH, X.dtype)
    for start in range(0, Z.shape[0], WIDTH):
        stop = min(start + WIDTH, Z.shape[0])
        for top in range(0, X.shape[0], HEIGHT):
            bottom = min(top + HEIGHT, X.shape[0])
            tile = _tile(scratch, X[top:bottom], Z[start:stop])
            for i in range(tile.shape[0]):
                _in_place(kernel, tile[i], left[top + i], right[start:stop])
            add_rows(total[start:stop], 0, stop - start, tile, rows[: bottom - top], factors[top:bottom])


@jit
def add_rows(total, first, stop, kept, slots, factors):  # type: ignore[no-untyped-def]
    """total += Σ factor · row between two columns, of float64, four rows at once."""
    part, fours = total[first:stop], slots.shape[0] // 4 * 4
    for k in range(0, fours, 4):
        r0, r1 = kept[slots[k], first:stop], kept[slots[k + 1], first:stop]
        r2, r3 = kept[slots[k + 2], first:stop], kept[slots[k + 3], first:stop]
        f0, f1, f2, f3 = factors[k], factors[k + 1], factors[k + 2], factors[k + 3]
        for j in range(part.shape[0]):
            part[j] += f0 * r0[j] + f1 * r1[j] + f2 * r2[j] + f3 * r3[j]
    for k in range(fours, slots.shape[0]):
        row, factor = kept[slots[k], first:stop], factors[k]
        for j in range(part.shape[0]):
            part[j] += factor * row[j]


@jit
def add_both(tile, right, left, here, mirrored):  # type: ignore[no-untyped-def]
    """here += tile right and mirrored += tileᵀ left, of float64; within the tile in its own precision."""
    nothing, fours = tile.dtype.type(0), tile.shape[0] // 4 * 4
    below = np.zeros(tile.shape[1], tile.dtype)
    for i in range(0, fours, 4):
        r0, r1, r2, r3 = tile[i], tile[i + 1], tile[i + 2], tile[i + 3]
        f0, f1, f2, f3 = left[i], left[i + 1], left[i + 2], left[i + 3]
        s0, s1, s2, s3 = nothing, nothing, nothing, nothing
        for j in range(right.shape[0]):
            v = right[j]
            s0 += r0[j] * v
            s1 += r1[j] * v
            s2 += r2[j] * v
            s3 += r3[j] * v
            below[j] += f0 * r0[j] + f1 * r1[j] + f2 * r2[j] + f3 * r3[j]
        here[i] += s0
        here[i + 1] += s1
        here[i + 2] += s2
        here[i + 3] += s3
    for i in range(fours, tile.shape[0]):
        row, factor, total = tile[i], left[i], nothing
        for j in range(right.shape[0]):
            total += row[j] * right[j]
            below[j] += factor * row[j]
        here[i] += total
    for j in range(below.shape[0]):
        mirrored[j] += below[j]
