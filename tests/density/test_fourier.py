"""Sums by Fourier transform keep the error that they state, wherever the points are on the grid."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer
from mercer.density import _fourier_sums as fourier_sums
from mercer.density._fourier_sums import (
    GRID_SPACINGS,
    MOST_GRID_CELLS,
    SPLINE_ORDERS,
    FourierPlan,
    FourierSums,
    axis_error,
    plan_grid,
)

Array = np.ndarray
#: an error that a grid of each order keeps without being large
ERRORS = {2: 1e-2, 4: 1e-3, 6: 1e-4, 8: 1e-6, 10: 1e-8, 12: 1e-10}
EVERYWHERE = ["one place", "lattice", "cluster", "normal", "ends"]


def exact(X: Array, weight: Array | None, widths: Array, Q: Array) -> Array:
    squares = np.square((Q[:, None] - X) / widths).sum(axis=2)
    return np.exp(-squares / 2) @ (np.ones(len(X)) if weight is None else weight)


def forced(order: int, spans: Array, error: float) -> FourierPlan:
    gap = float(np.sqrt(2 * np.log(8 * len(spans) / error)))
    chosen = fourier_sums._plan_order(100, 100, spans, gap, order, error)
    assert chosen is not None
    return chosen


def arranged(how: str, n: int, span: float, spacing: float, shift: Array, rng: np.random.Generator) -> Array:
    """Points in [0, span]ᵈ, those that share a place or a phase of the grid among them."""
    d = len(shift)
    if how == "one place":
        return np.broadcast_to(shift * span, (n, d)).copy()
    if how == "lattice":
        return np.minimum((rng.integers(0, max(int(span / spacing), 1), (n, d)) + shift) * spacing, span)
    if how == "cluster":
        return np.clip(shift * span + rng.normal(size=(n, d)) * spacing * 0.1, 0, span)
    if how == "ends":
        return span * rng.integers(0, 2, (n, d)).astype(float)
    return np.clip(rng.normal(span / 2, span / 4, (n, d)), 0, span)


@settings(max_examples=150)
@given(
    order=st.sampled_from(SPLINE_ORDERS),
    d=st.integers(1, 3),
    how=st.sampled_from(EVERYWHERE),
    span=st.sampled_from([0.0, 0.3, 4.0]),
    weighted=st.booleans(),
    seed=st.integers(0, 1 << 16),
)
def test_the_error_is_within_the_bound_of_the_plan(
    order: int, d: int, how: str, span: float, weighted: bool, seed: int
) -> None:
    rng, error = np.random.default_rng(seed), max(ERRORS[order], 1e-6 if d == 3 else 0.0)
    chosen, widths = forced(order, np.full(d, span), error), rng.uniform(0.1, 10.0, d)
    shift, low = rng.choice([0.0, 0.5, rng.uniform()], d), rng.normal(size=d) * 10
    X, Q = (low + widths * arranged(one, n, span, chosen.spacing, shift, rng) for one, n in ((how, 40), ("normal", 25)))
    Q = np.concatenate([Q, X[:10], low[None], (low + widths * span)[None]])
    weight = rng.uniform(0, 2, 40) if weighted else None
    found = FourierSums(chosen, X, weight, widths, low)(Q)
    total = 40 if weight is None else weight.sum()
    off = np.abs(found - exact(X, weight, widths, Q)).max()
    assert off <= chosen.error * total
    assert chosen.error <= error


@pytest.mark.parametrize("order", SPLINE_ORDERS)
def test_the_bound_is_close_to_the_error(order: int) -> None:
    """For points at one place, of any phase: otherwise the bound would be wasteful, and a test of it weak."""
    chosen = forced(order, np.array([3.0]), ERRORS[order])
    worst = 0.0
    for phase in np.linspace(0, 1, 21):
        X = np.full((5, 1), 1.0 + phase * chosen.spacing)
        Q = 1.0 + np.linspace(0, 1, 60)[:, None] * chosen.spacing
        found = FourierSums(chosen, X, None, np.ones(1), np.zeros(1))(Q)
        worst = max(worst, np.abs(found - exact(X, None, np.ones(1), Q)).max() / 5)
    assert chosen.error / 30 < worst <= chosen.error


@pytest.mark.parametrize("order", SPLINE_ORDERS)
def test_a_finer_grid_has_a_smaller_error(order: int) -> None:
    errors = [axis_error(order, spacing) for spacing in GRID_SPACINGS.tolist()]  # ever finer
    assert all(later < earlier or later < 1e-15 for earlier, later in pairwise(errors))
    assert errors[-1] < 1e-6


def test_a_higher_order_has_a_smaller_error() -> None:
    for spacing in (0.125, 0.25, 0.5):
        errors = [axis_error(order, spacing) for order in SPLINE_ORDERS]
        assert errors == sorted(errors, reverse=True)


@pytest.mark.parametrize("error", [1e-2, 1e-5, 1e-9, 1e-13])
@pytest.mark.parametrize("d", [1, 2])
def test_plans_meet_the_requested_error(error: float, d: int) -> None:
    chosen = plan_grid(10**5, 10**4, np.full(d, 12.0), error)
    assert chosen is not None
    assert chosen.error <= error
    assert chosen.order in SPLINE_ORDERS
    assert np.prod(chosen.cells) <= 1.5 * MOST_GRID_CELLS
    least = 12.0 / chosen.spacing + 2 * chosen.order
    assert (np.array(chosen.cells) >= least).all(), "splines do not reach over the ends"


def test_an_error_below_rounding_is_raised_to_rounding() -> None:
    assert plan_grid(100, 100, np.array([5.0]), 0.0) == plan_grid(
        100, 100, np.array([5.0]), fourier_sums.LEAST_GRID_ERROR
    )


@pytest.mark.parametrize("spans", [[1e12], [1e5, 1e5], [900.0, 900.0, 900.0]])
def test_no_plan_is_made_if_the_grid_would_be_too_large(spans: list[float]) -> None:
    assert plan_grid(10**6, 10**6, np.array(spans), 1e-6) is None


@pytest.mark.parametrize("d", [1, 2, 3])
def test_more_points_than_a_part_and_any_number_of_threads(d: int) -> None:
    """Points are spread in parts that do not depend on the threads."""
    rng = np.random.default_rng(0)
    X, weight, widths, n = rng.uniform(0, 2, (70_000, d)), rng.uniform(size=70_000), np.full(d, 0.5), 70_000
    chosen = forced(4, np.full(d, 4.0), 1e-3)
    answers = []
    for threads in (1, 2):
        with mercer.engine(threads=threads):
            answers.append(FourierSums(chosen, X, weight, widths, np.zeros(d))(X[: 1 << 15]))
    np.testing.assert_allclose(answers[0], answers[1], rtol=0, atol=1e-12 * n)
    few = exact(X, weight, widths, X[:20])
    assert np.abs(answers[0][:20] - few).max() <= chosen.error * weight.sum()


def test_points_far_from_zero_lose_no_accuracy() -> None:
    rng = np.random.default_rng(0)
    X, low = rng.uniform(0, 4, (50, 1)), np.array([1e8])
    chosen = forced(8, np.array([4.0]), 1e-6)
    found = FourierSums(chosen, X + 1e8, None, np.ones(1), low)(X + 1e8)
    assert np.abs(found - exact(X, None, np.ones(1), X)).max() <= 50 * (chosen.error + 1e-7)


def test_no_queries() -> None:
    sums = FourierSums(forced(4, np.array([1.0]), 1e-3), np.zeros((3, 1)), None, np.ones(1), np.zeros(1))
    assert sums(np.empty((0, 1))).shape == (0,)
