"""Compiled loops over columns: interleaving to rows, and codes of whole numbers and words by table lookup."""

from __future__ import annotations

import numpy as np

from mercer._jit import jit
from mercer._jit.instructions import number_at

#: number of rows that are written for all columns in turn, so that they stay in the L2 cache
INTERLEAVED_ROWS = 1024


@jit
def interleave(addresses, steps, out):  # type: ignore[no-untyped-def]
    """Write out[i, j], the number i steps (in bytes) behind the address of column j.

    Eight columns are written together: processors prefetch about this many streams, and they fill a cache line of a
    row.
    """
    n, columns = out.shape
    whole = columns // 8 * 8
    for first in range(0, n, INTERLEAVED_ROWS):
        stop = min(first + INTERLEAVED_ROWS, n)
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


@jit
def span(values):  # type: ignore[no-untyped-def]
    """Return the smallest and the largest value, the number of missing ones, and whether all others are whole or
    infinite.
    """
    low = np.inf
    high = -np.inf
    missing = 0
    whole = True
    for value in values:
        if np.isnan(value):
            missing += 1
        else:
            low = min(low, value)
            high = max(high, value)
            whole = whole and value == np.floor(value)
    return low, high, missing, whole


@jit
def mark(values, low, occurs):  # type: ignore[no-untyped-def]
    """Set occurs[v − low] for every value v."""
    for value in values:
        occurs[np.int64(value) - low] = True


@jit
def look_up(values, low, table, codes):  # type: ignore[no-untyped-def]
    """Write codes[i] = table[v_i − low]."""
    for i in range(values.size):
        codes[i] = table[np.int64(values[i]) - low]


@jit
def code_words(words, first, slots, codes):  # type: ignore[no-untyped-def]
    """Write the codes of fixed-width words (rows of integers) in order of appearance; return their number, or −1 if
    there are too many distinct words.

    `first` receives the row in which each word appears first; `slots` (a power of two, all −1, twice as many as
    `first`) is the open-addressing table. The hash is FNV-1a over whole integers, its high half folded into the low.
    """
    n, width = words.shape
    last = slots.size - 1
    found = 0
    for i in range(n):
        key = np.uint64(14695981039346656037)
        for j in range(width):
            key = (key ^ np.uint64(words[i, j])) * np.uint64(1099511628211)
        slot = np.int64((key ^ (key >> np.uint64(32))) & np.uint64(last))
        while True:
            code = slots[slot]
            if code < 0:
                if found == first.size:
                    return -1
                code = found
                slots[slot] = code
                first[code] = i
                found += 1
                break
            same = True
            for j in range(width):
                same = same and words[i, j] == words[first[code], j]
            if same:
                break
            slot = (slot + 1) & last
        codes[i] = code
    return found
