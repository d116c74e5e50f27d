"""Points in blocks: nothing is lost, what fills up the last block weighs nothing, and boxes hold their points."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.density import Exponential, Gaussian, SmoothingKernel
from mercer.density._sums import PADDING_COORDINATE, Blocks, KernelSums, pad_blocks, sort_into_blocks
from mercer.density.sum_loops import BLOCK_POINTS

Array = np.ndarray
SIZES = [1, 2, BLOCK_POINTS - 1, BLOCK_POINTS, BLOCK_POINTS + 1, 5 * BLOCK_POINTS + 7]


def points(n: int, d: int) -> Array:
    return np.random.default_rng(n).normal(size=(n, d))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_order_is_a_permutation(n: int, d: int) -> None:
    np.testing.assert_array_equal(np.sort(sort_into_blocks(points(n, d), BLOCK_POINTS)), np.arange(n))


def test_blocks_of_one_column_are_ordered() -> None:
    X = points(1000, 1)
    assert (np.diff(X[sort_into_blocks(X, 64), 0]) >= 0).all()


@pytest.mark.parametrize("n", SIZES)
def test_blocks_are_padded(n: int) -> None:
    values = np.arange(1.0, n + 1)
    full = pad_blocks(values, -1.0)
    assert full.shape == (-(-n // BLOCK_POINTS), BLOCK_POINTS)
    np.testing.assert_array_equal(full.ravel()[:n], values)
    assert (full.ravel()[n:] == -1).all()


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("spread", [False, True])
def test_blocks_bound_their_points(n: int, spread: bool) -> None:
    X, rng = points(n, 3), np.random.default_rng(0)
    X, weight, wider = X[sort_into_blocks(X, BLOCK_POINTS)], rng.uniform(0.1, 1, n), rng.uniform(0.5, 2, n)
    blocks = Blocks.of(X, weight, wider if spread else None)
    starts = np.arange(0, n, BLOCK_POINTS)
    for b, start in enumerate(starts):
        rows = slice(start, start + BLOCK_POINTS)
        held = X[rows]
        np.testing.assert_array_equal(blocks.points[b, :, : len(held)], held.T)
        np.testing.assert_array_equal(blocks.boxes.corners[b], [held.min(axis=0), held.max(axis=0)])
        assert blocks.boxes.mass[b] == pytest.approx(weight[rows].sum(), rel=1e-13)
        assert blocks.boxes.sure[b] == pytest.approx(np.sort(weight[rows])[:-1].sum(), rel=1e-12, abs=1e-15)
        extremes = (wider[rows].min(), wider[rows].max()) if spread else (1, 1)
        np.testing.assert_array_equal(blocks.boxes.spreads[b], extremes)
    assert blocks.boxes.total == pytest.approx(weight.sum(), rel=1e-13)
    assert blocks.boxes.lightest == weight.min()
    assert blocks.spread.shape == (len(starts), BLOCK_POINTS if spread else 0)
    assert (blocks.points[-1][:, n - starts[-1] :] == PADDING_COORDINATE).all()


@pytest.mark.parametrize("kernel", [Gaussian(), Exponential(), Exponential("product")], ids=repr)
def test_padding_is_never_the_nearest_point(kernel: SmoothingKernel) -> None:
    """A query on the way to it is as far from all points as one on the other side, and means are of points."""
    sums = KernelSums(kernel, np.array([[0.0, 0.0], [1.0, 1.0]]))
    for away in (1e100, 6e152, 1e153):
        far, opposite = sums.log_sums(np.array([[away, away], [-away, -away]]))
        assert far == pytest.approx(opposite, rel=1e-12)
        assert np.isfinite(far)
        assert sums.means(np.full((1, 2), away), np.array([[3.0], [3.0]])) == pytest.approx(3.0)
    S, T, _ = sums.local_moments(np.full((1, 2), 0.5), np.ones((2, 1)))
    assert np.isfinite(S).all()
    assert np.isfinite(T).all()
