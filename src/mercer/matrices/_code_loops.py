"""Products with one-hot columns that are never formed.

Columns come in groups, and a row names one *cell* of each group: the combination of levels that it shows. `cells` is
(groups, rows), counted from 0 in each group, and unsigned so that no loop has to ask whether an index counts from the
end; `begins` says where the cells of a group begin among those of all groups. A cell stands for several coefficients,
one per column of its group (none for a level that was dropped): `members[first[c] : first[c + 1]]` are those of cell c.

Few groups of many cells cost less than many columns of few levels: one addition does for a whole group, and does not
have to wait for the last one to the same place.
"""

from __future__ import annotations

import numpy as np

from mercer._jit import jit


@jit
def count(codes, counts):  # type: ignore[no-untyped-def]
    """How often each code occurs; the last count is that of missing ones, −1."""
    for i in range(codes.shape[0]):
        counts[codes[i]] += 1


@jit
def join(cells, codes, lowest, levels):  # type: ignore[no-untyped-def]
    """Add a column to a group, as the last digit of its cells; the largest digit, counted from the `lowest` code on."""
    base = np.uint32(levels - lowest)
    largest = np.uint32(0)
    for i in range(codes.shape[0]):
        digit = np.uint32(codes[i] - lowest)
        largest = max(largest, digit)
        cells[i] = cells[i] * base + digit
    return largest


@jit
def of_cells(first, members, w):  # type: ignore[no-untyped-def]
    """The sum of the coefficients of each cell; several columns at once."""
    table = np.zeros((first.shape[0] - 1, w.shape[1]))
    for c in range(table.shape[0]):
        for m in range(first[c], first[c + 1]):
            for k in range(w.shape[1]):
                table[c, k] += w[members[m], k]
    return table


@jit
def of_coefficients(first, members, table, p):  # type: ignore[no-untyped-def]
    """The sum over the cells of each coefficient: the transpose of `of_cells`."""
    total = np.zeros((p, table.shape[1]))
    for c in range(table.shape[0]):
        for m in range(first[c], first[c + 1]):
            for k in range(table.shape[1]):
                total[members[m], k] += table[c, k]
    return total


@jit
def times(cells, begins, start, stop, table):  # type: ignore[no-untyped-def]
    """Σ over groups of the table's entry, for the rows start…stop."""
    product = np.zeros(stop - start)
    for g in range(cells.shape[0]):
        of_row, of_cell = cells[g, start:stop], table[begins[g] : begins[g + 1]]
        for i in range(stop - start):
            product[i] += of_cell[of_row[i]]
    return product


@jit
def times_matrix(cells, begins, start, stop, table):  # type: ignore[no-untyped-def]
    """`times` for a table of several columns."""
    product = np.zeros((stop - start, table.shape[1]))
    for g in range(cells.shape[0]):
        of_row, of_cell = cells[g, start:stop], table[begins[g] : begins[g + 1]]
        for i in range(stop - start):
            for k in range(table.shape[1]):
                product[i, k] += of_cell[of_row[i], k]
    return product


@jit
def transposed_times(cells, begins, start, stop, r):  # type: ignore[no-untyped-def]
    """The sum of r over the rows of each cell."""
    total = np.zeros(begins[-1])
    for g in range(cells.shape[0]):
        of_row, of_cell = cells[g, start:stop], total[begins[g] : begins[g + 1]]
        for i in range(stop - start):
            of_cell[of_row[i]] += r[i]
    return total


@jit
def transposed_times_matrix(cells, begins, start, stop, R):  # type: ignore[no-untyped-def]
    """`transposed_times` for several columns at once."""
    total = np.zeros((begins[-1], R.shape[1]))
    for g in range(cells.shape[0]):
        of_row, of_cell = cells[g, start:stop], total[begins[g] : begins[g + 1]]
        for i in range(stop - start):
            for k in range(R.shape[1]):
                of_cell[of_row[i], k] += R[i, k]
    return total


@jit
def add_pairs(first, members, above, left, pairs, total):  # type: ignore[no-untyped-def]
    """Give the sums of pairs of cells, from the cells `above` and `left` on, to the pairs of their coefficients."""
    p = total.shape[0]
    row = np.empty(p)
    for u in range(pairs.shape[0]):
        row[:] = 0.0
        for v in range(pairs.shape[1]):
            for b in range(first[left + v], first[left + v + 1]):
                row[members[b]] += pairs[u, v]
        for a in range(first[above + u], first[above + u + 1]):
            of_coefficient = total[members[a]]
            for j in range(p):
                of_coefficient[j] += row[j]


@jit
def add_cells(first, members, sums, total):  # type: ignore[no-untyped-def]
    """Add the two triangles of `total` up, and to it what single cells give to the coefficients each stands for."""
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
    """Xᵀ diag(h) X: a histogram in two dimensions for each pair of groups."""
    total, sums = np.zeros((p, p)), np.zeros(begins[-1])
    groups = cells.shape[0]
    if groups == 1:
        sums[:] = transposed_times(cells, begins, start, stop, h)
    for g in range(groups):
        above = cells[g, start:stop]
        for f in range(g + 1, groups):
            left = cells[f, start:stop]
            pairs = np.zeros((begins[g + 1] - begins[g], begins[f + 1] - begins[f]))
            for i in range(stop - start):
                pairs[above[i], left[i]] += h[i]
            # groups of many columns come first: their cells stand for more coefficients, which costs less above
            add_pairs(first, members, begins[g], begins[f], pairs, total)
            # the sums of single cells are those of the rows of any histogram
            if f == g + 1:
                sums[begins[g] : begins[f]] = pairs.sum(axis=1)
                sums[begins[f] : begins[f + 1]] = pairs.sum(axis=0)
    add_cells(first, members, sums, total)
    return total


@jit
def expand(cells, begins, start, stop, first, members, matrix):  # type: ignore[no-untyped-def]
    """Write the ones into a matrix of zeros, one column per coefficient."""
    for g in range(cells.shape[0]):
        for i in range(stop - start):
            cell = begins[g] + cells[g, start + i]
            for m in range(first[cell], first[cell + 1]):
                matrix[i, members[m]] = 1.0
