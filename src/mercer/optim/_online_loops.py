"""Compiled learning rules, row by row: w ← w + α e x, where e is the error of the unit on the row (lecture 2).

    perceptron   e = y − s(u)                    s the step function, u = w·x, y 0 or 1
    LMS_RULE          e = t − u                       t = ±1
    logistic     e = y − σ(u)
    sigmoid      e = σ(u) (1 − σ(u)) (y − σ(u))

The rate decays as α = rate / (1 + decay · passes), and the weights may be averaged over all steps: with A = Σ t·Δw_t
accumulated beside them, the average of w_1 … w_T is w_T − A/T, at no more cost than the updates themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer._jit import IN_ORDER, jit
from mercer._jit.instructions import fetch
from mercer._jit.scalar import logistic
from mercer.optim.row_order_loops import ROWS_AHEAD

#: code of the perceptron rule, e = y − s(u)
PERCEPTRON_RULE = 0
#: code of least mean squares, e = t − u
LMS_RULE = 1
#: code of the gradient of the logistic loss, e = y − σ(u)
LOGISTIC_RULE = 2
#: code of the gradient of the squared loss of σ(u)
SIGMOID_RULE = 3


class Pace(NamedTuple):
    """Step sizes α = rate / (1 + decay · (passes + share · t)) of the rows t; averages count from `steps_before`."""

    rate: float
    decay: float
    passes: float
    share: float
    steps_before: float


@jit(forceinline=True, **IN_ORDER)
def rate_at(pace, t, importance):  # type: ignore[no-untyped-def]
    """Return α of row t, times its weight."""
    rate = importance * pace.rate
    if pace.decay > 0.0:
        rate /= 1.0 + pace.decay * (pace.passes + pace.share * t)
    return rate


@jit(forceinline=True, **IN_ORDER)
def error_and_loss(rule, u, positive):  # type: ignore[no-untyped-def]
    """Return the error e of a unit with activation u, and its loss."""
    right = (u >= 0.0) == positive
    sign = 1.0 if positive else -1.0
    if rule == PERCEPTRON_RULE:
        return (0.0, 0.0) if right else (sign, abs(u))
    if rule == LMS_RULE:
        e = sign - u
        return e, 0.5 * e * e
    p, q, loss = logistic(abs(u))
    e = q if right else p
    if rule == LOGISTIC_RULE:
        return sign * e, loss if right else loss + abs(u)
    return sign * e * (p * q), 0.5 * e * e


@jit(**IN_ORDER)
def errors_and_losses(rule, u, codes, first, weight, error, tally):  # type: ignore[no-untyped-def]
    """Compute weighted errors for activations u (rows, units), and add to `tally` as `learn_dense` does.

    A third column of `tally` sums the weight of the rows that each unit has on the wrong side.
    """
    n, units = u.shape
    weighted = weight.shape[0] > 0
    for i in range(n):
        importance = weight[i] if weighted else 1.0
        best, winner, right = -np.inf, -1, True
        for k in range(units):
            positive = codes[i] == first + k
            e, loss = error_and_loss(rule, u[i, k], positive)
            right = (u[i, k] >= 0.0) == positive
            error[i, k] = importance * e
            tally[k, 0] += importance * loss
            tally[k, 1] += 0.0 if right else 1.0
            tally[k, 2] += 0.0 if right else importance
            if u[i, k] > best:
                best, winner = u[i, k], k
        if units > 1:
            right = codes[i] == first + winner
        tally[units, 0] += 0.0 if right else importance


@jit
def learn_dense(rule, X, codes, first, weight, order, pace, W, bias, learns_bias, A, a, tally):  # type: ignore[no-untyped-def]
    """Learn dense rows once, in the given order: update W (units, columns), `bias` and their sums A and a.

    Unit k is positive for rows of class first + k. `tally` accumulates each unit's loss and mistakes, and in its last
    row the weight of the misclassified rows and a number that is NaN if a value was not finite. An empty `weight` means
    ones, an empty `order` the order of the rows, and an empty A no averaging.
    """
    n, units, d = codes.shape[0], W.shape[0], W.shape[1]
    weighted, shuffled, averaging = weight.shape[0] > 0, order.shape[0] > 0, A.shape[0] > 0
    for t in range(n):
        i = order[t] if shuffled else t
        importance = weight[i] if weighted else 1.0
        rate = rate_at(pace, t, importance)
        best, winner, right = -np.inf, -1, True
        for k in range(units):
            u = bias[k]
            for j in range(d):
                u += W[k, j] * X[i, j]
            positive = codes[i] == first + k
            e, loss = error_and_loss(rule, u, positive)
            right = (u >= 0.0) == positive
            tally[k, 0] += importance * loss
            tally[k, 1] += 0.0 if right else 1.0
            tally[units, 1] += 0.0 * u
            if u > best:
                best, winner = u, k
            if e != 0.0:
                step = rate * e
                bias[k] += step * learns_bias
                for j in range(d):
                    W[k, j] += step * X[i, j]
                if averaging:
                    before = step * (pace.steps_before + t)
                    a[k] += before * learns_bias
                    for j in range(d):
                        A[k, j] += before * X[i, j]
        if units > 1:
            right = codes[i] == first + winner
        tally[units, 0] += 0.0 if right else importance


@jit(**IN_ORDER)
def learn_sparse(  # type: ignore[no-untyped-def]
    rule, indptr, indices, values, codes, first, weight, order, pace, w, bias, learns_bias, A, a, tally
):
    """Learn sparse rows once by a single unit, as `learn_dense` does: w and A have one number per column."""
    n = codes.shape[0]
    weighted, shuffled, averaging = weight.shape[0] > 0, order.shape[0] > 0, A.shape[0] > 0
    b, total, mistakes, wrong, nonfinite = bias[0], 0.0, 0.0, 0.0, 0.0
    stored = indices.shape[0]
    for t in range(n):
        i = order[t] if shuffled else t
        later = min(t + ROWS_AHEAD, n - 1)
        later = order[later] if shuffled else later
        importance = weight[i] if weighted else 1.0
        rate = rate_at(pace, t, importance)
        begin, end, ahead = np.int64(indptr[i]), np.int64(indptr[i + 1]), np.int64(indptr[later])
        u = 0.0
        if ahead + (end - begin) <= stored:
            # one prefetch per value, so that no more are in flight than the memory can serve
            for k in range(end - begin):
                fetch(w, np.int64(indices[ahead + k]))
                u += values[begin + k] * w[indices[begin + k]]
        else:
            for entry in range(begin, end):
                u += values[entry] * w[indices[entry]]
        u += b  # added last, so that the sum does not depend on the previous row's update
        positive = codes[i] == first
        e, loss = error_and_loss(rule, u, positive)
        total += importance * loss
        nonfinite += 0.0 * u
        if (u >= 0.0) != positive:
            mistakes += 1.0
            wrong += importance
        if e != 0.0:
            step = rate * e
            b += step * learns_bias
            for entry in range(begin, end):
                w[indices[entry]] += step * values[entry]
            if averaging:
                before = step * (pace.steps_before + t)
                a[0] += before * learns_bias
                for entry in range(begin, end):
                    A[indices[entry]] += before * values[entry]
    bias[0] = b
    tally[0, 0] += total
    tally[0, 1] += mistakes
    tally[1, 0] += wrong
    tally[1, 1] += nonfinite


@jit(**IN_ORDER)
def learn_sparse_units(  # type: ignore[no-untyped-def]
    rule, indptr, indices, values, codes, first, weight, order, pace, W, bias, learns_bias, A, a, tally
):
    """Learn sparse rows once by several units, as `learn_dense` does: W and A are (columns, units)."""
    n, units = codes.shape[0], W.shape[1]
    weighted, shuffled, averaging = weight.shape[0] > 0, order.shape[0] > 0, A.shape[0] > 0
    u, step = np.empty(units), np.empty(units)
    for t in range(n):
        i = order[t] if shuffled else t
        importance = weight[i] if weighted else 1.0
        rate = rate_at(pace, t, importance)
        for k in range(units):
            u[k] = bias[k]
        for entry in range(indptr[i], indptr[i + 1]):
            value, j = values[entry], indices[entry]
            for k in range(units):
                u[k] += value * W[j, k]
        best, winner = -np.inf, -1
        for k in range(units):
            positive = codes[i] == first + k
            e, loss = error_and_loss(rule, u[k], positive)
            tally[k, 0] += importance * loss
            tally[k, 1] += 0.0 if (u[k] >= 0.0) == positive else 1.0
            tally[units, 1] += 0.0 * u[k]
            if u[k] > best:
                best, winner = u[k], k
            step[k] = rate * e
            bias[k] += step[k] * learns_bias
            if averaging:
                a[k] += step[k] * (pace.steps_before + t) * learns_bias
        tally[units, 0] += 0.0 if codes[i] == first + winner else importance
        for entry in range(indptr[i], indptr[i + 1]):
            value, j = values[entry], indices[entry]
            for k in range(units):
                W[j, k] += step[k] * value
                if averaging:
                    A[j, k] += step[k] * (pace.steps_before + t) * value
