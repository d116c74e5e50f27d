"""Rows of a sparse matrix with their columns in ascending order.

A few columns are sorted by insertion. Of more, each is marked by a bit, and the marks are read off in order: with two
levels of bits above that say where there are any, that takes a few steps for each, however many columns there are.
"""

from __future__ import annotations

import numpy as np

from mercer._jit import jit
from mercer._jit.instructions import lowest_bit

#: entries that are sorted by insertion
FEW = 12
ONE, NO_BITS, SIX = np.uint64(1), np.uint64(0), np.uint64(6)
PLACE = np.uint64(63)


@jit
def no_marks(n_columns):  # type: ignore[no-untyped-def]
    """A bit for each column, one for each 64 of them, and one for each 64 of those."""
    low = np.zeros(n_columns // 64 + 1, dtype=np.uint64)
    middle = np.zeros(low.size // 64 + 1, dtype=np.uint64)
    return low, middle, np.zeros(middle.size // 64 + 1, dtype=np.uint64)


@jit(forceinline=True)
def mark(column, low, middle, top):  # type: ignore[no-untyped-def]
    """Mark a column; whether it was marked before."""
    at = np.uint64(column)
    bit, word = ONE << (at & PLACE), at >> SIX
    before = low[word]
    low[word] = before | bit
    middle[word >> SIX] |= ONE << (word & PLACE)
    top[word >> SIX >> SIX] |= ONE << ((word >> SIX) & PLACE)
    return before & bit != NO_BITS


@jit(forceinline=True)
def take_marks(low, middle, top, indices, place):  # type: ignore[no-untyped-def]
    """Write marked columns in ascending order from a place on, and forget them; where the next row begins."""
    for highest in range(top.size):
        groups = top[highest]
        top[highest] = NO_BITS
        while groups != NO_BITS:
            group = 64 * highest + lowest_bit(groups)
            groups &= groups - ONE
            words = middle[group]
            middle[group] = NO_BITS
            while words != NO_BITS:
                word = 64 * group + lowest_bit(words)
                words &= words - ONE
                bits = low[word]
                low[word] = NO_BITS
                while bits != NO_BITS:
                    indices[place] = 64 * word + lowest_bit(bits)
                    bits &= bits - ONE
                    place += 1
    return place


@jit(forceinline=True)
def insert(entries, count, entry):  # type: ignore[no-untyped-def]
    """Put an entry among the first `count`, which are in ascending order."""
    k = count
    while k > 0 and entries[k - 1] > entry:
        entries[k] = entries[k - 1]
        k -= 1
    entries[k] = entry


@jit
def kept_entries(rows, codes, of_words, of_runs, kept):  # type: ignore[no-untyped-def]
    """kept[i]: how many terms of document i have a column; `of_words` and `of_runs` say which, or −1."""
    for i in range(rows.size - 1):
        count = 0
        for k in range(rows[i], rows[i + 1]):
            code = codes[k]
            count += (of_words[code] if code >= 0 else of_runs[-1 - code]) >= 0
        kept[i] = count


@jit
def write_rows(rows, codes, counts, of_words, of_runs, n_columns, out_rows, indices, values):  # type: ignore[no-untyped-def]
    """Columns and counts of the terms of documents; row i goes to out_rows[i]."""
    entries = np.empty(FEW, dtype=np.int64)
    low, middle, top = no_marks(n_columns)
    value_of = np.empty(n_columns, dtype=np.int32)
    for i in range(rows.size - 1):
        place = out_rows[i]
        if rows[i + 1] - rows[i] <= FEW:
            many = 0
            for k in range(rows[i], rows[i + 1]):
                code = codes[k]
                column = np.int64(of_words[code] if code >= 0 else of_runs[-1 - code])
                if column >= 0:
                    insert(entries, many, column << 32 | np.int64(counts[k]))
                    many += 1
            for k in range(many):
                indices[place + k], values[place + k] = entries[k] >> 32, entries[k] & 0xFFFFFFFF
            continue
        for k in range(rows[i], rows[i + 1]):
            code = codes[k]
            column = np.int64(of_words[code] if code >= 0 else of_runs[-1 - code])
            if column >= 0:
                mark(column, low, middle, top)
                value_of[column] = counts[k]
        for k in range(place, take_marks(low, middle, top, indices, place)):
            values[k] = value_of[indices[k]]
