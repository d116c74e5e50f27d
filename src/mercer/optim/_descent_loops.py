"""Coordinate descent: one coefficient at a time moves to where the objective is lowest, the others held.

With curvature a and pull z = c + a w, where c is the slope of the loss downhill, the lowest point of
½ a w² − z w + l1 |w| + ½ l2 w² is  sign(z) (|z| − l1)₊ / (a + l2).

The loops differ in what they keep up to date: the slopes of all coefficients (`gram_sweep`), or the slope of each row
(`dense_sweep`, `sparse_sweep`). Sweeps return the decrease of the objective.
"""

from __future__ import annotations

from mercer._jit import jit
from mercer.optim._duality_loops import least_squares_gap


@jit
def lowest(z, curvature, l1, l2, positive):  # type: ignore[no-untyped-def]
    """The lowest point of ½ a w² − z w + l1 |w| + ½ l2 w², or of those w ≥ 0."""
    if z > l1:
        return (z - l1) / (curvature + l2)
    if z < -l1 and not positive:
        return (z + l1) / (curvature + l2)
    return 0.0


@jit
def gram_sweep(G, size, active, l1, l2, positive, w, c):  # type: ignore[no-untyped-def]
    """One sweep over the `active` of `size` coefficients; row j of G is what a unit of w_j takes from the slopes c."""
    decrease = 0.0
    for j in active:
        curvature = G[j, j]
        if curvature + l2[j] <= 0.0:
            continue
        step = lowest(c[j] + curvature * w[j], curvature, l1[j], l2[j], positive) - w[j]
        if step != 0.0:
            decrease += 0.5 * (curvature + l2[j]) * step * step
            w[j] += step
            for i in range(size):
                c[i] -= step * G[j, i]
    return decrease


@jit
def gram_descent(G, size, l1, l2, positive, w, c, squares, target, least, most):  # type: ignore[no-untyped-def]
    """Sweeps over all coefficients, unless the gap of least squares is at most `target`: so many as are allowed, or
    until one gains no more than `least`. Returns how many, and Σ h r², which was `squares`.

    The step is written out as in `gram_sweep`: as a function that both call, it took up to twice as long.
    """
    if least_squares_gap(l1, l2, positive, w, c, squares) <= target:
        return 0, squares
    for sweep in range(most):
        decrease = 0.0
        for j in range(size):
            curvature = G[j, j]
            if curvature + l2[j] <= 0.0:
                continue
            step = lowest(c[j] + curvature * w[j], curvature, l1[j], l2[j], positive) - w[j]
            if step != 0.0:
                decrease += 0.5 * (curvature + l2[j]) * step * step
                squares = max(0.0, squares - step * (2.0 * c[j] - step * curvature))
                w[j] += step
                for i in range(size):
                    c[i] -= step * G[j, i]
        if decrease <= least:
            return sweep + 1, squares
    return most, squares


@jit
def dense_sweep(columns, ids, centre, scale, h, curvature, l1, l2, positive, w, v):  # type: ignore[no-untyped-def]
    """One sweep over the rows `ids` of `columns`, each about its centre and divided by its scale.

    v is downhill in each row of the data, and h what a unit of X w takes from it.
    """
    decrease = 0.0
    for t in range(ids.shape[0]):
        if curvature[t] + l2[t] <= 0.0:
            continue
        x, middle, unit = columns[ids[t]], centre[ids[t]], scale[ids[t]]
        slope = 0.0
        for i in range(v.shape[0]):
            slope += (x[i] - middle) * v[i]
        slope /= unit
        step = lowest(slope + curvature[t] * w[t], curvature[t], l1[t], l2[t], positive) - w[t]
        if step != 0.0:
            decrease += 0.5 * (curvature[t] + l2[t]) * step * step
            w[t] += step
            factor = step / unit
            for i in range(v.shape[0]):
                v[i] -= factor * h[i] * (x[i] - middle)
    return decrease


@jit
def sparse_sweep(indptr, indices, values, ids, scale, h, curvature, l1, l2, positive, w, v):  # type: ignore[no-untyped-def]
    """One sweep over the columns `ids` of a CSC matrix, each divided by its scale; v and h as in `dense_sweep`."""
    decrease = 0.0
    for t in range(ids.shape[0]):
        if curvature[t] + l2[t] <= 0.0:
            continue
        j = ids[t]
        slope = 0.0
        for entry in range(indptr[j], indptr[j + 1]):
            slope += values[entry] * v[indices[entry]]
        slope /= scale[j]
        step = lowest(slope + curvature[t] * w[t], curvature[t], l1[t], l2[t], positive) - w[t]
        if step != 0.0:
            decrease += 0.5 * (curvature[t] + l2[t]) * step * step
            w[t] += step
            for entry in range(indptr[j], indptr[j + 1]):
                i = indices[entry]
                v[i] -= step / scale[j] * h[i] * values[entry]
    return decrease
