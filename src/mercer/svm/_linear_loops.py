"""Losses of margins and residuals, and the descent of their dual, row after row.

Every loss of a linear support vector machine is

    ℓ(η) = max over lower ≤ β ≤ upper of  β (t − η) − ε |β| − ½ bend β²,

where t is the target of a row, ±1 for classes; see `_margins`. Dense rows are those with an empty `indptr`.
"""

from __future__ import annotations

import numpy as np

from mercer._jit import IN_ORDER, jit
from mercer.optim.row_order_loops import prefetch_row, row_span, shuffle


@jit(forceinline=True)
def maximize_term(slope, epsilon, bend, lower, upper):  # type: ignore[no-untyped-def]
    """Return the β that maximises β · slope − ε |β| − ½ bend β² between its bounds, and whether it is free: off them
    and 0.
    """
    if slope > epsilon:
        beta = (slope - epsilon) / bend if bend > 0.0 else np.inf
    elif slope < -epsilon:
        beta = (slope + epsilon) / bend if bend > 0.0 else -np.inf
    else:
        return min(max(0.0, lower), upper), False
    if beta >= upper:
        return upper, False
    if beta <= lower:
        return lower, False
    return beta, beta != 0.0  # 5e-324 divided by a bend of 2 is 0


@jit(forceinline=True)
def evaluate_term(beta, slope, epsilon, bend):  # type: ignore[no-untyped-def]
    """Return β · slope − ε |β| − ½ bend β²."""
    return beta * slope - epsilon * abs(beta) - 0.5 * bend * beta * beta


@jit
def respond(eta, target, lower, upper, bend, epsilon, centre, hold, beta, curvature):  # type: ignore[no-untyped-def]
    """Compute the `beta` of rows at predictors η, each held to its `centre` by ½ hold (β − centre)².

    Returns the losses with that term, the losses without, and the distance of β from the latter, Σ ℓ(η) − β (t − η) + ε
    |β| + ½ bend β². `curvature` is set to −∂β/∂η.
    """
    held = loss = away = 0.0
    for i in range(eta.shape[0]):
        r = target[i] - eta[i]
        b, free = maximize_term(r + hold[i] * centre[i], epsilon, bend[i] + hold[i], lower[i], upper[i])
        beta[i] = b
        curvature[i] = 1.0 / (bend[i] + hold[i]) if free else 0.0
        here = evaluate_term(b, r, epsilon, bend[i])
        held += here - 0.5 * hold[i] * (b - centre[i]) * (b - centre[i])
        own, _ = maximize_term(r, epsilon, bend[i], lower[i], upper[i])
        highest = evaluate_term(own, r, epsilon, bend[i])
        loss += highest
        away += max(highest - here, 0.0)
    return held, loss, away


@jit
def measure(eta, target, lower, upper, bend, epsilon, beta):  # type: ignore[no-untyped-def]
    """Return the losses of rows at predictors η, and the distance of β from them; see `respond`."""
    loss = away = 0.0
    for i in range(eta.shape[0]):
        r, b = target[i] - eta[i], beta[i]
        own, _ = maximize_term(r, epsilon, bend[i], lower[i], upper[i])
        highest = evaluate_term(own, r, epsilon, bend[i])
        loss += highest
        away += max(highest - evaluate_term(b, r, epsilon, bend[i]), 0.0)
    return loss, away


# Products with single rows, and the descent.


@jit(forceinline=True)
def multiply_dense_row(values, begin, d, w):  # type: ignore[no-untyped-def]
    """Return x·w for a dense row."""
    total = 0.0
    for j in range(d):
        total += values[begin + j] * w[j]
    return total


@jit(forceinline=True, **IN_ORDER)
def multiply_sparse_row(indices, values, begin, end, w):  # type: ignore[no-untyped-def]
    """Return x·w for a sparse row."""
    total = 0.0
    for entry in range(begin, end):
        total += values[entry] * w[indices[entry]]
    return total


@jit(forceinline=True, **IN_ORDER)
def multiply_row(indptr, indices, values, constant, i, w):  # type: ignore[no-untyped-def]
    """Return x·w, the constant included."""
    d = w.shape[0] - 1
    begin, end = row_span(indptr, i, d)
    if indptr.shape[0] == 0:
        return multiply_dense_row(values, begin, d, w) + constant * w[d]
    return multiply_sparse_row(indices, values, begin, end, w) + constant * w[d]


@jit(forceinline=True, **IN_ORDER)
def add_row(indptr, indices, values, constant, i, step, w):  # type: ignore[no-untyped-def]
    """Add step · x to w."""
    d = w.shape[0] - 1
    begin, end = row_span(indptr, i, d)
    if indptr.shape[0] == 0:
        for j in range(d):
            w[j] += step * values[begin + j]
    else:
        for entry in range(begin, end):
            w[indices[entry]] += step * values[entry]
    w[d] += step * constant


@jit(forceinline=True, **IN_ORDER)
def compute_pull(slope, b, epsilon, lower, upper):  # type: ignore[no-untyped-def]
    """Return how strongly β is pulled from its value; if it is not, also how much steeper the slope may be without
    that.
    """
    if b == 0.0:
        pull = slope - epsilon if slope > epsilon else (slope + epsilon if slope < -epsilon else 0.0)
        spare = epsilon - abs(slope)
    else:
        pull, spare = slope - (epsilon if b > 0.0 else -epsilon), 0.0
    if b >= upper and pull >= 0.0:
        return 0.0, max(pull, spare)
    if b <= lower and pull <= 0.0:
        return 0.0, max(-pull, spare)
    return pull, spare


@jit(**IN_ORDER)
def sweep(  # type: ignore[no-untyped-def]
    indptr, indices, values, constant, squares, target, lower, upper, bend, epsilon, active, n, seed, limit, beta, w
):
    """Make one pass of dual coordinate descent over the first n rows of `active`, in random order.

    Each β moves to the minimum of ½ ‖Σ β x‖² + Σ ½ bend β² − t β + ε |β| in its own coordinate, and `w` = Σ β x is
    updated; its last entry belongs to the constant. A row whose β would stay even if its slope were steeper by `limit`
    becomes inactive (shrinking). Returns the number of active rows, and the strongest pull.
    """
    d = w.shape[0] - 1
    shuffle(active[:n], seed)
    strongest = 0.0
    t = 0
    while t < n:
        i = active[t]
        prefetch_row(indptr, indices, values, active, n, t, d)
        b = beta[i]
        slope = target[i] - multiply_row(indptr, indices, values, constant, i, w) - bend[i] * b
        pull, spare = compute_pull(slope, b, epsilon, lower[i], upper[i])
        if pull == 0.0 and spare > limit:
            n -= 1
            active[t], active[n] = active[n], active[t]
            continue
        if pull != 0.0:
            strongest = max(strongest, abs(pull))
            square = squares[i] + bend[i]
            beta[i], _ = maximize_term(slope + square * b, epsilon, square, lower[i], upper[i])
            if beta[i] != b:
                add_row(indptr, indices, values, constant, i, beta[i] - b, w)
        t += 1
    return n, strongest
