"""Squared hinge losses with an L1 penalty: coordinate descent, column after column.

Columns are those of a matrix in Fortran order (an empty `indptr`) or of a CSC matrix.
"""

from __future__ import annotations

import numpy as np

from mercer._jit import IN_ORDER, jit
from mercer.optim.row_order_loops import row_span, shuffle

#: portion of the decrease promised by the slope that a step has to achieve
SUFFICIENT_COORDINATE_DECREASE = 0.01
#: halvings of a step until it does
MAX_COORDINATE_HALVINGS = 30


@jit(forceinline=True, **IN_ORDER)
def compute_slopes(indptr, indices, values, j, n, y, weight, eta):  # type: ignore[no-untyped-def]
    """Return the first derivative of the losses in one coefficient and, from rows short of their margin, the second."""
    begin, end = row_span(indptr, j, n)
    first = second = 0.0
    for entry in range(begin, end):
        i = entry - begin if indptr.shape[0] == 0 else np.int64(indices[entry])
        short = 1.0 - y[i] * eta[i]
        if short > 0.0:
            x = values[entry]
            first -= 2.0 * weight[i] * y[i] * x * short
            second += 2.0 * weight[i] * x * x
    return first, second


@jit(forceinline=True, **IN_ORDER)
def compute_change(indptr, indices, values, j, n, y, weight, eta, step):  # type: ignore[no-untyped-def]
    """Return the change of the losses by a step of one coefficient."""
    begin, end = row_span(indptr, j, n)
    total = 0.0
    for entry in range(begin, end):
        i = entry - begin if indptr.shape[0] == 0 else np.int64(indices[entry])
        before = max(1.0 - y[i] * eta[i], 0.0)
        after = max(1.0 - y[i] * (eta[i] + step * values[entry]), 0.0)
        total += weight[i] * (after - before) * (after + before)
    return total


@jit(forceinline=True, **IN_ORDER)
def move_coefficient(indptr, indices, values, j, n, eta, step):  # type: ignore[no-untyped-def]
    """Update η for a step of one coefficient."""
    begin, end = row_span(indptr, j, n)
    for entry in range(begin, end):
        i = entry - begin if indptr.shape[0] == 0 else np.int64(indices[entry])
        eta[i] += step * values[entry]


@jit(forceinline=True, **IN_ORDER)
def step_to_minimum(first, second, w):  # type: ignore[no-untyped-def]
    """Return the d that minimises first · d + ½ second · d² + |w + d|."""
    if first + 1.0 <= second * w:
        return -(first + 1.0) / second
    if first - 1.0 >= second * w:
        return -(first - 1.0) / second
    return -w


@jit(**IN_ORDER)
def sweep(indptr, indices, values, y, weight, active, n_active, seed, limit, w, eta):  # type: ignore[no-untyped-def]
    """Make one pass over the first `n_active` columns of `active`, in random order; `eta` = X w is updated.

    A coefficient of zero that would stay even if its slope were steeper by `limit` becomes inactive. Returns the number
    of active columns, and the largest violation of optimality.
    """
    n = eta.shape[0]
    shuffle(active[:n_active], seed)
    largest = 0.0
    t = 0
    while t < n_active:
        j = active[t]
        first, second = compute_slopes(indptr, indices, values, j, n, y, weight, eta)
        if w[j] == 0.0 and abs(first) <= 1.0:
            if 1.0 - abs(first) > limit:
                n_active -= 1
                active[t], active[n_active] = active[n_active], active[t]
            else:
                t += 1
            continue
        t += 1
        sign = -np.sign(first) if w[j] == 0.0 else np.sign(w[j])
        largest = max(largest, abs(first + sign))
        step = step_to_minimum(first, second, w[j]) if second > 0.0 else -w[j]
        promise = first * step + abs(w[j] + step) - abs(w[j])
        if promise >= 0.0:
            continue
        for _ in range(MAX_COORDINATE_HALVINGS):
            gained = compute_change(indptr, indices, values, j, n, y, weight, eta, step) + abs(w[j] + step) - abs(w[j])
            if gained <= SUFFICIENT_COORDINATE_DECREASE * promise:
                w[j] += step
                move_coefficient(indptr, indices, values, j, n, eta, step)
                break
            step *= 0.5
            promise *= 0.5
    return n_active, largest
