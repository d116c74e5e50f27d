"""Rows of a kernel matrix, written to slots and added up; products with both halves of a symmetric tile."""

from __future__ import annotations

import numpy as np

from mercer._jit import jit, wide_vectors
from mercer._jit.product import multiply
from mercer.kernels._value_loops import evaluate_kernel

#: rows of a tile of products to which the kernel is applied while it is in the L2 cache
RADIAL_TILE_ROWS = 256
#: columns of such a tile
RADIAL_TILE_COLUMNS = 1000


@jit
def put_tile_rows(tile, kept, slots, first):  # type: ignore[no-untyped-def]
    """Write the rows of a tile into their slots, from a column on."""
    for i in range(tile.shape[0]):
        row, kept_row = tile[i], kept[slots[i], first : first + tile.shape[1]]
        for j in range(row.shape[0]):
            kept_row[j] = row[j]


@jit
def _apply_to_distances(kernel, products, left, right, out):  # type: ignore[no-untyped-def]
    """Compute a kernel of ‖x − z‖² from products x·z of one x, given ‖x‖² and ‖z‖²."""
    zero = products.dtype.type(0)
    for j in range(products.shape[0]):
        s = (left - products[j]) + (right[j] - products[j])
        out[j] = evaluate_kernel(kernel, zero if s < zero else s)


@jit
def _apply_in_place(kernel, products, left, right):  # type: ignore[no-untyped-def]
    """Replace products by their kernel; see `_apply_to_distances`.

    It is a separate function, since a loop does not vectorise if its arrays may overlap.
    """
    wide_vectors()
    zero = products.dtype.type(0)
    for j in range(products.shape[0]):
        s = (left - products[j]) + (right[j] - products[j])
        products[j] = evaluate_kernel(kernel, zero if s < zero else s)


@jit
def fill_radial(kernel, X, left, Z, right, tile):  # type: ignore[no-untyped-def]
    """Write a kernel of ‖x − z‖², given ‖x‖² and ‖z‖², into a tile that lies in the cache."""
    multiply(X, Z.T, tile)
    for i in range(tile.shape[0]):
        _apply_in_place(kernel, tile[i], left[i], right)


@jit
def _multiply_tile(scratch, X, Z):  # type: ignore[no-untyped-def]
    """Return X Zᵀ in a part of the given memory."""
    tile = scratch[: X.shape[0] * Z.shape[0]].reshape(X.shape[0], Z.shape[0])
    multiply(X, Z.T, tile)
    return tile


@jit
def put_radial(kernel, X, left, Z, right, kept, slots, first):  # type: ignore[no-untyped-def]
    """Write a kernel of ‖x − z‖², given ‖x‖² and ‖z‖², into the slots of its rows, from a column on."""
    scratch = np.empty(RADIAL_TILE_ROWS * RADIAL_TILE_COLUMNS, X.dtype)
    for top in range(0, X.shape[0], RADIAL_TILE_ROWS):
        bottom = min(top + RADIAL_TILE_ROWS, X.shape[0])
        for start in range(0, Z.shape[0], RADIAL_TILE_COLUMNS):
            stop = min(start + RADIAL_TILE_COLUMNS, Z.shape[0])
            tile = _multiply_tile(scratch, X[top:bottom], Z[start:stop])
            for i in range(tile.shape[0]):
                kept_row = kept[slots[top + i], first + start : first + stop]
                _apply_to_distances(kernel, tile[i], left[top + i], right[start:stop], kept_row)


@jit
def add_radial(kernel, X, left, Z, right, factors, total):  # type: ignore[no-untyped-def]
    """Add Σ_x factor_x k(x, z) to the total of each z, without keeping the kernel."""
    rows = np.arange(RADIAL_TILE_ROWS)
    scratch = np.empty(RADIAL_TILE_ROWS * RADIAL_TILE_COLUMNS, X.dtype)
    for start in range(0, Z.shape[0], RADIAL_TILE_COLUMNS):
        stop = min(start + RADIAL_TILE_COLUMNS, Z.shape[0])
        for top in range(0, X.shape[0], RADIAL_TILE_ROWS):
            bottom = min(top + RADIAL_TILE_ROWS, X.shape[0])
            tile = _multiply_tile(scratch, X[top:bottom], Z[start:stop])
            for i in range(tile.shape[0]):
                _apply_in_place(kernel, tile[i], left[top + i], right[start:stop])
            add_rows(total[start:stop], 0, stop - start, tile, rows[: bottom - top], factors[top:bottom])


@jit
def add_rows(total, first, stop, kept, slots, factors):  # type: ignore[no-untyped-def]
    """Add Σ factor · row between two columns to a total of float64, four rows at once."""
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
    """Add tile · right to `here` and tileᵀ · left to `mirrored`, in float64 but for sums within the tile."""
    zero, fours = tile.dtype.type(0), tile.shape[0] // 4 * 4
    below = np.zeros(tile.shape[1], tile.dtype)
    for i in range(0, fours, 4):
        r0, r1, r2, r3 = tile[i], tile[i + 1], tile[i + 2], tile[i + 3]
        f0, f1, f2, f3 = left[i], left[i + 1], left[i + 2], left[i + 3]
        s0, s1, s2, s3 = zero, zero, zero, zero
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
        row, factor, total = tile[i], left[i], zero
        for j in range(right.shape[0]):
            total += row[j] * right[j]
            below[j] += factor * row[j]
        here[i] += total
    for j in range(below.shape[0]):
        mirrored[j] += below[j]
