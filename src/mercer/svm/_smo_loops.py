"""Coordinate descent on ½βᵀKβ − tᵀβ + ε Σ|β| in a box: sequential minimal optimisation.

A step moves two coordinates, so that Σβ stays, or one where there is no intercept. K is a small tile in the cache. A
coordinate that may rise has a score, minus the slope of the objective on its way up, and one that may fall has one for
its way down; at an optimum none can rise with a higher score than another falls with. Scores have the precision of K,
since they need not be better than its rounding; the gradient G = Kβ − t is in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._jit import jit, overload

#: values whose maximum is found at once: arrays of scores are padded to a multiple
MAXIMUM_BLOCK = 64
#: curvature, relative to the least of a coordinate, below which a direction is flat and only the box ends a step
FLAT_PAIR_CURVATURE = 1e-12


def as_bits(scores: Any) -> Any:
    """Return the bits of an array of floats as integers."""
    return scores.view(np.int32 if scores.dtype == np.float32 else np.int64)


@overload(as_bits)
def _bits(scores):  # type: ignore[no-untyped-def]
    if scores.dtype.bitwidth == 32:
        return lambda scores: scores.view(np.int32)
    return lambda scores: scores.view(np.int64)


@jit
def find_largest(scores):  # type: ignore[no-untyped-def]
    """Return the position of the largest score, and its value.

    Scores are compared by their bits: integers order them like floats once those of negative floats are inverted. A
    maximum of integers vectorises; one of floats does not unless NaN is assumed away.
    """
    keys = as_bits(scores)
    # of the same type, or the loop would run in int64
    shift, most = keys.dtype.type(8 * keys.itemsize - 1), keys.dtype.type(np.iinfo(keys.dtype).max)
    best, where = ~most, 0
    for start in range(0, keys.shape[0], MAXIMUM_BLOCK):
        block = keys[start : start + MAXIMUM_BLOCK]
        top = block[0] ^ ((block[0] >> shift) & most)
        for k in range(MAXIMUM_BLOCK):
            top = max(top, block[k] ^ ((block[k] >> shift) & most))
        if top > best:
            best, where = top, start
    for k in range(where, where + MAXIMUM_BLOCK):
        if keys[k] ^ ((keys[k] >> shift) & most) == best:
            return k, scores[k]
    return where, scores[where]


@jit
def slope_upwards(beta, upper, epsilon):  # type: ignore[no-untyped-def]
    """Return what ε|β| adds to the slope on the way up; infinite at the upper bound."""
    if beta >= upper:
        return np.inf
    return epsilon if beta >= 0.0 else -epsilon


@jit
def slope_downwards(beta, lower, epsilon):  # type: ignore[no-untyped-def]
    """Return what ε|β| adds to the slope on the way down; −infinite at the lower bound."""
    if beta <= lower:
        return -np.inf
    return epsilon if beta > 0.0 else -epsilon


@jit
def distance_upwards(beta, upper):  # type: ignore[no-untyped-def]
    """Return how far a coordinate may rise without passing 0, the kink of ε|β|, or its bound, and its value there."""
    return (upper - beta, upper) if beta >= 0.0 else (-beta, 0.0)


@jit
def distance_downwards(beta, lower):  # type: ignore[no-untyped-def]
    """Return how far a coordinate may fall without passing 0 or its bound, and its value there."""
    return (beta - lower, lower) if beta <= 0.0 else (beta, 0.0)


@jit
def compute_scores(beta, G, lower, upper, epsilon, up, down):  # type: ignore[no-untyped-def]
    """Compute the scores of all coordinates on the way up, and, with the opposite sign, on the way down."""
    for k in range(G.shape[0]):
        up[k] = -(G[k] + slope_upwards(beta[k], upper[k], epsilon))
        down[k] = G[k] + slope_downwards(beta[k], lower[k], epsilon)


@jit
def _pad_length(n):  # type: ignore[no-untyped-def]
    """Return the least multiple of `MAXIMUM_BLOCK` that is not below n."""
    return (n + MAXIMUM_BLOCK - 1) // MAXIMUM_BLOCK * MAXIMUM_BLOCK


@jit
def _move_pair(G, above, below, step, rise, fall, up, down):  # type: ignore[no-untyped-def]
    """Update slopes and scores after one coordinate rose and another fell by a step."""
    number = up.dtype.type
    for k in range(G.shape[0]):
        g = G[k] + step * (np.float64(above[k]) - np.float64(below[k]))
        G[k] = g
        up[k] = -(number(g) + rise[k])
        down[k] = number(g) + fall[k]


@jit
def _least_curvature(K):  # type: ignore[no-untyped-def]
    """Return the curvature that counts as flat: a share of the least k(x, x) above 0, or of 1; never 0."""
    least = np.inf
    for k in range(K.shape[0]):
        if 0.0 < K[k, k] < least:
            least = np.float64(K[k, k])
    if least == np.inf:
        least = 1.0
    return max(FLAT_PAIR_CURVATURE * least, np.float64(np.finfo(K.dtype).tiny))


@jit
def _pair_gains(high, down, diagonal, row, own, least_curvature, gain):  # type: ignore[no-untyped-def]
    """Compute the decrease of the objective, without bounds, if a coordinate of score `high` rises and each other
    falls.
    """
    number = row.dtype.type  # all of one precision, or the loop would run in the higher one
    least, zero, two, flat = number(-np.inf), number(0), number(2), number(least_curvature)
    for k in range(row.shape[0]):
        slope = high + down[k]
        curvature = own + diagonal[k] - two * row[k]
        curvature = curvature if curvature > flat else flat
        gain[k] = slope * slope / curvature if slope > zero else least


@jit
def _start_descent(K, beta, G, lower, upper, epsilon):  # type: ignore[no-untyped-def]
    """Return the diagonal of K, slopes and scores of all coordinates up and down, and an array for gains."""
    q, size, least = K.shape[0], _pad_length(K.shape[0]), K.dtype.type(-np.inf)
    rise, fall = np.full(size, -least), np.full(size, least)
    up, down, gain = np.full(size, least), np.full(size, least), np.full(size, least)
    diagonal = np.empty(q, K.dtype)
    for k in range(q):
        g = K.dtype.type(G[k])
        diagonal[k] = K[k, k]
        rise[k], fall[k] = slope_upwards(beta[k], upper[k], epsilon), slope_downwards(beta[k], lower[k], epsilon)
        up[k], down[k] = -(g + rise[k]), g + fall[k]
    return diagonal, rise, fall, up, down, gain


@jit
def descend_pairs(K, beta, G, lower, upper, epsilon, tolerance, most):  # type: ignore[no-untyped-def]
    """Move pairs of coordinates, the second chosen by its gain to second order, until no violation exceeds the
    tolerance.

    β and G are changed in place. Returns the number of steps.
    """
    flat = _least_curvature(K)
    diagonal, rise, fall, up, down, gain = _start_descent(K, beta, G, lower, upper, epsilon)
    for steps in range(most):
        i, high = find_largest(up)
        j, low = find_largest(down)
        if not high + low > tolerance:
            return steps
        row = K[i]
        _pair_gains(high, down, diagonal, row, diagonal[i], flat, gain)
        j, _ = find_largest(gain)
        curvature = max(np.float64(K[i, i]) + np.float64(K[j, j]) - 2.0 * np.float64(row[j]), flat)
        step = max(-(G[i] + rise[i]) + (G[j] + fall[j]), 0.0) / curvature
        (above, top), (below, bottom) = distance_upwards(beta[i], upper[i]), distance_downwards(beta[j], lower[j])
        step = min(step, min(above, below))
        if beta[i] + step == beta[i] and beta[j] - step == beta[j]:
            return steps  # the step is below rounding
        beta[i] = top if step >= above else beta[i] + step
        beta[j] = bottom if step >= below else beta[j] - step
        for k in (i, j):
            rise[k], fall[k] = slope_upwards(beta[k], upper[k], epsilon), slope_downwards(beta[k], lower[k], epsilon)
        _move_pair(G, row, K[j], step, rise, fall, up, down)
    return most


@jit
def _move_one(G, row, step, rise, fall, up, down):  # type: ignore[no-untyped-def]
    """Update slopes and scores after one coordinate moved by a step."""
    number = up.dtype.type
    for k in range(G.shape[0]):
        g = G[k] + step * np.float64(row[k])
        G[k] = g
        up[k] = -(number(g) + rise[k])
        down[k] = number(g) + fall[k]


@jit
def _single_gains(up, down, diagonal, gain):  # type: ignore[no-untyped-def]
    """Compute the decrease of the objective, without bounds, if each coordinate moves alone."""
    least, zero = up.dtype.type(-np.inf), up.dtype.type(0)
    for k in range(diagonal.shape[0]):
        slope = up[k] if up[k] > down[k] else down[k]
        gain[k] = slope * slope / diagonal[k] if slope > zero else least


@jit
def descend_singles(K, beta, G, lower, upper, epsilon, tolerance, most):  # type: ignore[no-untyped-def]
    """Move single coordinates, that of the largest gain first, where there is no intercept; see `descend_pairs`."""
    flat = _least_curvature(K)
    diagonal, rise, fall, up, down, gain = _start_descent(K, beta, G, lower, upper, epsilon)
    for k in range(diagonal.shape[0]):
        diagonal[k] = max(diagonal[k], K.dtype.type(flat))
    for steps in range(most):
        if not max(find_largest(up)[1], find_largest(down)[1]) > tolerance:
            return steps
        _single_gains(up, down, diagonal, gain)
        k, _ = find_largest(gain)
        if up[k] > down[k]:
            distance, end = distance_upwards(beta[k], upper[k])
            step = min(-(G[k] + rise[k]) / diagonal[k], distance)
        else:
            distance, end = distance_downwards(beta[k], lower[k])
            step = -min((G[k] + fall[k]) / diagonal[k], distance)
        if beta[k] + step == beta[k]:
            return steps
        beta[k] = end if abs(step) >= distance else beta[k] + step
        rise[k], fall[k] = slope_upwards(beta[k], upper[k], epsilon), slope_downwards(beta[k], lower[k], epsilon)
        _move_one(G, K[k], step, rise, fall, up, down)
    return most
