"""Compiled helpers for visiting rows one by one in random order: the shuffle, the span of a row, and prefetching.

Rows are those of a CSR matrix, or of a flattened dense matrix, for which `indptr` is empty.
"""

from __future__ import annotations

import numpy as np

from mercer._jit import IN_ORDER, jit
from mercer._jit.instructions import fetch

#: rows are prefetched this many turns before they are visited
ROWS_AHEAD = 4
#: numbers of eight bytes in a cache line
NUMBERS_PER_LINE = 8


@jit(fastmath=False)
def shuffle(order, seed):  # type: ignore[no-untyped-def]
    """Shuffle `order` in place (Fisher and Yates) with Marsaglia's 32-bit xorshift generator."""
    n = order.shape[0]
    state = np.uint32(seed)
    for i in range(n - 1):
        if state == 0:
            state = np.uint32(1)
        state ^= np.uint32(state << np.uint32(13))
        state ^= np.uint32(state >> np.uint32(17))
        state ^= np.uint32(state << np.uint32(5))
        j = i + np.int64(state % np.uint32(0x80000000)) % (n - i)
        order[i], order[j] = order[j], order[i]


@jit(forceinline=True, **IN_ORDER)
def row_span(indptr, i, d):  # type: ignore[no-untyped-def]
    """Return the first and last position of the entries of row i; dense rows have d."""
    if indptr.shape[0] == 0:
        return np.int64(i) * d, np.int64(i + 1) * d
    return np.int64(indptr[i]), np.int64(indptr[i + 1])


@jit(forceinline=True, **IN_ORDER)
def prefetch_row(indptr, indices, values, order, n, t, d):  # type: ignore[no-untyped-def]
    """Prefetch the entries of the row that is visited `ROWS_AHEAD` turns after t, of n."""
    if t + ROWS_AHEAD >= n:
        return
    begin, end = row_span(indptr, order[t + ROWS_AHEAD], d)
    for entry in range(begin, end, NUMBERS_PER_LINE):
        fetch(values, entry)
        if indptr.shape[0] > 0:
            fetch(indices, entry)
