"""Which blocks of points matter to queries that are close together, by the distance of the boxes around both."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._jit import jit

#: what distances are: Σu², Σ|u|, or the greatest u²
SQUARES, ABSOLUTES, GREATEST = 0, 1, 2


class Shape(NamedTuple):
    """How a kernel falls off: with which kind of distance, whether for ever, and then by 2^(−rate · s), or of √s."""

    kind: int
    endless: bool
    rate: float
    root: bool


class Boxes(NamedTuple):
    """What is known of blocks of points without looking at them."""

    #: the box around each: (blocks, 2, columns)
    corners: Any
    #: the least and the greatest 1/λ² in each (1/λ for sums of |u|): (blocks, 2)
    spreads: Any
    #: the weight of each block, and what is left of it for sure if one of its points is left out
    mass: Any
    sure: Any
    #: of all points, and of the lightest
    total: float
    lightest: float


@jit
def box(rows, low, high):  # type: ignore[no-untyped-def]
    """The corners of the box around some rows."""
    for k in range(rows.shape[1]):
        low[k] = high[k] = rows[0, k]
    for i in range(1, rows.shape[0]):
        for k in range(rows.shape[1]):
            low[k], high[k] = min(low[k], rows[i, k]), max(high[k], rows[i, k])


@jit
def box_distance(kind, low, high, other_low, other_high):  # type: ignore[no-untyped-def]
    """The least and the greatest distance of points in two boxes."""
    least = greatest = 0.0
    for k in range(low.shape[0]):
        near = max(0.0, low[k] - other_high[k], other_low[k] - high[k])
        far = max(high[k] - other_low[k], other_high[k] - low[k])
        if kind == ABSOLUTES:
            least, greatest = least + near, greatest + far
        elif kind == SQUARES:
            least, greatest = least + near * near, greatest + far * far
        else:
            least, greatest = max(least, near * near), max(greatest, far * far)
    return least, greatest


@jit
def exponent(shape, s):  # type: ignore[no-untyped-def]
    """−log₂ k of a kernel that never ends."""
    return shape.rate * (np.sqrt(s) if shape.root else s)


@jit
def _near_compact(shape, boxes, low, high, chosen):  # type: ignore[no-untyped-def]
    """Blocks within reach, and a little further, for what rounding does to distances."""
    count = 0
    for b in range(boxes.mass.shape[0]):
        least, _ = box_distance(shape.kind, boxes.corners[b, 0], boxes.corners[b, 1], low, high)
        if least * boxes.spreads[b, 0] <= 1.0 + 1e-9:
            chosen[count] = b
            count += 1
    return count


@jit
def _near_endless(shape, boxes, low, high, known, slack, chosen):  # type: ignore[no-untyped-def]
    """Blocks that matter, and the lift that brings the closest point of them to 1 or below.

    What is left out is below 2^−slack of the sum of every query in the box, of which 2^known is a lower bound; another
    is 2^−far of the mass of any block.
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
def near_blocks(shape, boxes, queries, slack, lifts, chosen):  # type: ignore[no-untyped-def]
    """Put blocks that matter to queries in order into `chosen`, and say how many they are.

    Lifts (a column of them) are chosen, too, if they are negative; others are the exponents of what is nearest.
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
