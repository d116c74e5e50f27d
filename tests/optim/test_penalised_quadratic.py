"""Sweeps and linear systems together find the minimum of a penalised quadratic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.optim._working_sets import PenalisedQuadratic
from mercer.optim.duality import GapPenalty

Array = np.ndarray


def posed(n: int, p: int, seed: int) -> tuple[PenalisedQuadratic, Array, Array]:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, p)) / np.sqrt(n), rng.normal(size=n)
    quadratic = PenalisedQuadratic(X.T @ X)
    quadratic.load(np.zeros(p), X.T @ y, float(y @ y))
    return quadratic, X, y


@settings(max_examples=40)
@given(
    st.integers(2, 40),
    st.integers(1, 60),
    st.sampled_from([0.3, 0.03, 1e-3, 1e-6]),
    st.sampled_from([0.0, 1e-3, 1.0]),
    st.booleans(),
    st.integers(0, 1000),
)
def test_the_minimum_is_found(n: int, p: int, share: float, l2: float, positive: bool, seed: int) -> None:
    quadratic, X, y = posed(n, p, seed)
    penalty = GapPenalty(np.full(p, share * np.abs(X.T @ y).max()), np.full(p, l2), positive)
    quadratic.solve(penalty, 1e-14, 2000)
    w = quadratic.w
    assert not (positive and (w < 0).any())
    residual = y - X @ w
    np.testing.assert_allclose(quadratic.c, X.T @ residual, atol=1e-9)
    np.testing.assert_allclose(quadratic.squares, residual @ residual, atol=1e-9 * (y @ y))
    assert penalty.violations(w, X.T @ residual).max() < 1e-6 * np.abs(X.T @ y).max() + 1e-9


def test_warm_starts_from_one_penalty_to_the_next() -> None:
    quadratic, X, y = posed(50, 80, 0)
    top = np.abs(X.T @ y).max()
    for share in np.geomspace(1, 1e-4, 30):
        penalty = GapPenalty(np.full(80, share * top), np.zeros(80))
        quadratic.solve(penalty, 1e-13, 1000)
        assert quadratic.gap(penalty) <= 1e-13
        np.testing.assert_allclose(quadratic.c, X.T @ (y - X @ quadratic.w), atol=1e-9)


@pytest.mark.parametrize("copies", [2, 3])
def test_copies_of_columns_share_a_coefficient(copies: int) -> None:
    _, X, y = posed(30, 10, 0)
    repeated = np.tile(X, copies)
    penalty = GapPenalty(np.full(10, 0.1), np.zeros(10))
    single, several = PenalisedQuadratic(X.T @ X), PenalisedQuadratic(repeated.T @ repeated)
    single.load(np.zeros(10), X.T @ y, float(y @ y))
    several.load(
        np.ones(10 * copies), repeated.T @ (y - repeated.sum(axis=1)), float(np.sum((y - repeated.sum(axis=1)) ** 2))
    )
    single.solve(penalty, 1e-14, 1000)
    several.solve(GapPenalty(np.full(10 * copies, 0.1), np.zeros(10 * copies)), 1e-14, 1000)
    np.testing.assert_allclose(several.w.reshape(copies, 10).sum(axis=0), single.w, atol=1e-7)


def test_free_coefficients_that_depend_on_each_other_stay_small() -> None:
    """Dependent coefficients are not determined by y, but must stay small."""
    _, X, y = posed(30, 6, 1)
    X = np.column_stack([X, X[:, :3] + X[:, 3:6]])
    quadratic = PenalisedQuadratic(X.T @ X)
    quadratic.load(np.zeros(9), X.T @ y, float(y @ y))
    quadratic.solve(GapPenalty(np.zeros(9), np.zeros(9)), 1e-16, 1000)
    np.testing.assert_allclose(X.T @ (y - X @ quadratic.w), 0, atol=1e-7)
    assert np.abs(quadratic.w).max() < 100


def test_no_more_steps_than_allowed() -> None:
    quadratic, X, y = posed(50, 80, 0)
    penalty = GapPenalty(np.full(80, 1e-3 * np.abs(X.T @ y).max()), np.zeros(80))
    assert quadratic.solve(penalty, 0.0, 3) == 3
    assert quadratic.solve(penalty, 1e-13, 10_000) < 200
    assert quadratic.solve(penalty, 1e-13, 10_000) == 0


def test_exchanging_columns_without_gain_ends() -> None:
    """Four distinct rows and almost no penalty: moves that do not change the objective are not progress."""
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 2, size=(4, 25))[rng.integers(0, 4, size=15)] / 4.0, rng.normal(size=15)
    quadratic = PenalisedQuadratic(X.T @ X)
    quadratic.load(np.zeros(25), X.T @ y, float(y @ y))
    assert quadratic.solve(GapPenalty(np.full(25, 1e-20), np.zeros(25)), 0.0, 1000) < 500


def test_slopes_that_contradict_the_columns_do_not_separate_equal_ones() -> None:
    """Rounding may give equal columns slopes by which moving them apart would always lower the objective."""
    quadratic, w = PenalisedQuadratic(np.ones((2, 2))), np.array([1.0, -1.0])
    quadratic.load(w.copy(), np.array([1.0, 0.0]), 2.0)
    assert quadratic._independent(GapPenalty(np.full(2, 0.1), np.zeros(2))) == 0.0
    np.testing.assert_array_equal(quadratic.w, w)
