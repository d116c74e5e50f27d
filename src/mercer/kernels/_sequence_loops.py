"""Short runs of whole numbers: equal runs get equal numbers, exactly, and are counted.

A run is a substring, or a node's label with those of its neighbours. Runs are looked up by their hash, but are equal
only if all their numbers are.
"""

from __future__ import annotations

import numpy as np

from mercer._jit import jit


@jit
def number_runs(words, starts, stops):  # type: ignore[no-untyped-def]
    """Number the runs words[start:stop], from 0 in the order of first appearance.

    The second result is the position of the first appearance of each number.
    """
    n = starts.shape[0]
    size = 16
    while size < 2 * n:
        size *= 2
    table = np.full(size, -1, np.int64)
    numbers, firsts, hashes = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.uint64)
    count = 0
    for i in range(n):
        code = compute_hash(words, starts[i], stops[i])
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
                if is_same(words, starts[first], stops[first], starts[i], stops[i]):
                    break
            slot = (slot + 1) & (size - 1)
        numbers[i] = found
    return numbers, firsts[:count].copy()


@jit
def compute_hash(words, start, stop):  # type: ignore[no-untyped-def]
    """Return a 64-bit hash of a run: multiply and fold, as splitmix64 does."""
    code = np.uint64(stop - start)
    for i in range(start, stop):
        code = (code ^ np.uint64(words[i])) * np.uint64(0x9E3779B97F4A7C15)
        code ^= code >> np.uint64(32)
    code *= np.uint64(0xBF58476D1CE4E5B9)
    return code ^ (code >> np.uint64(29))


@jit
def is_same(words, start, stop, other, end):  # type: ignore[no-untyped-def]
    if stop - start != end - other:
        return False
    for i in range(stop - start):  # noqa: SIM110 (compiled)
        if words[start + i] != words[other + i]:
            return False
    return True


@jit
def gather_runs(words, starts, stops):  # type: ignore[no-untyped-def]
    """Return the runs one after another, and the end of each."""
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
def join_neighbours(labels, bounds, neighbours):  # type: ignore[no-untyped-def]
    """Return for each node its label and then, sorted, those of its neighbours: deg + 1 numbers each."""
    n = labels.shape[0]
    words = np.empty(neighbours.shape[0] + n, np.int64)
    for v in range(n):
        start = bounds[v] + v
        words[start] = labels[v]
        for i in range(bounds[v], bounds[v + 1]):
            words[i + v + 1] = labels[neighbours[i]]
        sort_run(words[start + 1 : bounds[v + 1] + v + 1])
    return words


@jit
def sort_run(run):  # type: ignore[no-untyped-def]
    """Sort in place by Shell's method: most runs are short, and NumPy's sort takes three seconds to compile."""
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
def count_numbers(numbers, bounds, known):  # type: ignore[no-untyped-def]
    """Count each number below `known` in numbers[bounds[i]:bounds[i + 1]], as the three arrays of a CSR matrix.

    The last result is the sum of all squared counts of each i, including those of other numbers.
    """
    n = bounds.shape[0] - 1
    numbers = numbers.copy()
    ends, squares = np.zeros(n + 1, np.int64), np.zeros(n)
    columns, counts = np.empty(numbers.shape[0], np.int64), np.empty(numbers.shape[0])
    at = 0
    for i in range(n):
        run = numbers[bounds[i] : bounds[i + 1]]
        sort_run(run)
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
    heads, rows, values = group_by_column(right_starts, right_stops, right_columns, right_counts, width)
    for i in range(starts.shape[0]):
        for k in range(starts[i], stops[i]):
            column, count = columns[k], counts[k]
            for j in range(heads[column], heads[column + 1]):
                tile[i, rows[j]] += count * values[j]


@jit
def group_by_column(starts, stops, columns, counts, width):  # type: ignore[no-untyped-def]
    """Return the rows and values of each column, between its head and the next."""
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
