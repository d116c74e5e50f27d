"""Descent on ½βᵀKβ − tᵀβ + ε Σ|β| in a box, two coordinates at a time (Σβ stays) or one: minimal sequential steps.

K is a small tile in the cache. A coordinate that may rise has a score, minus the slope of the objective on its way up,
and one that may fall has one for its way down; at an optimum none can rise with a higher score than another falls with.
Scores are in the precision of K, whose rounding they need not be better than; the gradient G = Kβ − t is of float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._jit import jit, overload

#: numbers whose largest is found at once: arrays of scores are filled up to a multiple
BLOCK = 64
#: curvature, beside the least of a coordinate, below which a direction counts as flat: the box alone ends the step
FLAT = 1e-12


def bits(scores: Any) -> Any:
    """The bits of an array of floats as integers."""
    return scores.view(np.int32 if scores.dtype == np.float32 else np.int64)


@overload(bits)
def _bits(scores):  # type: ignore[no-untyped-def]
    if scores.dtype.bitwidth == 32:
        return lambda scores: scores.view(np.int32)
    return lambda scores: scores.view(np.int64)


@jit
def first_largest(scores):  # type: ignore[no-untyped-def]
    """Where the largest of some scores is, and how large.

    By their bits, which integers order like the floats once negative ones are turned over: a maximum of integers
    vectorises, one of floats does not unless NaN is assumed away.
    """
    keys = bits(scores)
    # of the same type, or the loop would be one of int64
    shift, most = keys.dtype.type(8 * keys.itemsize - 1), keys.dtype.type(np.iinfo(keys.dtype).max)
    best, where = ~most, 0
    for start in range(0, keys.shape[0], BLOCK):
        block = keys[start : start + BLOCK]
        top = block[0] ^ ((block[0] >> shift) & most)
        for k in range(BLOCK):
            top = max(top, block[k] ^ ((block[k] >> shift) & most))
        if top > best:
            best, where = top, start
    for k in range(where, where + BLOCK):
        if keys[k] ^ ((keys[k] >> shift) & most) == best:
            return k, scores[k]
    return where, scores[where]


@jit
def rises(beta, upper, epsilon):  # type: ignore[no-untyped-def]
    """What ε|β| adds to the slope on the way up; infinite at the upper bound."""
    if beta >= upper:
        return np.inf
    return epsilon if beta >= 0.0 else -epsilon


@jit
def falls(beta, lower, epsilon):  # type: ignore[no-untyped-def]
    """What ε|β| adds to the slope on the way down; −infinite at the lower bound."""
    if beta <= lower:
        return -np.inf
    return epsilon if beta > 0.0 else -epsilon


@jit
def room_above(beta, upper):  # type: ignore[no-untyped-def]
    """How far a coordinate may rise without passing 0, where ε|β| has its kink, or the bound; and where it is then."""
    return (upper - beta, upper) if beta >= 0.0 else (-beta, 0.0)


@jit
def room_below(beta, lower):  # type: ignore[no-untyped-def]
    """How far a coordinate may fall without passing 0 or the bound, and where it is then."""
    return (beta - lower, lower) if beta <= 0.0 else (beta, 0.0)


@jit
def row_scores(beta, G, lower, upper, epsilon, up, down):  # type: ignore[no-untyped-def]
    """Scores of all coordinates, of the way up and of the way down (that with the opposite sign)."""
    for k in range(G.shape[0]):
        up[k] = -(G[k] + rises(beta[k], upper[k], epsilon))
        down[k] = G[k] + falls(beta[k], lower[k], epsilon)


@jit
def _padded(n):  # type: ignore[no-untyped-def]
    return (n + BLOCK - 1) // BLOCK * BLOCK


@jit
def _move_pair(G, above, below, step, rise, fall, up, down):  # type: ignore[no-untyped-def]
    """Slopes and scores after one coordinate rose and another fell by a step."""
    number = up.dtype.type
    for k in range(G.shape[0]):
        g = G[k] + step * (np.float64(above[k]) - np.float64(below[k]))
        G[k] = g
        up[k] = -(number(g) + rise[k])
        down[k] = number(g) + fall[k]


@jit
def _least_curvature(K):  # type: ignore[no-untyped-def]
    """What counts as flat, in the units of K: its least k(x, x) above 0, or 1, times `FLAT`; never 0 itself."""
    least = np.inf
    for k in range(K.shape[0]):
        if 0.0 < K[k, k] < least:
            least = np.float64(K[k, k])
    if least == np.inf:
        least = 1.0
    return max(FLAT * least, np.float64(np.finfo(K.dtype).tiny))


@jit
def _gains(high, down, diagonal, row, own, least_curvature, gain):  # type: ignore[no-untyped-def]
    """What the objective falls by, were there no bounds, if a coordinate of score `high` rises and each other falls."""
    number = row.dtype.type  # all of one precision, or the loop would be in the higher one
    least, nothing, two, flat = number(-np.inf), number(0), number(2), number(least_curvature)
    for k in range(row.shape[0]):
        slope = high + down[k]
        curvature = own + diagonal[k] - two * row[k]
        curvature = curvature if curvature > flat else flat
        gain[k] = slope * slope / curvature if slope > nothing else least


@jit
def _begun(K, beta, G, lower, upper, epsilon):  # type: ignore[no-untyped-def]
    """The diagonal of K, and the slopes and scores of all coordinates on the way up and down, with room for gains."""
    q, size, least = K.shape[0], _padded(K.shape[0]), K.dtype.type(-np.inf)
    rise, fall = np.full(size, -least), np.full(size, least)
    up, down, gain = np.full(size, least), np.full(size, least), np.full(size, least)
    diagonal = np.empty(q, K.dtype)
    for k in range(q):
        g = K.dtype.type(G[k])
        diagonal[k] = K[k, k]
        rise[k], fall[k] = rises(beta[k], upper[k], epsilon), falls(beta[k], lower[k], epsilon)
        up[k], down[k] = -(g + rise[k]), g + fall[k]
    return diagonal, rise, fall, up, down, gain


@jit
def pairs(K, beta, G, lower, upper, epsilon, tolerance, most):  # type: ignore[no-untyped-def]
    """Move pairs, the second by the gain to second order, until no violation exceeds the tolerance.

    β and G are changed in place. Returns the steps taken.
    """
    flat = _least_curvature(K)
    diagonal, rise, fall, up, down, gain = _begun(K, beta, G, lower, upper, epsilon)
    for steps in range(most):
        i, high = first_largest(up)
        j, low = first_largest(down)
        if not high + low > tolerance:
            return steps
        row = K[i]
        _gains(high, down, diagonal, row, diagonal[i], flat, gain)
        j, _ = first_largest(gain)
        curvature = max(np.float64(K[i, i]) + np.float64(K[j, j]) - 2.0 * np.float64(row[j]), flat)
        step = max(-(G[i] + rise[i]) + (G[j] + fall[j]), 0.0) / curvature
        (above, top), (below, bottom) = room_above(beta[i], upper[i]), room_below(beta[j], lower[j])
        step = min(step, min(above, below))
        if beta[i] + step == beta[i] and beta[j] - step == beta[j]:
            return steps  # too small a step to be taken
        beta[i] = top if step >= above else beta[i] + step
        beta[j] = bottom if step >= below else beta[j] - step
        for k in (i, j):
            rise[k], fall[k] = rises(beta[k], upper[k], epsilon), falls(beta[k], lower[k], epsilon)
        _move_pair(G, row, K[j], step, rise, fall, up, down)
    return most


@jit
def _move_one(G, row, step, rise, fall, up, down):  # type: ignore[no-untyped-def]
    """Slopes and scores after one coordinate moved by a step."""
    number = up.dtype.type
    for k in range(G.shape[0]):
        g = G[k] + step * np.float64(row[k])
        G[k] = g
        up[k] = -(number(g) + rise[k])
        down[k] = number(g) + fall[k]


@jit
def _single_gains(up, down, diagonal, gain):  # type: ignore[no-untyped-def]
    least, nothing = up.dtype.type(-np.inf), up.dtype.type(0)
    for k in range(diagonal.shape[0]):
        slope = up[k] if up[k] > down[k] else down[k]
        gain[k] = slope * slope / diagonal[k] if slope > nothing else least


@jit
def singles(K, beta, G, lower, upper, epsilon, tolerance, most):  # type: ignore[no-untyped-def]
    """`pairs` where there is no intercept and Σβ is free: one coordinate at a time, that of the largest gain."""
    flat = _least_curvature(K)
    diagonal, rise, fall, up, down, gain = _begun(K, beta, G, lower, upper, epsilon)
    for k in range(diagonal.shape[0]):
        diagonal[k] = max(diagonal[k], K.dtype.type(flat))
    for steps in range(most):
        if not max(first_largest(up)[1], first_largest(down)[1]) > tolerance:
            return steps
        _single_gains(up, down, diagonal, gain)
        k, _ = first_largest(gain)
        if up[k] > down[k]:
            room, end = room_above(beta[k], upper[k])
            step = min(-(G[k] + rise[k]) / diagonal[k], room)
        else:
            room, end = room_below(beta[k], lower[k])
            step = -min((G[k] + fall[k]) / diagonal[k], room)
        if beta[k] + step == beta[k]:
            return steps
        beta[k] = end if abs(step) >= room else beta[k] + step
        rise[k], fall[k] = rises(beta[k], upper[k], epsilon), falls(beta[k], lower[k], epsilon)
        _move_one(G, K[k], step, rise, fall, up, down)
    return most
