"""Zᵀ(h ∘ (Z c)) of rows in memory: each is read once, and multiplied from both sides while it is in registers."""

from __future__ import annotations

import numpy as np

from mercer._jit import jit, wide_vectors


@jit
def add_curvature_product(rows, c, level, h, bent, total):  # type: ignore[no-untyped-def]
    """Compute bent = h (rows c + level) and total += rowsᵀ bent, four rows at once.

    Four rows are added to the total while the next four are read, so that memory does not wait for arithmetic.
    """
    wide_vectors()
    fours = rows.shape[0] // 4 * 4
    f0 = f1 = f2 = f3 = np.float32(0)
    p0 = p1 = p2 = p3 = rows[0]
    for i in range(0, fours, 4):
        r0, r1, r2, r3 = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        s0 = s1 = s2 = s3 = np.float32(0)
        for j in range(c.shape[0]):
            s0 += r0[j] * c[j]
            s1 += r1[j] * c[j]
            s2 += r2[j] * c[j]
            s3 += r3[j] * c[j]
            total[j] += f0 * p0[j] + f1 * p1[j] + f2 * p2[j] + f3 * p3[j]
        bent[i], bent[i + 1] = h[i] * (s0 + level), h[i + 1] * (s1 + level)
        bent[i + 2], bent[i + 3] = h[i + 2] * (s2 + level), h[i + 3] * (s3 + level)
        f0, f1, f2, f3 = np.float32(bent[i]), np.float32(bent[i + 1]), np.float32(bent[i + 2]), np.float32(bent[i + 3])
        p0, p1, p2, p3 = r0, r1, r2, r3
    for j in range(c.shape[0]):
        total[j] += f0 * p0[j] + f1 * p1[j] + f2 * p2[j] + f3 * p3[j]
    for i in range(fours, rows.shape[0]):
        row, s = rows[i], np.float32(0)
        for j in range(c.shape[0]):
            s += row[j] * c[j]
        bent[i] = h[i] * (s + level)
        f = np.float32(bent[i])
        for j in range(c.shape[0]):
            total[j] += f * row[j]
