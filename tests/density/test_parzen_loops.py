"""Sums over blocks of points as the compiled loops take them: all kinds of distance, some blocks, and lifts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer.density import sum_loops
from mercer.density.sum_loops import (
    BLOCK_POINTS,
    SUM_OF_ABSOLUTES,
    SUM_OF_SQUARES,
    AbsoluteDistances,
    ProductDistances,
    Shape,
    SquareDistances,
    WideSquareDistances,
    add_moments,
    add_sums,
    find_nearest,
)

Array = np.ndarray
LOG2_E = 1 / np.log(2)
NO_ROWS = np.empty(0, dtype=np.intp)
BLOCKS = 3


def squares(u: Array, spread: Array) -> Array:
    return np.asarray((u**2).sum(axis=-1) * spread)


def absolutes(u: Array, spread: Array) -> Array:
    return np.asarray(np.abs(u).sum(axis=-1) * spread)


#: profile, distance, and all kernels of differences u (…, columns) with 1/λ² (1/λ) of the points
CASES: dict[str, Any] = {
    "gaussian": (sum_loops.GaussianProfile(), SquareDistances(), lambda u, spread: np.exp(-squares(u, 1.0) / 2)),
    "adaptive": (
        sum_loops.TriweightProfile(),
        WideSquareDistances(),
        lambda u, spread: np.maximum(1 - squares(u, spread), 0) ** 3,
    ),
    "laplace": (sum_loops.LaplaceProfile(), AbsoluteDistances(), lambda u, spread: np.exp(-absolutes(u, spread))),
    "product": (
        sum_loops.EpanechnikovProfile(),
        ProductDistances(),
        lambda u, spread: np.maximum(1 - u**2 * spread[..., None], 0).prod(axis=-1),
    ),
}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def data(d: int) -> tuple[Array, Array, Array]:
    """Points (blocks, columns, BLOCK_POINTS), 1/λ² of them, and two sides."""
    rng = np.random.default_rng(d)
    X, spread = rng.normal(size=(BLOCKS, d, BLOCK_POINTS)) / np.sqrt(d), rng.uniform(0.3, 1.5, (BLOCKS, BLOCK_POINTS))
    return X, spread, rng.normal(size=(BLOCKS, 2, BLOCK_POINTS))


def queries(m: int, d: int) -> Array:
    return np.random.default_rng(m).normal(size=(m, d)) / np.sqrt(d)


def kernels(case: Any, X: Array, spread: Array, Q: Array) -> Array:
    """(queries, blocks, BLOCK_POINTS)."""
    return np.asarray(case[2](X.transpose(0, 2, 1) - Q[:, None, None], spread))


@every_case
@pytest.mark.parametrize("d", [1, 2, 3, 4, 7])
def test_sums_over_chosen_blocks_are_added(case: Any, d: int) -> None:
    """Sums are added to existing values, for any number of queries: they are processed four at a time."""
    (X, spread, sides), chosen = data(d), np.array([0, 2])
    for m in (1, 3, 4, 6):
        Q, total = queries(m, d), np.full((m, 2), 5.0)
        add_sums(*case[:2], X, spread, sides, chosen, Q, NO_ROWS, np.zeros((m, 1)), total)
        expected = np.einsum("qbj,bcj->qc", kernels(case, X, spread, Q)[:, chosen], sides[chosen])
        np.testing.assert_allclose(total - 5, expected, atol=1e-11)


@every_case
def test_without_blocks_the_sum_is_zero(case: Any) -> None:
    X, spread, sides = data(2)
    total = np.full((5, 2), 3.0)
    add_sums(*case[:2], X, spread, sides, np.empty(0, dtype=np.intp), queries(5, 2), NO_ROWS, np.zeros((5, 1)), total)
    assert (total == 3).all()


@every_case
def test_queries_leave_themselves_out(case: Any) -> None:
    """Queries are given by their position among all points; −1 is none of them."""
    X, spread, sides = data(2)
    own, Q, total = np.array([7, BLOCK_POINTS + 1, -1, 3 * BLOCK_POINTS - 1, 0]), queries(5, 2), np.zeros((5, 2))
    add_sums(*case[:2], X, spread, sides, np.arange(BLOCKS), Q, own, np.zeros((5, 1)), total)
    k = kernels(case, X, spread, Q).reshape(5, -1)
    k[np.arange(5)[own >= 0], own[own >= 0]] = 0
    np.testing.assert_allclose(total, k @ sides.transpose(1, 0, 2).reshape(2, -1).T, atol=1e-11)


def test_lifts_are_powers_of_two_for_each_query() -> None:
    X, spread, sides = data(2)
    Q, lifts, total = queries(6, 2) + 100, np.empty((6, 1)), np.zeros((6, 2))
    s = squares(X.transpose(0, 2, 1) - Q[:, None, None], np.float64(1.0))
    lifts[:, 0] = s.min(axis=(1, 2)) * LOG2_E / 2 + [0, 1, 2, 3, 4, 5]
    add_sums(*CASES["gaussian"][:2], X, spread, np.abs(sides), np.arange(BLOCKS), Q, NO_ROWS, lifts, total)
    values = np.exp(np.minimum(lifts[:, :, None] * np.log(2) - s / 2, 0))
    np.testing.assert_allclose(total, np.einsum("qbj,bcj->qc", values, np.abs(sides)), rtol=1e-9)


@pytest.mark.parametrize("d", [1, 3])
def test_local_moments_agree_with_brute_force(d: int) -> None:
    case, (X, spread, sides), m = CASES["adaptive"], data(d), 6
    numbers = 2 * (d + 1) + d * (d + 1) // 2
    own, Q, total = np.array([5, 2 * BLOCK_POINTS, -1, 9, 8, 7]), queries(m, d), np.ones((m, numbers))
    add_moments(*case[:2], X, spread, sides, np.arange(BLOCKS), Q, own, np.zeros((m, 1)), total)
    k = kernels(case, X, spread, Q)
    k.reshape(m, -1)[np.arange(m)[own >= 0], own[own >= 0]] = 0
    u = X.transpose(0, 2, 1) - Q[:, None, None]
    z = np.concatenate([np.ones((*u.shape[:3], 1)), u], axis=3)
    first = np.einsum("qbj,bcj,qbja->qca", k, sides, z).reshape(m, -1)
    second = np.einsum("qbj,bj,qbjx,qbjy->qxy", k, sides[:, 0], u, u)[:, *np.tril_indices(d)]
    np.testing.assert_allclose(total - 1, np.concatenate([first, second], axis=1), atol=1e-11)


@pytest.mark.parametrize(
    ("distance", "shape", "of"),
    [
        (SquareDistances(), Shape(SUM_OF_SQUARES, True, 0.5, False), lambda u, spread: squares(u, np.float64(1.0)) / 2),
        (
            WideSquareDistances(),
            Shape(SUM_OF_SQUARES, True, 2.0, True),
            lambda u, spread: 2 * np.sqrt(squares(u, spread)),
        ),
        (AbsoluteDistances(), Shape(SUM_OF_ABSOLUTES, True, 1.5, False), lambda u, spread: 1.5 * absolutes(u, spread)),
    ],
    ids=["squares", "wide", "absolutes"],
)
@pytest.mark.parametrize("left_out", [False, True])
def test_the_nearest_point_is_found(distance: Any, shape: Shape, of: Any, left_out: bool) -> None:
    X, spread, _ = data(3)
    X += np.arange(BLOCKS)[:, None, None] * 4.0
    corners = np.stack([X.min(axis=2), X.max(axis=2)], axis=1)
    spreads = np.stack([spread.min(axis=1), spread.max(axis=1)], axis=1)
    if isinstance(distance, SquareDistances):
        spreads[:] = 1
    own = np.array([3, BLOCK_POINTS + 5, 2 * BLOCK_POINTS + 1, -1, 0, 1])
    Q = np.ascontiguousarray(X.transpose(0, 2, 1).reshape(-1, 3)[own])
    Q[3:] += 50
    expected = of(X.transpose(0, 2, 1) - Q[:, None, None], spread).reshape(6, -1)
    if left_out:
        expected[np.arange(6)[own >= 0], own[own >= 0]] = np.inf
    found = np.empty((6, 1))
    find_nearest(shape, distance, X, spread, corners, spreads, Q, own if left_out else NO_ROWS, found)
    np.testing.assert_allclose(found[:, 0], expected.min(axis=1), rtol=1e-13)
    assert (found[:3, 0] > 0).all() == left_out


def test_a_single_point_has_no_nearest_other() -> None:
    x, one = np.full((1, 2, BLOCK_POINTS), np.inf), np.ones((1, 2))
    x[0, :, 0] = 1.0
    found = np.empty((1, 1))
    shape = Shape(SUM_OF_SQUARES, True, 0.5, False)
    corners = np.ones((1, 2, 2))
    find_nearest(shape, SquareDistances(), x, np.empty((1, 0)), corners, one, np.ones((1, 2)), np.array([0]), found)
    assert np.isinf(found)
