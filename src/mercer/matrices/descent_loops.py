"""Compiled coordinate descent: each coefficient in turn moves to the minimum of the objective, the others held fixed.

With curvature a and z = c + a w, where c is the negative gradient of the loss, the minimiser of
½ a w² − z w + l1 |w| + ½ l2 w² is  sign(z) (|z| − l1)₊ / (a + l2).

The loops differ in what they keep up to date: the negative gradient of all coefficients (`gram_sweep`), or that of each
row (`dense_sweep`, `sparse_sweep`). A sweep returns the decrease of the objective.
"""

from __future__ import annotations

from mercer._jit import jit
from mercer.optim._duality_loops import least_squares_gap


@jit
def lowest(z, curvature, l1, l2, positive):  # type: ignore[no-untyped-def]
    """Return the minimiser of ½ a w² − z w + l1 |w| + ½ l2 w², over w ≥ 0 if `positive`."""
    if z > l1:
        return (z - l1) / (curvature + l2)
    if z < -l1 and not positive:
        return (z + l1) / (curvature + l2)
    return 0.0


@jit
def gram_sweep(G, size, active, l1, l2, positive, w, c):  # type: ignore[no-untyped-def]
    """Sweep once over the `active` of `size` coefficients; a unit of w_j subtracts row j of G from the slopes c."""
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
    """Sweep over all coefficients until a sweep gains no more than `least`, at most `most` times.

    Nothing is done if the duality gap of least squares is at most `target`. Returns the number of sweeps and the new
    Σ h r², which was `squares`. The step is repeated from `gram_sweep`: as a shared function it took up to twice as
    long.
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
    """Sweep once over the rows `ids` of `columns`, each centred and divided by its scale.

    v is the negative gradient for each row of the data, from which a unit of X w subtracts h.
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
    """Sweep once over the columns `ids` of a CSC matrix, each divided by its scale; v and h as in `dense_sweep`."""
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
