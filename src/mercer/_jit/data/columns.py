"""Columns that lie apart in memory, side by side as the rows of a matrix."""

from __future__ import annotations

from mercer._jit import jit
from mercer._jit.instructions import number_at

#: rows that are written for all columns in turn: they stay in the L2 cache meanwhile
ROWS = 1024


@jit
def interleave(addresses, steps, out):  # type: ignore[no-untyped-def]
    """out[i, j] = the number that lies i steps of bytes behind the address of column j.

    Eight columns go together: these are as many streams as a processor reads ahead, and fill a cache line of a row.
    """
    n, columns = out.shape
    whole = columns // 8 * 8
    for first in range(0, n, ROWS):
        stop = min(first + ROWS, n)
        for j in range(0, whole, 8):
            a, b, c, d = addresses[j], addresses[j + 1], addresses[j + 2], addresses[j + 3]
            e, f, g, h = addresses[j + 4], addresses[j + 5], addresses[j + 6], addresses[j + 7]
            p, q, r, s = steps[j], steps[j + 1], steps[j + 2], steps[j + 3]
            t, u, v, w = steps[j + 4], steps[j + 5], steps[j + 6], steps[j + 7]
            for i in range(first, stop):
                out[i, j] = number_at(a + i * p, out)
                out[i, j + 1] = number_at(b + i * q, out)
                out[i, j + 2] = number_at(c + i * r, out)
                out[i, j + 3] = number_at(d + i * s, out)
                out[i, j + 4] = number_at(e + i * t, out)
                out[i, j + 5] = number_at(f + i * u, out)
                out[i, j + 6] = number_at(g + i * v, out)
                out[i, j + 7] = number_at(h + i * w, out)
        for j in range(whole, columns):
            for i in range(first, stop):
                out[i, j] = number_at(addresses[j] + i * steps[j], out)
