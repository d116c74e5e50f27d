"""One loss for several classes: its dual step in one row, and its slopes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.svm._crammer_singer_loops import minimize_row, respond


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=6), st.floats(0.1, 5), st.floats(0.1, 5), st.data())
def test_weight_is_shifted_between_classes_according_to_their_slopes(
    B: Any, square: float, most: float, data: Any
) -> None:
    """Σ α = 0, bounds hold, and classes below their bounds have equal slopes, no smaller than those at them."""
    own = data.draw(st.integers(0, len(B) - 1))
    B, alpha = np.array(B), np.empty(len(B))
    minimize_row.plain(B, square, own, most, alpha, np.empty(len(B)))
    bound = np.where(np.arange(len(B)) == own, most, 0.0)
    slopes = B + square * alpha
    inside = alpha < bound - 1e-9
    assert abs(alpha.sum()) <= 1e-9
    assert (alpha <= bound + 1e-12).all()
    if inside.any():
        assert np.ptp(slopes[inside]) <= 1e-8
        assert (slopes[~inside] <= slopes[inside].min() + 1e-8).all()


def test_the_slopes_of_the_losses_of_classes_are_their_dual_coefficients() -> None:
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
