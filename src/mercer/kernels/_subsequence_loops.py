"""Common subsequences of one length of two sequences, with smaller weights for longer gaps.

The recursion of Lodhi et al. (2002) takes p·|s|·|t| steps, for several pairs at once: each lane of a vector is a pair.
Sequences are laid side by side and padded with symbols that match none.
"""

from __future__ import annotations

import numpy as np

from mercer._jit import jit

#: pairs at once: several vectors, since one computes while another waits for its last step
PAIR_LANES = 32
#: padding of the left side
NONE_LEFT = -1
#: padding of the right side, which differs from that of the left
NONE_RIGHT = -2


@jit
def compute_tile(codes, bounds, right_codes, right_bounds, length, decay, first_row):  # type: ignore[no-untyped-def]
    """Compute k(s, t) for every s on the left and t on the right.

    The rows on the left are numbered from `first_row`, and pairs with a t of a higher number may be skipped; −1 allows
    no skipping.
    """
    n, m = bounds.shape[0] - 1, right_bounds.shape[0] - 1
    result = np.zeros((n, m))
    left = np.empty((find_longest(bounds), PAIR_LANES), np.int32)
    right = np.empty((find_longest(right_bounds), PAIR_LANES), np.int32)
    table, run, total = allocate_tables(length, right.shape[0])
    for first in range(0, m, PAIR_LANES):
        last = min(first + PAIR_LANES, m)
        height = pack(right_codes, right_bounds, first, last, right)
        for i in range(0 if first_row < 0 else max(first - first_row, 0), n):
            size = bounds[i + 1] - bounds[i]
            for k in range(size):
                for q in range(PAIR_LANES):
                    left[k, q] = codes[bounds[i] + k]
            sum_common(left, size, right, height, length, decay, table, run, total)
            for q in range(last - first):
                result[i, first + q] = total[q]
    return result


@jit
def compute_diagonal(codes, bounds, length, decay):  # type: ignore[no-untyped-def]
    """Compute k(s, s) for every s."""
    n = bounds.shape[0] - 1
    result = np.zeros(n)
    left = np.empty((find_longest(bounds), PAIR_LANES), np.int32)
    right = np.empty((find_longest(bounds), PAIR_LANES), np.int32)
    table, run, total = allocate_tables(length, right.shape[0])
    for first in range(0, n, PAIR_LANES):
        last = min(first + PAIR_LANES, n)
        height = pack(codes, bounds, first, last, right)
        for k in range(height):
            for q in range(PAIR_LANES):
                left[k, q] = NONE_LEFT if right[k, q] == NONE_RIGHT else right[k, q]
        sum_common(left, height, right, height, length, decay, table, run, total)
        for q in range(last - first):
            result[first + q] = total[q]
    return result


@jit
def find_longest(bounds):  # type: ignore[no-untyped-def]
    """Return the length of the longest sequence."""
    most = 0
    for i in range(bounds.shape[0] - 1):
        most = max(most, bounds[i + 1] - bounds[i])
    return most


@jit
def allocate_tables(length, height):  # type: ignore[no-untyped-def]
    """Allocate the arrays of the recursion."""
    return np.empty((length, height + 1, PAIR_LANES)), np.empty(PAIR_LANES), np.empty(PAIR_LANES)


@jit
def pack(codes, bounds, first, last, right):  # type: ignore[no-untyped-def]
    """Put the sequences first…last side by side; return the length of the longest."""
    height = 0
    for i in range(first, last):
        height = max(height, bounds[i + 1] - bounds[i])
    for k in range(height):
        for q in range(PAIR_LANES):
            right[k, q] = NONE_RIGHT
    for i in range(first, last):
        for k in range(bounds[i + 1] - bounds[i]):
            right[k, i - first] = codes[bounds[i] + k]
    return height


@jit
def sum_common(left, n, right, m, length, decay, table, run, total):  # type: ignore[no-untyped-def]
    """Compute the kernel of each lane into `total`.

    table[l, j] is the weight of the common subsequences of l symbols of the processed part of s and of t[:j], with gaps
    up to the ends of both; since every symbol of both weighs `decay`, that factor is applied at the end.
    """
    for level in range(length):
        for j in range(m + 1):
            for q in range(PAIR_LANES):
                table[level, j, q] = 1.0 if level == 0 else 0.0
    for q in range(PAIR_LANES):
        total[q] = 0.0
    for i in range(n):
        symbols = left[i]
        last = table[length - 1]
        for j in range(m):
            for q in range(PAIR_LANES):
                weight = last[j, q]  # read unconditionally: a conditional read is not vectorised
                total[q] += weight if right[j, q] == symbols[q] else 0.0
        for level in range(length - 1, 0, -1):
            extend(table[level - 1], table[level], symbols, right, m, decay, run)
    scale = decay ** (2.0 * length)
    for q in range(PAIR_LANES):
        total[q] *= scale


@jit
def extend(shorter, longer, symbols, right, m, decay, run):  # type: ignore[no-untyped-def]
    """Add one more symbol of s: subsequences that end with it are added, and all others get a longer gap."""
    for q in range(PAIR_LANES):
        run[q] = 0.0
    for j in range(m):
        for q in range(PAIR_LANES):
            weight = shorter[j, q]
            ending = decay * run[q] + (weight if right[j, q] == symbols[q] else 0.0)
            run[q] = ending
            longer[j + 1, q] = decay * longer[j + 1, q] + ending
