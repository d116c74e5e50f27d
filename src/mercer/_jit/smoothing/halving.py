"""Points put in order by halving them along their longest side, again and again."""

from __future__ import annotations

import numpy as np

from mercer._jit import jit


@jit
def _swap(keys, order, i, j):  # type: ignore[no-untyped-def]
    keys[i], keys[j] = keys[j], keys[i]
    order[i], order[j] = order[j], order[i]


@jit
def _median_of_three(keys, first, last):  # type: ignore[no-untyped-def]
    a, b, c = keys[first], keys[(first + last) // 2], keys[last]
    return max(min(a, b), min(max(a, b), c))


@jit
def _select(keys, order, first, last, place):  # type: ignore[no-untyped-def]
    """Put the keys from `first` to `last` in such order that none before `place` is greater than one after it."""
    while first < last:
        pivot, i, j = _median_of_three(keys, first, last), first, last
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                _swap(keys, order, i, j)
                i += 1
                j -= 1
        if place <= j:
            last = j
        elif place >= i:
            first = i
        else:
            return


@jit
def _longest_side(points, some):  # type: ignore[no-untyped-def]
    longest, side = -1.0, 0
    for k in range(points.shape[1]):
        low = high = points[some[0], k]
        for i in some:
            low, high = min(low, points[i, k]), max(high, points[i, k])
        if high - low > longest:
            longest, side = high - low, k
    return side


@jit
def halve(points, size):  # type: ignore[no-untyped-def]
    """An order of points in which every `size` of them, from the first on, are close together."""
    order, keys = np.arange(points.shape[0]), np.empty(points.shape[0])
    # where parts begin and end that are still to be halved: never more than once for each time they can be
    parts, left = np.empty((64, 2), np.int64), 1
    parts[0, 0], parts[0, 1] = 0, points.shape[0]
    while left > 0:
        left -= 1
        start, stop = parts[left, 0], parts[left, 1]
        if stop - start <= size:
            continue
        side = _longest_side(points, order[start:stop])
        for i in range(start, stop):
            keys[i] = points[order[i], side]
        # a multiple of the size, so that only the last part is smaller
        half = start + (-(-(stop - start) // size)) // 2 * size
        _select(keys, order, start, stop - 1, half)
        parts[left, 0], parts[left, 1] = start, half
        parts[left + 1, 0], parts[left + 1, 1] = half, stop
        left += 2
    return order
