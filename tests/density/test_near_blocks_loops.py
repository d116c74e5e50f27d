"""Selection of blocks: distances of boxes bound those of their points, and skipped terms are below rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.density.sum_loops import (
    GREATEST_SQUARE,
    SUM_OF_ABSOLUTES,
    SUM_OF_SQUARES,
    Boxes,
    Shape,
    box,
    box_distance,
    exponent,
    select_blocks,
)

Array = np.ndarray
KINDS = {
    SUM_OF_SQUARES: lambda u: (u**2).sum(axis=-1),
    SUM_OF_ABSOLUTES: lambda u: np.abs(u).sum(axis=-1),
    GREATEST_SQUARE: lambda u: (u**2).max(axis=-1),
}
GAUSSIAN = Shape(SUM_OF_SQUARES, True, 0.7, False)
EXPONENTIAL = Shape(SUM_OF_SQUARES, True, 1.4, True)
LAPLACE = Shape(SUM_OF_ABSOLUTES, True, 1.4, False)
BALL = Shape(SUM_OF_SQUARES, False, 0.0, False)
CUBE = Shape(GREATEST_SQUARE, False, 0.0, False)
SLACK = 60.0


def corners(X: Array) -> Array:
    found = np.empty((2, X.shape[1]))
    box(X, found[0], found[1])
    return found


def boxes_of(blocks: Array, weight: Array, spread: Array) -> Boxes:
    """Return the boxes of points of shape (blocks, points of each, columns)."""
    mass = weight.sum(axis=1)
    return Boxes(
        np.stack([corners(part) for part in blocks]),
        np.stack([spread.min(axis=1), spread.max(axis=1)], axis=1),
        mass,
        mass - weight.max(axis=1),
        float(weight.sum()),
        float(weight.min()),
    )


def chosen_by(shape: Shape, boxes: Boxes, Q: Array, lifts: Array) -> Array:
    chosen = np.empty(len(boxes.mass), dtype=np.intp)
    return chosen[: select_blocks(shape, boxes, Q, SLACK, lifts, chosen)]


@pytest.mark.parametrize("kind", KINDS)
@given(d=st.integers(1, 4), seed=st.integers(0, 1000), apart=st.sampled_from([0.0, 0.5, 3.0]))
@settings(max_examples=30)
def test_boxes_bound_the_distances_of_their_points(kind: int, d: int, seed: int, apart: float) -> None:
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(9, d)), rng.normal(size=(7, d)) + apart
    (low, high), (other_low, other_high) = corners(X), corners(Y)
    least, greatest = box_distance(kind, low, high, other_low, other_high)
    distances = KINDS[kind](X[:, None] - Y)
    assert 0 <= least <= distances.min() * (1 + 1e-14)
    assert greatest >= distances.max() * (1 - 1e-14)
    assert box_distance(kind, other_low, other_high, low, high) == (least, greatest)


@pytest.mark.parametrize("kind", KINDS)
def test_boxes_of_one_point_have_its_distance(kind: int) -> None:
    x, y = np.array([1.0, -2.0]), np.array([4.0, 2.0])
    expected = {SUM_OF_SQUARES: 25.0, SUM_OF_ABSOLUTES: 7.0, GREATEST_SQUARE: 16.0}[kind]
    assert box_distance(kind, x, x, y, y) == (expected, expected)


def test_exponents_of_known_distances() -> None:
    assert exponent(GAUSSIAN, 9.0) == pytest.approx(6.3)
    assert exponent(EXPONENTIAL, 9.0) == pytest.approx(4.2)
    assert exponent(LAPLACE, 9.0) == pytest.approx(12.6)


@pytest.mark.parametrize("shape", [BALL, CUBE], ids=["ball", "cube"])
@given(seed=st.integers(0, 1000))
@settings(max_examples=40)
def test_all_blocks_within_reach_of_a_compact_kernel_are_chosen(shape: Shape, seed: int) -> None:
    rng = np.random.default_rng(seed)
    blocks = rng.normal(size=(30, 6, 2)) * 0.3 + rng.uniform(-9, 9, (30, 1, 2))
    spread, Q, lifts = 1 / rng.uniform(0.5, 2.0, (30, 6)) ** 2, rng.normal(size=(5, 2)), np.full((5, 1), -1.0)
    chosen = chosen_by(shape, boxes_of(blocks, np.ones((30, 6)), spread), Q, lifts)
    distance = KINDS[shape.kind](Q[:, None, None] - blocks) * spread
    assert set(np.flatnonzero((distance <= 1).any(axis=(0, 2)))) <= set(chosen.tolist())
    assert len(chosen) < 30, "most are far away"
    assert (np.diff(chosen) > 0).all()
    assert (lifts == 0).all()


@pytest.mark.parametrize("shape", [BALL, CUBE], ids=["ball", "cube"])
def test_the_edge_of_a_compact_kernel_is_within_reach(shape: Shape) -> None:
    blocks = np.array([[[1.0, 0.0]], [[1.0 + 1e-8, 0.0]], [[-1.0, 0.0]]])
    boxes = boxes_of(blocks, np.ones((3, 1)), np.ones((3, 1)))
    assert chosen_by(shape, boxes, np.zeros((1, 2)), np.full((1, 1), -1.0)).tolist() == [0, 2]


def log2_terms(shape: Shape, blocks: Array, weight: Array, spread: Array, Q: Array) -> Array:
    s = KINDS[shape.kind](Q[:, None, None] - blocks) * spread
    return np.log2(weight) - shape.rate * (np.sqrt(s) if shape.root else s)


@pytest.mark.parametrize("shape", [GAUSSIAN, EXPONENTIAL, LAPLACE], ids=["gaussian", "exponential", "laplace"])
@pytest.mark.parametrize("given_lifts", [False, True])
@given(seed=st.integers(0, 1000), away=st.sampled_from([0.0, 30.0, 1e4]), decades=st.sampled_from([0, 2, 40]))
@settings(max_examples=40)
def test_omitted_blocks_are_below_rounding(
    shape: Shape, given_lifts: bool, seed: int, away: float, decades: int
) -> None:
    """Whichever single point is left out for itself, if lifts are chosen here."""
    rng = np.random.default_rng(seed)
    blocks = rng.normal(size=(40, 5, 2)) * 0.3 + rng.uniform(-60, 60, (40, 1, 2))
    weight, spread = 10.0 ** rng.uniform(-decades, 0, (40, 5)), 1 / rng.uniform(0.5, 2.0, (40, 5)) ** 2
    Q = rng.normal(size=(6, 2)) + away
    terms = log2_terms(shape, blocks, weight, spread, Q)
    nearest = (np.log2(weight) - terms).min(axis=(1, 2))
    lifts = nearest[:, None].copy() if given_lifts else np.full((6, 1), -1.0)
    chosen = chosen_by(shape, boxes_of(blocks, weight, spread), Q, lifts)
    left_out = np.setdiff1d(np.arange(40), chosen)
    for q in range(6):
        own = np.unravel_index(np.argmax(terms[q]), terms[q].shape)
        rest = terms[q].copy()
        if not given_lifts:
            rest[own] = -np.inf
        total = np.logaddexp2.reduce(rest.ravel())
        if left_out.size:
            assert np.logaddexp2.reduce(rest[left_out].ravel()) <= total - SLACK + 1e-6 * abs(total)
        # a lift brings nothing above 1
        if not given_lifts:
            assert 0 <= lifts[q, 0] <= nearest[q] * (1 + 1e-12)
    if given_lifts:
        np.testing.assert_array_equal(lifts[:, 0], nearest)


@pytest.mark.parametrize("shape", [GAUSSIAN, EXPONENTIAL, LAPLACE], ids=["gaussian", "exponential", "laplace"])
def test_blocks_far_away_are_left_out(shape: Shape) -> None:
    blocks = np.arange(50.0)[:, None, None] * 20 + np.zeros((50, 4, 1))
    boxes = boxes_of(blocks, np.ones((50, 4)), np.ones((50, 4)))
    chosen = chosen_by(shape, boxes, np.array([[500.0], [500.5]]), np.full((2, 1), -1.0))
    assert 25 in chosen
    assert len(chosen) < 10


def test_a_block_of_one_point_does_not_bound_itself() -> None:
    """It may be left out; then the others are all there is."""
    blocks = np.array([[[0.0]], [[30.0]], [[90.0]]])
    boxes: Any = boxes_of(blocks, np.ones((3, 1)), np.ones((3, 1)))
    assert chosen_by(GAUSSIAN, boxes, np.zeros((1, 1)), np.full((1, 1), -1.0)).tolist() == [0, 1, 2]
