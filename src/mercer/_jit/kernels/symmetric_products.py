"""Both products of a tile of a symmetric matrix that stands for itself and its mirror image, in one reading."""

from __future__ import annotations

import numpy as np

from mercer._jit import jit


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
