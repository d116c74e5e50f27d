"""Each step of the dual descent is the minimum in its coordinate, and what is left out has settled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer._jit.solvers import dual_descent as loops
from mercer._jit.solvers.crammer_singer import respond, settle

NUMBERS = st.floats(-5, 5)
DENSE = np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint32)


@settings(deadline=None)
@given(NUMBERS, st.floats(0, 2), st.floats(0.01, 3), st.floats(0, 4), st.floats(0, 4))
def test_the_best_answer_is_worth_most(slope: float, epsilon: float, bend: float, low: float, high: float) -> None:
    beta, free = loops.best(slope, epsilon, bend, -low, high)
    grid = np.linspace(-low, high, 101)
    worth = [loops.worth.plain(b, slope, epsilon, bend) for b in (beta, *grid)]
    assert worth[0] >= max(worth[1:]) - 1e-12
    assert -low <= beta <= high
    assert not free or (-low < beta < high and beta != 0)


def swept(limit: float, seed: int = 1) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), np.where(rng.random(20) < 0.5, 1.0, -1.0)
    lower, upper, bend = np.where(y > 0, 0.0, -1.0), np.where(y > 0, 1.0, 0.0), np.zeros(20)
    beta, w, active = np.zeros(20), np.zeros(4), np.arange(20, dtype=np.int32)
    squares, state = (X**2).sum(axis=1) + 1.0, []
    for _ in range(200):
        kept, strongest = loops.sweep(
            *DENSE, X.reshape(-1), 1.0, squares, y, lower, upper, bend, 0.0, active, 20, seed, limit, beta, w
        )
        state.append(0.5 * w @ w - y @ beta)
    return X, beta, w, kept, strongest, state


def test_sweeps_descend_and_the_sum_keeps_up() -> None:
    X, beta, w, kept, strongest, objectives = swept(np.inf)
    np.testing.assert_allclose(np.append(X.T @ beta, beta.sum()), w, atol=1e-12)
    assert (np.diff(objectives) <= 1e-12).all()
    assert kept == 20
    assert strongest < 1e-6


def test_rows_that_have_settled_are_left_out_without_changing_the_optimum() -> None:
    _, _, w, kept, _, objectives = swept(0.1)
    assert kept < 20
    np.testing.assert_allclose(w, swept(np.inf, 7)[2], atol=1e-5)
    assert objectives[-1] == pytest.approx(swept(np.inf)[-1][-1], rel=1e-9)


@given(st.lists(NUMBERS, min_size=2, max_size=6), st.floats(0.1, 5), st.floats(0.1, 5), st.data())
def test_weight_is_shifted_between_classes_as_their_slopes_ask(B: Any, square: float, most: float, data: Any) -> None:
    """Σ α = 0, bounds hold, and classes below their bounds have equal slopes, no smaller than those at them."""
    own = data.draw(st.integers(0, len(B) - 1))
    B, alpha = np.array(B), np.empty(len(B))
    settle.plain(B, square, own, most, alpha, np.empty(len(B)))
    bound = np.where(np.arange(len(B)) == own, most, 0.0)
    slopes = B + square * alpha
    inside = alpha < bound - 1e-9
    assert abs(alpha.sum()) <= 1e-9
    assert (alpha <= bound + 1e-12).all()
    if inside.any():
        assert np.ptp(slopes[inside]) <= 1e-8
        assert (slopes[~inside] <= slopes[inside].min() + 1e-8).all()


def test_the_losses_of_classes_have_their_answers_as_slopes() -> None:
    """α is −∂/∂scores of the held losses, and 1/hold of it shifts between the classes that are free."""
    rng = np.random.default_rng(0)
    n, k, step = 30, 4, 1e-6
    scores, codes = rng.normal(size=(n, k)), rng.integers(0, k, n).astype(np.int32)
    most, centre, hold = rng.uniform(0.5, 2.0, n), rng.normal(size=(n, k)), rng.uniform(0.5, 2.0, n)

    def answered(at: Any) -> tuple[Any, Any, Any]:
        alpha, free = np.empty((n, k)), np.empty((n, k))
        return respond(at, codes, most, centre, hold, alpha, free), alpha, free

    (held, loss, away), alpha, free = answered(scores)
    margins = scores + (np.arange(k) != codes[:, None])
    assert loss == pytest.approx(most @ (margins.max(axis=1) - scores[np.arange(n), codes]))
    assert away == pytest.approx(loss + np.sum(alpha * margins))
    assert held <= loss
    direction = rng.normal(size=(n, k))
    above, below = (answered(scores + sign * step * direction) for sign in (1, -1))
    assert (above[0][0] - below[0][0]) / (2 * step) == pytest.approx(-np.sum(alpha * direction), abs=1e-6)
    shift = free * (direction - (free * direction).sum(axis=1, keepdims=True) / free.sum(axis=1, keepdims=True))
    np.testing.assert_allclose((below[1] - above[1]) / (2 * step), shift / hold[:, None], atol=1e-6)
