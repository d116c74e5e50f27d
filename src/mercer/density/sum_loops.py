"""Sums of smoothing kernels over points: Σ_j side_j k(q − x_j) for many queries q.

Points lie in blocks of `BLOCK_POINTS`, coordinate by coordinate: (blocks, columns, BLOCK_POINTS). Four queries at a
time are compared with a block: their kernels are written into four short rows, which are then summed. Explicit loops
replace array assignments, each of which takes numba seconds to compile.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._jit import jit, overload, wide_vectors
from mercer._jit.decay import exp2_below
from mercer._jit.scalar import LOG2_E

# Profiles: smoothing kernels as functions of s = ‖u‖², a squared distance in units of the bandwidth.
#
# A kernel is a NamedTuple; `profile` dispatches on its type and is 1 at s = 0. Kernels of unbounded support are
# multiplied by 2^lift, so that their values far away from all points do not underflow.


class GaussianProfile(NamedTuple):
    """e^(−s/2)."""


class ExponentialProfile(NamedTuple):
    """e^(−√s)."""


class LaplaceProfile(NamedTuple):
    """e^(−s), the product of exponentials, where s = Σ|u_j|."""


class UniformProfile(NamedTuple):
    """1 for s ≤ 1."""


class EpanechnikovProfile(NamedTuple):
    """1 − s for s ≤ 1."""


class TriangularProfile(NamedTuple):
    """1 − √s for s ≤ 1."""


class BiweightProfile(NamedTuple):
    """(1 − s)² for s ≤ 1."""


class TriweightProfile(NamedTuple):
    """(1 − s)³ for s ≤ 1."""


class CosineProfile(NamedTuple):
    """cos(½π√s) for s ≤ 1."""


@jit
def gaussian(kernel, s, lift):  # type: ignore[no-untyped-def]
    return exp2_below(lift - 0.5 * LOG2_E * s)


@jit
def exponential(kernel, s, lift):  # type: ignore[no-untyped-def]
    return exp2_below(lift - LOG2_E * np.sqrt(s))


@jit
def laplace(kernel, s, lift):  # type: ignore[no-untyped-def]
    return exp2_below(lift - LOG2_E * s)


@jit
def uniform(kernel, s, lift):  # type: ignore[no-untyped-def]
    return 1.0 if s <= 1.0 else 0.0


@jit
def epanechnikov(kernel, s, lift):  # type: ignore[no-untyped-def]
    return 1.0 - s if s < 1.0 else 0.0


@jit
def triangular(kernel, s, lift):  # type: ignore[no-untyped-def]
    return 1.0 - np.sqrt(s) if s < 1.0 else 0.0


@jit
def biweight(kernel, s, lift):  # type: ignore[no-untyped-def]
    left = 1.0 - s if s < 1.0 else 0.0
    return left * left


@jit
def triweight(kernel, s, lift):  # type: ignore[no-untyped-def]
    left = 1.0 - s if s < 1.0 else 0.0
    return left * left * left


@jit
def cosine(kernel, s, lift):  # type: ignore[no-untyped-def]
    """Evaluate cos(½π√s) as (1 − s) times a power series in s, so that no digits cancel at s = 1."""
    p = COSINE_PROFILE[-1]
    for c in COSINE_PROFILE[-2::-1]:
        p = p * s + c
    return (1.0 - s) * p if s < 1.0 else 0.0


def _cosine_over_one_less_s(degree: int) -> tuple[float, ...]:
    """Return the coefficients of cos(½π√s)/(1 − s) in powers of s, by interpolation at Chebyshev points of [0, 1]."""
    t = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    s = 0.5 + 0.5 * t
    # the sine of the complement is accurate where s is near 1
    values = np.sin(0.5 * np.pi * (1 - s) / (1 + np.sqrt(s))) / (1 - s)
    series = np.polynomial.Chebyshev.fit(s, values, degree, domain=(0, 1))
    return tuple(series.convert(kind=np.polynomial.Polynomial, domain=(-1, 1), window=(-1, 1)).coef.tolist())


#: coefficients of cos(½π√s)/(1 − s) in powers of s
COSINE_PROFILE = _cosine_over_one_less_s(9)

PROFILES: dict[type[Any], Any] = {
    GaussianProfile: gaussian,
    ExponentialProfile: exponential,
    LaplaceProfile: laplace,
    UniformProfile: uniform,
    EpanechnikovProfile: epanechnikov,
    TriangularProfile: triangular,
    BiweightProfile: biweight,
    TriweightProfile: triweight,
    CosineProfile: cosine,
}


def profile(kernel: Any, s: Any, lift: Any) -> Any:
    """Return the value of a smoothing kernel at a squared distance; compact kernels ignore the lift."""
    return PROFILES[type(kernel)](kernel, s, lift)


@overload(profile)
def _profile(kernel, s, lift):  # type: ignore[no-untyped-def]
    return PROFILES[kernel.instance_class].plain


# Selection of the blocks of points that matter to a group of nearby queries, by the distance of bounding boxes.

#: kinds of distance: Σu²
SUM_OF_SQUARES = 0
#: Σ|u|
SUM_OF_ABSOLUTES = 1
#: the greatest u²
GREATEST_SQUARE = 2


class Shape(NamedTuple):
    """Decay of a kernel: its kind of distance, whether it is unbounded, and the rate in 2^(−rate · s), or of √s."""

    kind: int
    endless: bool
    rate: float
    root: bool


class Boxes(NamedTuple):
    """Summaries of blocks of points."""

    #: bounding box of each: (blocks, 2, columns)
    corners: Any
    #: the least and the greatest 1/λ² in each (1/λ for sums of |u|): (blocks, 2)
    spreads: Any
    #: weight of each block, and a lower bound of it if one of its points is left out
    mass: Any
    sure: Any
    #: total weight, and the least weight of a point
    total: float
    lightest: float


@jit
def box(rows, low, high):  # type: ignore[no-untyped-def]
    """Compute the corners of the bounding box of some rows."""
    for k in range(rows.shape[1]):
        low[k] = high[k] = rows[0, k]
    for i in range(1, rows.shape[0]):
        for k in range(rows.shape[1]):
            low[k], high[k] = min(low[k], rows[i, k]), max(high[k], rows[i, k])


@jit
def box_distance(kind, low, high, other_low, other_high):  # type: ignore[no-untyped-def]
    """Return the least and the greatest distance of points in two boxes."""
    least = greatest = 0.0
    for k in range(low.shape[0]):
        near = max(0.0, low[k] - other_high[k], other_low[k] - high[k])
        far = max(high[k] - other_low[k], other_high[k] - low[k])
        if kind == SUM_OF_ABSOLUTES:
            least, greatest = least + near, greatest + far
        elif kind == SUM_OF_SQUARES:
            least, greatest = least + near * near, greatest + far * far
        else:
            least, greatest = max(least, near * near), max(greatest, far * far)
    return least, greatest


@jit
def exponent(shape, s):  # type: ignore[no-untyped-def]
    """Return −log₂ k of a kernel of unbounded support."""
    return shape.rate * (np.sqrt(s) if shape.root else s)


@jit
def _near_compact(shape, boxes, low, high, chosen):  # type: ignore[no-untyped-def]
    """Select the blocks within reach, with a margin for rounding."""
    count = 0
    for b in range(boxes.mass.shape[0]):
        least, _ = box_distance(shape.kind, boxes.corners[b, 0], boxes.corners[b, 1], low, high)
        if least * boxes.spreads[b, 0] <= 1.0 + 1e-9:
            chosen[count] = b
            count += 1
    return count


@jit
def _near_endless(shape, boxes, low, high, known, slack, chosen):  # type: ignore[no-untyped-def]
    """Select the blocks that matter, and return the lift that brings the term of the closest point to at most 1.

    The rest is below 2^−slack of the sum of every query in the box, of which 2^known is a lower bound; further bounds
    are obtained from the mass of each block and its greatest distance.
    """
    lift = np.inf
    for b in range(boxes.mass.shape[0]):
        least, greatest = box_distance(shape.kind, boxes.corners[b, 0], boxes.corners[b, 1], low, high)
        lift = min(lift, exponent(shape, least * boxes.spreads[b, 0]))
        if boxes.sure[b] > 0.0:
            known = max(known, np.log2(boxes.sure[b]) - exponent(shape, greatest * boxes.spreads[b, 1]))
    worth, count = known - slack - np.log2(boxes.total), 0
    for b in range(boxes.mass.shape[0]):
        least, _ = box_distance(shape.kind, boxes.corners[b, 0], boxes.corners[b, 1], low, high)
        if -exponent(shape, least * boxes.spreads[b, 0]) >= worth:
            chosen[count] = b
            count += 1
    return count, lift


@jit
def select_blocks(shape, boxes, queries, slack, lifts, chosen):  # type: ignore[no-untyped-def]
    """Write the blocks that matter to the queries into `chosen` in order, and return their number.

    Negative lifts (a column) are replaced; other lifts are the exponents of the nearest points.
    """
    low, high, given = np.empty(queries.shape[1]), np.empty(queries.shape[1]), lifts[0, 0] >= 0.0
    box(queries, low, high)
    if not shape.endless:
        for q in range(lifts.shape[0]):
            lifts[q, 0] = 0.0
        return _near_compact(shape, boxes, low, high, chosen)
    furthest = 0.0
    for q in range(lifts.shape[0]):
        furthest = max(furthest, lifts[q, 0])
    known = np.log2(boxes.lightest) - furthest if given else -np.inf
    count, lift = _near_endless(shape, boxes, low, high, known, slack, chosen)
    if not given:
        for q in range(lifts.shape[0]):
            lifts[q, 0] = lift
    return count


# Sorting points into blocks by repeatedly halving them along their longest side.


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
    """Partition the keys from `first` to `last` such that none before `place` is greater than one after it."""
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
    """Return an order of points in which every `size` of them, from the first on, are close together."""
    order, keys = np.arange(points.shape[0]), np.empty(points.shape[0])
    # stack of the parts that are still to be halved; its depth is bounded by the number of halvings
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
        # a multiple of the size, so that only the last block is smaller
        half = start + (-(-(stop - start) // size)) // 2 * size
        _select(keys, order, start, stop - 1, half)
        parts[left, 0], parts[left, 1] = start, half
        parts[left + 1, 0], parts[left + 1, 1] = half, stop
        left += 2
    return order


#: points of a block: a block and a few rows of this length stay in the L1 cache
BLOCK_POINTS = 256
#: queries that are processed together, whose chains of arithmetic run in parallel
QUERIES_TOGETHER = 4


class SquareDistances(NamedTuple):
    """Distances Σu²."""


class WideSquareDistances(NamedTuple):
    """Distances Σu²/λ², with a λ for each point."""


class AbsoluteDistances(NamedTuple):
    """Distances Σ|u|/λ."""


class ProductDistances(NamedTuple):
    """A separate kernel for each axis, of u²/λ²."""


@jit
def _fill(rows, value):  # type: ignore[no-untyped-def]
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            rows[i, j] = value


@jit
def _add_one(x, queries, axis, rows):  # type: ignore[no-untyped-def]
    wide_vectors()
    for i in range(QUERIES_TOGETHER):
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
    for i in range(QUERIES_TOGETHER):
        row, a = rows[i], queries[i, axis]
        for j in range(x.shape[0]):
            row[j] += abs(x[j] - a)


@jit
def _scale(spread, rows):  # type: ignore[no-untyped-def]
    wide_vectors()
    for i in range(QUERIES_TOGETHER):
        row = rows[i]
        for j in range(row.shape[0]):
            row[j] *= spread[j]


@jit
def _multiply(kernel, x, spread, queries, axis, rows):  # type: ignore[no-untyped-def]
    wide_vectors()
    for i in range(QUERIES_TOGETHER):
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
    """Do `_add_two` for the last axes and apply the kernel in the same pass over the rows."""
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


# The distances of four queries to a block, or their kernels, by the kind of distance.


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


DISTANCES: dict[type[Any], Any] = {
    SquareDistances: _squares,
    WideSquareDistances: _wide_squares,
    AbsoluteDistances: _absolutes,
}
KERNEL_ROW_LOOPS: dict[type[Any], Any] = {
    SquareDistances: _put_squares,
    WideSquareDistances: _put_wide_squares,
    AbsoluteDistances: _put_absolutes,
    ProductDistances: _put_products,
}


def _distances(distance: Any, x: Any, spread: Any, queries: Any, rows: Any) -> None:
    DISTANCES[type(distance)](distance, x, spread, queries, rows)


@overload(_distances)
def _choose_distances(distance, x, spread, queries, rows):  # type: ignore[no-untyped-def]
    return DISTANCES[distance.instance_class].plain


def _put(kernel: Any, distance: Any, x: Any, spread: Any, queries: Any, lifts: Any, rows: Any) -> None:
    KERNEL_ROW_LOOPS[type(distance)](kernel, distance, x, spread, queries, lifts, rows)


@overload(_put)
def _choose_put(kernel, distance, x, spread, queries, lifts, rows):  # type: ignore[no-untyped-def]
    return KERNEL_ROW_LOOPS[distance.instance_class].plain


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
    """Copy rows in groups of four; the last row is repeated as padding."""
    fours = np.empty((-(-rows.shape[0] // QUERIES_TOGETHER), QUERIES_TOGETHER, rows.shape[1]))
    for i in range(fours.shape[0] * QUERIES_TOGETHER):
        row, four = rows[min(i, rows.shape[0] - 1)], fours[i // QUERIES_TOGETHER, i % QUERIES_TOGETHER]
        for k in range(row.shape[0]):
            four[k] = row[k]
    return fours


@jit
def _put_where_own(own, first, block, rows, value):  # type: ignore[no-untyped-def]
    """Overwrite the entries of queries that are points themselves; `own` holds their positions, or is empty."""
    for i in range(min(QUERIES_TOGETHER, own.shape[0] - first)):
        place = own[first + i] - block * BLOCK_POINTS
        if 0 <= place < BLOCK_POINTS:
            rows[i, place] = value


@jit
def add_sums(kernel, distance, points, spread, sides, chosen, queries, own, lifts, total):  # type: ignore[no-untyped-def]
    """Add 2^lift_q Σ_j side_j k(q − x_j), over the points of some blocks, to total_q."""
    fours, four_lifts, rows = _in_fours(queries), _in_fours(lifts), np.empty((QUERIES_TOGETHER, BLOCK_POINTS))
    sums = np.zeros((fours.shape[0], QUERIES_TOGETHER, sides.shape[1]))
    for b in chosen:
        for i in range(fours.shape[0]):
            _put(kernel, distance, points[b], spread[b], fours[i], four_lifts[i], rows)
            _put_where_own(own, i * QUERIES_TOGETHER, b, rows, 0.0)
            for c in range(sides.shape[1]):
                _dot(rows, sides[b, c], sums[i], c)
    for q in range(total.shape[0]):
        for c in range(total.shape[1]):
            total[q, c] += sums[q // QUERIES_TOGETHER, q % QUERIES_TOGETHER, c]


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
    """Do `add_sums`, with the first moments of all sides and the second moments of the first side about each query."""
    fours, four_lifts, rows = _in_fours(queries), _in_fours(lifts), np.empty((QUERIES_TOGETHER, BLOCK_POINTS))
    away, part = np.empty((queries.shape[1], BLOCK_POINTS)), np.empty((2, BLOCK_POINTS))
    for b in chosen:
        for i in range(fours.shape[0]):
            _put(kernel, distance, points[b], spread[b], fours[i], four_lifts[i], rows)
            _put_where_own(own, i * QUERIES_TOGETHER, b, rows, 0.0)
            for q in range(min(QUERIES_TOGETHER, queries.shape[0] - i * QUERIES_TOGETHER)):
                _moments(rows[q], points[b], fours[i, q], sides[b], away, part, total[i * QUERIES_TOGETHER + q])


@jit
def find_nearest(shape, distance, points, spread, boxes, spreads, queries, own, exponents):  # type: ignore[no-untyped-def]
    """Compute −log₂ k of the nearest point of each query, for a kernel of unbounded support."""
    fours, rows, best = _in_fours(queries), np.empty((QUERIES_TOGETHER, BLOCK_POINTS)), np.empty(QUERIES_TOGETHER)
    low, high = np.empty(queries.shape[1]), np.empty(queries.shape[1])
    for number in range(fours.shape[0]):
        four, first, worst = fours[number], number * QUERIES_TOGETHER, np.inf
        box(four, low, high)
        for i in range(QUERIES_TOGETHER):
            best[i] = np.inf
        for b in range(boxes.shape[0]):
            least, _ = box_distance(shape.kind, boxes[b, 0], boxes[b, 1], low, high)
            if least * spreads[b, 0] > worst:
                continue
            _distances(distance, points[b], spread[b], four, rows)
            _put_where_own(own, first, b, rows, np.inf)
            worst = 0.0
            for i in range(QUERIES_TOGETHER):
                row, smallest = rows[i], best[i]
                for j in range(BLOCK_POINTS):
                    smallest = row[j] if row[j] < smallest else smallest
                best[i] = smallest
                worst = max(worst, smallest)
        for i in range(min(QUERIES_TOGETHER, queries.shape[0] - first)):
            exponents[first + i, 0] = exponent(shape, best[i])
