"""Integers that Python's dicts and sets take quadratic time for, although their hashes differ."""

from __future__ import annotations

import numpy as np


def slow_keys(bits: int, n: int) -> list[int]:
    """Return 2n different integers for a table of 2^bits slots.

    The first n lie on the cycle j → 5j + 1 in which Python visits slots. Each of the others has a hash whose visits
    reach this cycle in its first quarter, so that it is compared with most of the first.
    """
    size = 1 << bits
    cycle, place = np.empty(n, dtype=np.int64), np.full(size, n)
    j = 0
    for i in range(n):
        cycle[i], place[j] = j, i
        j = (5 * j + 1) % size
    found: list[int] = []
    t = 0
    while len(found) < n:
        t += 1
        hashes = t * size + cycle
        slots, rest = hashes % size, hashes.copy()
        reach = np.ones(n, dtype=bool)
        while rest.any():
            reach &= (place[slots] < n) | (rest == 0)
            rest >>= 5
            slots = np.where(rest > 0, (slots * 5 + rest + 1) % size, (slots * 5 + 1) % size)
        found += hashes[reach & (place[slots] < n // 4)].tolist()
    return [*cycle.tolist(), *found[:n]]
