"""Products with one-hot columns that are never formed.

Columns come in groups, and a row has one *cell* in each group: its combination of levels. `cells` has the shape
(groups, rows), counts from 0 in each group, and is unsigned, so that loops do not test for negative indices;
`begins` holds the first cell of each group among those of all groups. A cell has one coefficient per column of its
group (none for a dropped level): `members[first[c] : first[c + 1]]` are the coefficients of cell c.

Few groups of many cells cost less than many columns of few levels: a group takes one addition, which seldom has to wait
for a previous addition to the same address.
"""

from __future__ import annotations

import numpy as np

from mercer._jit import jit


@jit
def count(codes, counts):  # type: ignore[no-untyped-def]
    """Add the number of occurrences of each code to `counts`; the last count is that of missing codes, −1."""
    for i in range(codes.shape[0]):
        counts[codes[i]] += 1


@jit
def join(cells, codes, lowest, levels):  # type: ignore[no-untyped-def]
    """Append a column to a group, as the last digit of its cells; return the largest digit, code − `lowest`."""
    base = np.uint32(levels - lowest)
    largest = np.uint32(0)
    for i in range(codes.shape[0]):
        digit = np.uint32(codes[i] - lowest)
        largest = max(largest, digit)
        cells[i] = cells[i] * base + digit
    return largest


@jit
def sum_coefficients(first, members, w):  # type: ignore[no-untyped-def]
    """Sum of the coefficients of each cell, for several columns of coefficients."""
    table = np.zeros((first.shape[0] - 1, w.shape[1]))
    for c in range(table.shape[0]):
        for m in range(first[c], first[c + 1]):
            for k in range(w.shape[1]):
                table[c, k] += w[members[m], k]
    return table


@jit
def sum_cells(first, members, table, p):  # type: ignore[no-untyped-def]
    """Sum over the cells of each coefficient, the transpose of `sum_coefficients`."""
    total = np.zeros((p, table.shape[1]))
    for c in range(table.shape[0]):
        for m in range(first[c], first[c + 1]):
            for k in range(table.shape[1]):
                total[members[m], k] += table[c, k]
    return total


@jit
def times(cells, begins, start, stop, table):  # type: ignore[no-untyped-def]
    """Σ table[cell] over the groups, for the rows start…stop."""
    product = np.zeros(stop - start)
    for g in range(cells.shape[0]):
        row_cells, cell_values = cells[g, start:stop], table[begins[g] : begins[g + 1]]
        for i in range(stop - start):
            product[i] += cell_values[row_cells[i]]
    return product


@jit
def times_matrix(cells, begins, start, stop, table):  # type: ignore[no-untyped-def]
    """`times` for a table of several columns."""
    product = np.zeros((stop - start, table.shape[1]))
    for g in range(cells.shape[0]):
        row_cells, cell_values = cells[g, start:stop], table[begins[g] : begins[g + 1]]
        for i in range(stop - start):
            for k in range(table.shape[1]):
                product[i, k] += cell_values[row_cells[i], k]
    return product


@jit
def rmatvec(cells, begins, start, stop, r):  # type: ignore[no-untyped-def]
    """Sum of r over the rows of each cell."""
    total = np.zeros(begins[-1])
    for g in range(cells.shape[0]):
        row_cells, cell_sums = cells[g, start:stop], total[begins[g] : begins[g + 1]]
        for i in range(stop - start):
            cell_sums[row_cells[i]] += r[i]
    return total


@jit
def transposed_times_matrix(cells, begins, start, stop, R):  # type: ignore[no-untyped-def]
    """`rmatvec` for several columns."""
    total = np.zeros((begins[-1], R.shape[1]))
    for g in range(cells.shape[0]):
        row_cells, cell_sums = cells[g, start:stop], total[begins[g] : begins[g + 1]]
        for i in range(stop - start):
            for k in range(R.shape[1]):
                cell_sums[row_cells[i], k] += R[i, k]
    return total


@jit
def add_pairs(first, members, above, left, pairs, total):  # type: ignore[no-untyped-def]
    """Add the sums of pairs of cells, from the cells `above` and `left` on, to the pairs of their coefficients."""
    p = total.shape[0]
    row = np.empty(p)
    for u in range(pairs.shape[0]):
        row[:] = 0.0
        for v in range(pairs.shape[1]):
            for b in range(first[left + v], first[left + v + 1]):
                row[members[b]] += pairs[u, v]
        for a in range(first[above + u], first[above + u + 1]):
            total_row = total[members[a]]
            for j in range(p):
                total_row[j] += row[j]


@jit
def add_cells(first, members, sums, total):  # type: ignore[no-untyped-def]
    """Symmetrize `total` by adding its triangles, and add the sums of cells to all pairs of their coefficients."""
    p = total.shape[0]
    for i in range(p):
        for j in range(i):
            total[i, j] += total[j, i]
            total[j, i] = total[i, j]
    for c in range(sums.shape[0]):
        for a in range(first[c], first[c + 1]):
            for b in range(first[c], first[c + 1]):
                total[members[a], members[b]] += sums[c]


@jit
def gram(cells, begins, start, stop, h, first, members, p):  # type: ignore[no-untyped-def]
    """Xᵀ diag(h) X, by a two-dimensional histogram for each pair of groups."""
    total, sums = np.zeros((p, p)), np.zeros(begins[-1])
    groups = cells.shape[0]
    if groups == 1:
        sums[:] = rmatvec(cells, begins, start, stop, h)
    for g in range(groups):
        above = cells[g, start:stop]
        for f in range(g + 1, groups):
            left = cells[f, start:stop]
            pairs = np.zeros((begins[g + 1] - begins[g], begins[f + 1] - begins[f]))
            for i in range(stop - start):
                pairs[above[i], left[i]] += h[i]
            # groups of many columns come first: `add_pairs` takes less for their many coefficients as rows
            add_pairs(first, members, begins[g], begins[f], pairs, total)
            # the sums of single cells are the row and column sums of any histogram
            if f == g + 1:
                sums[begins[g] : begins[f]] = pairs.sum(axis=1)
                sums[begins[f] : begins[f + 1]] = pairs.sum(axis=0)
    add_cells(first, members, sums, total)
    return total


@jit
def expand(cells, begins, start, stop, first, members, matrix):  # type: ignore[no-untyped-def]
    """Write the ones into a matrix of zeros with one column per coefficient."""
    for g in range(cells.shape[0]):
        for i in range(stop - start):
            cell = begins[g] + cells[g, start + i]
            for m in range(first[cell], first[cell + 1]):
                matrix[i, members[m]] = 1.0
