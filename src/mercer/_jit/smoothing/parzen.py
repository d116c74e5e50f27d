"""Sums of smoothing kernels over points: Σ_j side_j k(q − x_j) for many queries q.

Points lie in blocks of `SIZE`, coordinate by coordinate: (blocks, columns, SIZE). Four queries at a time are compared
with a block: their kernels are written into four short rows, of which the sums are then taken. Loops are written out
where an assignment of arrays would do: numba takes seconds to compile each of those.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._jit import jit, overload, wide_vectors
from mercer._jit.smoothing.near_blocks import box, box_distance, exponent
from mercer._jit.smoothing.profiles import profile

#: points of a block: a few rows of so many numbers, and the block, stay in the first cache
SIZE = 256
#: queries that are looked at together: their chains of arithmetic run side by side
QUERIES = 4


class Squares(NamedTuple):
    """Distances are Σu²."""


class WideSquares(NamedTuple):
    """Distances are Σu²/λ², with a λ for each point."""


class Absolutes(NamedTuple):
    """Distances are Σ|u|/λ."""


class Products(NamedTuple):
    """There is a kernel for each axis, of u²/λ²."""


@jit
def _fill(rows, value):  # type: ignore[no-untyped-def]
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            rows[i, j] = value


@jit
def _add_one(x, queries, axis, rows):  # type: ignore[no-untyped-def]
    wide_vectors()
    for i in range(QUERIES):
        row, a = rows[i], queries[i, axis]
        for j in range(x.shape[0]):
            row[j] += (x[j] - a) * (x[j] - a)


@jit
def _add_two(x, y, queries, axis, rows):  # type: ignore[no-untyped-def]
    wide_vectors()
    r0, r1, r2, r3 = rows[0], rows[1], rows[2], rows[3]
    a0, a1, a2, a3 = queries[0, axis], queries[1, axis], queries[2, axis], queries[3, axis]
    b0, b1, b2, b3 = queries[0, axis + 1], queries[1, axis + 1], queries[2, axis + 1], queries[3, axis + 1]
    for j in range(x.shape[0]):
        r0[j] += (x[j] - a0) * (x[j] - a0) + (y[j] - b0) * (y[j] - b0)
        r1[j] += (x[j] - a1) * (x[j] - a1) + (y[j] - b1) * (y[j] - b1)
        r2[j] += (x[j] - a2) * (x[j] - a2) + (y[j] - b2) * (y[j] - b2)
        r3[j] += (x[j] - a3) * (x[j] - a3) + (y[j] - b3) * (y[j] - b3)


@jit
def _add_absolutes(x, queries, axis, rows):  # type: ignore[no-untyped-def]
    wide_vectors()
    for i in range(QUERIES):
        row, a = rows[i], queries[i, axis]
        for j in range(x.shape[0]):
            row[j] += abs(x[j] - a)


@jit
def _scale(spread, rows):  # type: ignore[no-untyped-def]
    wide_vectors()
    for i in range(QUERIES):
        row = rows[i]
        for j in range(row.shape[0]):
            row[j] *= spread[j]


@jit
def _multiply(kernel, x, spread, queries, axis, rows):  # type: ignore[no-untyped-def]
    wide_vectors()
    for i in range(QUERIES):
        row, a = rows[i], queries[i, axis]
        for j in range(x.shape[0]):
            row[j] *= profile(kernel, spread[j] * ((x[j] - a) * (x[j] - a)), 0.0)


@jit
def _apply(kernel, lifts, rows):  # type: ignore[no-untyped-def]
    wide_vectors()
    r0, r1, r2, r3 = rows[0], rows[1], rows[2], rows[3]
    l0, l1, l2, l3 = lifts[0, 0], lifts[1, 0], lifts[2, 0], lifts[3, 0]
    for j in range(rows.shape[1]):
        r0[j] = profile(kernel, r0[j], l0)
        r1[j] = profile(kernel, r1[j], l1)
        r2[j] = profile(kernel, r2[j], l2)
        r3[j] = profile(kernel, r3[j], l3)


@jit
def _finish_two(kernel, x, y, queries, axis, lifts, rows):  # type: ignore[no-untyped-def]
    """`_add_two` for the last axes, and then the kernel: the rows are written once less."""
    wide_vectors()
    r0, r1, r2, r3 = rows[0], rows[1], rows[2], rows[3]
    l0, l1, l2, l3 = lifts[0, 0], lifts[1, 0], lifts[2, 0], lifts[3, 0]
    a0, a1, a2, a3 = queries[0, axis], queries[1, axis], queries[2, axis], queries[3, axis]
    b0, b1, b2, b3 = queries[0, axis + 1], queries[1, axis + 1], queries[2, axis + 1], queries[3, axis + 1]
    for j in range(x.shape[0]):
        r0[j] = profile(kernel, r0[j] + ((x[j] - a0) * (x[j] - a0) + (y[j] - b0) * (y[j] - b0)), l0)
        r1[j] = profile(kernel, r1[j] + ((x[j] - a1) * (x[j] - a1) + (y[j] - b1) * (y[j] - b1)), l1)
        r2[j] = profile(kernel, r2[j] + ((x[j] - a2) * (x[j] - a2) + (y[j] - b2) * (y[j] - b2)), l2)
        r3[j] = profile(kernel, r3[j] + ((x[j] - a3) * (x[j] - a3) + (y[j] - b3) * (y[j] - b3)), l3)


# What four queries make of a block, by the kind of distance: the distances alone, or their kernels.


@jit
def _squares(distance, x, spread, queries, rows):  # type: ignore[no-untyped-def]
    _fill(rows, 0.0)
    pairs = x.shape[0] // 2 * 2
    for k in range(0, pairs, 2):
        _add_two(x[k], x[k + 1], queries, k, rows)
    if pairs < x.shape[0]:
        _add_one(x[pairs], queries, pairs, rows)


@jit
def _wide_squares(distance, x, spread, queries, rows):  # type: ignore[no-untyped-def]
    _squares(distance, x, spread, queries, rows)
    _scale(spread, rows)


@jit
def _absolutes(distance, x, spread, queries, rows):  # type: ignore[no-untyped-def]
    _fill(rows, 0.0)
    for k in range(x.shape[0]):
        _add_absolutes(x[k], queries, k, rows)
    _scale(spread, rows)


@jit
def _put_squares(kernel, distance, x, spread, queries, lifts, rows):  # type: ignore[no-untyped-def]
    last = x.shape[0] - 2
    if last < 0:
        _squares(distance, x, spread, queries, rows)
        _apply(kernel, lifts, rows)
        return
    _fill(rows, 0.0)
    for k in range(0, last - 1, 2):
        _add_two(x[k], x[k + 1], queries, k, rows)
    if last % 2 == 1:
        _add_one(x[last - 1], queries, last - 1, rows)
    _finish_two(kernel, x[last], x[last + 1], queries, last, lifts, rows)


@jit
def _put_wide_squares(kernel, distance, x, spread, queries, lifts, rows):  # type: ignore[no-untyped-def]
    _wide_squares(distance, x, spread, queries, rows)
    _apply(kernel, lifts, rows)


@jit
def _put_absolutes(kernel, distance, x, spread, queries, lifts, rows):  # type: ignore[no-untyped-def]
    _absolutes(distance, x, spread, queries, rows)
    _apply(kernel, lifts, rows)


@jit
def _put_products(kernel, distance, x, spread, queries, lifts, rows):  # type: ignore[no-untyped-def]
    _fill(rows, 1.0)
    for k in range(x.shape[0]):
        _multiply(kernel, x[k], spread, queries, k, rows)


DISTANCES: dict[type[Any], Any] = {Squares: _squares, WideSquares: _wide_squares, Absolutes: _absolutes}
KERNELS: dict[type[Any], Any] = {
    Squares: _put_squares,
    WideSquares: _put_wide_squares,
    Absolutes: _put_absolutes,
    Products: _put_products,
}


def _distances(distance: Any, x: Any, spread: Any, queries: Any, rows: Any) -> None:
    DISTANCES[type(distance)](distance, x, spread, queries, rows)


@overload(_distances)
def _choose_distances(distance, x, spread, queries, rows):  # type: ignore[no-untyped-def]
    return DISTANCES[distance.instance_class].plain


def _put(kernel: Any, distance: Any, x: Any, spread: Any, queries: Any, lifts: Any, rows: Any) -> None:
    KERNELS[type(distance)](kernel, distance, x, spread, queries, lifts, rows)


@overload(_put)
def _choose_put(kernel, distance, x, spread, queries, lifts, rows):  # type: ignore[no-untyped-def]
    return KERNELS[distance.instance_class].plain


# Sums.


@jit
def _dot(rows, side, total, column):  # type: ignore[no-untyped-def]
    wide_vectors()
    r0, r1, r2, r3 = rows[0], rows[1], rows[2], rows[3]
    t0 = t1 = t2 = t3 = 0.0
    for j in range(side.shape[0]):
        t0 += r0[j] * side[j]
        t1 += r1[j] * side[j]
        t2 += r2[j] * side[j]
        t3 += r3[j] * side[j]
    total[0, column] += t0
    total[1, column] += t1
    total[2, column] += t2
    total[3, column] += t3


@jit
def _in_fours(rows):  # type: ignore[no-untyped-def]
    """Rows four by four, the last one again where there are no more."""
    fours = np.empty((-(-rows.shape[0] // QUERIES), QUERIES, rows.shape[1]))
    for i in range(fours.shape[0] * QUERIES):
        row, four = rows[min(i, rows.shape[0] - 1)], fours[i // QUERIES, i % QUERIES]
        for k in range(row.shape[0]):
            four[k] = row[k]
    return fours


@jit
def _put_where_own(own, first, block, rows, value):  # type: ignore[no-untyped-def]
    """A value in place of what queries make of themselves; `own` is where each is among the points, or is empty."""
    for i in range(min(QUERIES, own.shape[0] - first)):
        place = own[first + i] - block * SIZE
        if 0 <= place < SIZE:
            rows[i, place] = value


@jit
def add_sums(kernel, distance, points, spread, sides, chosen, queries, own, lifts, total):  # type: ignore[no-untyped-def]
    """total_q += 2^lift_q Σ_j side_j k(q − x_j) over the points of some blocks."""
    fours, four_lifts, rows = _in_fours(queries), _in_fours(lifts), np.empty((QUERIES, SIZE))
    sums = np.zeros((fours.shape[0], QUERIES, sides.shape[1]))
    for b in chosen:
        for i in range(fours.shape[0]):
            _put(kernel, distance, points[b], spread[b], fours[i], four_lifts[i], rows)
            _put_where_own(own, i * QUERIES, b, rows, 0.0)
            for c in range(sides.shape[1]):
                _dot(rows, sides[b, c], sums[i], c)
    for q in range(total.shape[0]):
        for c in range(total.shape[1]):
            total[q, c] += sums[q // QUERIES, q % QUERIES, c]


@jit
def _weighted_sum(row, side):  # type: ignore[no-untyped-def]
    wide_vectors()
    total = 0.0
    for j in range(row.shape[0]):
        total += row[j] * side[j]
    return total


@jit
def _times(row, side, out):  # type: ignore[no-untyped-def]
    wide_vectors()
    for j in range(row.shape[0]):
        out[j] = row[j] * side[j]


@jit
def _moments(row, x, query, sides, away, part, total):  # type: ignore[no-untyped-def]
    """Add Σ_j k_j side_j (1, u_j) of every side, and Σ_j k_j side_j u_j u_jᵀ (its lower triangle) of the first."""
    columns = x.shape[0]
    for a in range(columns):
        for j in range(row.shape[0]):
            away[a, j] = x[a, j] - query[a]
    at = 0
    for c in range(sides.shape[0]):
        total[at] += _weighted_sum(row, sides[c])
        _times(row, sides[c], part[0])
        for a in range(columns):
            total[at + 1 + a] += _weighted_sum(part[0], away[a])
        at += columns + 1
    _times(row, sides[0], part[0])
    for a in range(columns):
        _times(part[0], away[a], part[1])
        for b in range(a + 1):
            total[at] += _weighted_sum(part[1], away[b])
            at += 1


@jit
def add_moments(kernel, distance, points, spread, sides, chosen, queries, own, lifts, total):  # type: ignore[no-untyped-def]
    """`add_sums`, and the first moments of the sides and the second ones of the first side around each query."""
    fours, four_lifts, rows = _in_fours(queries), _in_fours(lifts), np.empty((QUERIES, SIZE))
    away, part = np.empty((queries.shape[1], SIZE)), np.empty((2, SIZE))
    for b in chosen:
        for i in range(fours.shape[0]):
            _put(kernel, distance, points[b], spread[b], fours[i], four_lifts[i], rows)
            _put_where_own(own, i * QUERIES, b, rows, 0.0)
            for q in range(min(QUERIES, queries.shape[0] - i * QUERIES)):
                _moments(rows[q], points[b], fours[i, q], sides[b], away, part, total[i * QUERIES + q])


@jit
def nearest(shape, distance, points, spread, boxes, spreads, queries, own, exponents):  # type: ignore[no-untyped-def]
    """−log₂ k of the nearest point of each query, of a kernel that never ends."""
    fours, rows, best = _in_fours(queries), np.empty((QUERIES, SIZE)), np.empty(QUERIES)
    low, high = np.empty(queries.shape[1]), np.empty(queries.shape[1])
    for number in range(fours.shape[0]):
        four, first, worst = fours[number], number * QUERIES, np.inf
        box(four, low, high)
        for i in range(QUERIES):
            best[i] = np.inf
        for b in range(boxes.shape[0]):
            least, _ = box_distance(shape.kind, boxes[b, 0], boxes[b, 1], low, high)
            if least * spreads[b, 0] > worst:
                continue
            _distances(distance, points[b], spread[b], four, rows)
            _put_where_own(own, first, b, rows, np.inf)
            worst = 0.0
            for i in range(QUERIES):
                row, smallest = rows[i], best[i]
                for j in range(SIZE):
                    smallest = row[j] if row[j] < smallest else smallest
                best[i] = smallest
                worst = max(worst, smallest)
        for i in range(min(QUERIES, queries.shape[0] - first)):
            exponents[first + i, 0] = exponent(shape, best[i])
