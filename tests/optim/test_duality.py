"""Duality gaps: upper bounds for the remaining decrease, and zero at the minimum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.optim.duality import GapPenalty, duality_gap, least_squares_gap, squares_lost

Array = np.ndarray


def problem(seed: int, l2: Any) -> tuple[Array, Array, GapPenalty]:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(12, 6)), rng.normal(size=12)
    return X, y, GapPenalty(rng.uniform(0.1, 3, 6), np.broadcast_to(l2, 6).astype(float))


def height(X: Array, y: Array, penalty: GapPenalty, w: Array) -> float:
    return 0.5 * float(np.square(y - X @ w).sum()) + penalty.value(w)


def minimum(X: Array, y: Array, penalty: GapPenalty) -> Array:
    """Return the minimiser by proximal gradient steps, which are slow and simple."""
    w, step = np.zeros(X.shape[1]), 1 / np.linalg.norm(X, 2) ** 2
    for _ in range(20_000):
        z = w + step * X.T @ (y - X @ w)
        w = np.sign(z) * np.maximum(np.abs(z) - step * penalty.l1, 0.0) / (1 + step * penalty.l2)
        if penalty.positive:
            w = np.maximum(w, 0.0)
    return w


def gap_at(X: Array, y: Array, penalty: GapPenalty, w: Array) -> float:
    residual = y - X @ w
    return duality_gap(penalty, w, X.T @ residual, squares_lost(float(residual @ residual)))


@settings(max_examples=25)
@given(st.integers(0, 1000), st.sampled_from([0.0, 1e-6, 1.0, 100.0]), st.booleans())
def test_the_gap_bounds_the_remaining_decrease(seed: int, l2: float, positive: bool) -> None:
    X, y, penalty = problem(seed, l2)
    penalty = penalty._replace(positive=positive)
    best = minimum(X, y, penalty)
    lowest = height(X, y, penalty, best)
    assert 0 <= gap_at(X, y, penalty, best) <= 1e-7 * (1 + lowest)
    rng = np.random.default_rng(seed)
    for w in (np.zeros(6), best + 0.01 * rng.normal(size=6), rng.normal(size=6)):
        w = np.maximum(w, 0.0) if positive else w
        assert gap_at(X, y, penalty, w) >= height(X, y, penalty, w) - lowest - 1e-9


@settings(max_examples=50)
@given(st.integers(0, 1000), st.sampled_from([0.0, 1.0, np.array([0, 0, 0, 1, 1, 1])]))
def test_the_gap_is_the_difference_of_both_objectives(seed: int, l2: Any) -> None:
    """The sum without cancellation equals the difference of objectives at the dual point s r, for one of two s."""
    X, y, penalty = problem(seed, l2)
    w = np.random.default_rng(seed).normal(size=6)
    residual = y - X @ w
    c = X.T @ residual

    def dual(s: float, extra: float, conjugate: float) -> float:
        return -0.5 * s**2 * (residual @ residual + extra) + s * (residual @ y) - conjugate

    rest = c - penalty.l2 * w
    share = min(1.0, np.min(penalty.l1 / np.abs(rest)))
    duals = [dual(share, penalty.l2 @ w**2, 0.0)]
    smooth = penalty.l2 > 0
    if smooth.any():
        share = min(1.0, np.min(penalty.l1[~smooth] / np.abs(c[~smooth]), initial=1.0))
        beyond = np.maximum(share * np.abs(c) - penalty.l1, 0.0)[smooth]
        duals.append(dual(share, 0.0, np.sum(beyond**2 / (2 * penalty.l2[smooth]))))
    np.testing.assert_allclose(gap_at(X, y, penalty, w), height(X, y, penalty, w) - max(duals), rtol=1e-9, atol=1e-9)


def test_the_gap_does_not_cancel() -> None:
    """The gap at a distance of 1e-12 from the minimum of an objective of size 1e6 is not lost in rounding."""
    X, y = np.array([[1.0]]), np.array([1e3])
    penalty = GapPenalty(np.array([1.0]), np.zeros(1))
    value = gap_at(X, y, penalty, np.array([999.0 + 2.0**-40]))
    assert 0 < value < 1e-8


def test_violations_are_the_shortest_subgradient() -> None:
    penalty = GapPenalty(np.full(4, 2.0), np.array([0.0, 1.0, 0.0, 0.0]))
    w, c = np.array([0.0, 3.0, -1.0, 0.0]), np.array([1.5, 5.0, -2.5, -3.0])
    np.testing.assert_allclose(penalty.violations(w, c), [0.0, 0.0, 0.5, 1.0])
    positive = penalty._replace(positive=True)
    np.testing.assert_allclose(positive.violations(np.array([0.0, 3.0, 1.0, 0.0]), c), [0.0, 0.0, 4.5, 0.0])


@pytest.mark.parametrize("positive", [False, True])
def test_unpenalised_slopes_have_to_vanish(positive: bool) -> None:
    penalty = GapPenalty(np.array([0.0, 9.0, 0.0]), np.zeros(3), positive)
    w, c = np.array([1.0, 0.0, 0.0]), np.array([0.0, 5.0, -2.0])
    assert least_squares_gap(penalty, w, c, 7.0) == (0.0 if positive else 2.0)
    assert least_squares_gap(penalty, np.array([1.0, 0.0, 1.0]), np.array([3.0, 5.0, 0.0]), 7.0) == 4.5


def test_a_penalty_stays_finite() -> None:
    """Infinity times a coefficient of 0 would be NaN."""
    strong = GapPenalty(np.array([1e290]), np.array([1e290])).times(1e150)
    assert strong.value(np.zeros(1)) == 0.0
