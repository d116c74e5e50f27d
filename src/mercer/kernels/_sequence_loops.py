"""Short runs of whole numbers: equal ones get equal numbers, exactly, and are counted.

A run is a substring, or a node's label with those of its neighbours. Runs are found again by their hash, but are the
same only if all their numbers are.
"""

from __future__ import annotations

import numpy as np

from mercer._jit import jit


@jit
def number(words, starts, stops):  # type: ignore[no-untyped-def]
    """A number for each run words[start:stop], counted from 0 in the order of first appearance.

    The second result is where each number appeared first.
    """
    n = starts.shape[0]
    size = 16
    while size < 2 * n:
        size *= 2
    table = np.full(size, -1, np.int64)
    numbers, firsts, hashes = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.uint64)
    count = 0
    for i in range(n):
        code = hash_of(words, starts[i], stops[i])
        slot = np.int64(code & np.uint64(size - 1))
        while True:
            found = table[slot]
            if found < 0:
                table[slot] = found = count
                firsts[count], hashes[count] = i, code
                count += 1
                break
            if hashes[found] == code:
                first = firsts[found]
                if same(words, starts[first], stops[first], starts[i], stops[i]):
                    break
            slot = (slot + 1) & (size - 1)
        numbers[i] = found
    return numbers, firsts[:count].copy()


@jit
def hash_of(words, start, stop):  # type: ignore[no-untyped-def]
    """64 bits of a run: multiply and fold, as splitmix64 does."""
    code = np.uint64(stop - start)
    for i in range(start, stop):
        code = (code ^ np.uint64(words[i])) * np.uint64(0x9E3779B97F4A7C15)
        code ^= code >> np.uint64(32)
    code *= np.uint64(0xBF58476D1CE4E5B9)
    return code ^ (code >> np.uint64(29))


@jit
def same(words, start, stop, other, end):  # type: ignore[no-untyped-def]
    if stop - start != end - other:
        return False
    for i in range(stop - start):  # noqa: SIM110 (compiled)
        if words[start + i] != words[other + i]:
            return False
    return True


@jit
def gather(words, starts, stops):  # type: ignore[no-untyped-def]
    """The runs one after another, and where each ends."""
    ends = np.empty(starts.shape[0], np.int64)
    total = 0
    for i in range(starts.shape[0]):
        total += stops[i] - starts[i]
        ends[i] = total
    result = np.empty(total, np.int64)
    at = 0
    for i in range(starts.shape[0]):
        for j in range(starts[i], stops[i]):
            result[at] = words[j]
            at += 1
    return result, ends


@jit
def neighbourhoods(labels, bounds, neighbours):  # type: ignore[no-untyped-def]
    """For each node its label and then, sorted, those of neighbours[bounds[v]:bounds[v + 1]]: deg + 1 numbers each."""
    n = labels.shape[0]
    words = np.empty(neighbours.shape[0] + n, np.int64)
    for v in range(n):
        start = bounds[v] + v
        words[start] = labels[v]
        for i in range(bounds[v], bounds[v + 1]):
            words[i + v + 1] = labels[neighbours[i]]
        sort(words[start + 1 : bounds[v + 1] + v + 1])
    return words


@jit
def sort(run):  # type: ignore[no-untyped-def]
    """In place, by Shell's method: most runs are short, and NumPy's takes three seconds to compile."""
    n, gap = run.shape[0], 1
    while 3 * gap < n:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            value, j = run[i], i
            while j >= gap and run[j - gap] > value:
                run[j] = run[j - gap]
                j -= gap
            run[j] = value
        gap //= 3


@jit
def tally(numbers, bounds, known):  # type: ignore[no-untyped-def]
    """How often each number below `known` is in numbers[bounds[i]:bounds[i + 1]], as the three arrays of a CSR matrix.

    The last result is the sum of all squared counts of each i, those of other numbers too.
    """
    n = bounds.shape[0] - 1
    numbers = numbers.copy()
    ends, squares = np.zeros(n + 1, np.int64), np.zeros(n)
    columns, counts = np.empty(numbers.shape[0], np.int64), np.empty(numbers.shape[0])
    at = 0
    for i in range(n):
        run = numbers[bounds[i] : bounds[i + 1]]
        sort(run)
        start = 0
        for j in range(1, run.shape[0] + 1):
            if j == run.shape[0] or run[j] != run[start]:
                count = float(j - start)
                squares[i] += count * count
                if run[start] < known:
                    columns[at], counts[at] = run[start], count
                    at += 1
                start = j
        ends[i + 1] = at
    return ends, columns[:at].copy(), counts[:at].copy(), squares


@jit
def add_products(tile, starts, stops, columns, counts, right_starts, right_stops, right_columns, right_counts, width):  # type: ignore[no-untyped-def]
    """Add x·z to each entry of a tile, where x has counts[k] in columns[k] for k from its start to its stop."""
    heads, rows, values = by_column(right_starts, right_stops, right_columns, right_counts, width)
    for i in range(starts.shape[0]):
        for k in range(starts[i], stops[i]):
            column, count = columns[k], counts[k]
            for j in range(heads[column], heads[column + 1]):
                tile[i, rows[j]] += count * values[j]


@jit
def by_column(starts, stops, columns, counts, width):  # type: ignore[no-untyped-def]
    """The rows and numbers of each column, between its head and the next."""
    heads = np.zeros(width + 1, np.int32)
    for i in range(starts.shape[0]):
        for k in range(starts[i], stops[i]):
            heads[columns[k]] += 1
    total = 0
    for column in range(width + 1):
        total += heads[column]
        heads[column] = total
    rows, values = np.empty(total, np.int32), np.empty(total)
    for i in range(starts.shape[0] - 1, -1, -1):
        for k in range(starts[i], stops[i]):
            heads[columns[k]] -= 1
            rows[heads[columns[k]]], values[heads[columns[k]]] = i, counts[k]
    return heads, rows, values
