"""Each step of the dual descent is the minimum in its coordinate, and what is left out has settled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.svm import _linear_loops as loops

NUMBERS = st.floats(-5, 5)
DENSE = np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint32)


@given(NUMBERS, st.floats(0, 2), st.floats(0.01, 3), st.floats(0, 4), st.floats(0, 4))
def test_the_best_coefficient_maximizes_its_term(
    slope: float, epsilon: float, bend: float, low: float, high: float
) -> None:
    beta, free = loops.maximize_term(slope, epsilon, bend, -low, high)
    grid = np.linspace(-low, high, 101)
    worth = [loops.evaluate_term.plain(b, slope, epsilon, bend) for b in (beta, *grid)]
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


def test_sweeps_descend_and_update_the_sum() -> None:
    X, beta, w, kept, strongest, objectives = swept(np.inf)
    np.testing.assert_allclose(np.append(X.T @ beta, beta.sum()), w, atol=1e-12)
    assert (np.diff(objectives) <= 1e-12).all()
    assert kept == 20
    assert strongest < 1e-6


def test_shrinking_does_not_change_the_optimum() -> None:
    _, _, w, kept, _, objectives = swept(0.1)
    assert kept < 20
    np.testing.assert_allclose(w, swept(np.inf, 7)[2], atol=1e-5)
    assert objectives[-1] == pytest.approx(swept(np.inf)[-1][-1], rel=1e-9)
