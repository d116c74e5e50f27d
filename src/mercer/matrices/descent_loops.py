"""Compiled coordinate descent: each coefficient in turn moves to the minimum of the objective, the others held fixed.

With curvature a and z = c + a w, where c is the negative gradient of the loss, the minimiser of
½ a w² − z w + l1 |w| + ½ l2 w² is  sign(z) (|z| − l1)₊ / (a + l2).

The sweeps keep the negative gradient of each row up to date, and return the decrease of the objective. Those of
`mercer.optim._gram_descent_loops` keep that of all coefficients.
"""

from __future__ import annotations

from mercer._jit import jit


@jit
def lowest(z, curvature, l1, l2, positive):  # type: ignore[no-untyped-def]
    """Return the minimiser of ½ a w² − z w + l1 |w| + ½ l2 w², over w ≥ 0 if `positive`."""
    if z > l1:
        return (z - l1) / (curvature + l2)
    if z < -l1 and not positive:
        return (z + l1) / (curvature + l2)
    return 0.0


@jit
def dense_sweep(columns, ids, centre, scale, c, h, curvature, l1, l2, positive, w, v):  # type: ignore[no-untyped-def]
    """Sweep once over the rows `ids` of `columns`, each centred and divided by its scale.

    v is the negative gradient for each row of the data, from which a unit of X w subtracts h; c is what the slope of
    each column has besides that.
    """
    decrease = 0.0
    for t in range(ids.shape[0]):
        if curvature[t] + l2[t] <= 0.0:
            continue
        x, middle, unit = columns[ids[t]], centre[ids[t]], scale[ids[t]]
        slope = 0.0
        for i in range(v.shape[0]):
            slope += (x[i] - middle) * v[i]
        slope = slope / unit + c[t]
        step = lowest(slope + curvature[t] * w[t], curvature[t], l1[t], l2[t], positive) - w[t]
        if step != 0.0:
            decrease += 0.5 * (curvature[t] + l2[t]) * step * step
            w[t] += step
            factor = step / unit
            for i in range(v.shape[0]):
                v[i] -= factor * h[i] * (x[i] - middle)
    return decrease


@jit
def sparse_sweep(indptr, indices, values, ids, scale, c, h, curvature, l1, l2, positive, w, v):  # type: ignore[no-untyped-def]
    """Sweep once over the columns `ids` of a CSC matrix, each divided by its scale; c, v and h as in `dense_sweep`."""
    decrease = 0.0
    for t in range(ids.shape[0]):
        if curvature[t] + l2[t] <= 0.0:
            continue
        j = ids[t]
        slope = 0.0
        for entry in range(indptr[j], indptr[j + 1]):
            slope += values[entry] * v[indices[entry]]
        slope = slope / scale[j] + c[t]
        step = lowest(slope + curvature[t] * w[t], curvature[t], l1[t], l2[t], positive) - w[t]
        if step != 0.0:
            decrease += 0.5 * (curvature[t] + l2[t]) * step * step
            w[t] += step
            for entry in range(indptr[j], indptr[j + 1]):
                i = indices[entry]
                v[i] -= step / scale[j] * h[i] * values[entry]
    return decrease
