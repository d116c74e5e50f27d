"""Rows that are equal in every column, found by hashing."""

from __future__ import annotations

import numpy as np

from mercer._jit import jit

#: multiplier of a hash that mixes one more column in (the golden ratio, as a fraction of 2^64)
MIX = np.uint64(0x9E3779B97F4A7C15)


@jit
def _hash(cells, i, bits, j):  # type: ignore[no-untyped-def]
    mixed = np.uint64(0)
    for g in range(cells.shape[0]):
        mixed = (mixed ^ np.uint64(cells[g, i])) * MIX
        mixed ^= mixed >> np.uint64(29)
    for k in range(bits.shape[0]):
        mixed = (mixed ^ bits[k, j]) * MIX
        mixed ^= mixed >> np.uint64(29)
    return mixed


@jit
def _equal(cells, i, a, bits, j, b):  # type: ignore[no-untyped-def]
    for g in range(cells.shape[0]):
        if cells[g, i] != cells[g, a]:
            return False
    for k in range(bits.shape[0]):  # noqa: SIM110  (a loop is what compiles)
        if bits[k, j] != bits[k, b]:
            return False
    return True


@jit
def distinct(cells, start, bits, first, group):  # type: ignore[no-untyped-def]
    """Number the distinct rows: `first` row of each, and `group` of every row. How many, or −1 if `first` is too short.

    A row is column start + i of `cells` (columns, all rows) and column i of `bits` (columns, rows): codes and floats.
    """
    size = 1
    while size < 2 * first.shape[0]:
        size *= 2
    table, mask = np.full(size, -1, dtype=np.int64), np.uint64(size - 1)
    found = 0
    for i in range(group.shape[0]):
        place = _hash(cells, start + i, bits, i) >> np.uint64(20) & mask
        while table[place] >= 0 and not _equal(
            cells, start + i, start + first[table[place]], bits, i, first[table[place]]
        ):
            place = (place + np.uint64(1)) & mask
        if table[place] < 0:
            if found == first.shape[0]:
                return -1
            table[place], first[found] = found, i
            found += 1
        group[i] = table[place]
    return found
