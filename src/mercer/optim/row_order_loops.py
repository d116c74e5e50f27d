"""Rows that are taken one by one in random order: their order, and where the entries of each lie.

Rows are those of a CSR matrix, or of numbers laid flat, which are known by an empty `indptr`.
"""

from __future__ import annotations

import numpy as np

from mercer._jit import IN_ORDER, jit
from mercer._jit.instructions import fetch

#: how many rows ahead of their turn rows are asked for, and how many numbers come at once
AHEAD, A_LINE = 4, 8


@jit(fastmath=False)
def shuffle(order, seed):  # type: ignore[no-untyped-def]
    """Fisher and Yates' shuffle with Marsaglia's 32-bit xorshift generator."""
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
def span(indptr, i, d):  # type: ignore[no-untyped-def]
    """Where the entries of a row begin and end; rows of numbers have d."""
    if indptr.shape[0] == 0:
        return np.int64(i) * d, np.int64(i + 1) * d
    return np.int64(indptr[i]), np.int64(indptr[i + 1])


@jit(forceinline=True, **IN_ORDER)
def fetch_later(indptr, indices, values, order, n, t, d):  # type: ignore[no-untyped-def]
    """Ask for the entries of the row whose turn is a few turns after t, of n."""
    if t + AHEAD >= n:
        return
    begin, end = span(indptr, order[t + AHEAD], d)
    for entry in range(begin, end, A_LINE):
        fetch(values, entry)
        if indptr.shape[0] > 0:
            fetch(indices, entry)
