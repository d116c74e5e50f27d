"""Compiled updates of an upper triangle U with UᵀU = G when rows and columns of G are removed.

A loop over part of a row is a function of that part: a loop that starts in the middle of a row does not vectorise,
since an index might count from the end (nine times slower).
"""

from __future__ import annotations

import numpy as np

from mercer._jit import jit
from mercer.matrices.column_loops import dot


@jit
def subtract_multiple(factor, row, out):  # type: ignore[no-untyped-def]
    for i in range(row.shape[0]):
        out[i] -= factor * row[i]


@jit
def rotate(cosine, sine, row, other):  # type: ignore[no-untyped-def]
    for i in range(row.shape[0]):
        mine, theirs = row[i], other[i]
        row[i] = cosine * mine + sine * theirs
        other[i] = cosine * theirs - sine * mine


@jit
def solve(U, size, b):  # type: ignore[no-untyped-def]
    """Replace b by G⁻¹ b."""
    for k in range(size):
        b[k] /= U[k, k]
        subtract_multiple(b[k], U[k, k + 1 : size], b[k + 1 : size])
    for k in range(size - 1, -1, -1):
        b[k] = (b[k] - dot(U[k, k + 1 : size], b[k + 1 : size])) / U[k, k]


@jit
def remove_columns(U, size, keep):  # type: ignore[no-untyped-def]
    """Remove the rows and columns of G that are not kept.

    Each removed row of U is rotated into the rows below it (Givens): squares only add up, so that this cannot fail.
    """
    leaving = np.flatnonzero(~keep)
    gone = np.zeros((leaving.shape[0], size))
    lost = 0
    for i in range(leaving[0], size):
        if not keep[i]:
            gone[lost, i + 1 :] = U[i, i + 1 : size]
            lost += 1
            continue
        for k in range(lost):
            other = gone[k, i]
            if other != 0.0:
                length = np.hypot(U[i, i], other)
                cosine, sine = U[i, i] / length, other / length
                U[i, i] = length
                rotate(cosine, sine, U[i, i + 1 : size], gone[k, i + 1 :])
    row = 0
    for i in range(size):
        if keep[i]:
            copy_without(U[i], leaving, U[row], size)
            row += 1


@jit
def copy_without(row, leaving, out, size):  # type: ignore[no-untyped-def]
    """Copy a row to one above it, or to itself, without the columns `leaving`."""
    for k in range(leaving.shape[0]):
        stop = leaving[k + 1] if k + 1 < leaving.shape[0] else size
        copy_values(row[leaving[k] + 1 : stop], out[leaving[k] - k : stop - k - 1])
    copy_values(row[: leaving[0]], out[: leaving[0]])


@jit
def copy_values(part, out):  # type: ignore[no-untyped-def]
    for i in range(part.shape[0]):
        out[i] = part[i]
