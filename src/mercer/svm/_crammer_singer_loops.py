"""Descent of the dual of Crammer and Singer's support vector machine of several classes, row after row."""

from __future__ import annotations

import numpy as np

from mercer._jit import IN_ORDER, jit
from mercer.optim.row_order_loops import shuffle


@jit(forceinline=True, **IN_ORDER)
def minimize_row(B, square, own, most, alpha, sorted_bounds):  # type: ignore[no-untyped-def]
    """Minimise ½ square ‖α‖² + B·α with Σ α = 0, where α is at most `most` for the `own` class and 0 for the others.

    α = min(bound, (b − B)/square) for the b that makes the sum vanish: classes enter in decreasing order of B + square
    · bound, until the remaining ones are at their bounds.
    """
    k = B.shape[0]
    for m in range(k):
        bound = B[m] + (square * most if m == own else 0.0)
        place = m
        while place > 0 and sorted_bounds[place - 1] < bound:
            sorted_bounds[place] = sorted_bounds[place - 1]
            place -= 1
        sorted_bounds[place] = bound
    total, count = sorted_bounds[0] - square * most, 1
    while count < k and total < count * sorted_bounds[count]:
        total += sorted_bounds[count]
        count += 1
    level = total / count
    for m in range(k):
        alpha[m] = min(most if m == own else 0.0, (level - B[m]) / square)


@jit(**IN_ORDER)
def respond(scores, codes, most, centre, hold, alpha, free):  # type: ignore[no-untyped-def]
    """Compute the `alpha` of rows at scores x·W, each held to its `centre` by ½ hold ‖α − centre‖².

    `free` is 1 for the classes below their bounds, else 0. Returns the losses with that term, the losses without, and
    the distance of α from the latter, as `_linear_loops.respond` does.
    """
    n, k = scores.shape
    below, B, scratch = np.empty(k), np.empty(k), np.empty(k)
    held = loss = away = 0.0
    for i in range(n):
        own, highest = codes[i], -np.inf
        for m in range(k):
            highest = max(highest, scores[i, m] + (0.0 if m == own else 1.0))
        for m in range(k):  # since Σ α = 0 only differences matter, and those of classes that meet are small
            below[m] = scores[i, m] + (0.0 if m == own else 1.0) - highest
            B[m] = below[m] - hold[i] * centre[i, m]
        minimize_row(B, hold[i], own, most[i], alpha[i], scratch)
        worth = moved = 0.0
        for m in range(k):
            a = alpha[i, m]
            free[i, m] = 1.0 if a < (most[i] if m == own else 0.0) else 0.0
            worth -= a * below[m]
            moved += (a - centre[i, m]) ** 2
        highest_worth = -most[i] * below[own]
        held += worth - 0.5 * hold[i] * moved
        loss += highest_worth
        away += max(highest_worth - worth, 0.0)
    return held, loss, away


@jit(**IN_ORDER)
def sweep(indptr, indices, values, constant, squares, codes, most, order, seed, alpha, W):  # type: ignore[no-untyped-def]
    """Make one pass over all rows in random order; W = Σ x αᵀ, with a column for each class, is updated.

    Returns the largest difference of slopes between classes among which a row could still shift weight.
    """
    n, k = alpha.shape
    d = W.shape[0] - 1
    dense = indptr.shape[0] == 0
    B, before, scratch = np.empty(k), np.empty(k), np.empty(k)
    shuffle(order, seed)
    largest = 0.0
    for t in range(n):
        i = order[t]
        square = squares[i]
        if square <= 0.0:
            continue
        own = codes[i]
        begin = np.int64(i) * d if dense else np.int64(indptr[i])
        end = begin + d if dense else np.int64(indptr[i + 1])
        for m in range(k):
            B[m] = constant * W[d, m] + (0.0 if m == own else 1.0)
        for entry in range(begin, end):
            j = entry - begin if dense else np.int64(indices[entry])
            for m in range(k):
                B[m] += values[entry] * W[j, m]
        highest, lowest = -np.inf, np.inf
        for m in range(k):
            highest = max(highest, B[m])
            if alpha[i, m] < (most[i] if m == own else 0.0):
                lowest = min(lowest, B[m])
        if highest - lowest <= 0.0:
            continue
        largest = max(largest, highest - lowest)
        for m in range(k):
            before[m] = alpha[i, m]
            B[m] -= square * alpha[i, m]
        minimize_row(B, square, own, most[i], alpha[i], scratch)
        for m in range(k):
            before[m] = alpha[i, m] - before[m]
        for entry in range(begin, end):
            j = entry - begin if dense else np.int64(indices[entry])
            for m in range(k):
                W[j, m] += values[entry] * before[m]
        for m in range(k):
            W[d, m] += constant * before[m]
    return largest
