"""One pass of scikit-learn's perceptron, operation by operation, so that results agree to the last bit.

Nothing is reordered or fused, and for float32 data the same intermediate results are rounded. Two peculiarities are
kept: the norms in the objective are those of the coordinates that the last update changed, and the L1 penalty is
Tsuruoka's cumulative one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._jit import jit
from mercer.optim.row_order_loops import prefetch_row, row_span

#: options of the compiler: no sum is reordered, and no product is fused with a sum
STRICT_ARITHMETIC: dict[str, Any] = {"fastmath": False}
#: position in the state of the intercept
STATE_INTERCEPT = 0
#: position in the state of the common factor of the weights
STATE_SCALE = 1
#: position in the state of the squared norm of the weights
STATE_SQUARED_NORM = 2
#: position in the state of the absolute norm of the weights
STATE_ABSOLUTE_NORM = 3
#: position in the state of the cumulative L1 penalty that each weight is due
STATE_L1_DUE = 4
#: position in the state of the objective in the last pass
STATE_OBJECTIVE = 5
#: position in the state of the loss in the last pass
STATE_LOSS = 6


class PerceptronTerms(NamedTuple):
    """Constants of all passes."""

    eta: float
    alpha: float
    l1_ratio: float
    penalty: int  # 0 none, 1 L1, 2 L2, 3 both
    positive_weight: float
    negative_weight: float
    intercept_rate: float  # 0 without an intercept


@jit(**STRICT_ARITHMETIC)
def unscale(w, state):  # type: ignore[no-untyped-def]
    """Multiply the weights by their common factor."""
    scale = w.dtype.type(state[STATE_SCALE])
    for j in range(w.shape[0]):
        w[j] *= scale
    state[STATE_SCALE] = 1.0


@jit(forceinline=True, **STRICT_ARITHMETIC)
def product(w, indices, values, begin, end):  # type: ignore[no-untyped-def]
    """Return the product of the weights with the entries of a row, summed in order."""
    total = 0.0
    if indices.shape[0] == 0:
        for j in range(end - begin):
            total += w[j] * values[begin + j]
    else:
        for entry in range(begin, end):
            total += w[indices[entry]] * values[entry]
    return total


@jit(forceinline=True, **STRICT_ARITHMETIC)
def add(w, indices, values, begin, end, step):  # type: ignore[no-untyped-def]
    """Add `step` times the entries of a row to the weights."""
    if indices.shape[0] == 0:
        for j in range(end - begin):
            w[j] = w[j] + np.float64(values[begin + j]) * step
    else:
        for entry in range(begin, end):
            j = indices[entry]
            w[j] = w[j] + np.float64(values[entry]) * step


@jit(forceinline=True, **STRICT_ARITHMETIC)
def norms(w, indices, begin, end):  # type: ignore[no-untyped-def]
    """Return Σ w² and Σ |w| over the columns of a row."""
    squares = absolutes = 0.0
    for entry in range(begin, end):
        j = np.int64(entry - begin) if indices.shape[0] == 0 else np.int64(indices[entry])
        squares += w[j] * w[j]
        absolutes += abs(w[j])
    return squares, absolutes


@jit(forceinline=True, **STRICT_ARITHMETIC)
def truncate(w, indices, begin, end, state, q):  # type: ignore[no-untyped-def]
    """Apply the L1 penalty that the weights of a row are due since their last update, down to zero."""
    taken, factor = state[STATE_L1_DUE], state[STATE_SCALE]
    for entry in range(begin, end):
        j = np.int64(entry - begin) if indices.shape[0] == 0 else np.int64(indices[entry])
        before = np.float64(w[j])
        if factor * before > 0.0:
            w[j] = max(0.0, before - (taken + q[j]) / factor)
        elif factor * before < 0.0:
            w[j] = min(0.0, before + (taken - q[j]) / factor)
        q[j] += factor * (w[j] - before)


@jit(**STRICT_ARITHMETIC)
def learn(indptr, indices, values, y, weight, held_out, order, terms, smallest_scale, w, state, q):  # type: ignore[no-untyped-def]
    """Make one pass over the rows in the given order, without those held out; update w, `state` and q.

    Dense rows have empty `indptr` and `indices`. An empty `weight` means ones, and an empty `held_out` means none: in a
    shuffled order, reading less memory per row is faster. q is the L1 penalty applied to each weight so far.
    """
    kind = w.dtype.type
    n, d = order.shape[0], w.shape[0]
    weighted, some_held_out = weight.shape[0] > 0, held_out.shape[0] > 0
    state[STATE_OBJECTIVE] = state[STATE_LOSS] = 0.0
    for t in range(n):
        prefetch_row(indptr, indices, values, order, n, t, d)
        i = order[t]
        if some_held_out and held_out[i]:
            continue
        begin, end = row_span(indptr, i, d)
        importance = weight[i] if weighted else kind(1.0)
        p = kind(product(w, indices, values, begin, end) * state[STATE_SCALE]) + state[STATE_INTERCEPT]
        z = p * y[i]
        loss = 0.0 - z if z <= 0.0 else 0.0
        state[STATE_LOSS] += loss
        state[STATE_OBJECTIVE] += loss
        if terms.penalty > 0:
            norm = np.float64(kind(np.sqrt(state[STATE_SQUARED_NORM])))
            half_square, absolute = 0.5 * (norm * norm), np.float64(kind(state[STATE_ABSOLUTE_NORM]))
            state[STATE_OBJECTIVE] += terms.alpha * ((1.0 - terms.l1_ratio) * half_square + terms.l1_ratio * absolute)
        if terms.penalty >= 2:
            c = kind(max(0.0, 1.0 - ((1.0 - terms.l1_ratio) * terms.eta * terms.alpha)))
            state[STATE_SCALE] *= c
            state[STATE_SQUARED_NORM] *= c * c
            state[STATE_ABSOLUTE_NORM] *= c
            if state[STATE_SCALE] < smallest_scale:
                unscale(w, state)
        if z <= 0.0:
            update = (
                terms.eta * y[i] * (kind(terms.positive_weight if y[i] > 0.0 else terms.negative_weight) * importance)
            )
            if update != 0.0:
                scale = kind(state[STATE_SCALE])
                add(w, indices, values, begin, end, np.float64(kind(update) / scale))
                if terms.penalty > 0:
                    squares, absolutes = norms(w, indices, begin, end)
                    state[STATE_SQUARED_NORM] = squares * (scale * scale)
                    state[STATE_ABSOLUTE_NORM] = absolutes * scale
                state[STATE_INTERCEPT] += update * terms.intercept_rate
        if terms.penalty == 1 or terms.penalty == 3:
            state[STATE_L1_DUE] += terms.l1_ratio * terms.eta * terms.alpha
            truncate(w, indices, begin, end, state, q)
