"""Products with H D₁ H D₂ H D₃ in O(d log d) a row: H is Hadamard's matrix of signs, each D a diagonal of signs.

A group of rows is transformed side by side, so that every step adds and subtracts whole vectors.
"""

from __future__ import annotations

import numpy as np

from mercer._jit import jit, wide_vectors

#: rows side by side: two vectors of float64, one of float32
GROUP = 16
#: the least length
LEAST = 8


@jit
def eights(flat, signs):  # type: ignore[no-untyped-def]
    """D, and the first three steps, whose distances are constants: known not to overlap, they vectorise."""
    wide_vectors()
    for start in range(0, len(flat), LEAST * GROUP):
        part, at = flat[start : start + LEAST * GROUP], start // GROUP
        p, q, r, s = signs[at], signs[at + 1], signs[at + 2], signs[at + 3]
        t, u, v, w = signs[at + 4], signs[at + 5], signs[at + 6], signs[at + 7]
        for j in range(GROUP):
            a, b, c, d = p * part[j], q * part[j + GROUP], r * part[j + 2 * GROUP], s * part[j + 3 * GROUP]
            e, f = t * part[j + 4 * GROUP], u * part[j + 5 * GROUP]
            g, h = v * part[j + 6 * GROUP], w * part[j + 7 * GROUP]
            a, b, c, d, e, f, g, h = a + b, a - b, c + d, c - d, e + f, e - f, g + h, g - h
            a, b, c, d, e, f, g, h = a + c, b + d, a - c, b - d, e + g, f + h, e - g, f - h
            part[j], part[j + GROUP], part[j + 2 * GROUP], part[j + 3 * GROUP] = a + e, b + f, c + g, d + h
            part[j + 4 * GROUP], part[j + 5 * GROUP] = a - e, b - f
            part[j + 6 * GROUP], part[j + 7 * GROUP] = c - g, d - h


@jit
def four(a, b, c, d):  # type: ignore[no-untyped-def]
    """Two steps at once."""
    wide_vectors()
    for j in range(len(a)):
        e, f, g, h = a[j] + b[j], a[j] - b[j], c[j] + d[j], c[j] - d[j]
        a[j], b[j], c[j], d[j] = e + g, f + h, e - g, f - h


@jit
def two(a, b):  # type: ignore[no-untyped-def]
    wide_vectors()
    for j in range(len(a)):
        a[j], b[j] = a[j] + b[j], a[j] - b[j]


@jit
def transform(flat, signs):  # type: ignore[no-untyped-def]
    """H D of GROUP vectors side by side, in place; their length is a power of two, `LEAST` or more."""
    eights(flat, signs)
    step, end = LEAST * GROUP, len(flat)
    while 4 * step <= end:
        for i in range(0, end, 4 * step):
            j, k, m = i + step, i + 2 * step, i + 3 * step
            four(flat[i:j], flat[j:k], flat[k:m], flat[m : m + step])
        step *= 4
    if step < end:
        two(flat[:step], flat[step:])


@jit
def put_rows(flat, scales, out):  # type: ignore[no-untyped-def]
    """Rows from vectors side by side, some at a time so that what is read stays near."""
    rows, count = out.shape
    for first in range(0, count, GROUP):
        for i in range(rows):
            for k in range(first, min(first + GROUP, count)):
                out[i, k] = flat[k * GROUP + i] * scales[k]


@jit
def products(X, signs, scales, out):  # type: ignore[no-untyped-def]
    """out = X W for W = [H D₁ H D₂ H D₃ …]ᵀ · scales, one block of signs (3, length) after the other."""
    rows, columns = X.shape
    count, length = out.shape[1], signs.shape[2]
    given, flat = np.zeros(length * GROUP, X.dtype), np.empty(length * GROUP, X.dtype)
    for first in range(0, rows, GROUP):
        last = min(first + GROUP, rows)
        for i in range(last - first):
            for k in range(columns):
                given[k * GROUP + i] = X[first + i, k]
        for block in range(signs.shape[0]):
            flat[:] = given
            for k in range(2, -1, -1):
                transform(flat, signs[block, k])
            start = block * length
            end = min(start + length, count)
            put_rows(flat, scales[start:end], out[first:last, start:end])
