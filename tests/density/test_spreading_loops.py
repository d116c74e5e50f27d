"""B-splines on grids: their shape, the weight they keep, and that reading is spreading transposed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import BSpline

from mercer.density import _fourier_loops as fourier_loops

Array = np.ndarray
ORDERS = (2, 4, 6, 8, 10, 12)
SPREADERS: dict[int, Any] = {1: fourier_loops.spread_line, 2: fourier_loops.spread_plane, 3: fourier_loops.spread_space}
READERS: dict[int, Any] = {
    1: fourier_loops.interpolate_line,
    2: fourier_loops.interpolate_plane,
    3: fourier_loops.interpolate_space,
}
NO_WEIGHT = np.empty(0)
CELLS = 32


def positions(n: int, d: int, seed: int = 0) -> Array:
    """Return positions in grid points, as far from the ends of the grid as the widest spline requires."""
    return np.random.default_rng(seed).uniform(12, CELLS - 12, (n, d))


def spread(X: Array, weight: Array, order: int) -> Array:
    """On a grid that begins at −1 with a spacing of a quarter."""
    d = X.shape[1]
    grid = np.zeros((CELLS,) * d)
    SPREADERS[d](X / 4 - 1, weight, np.full(d, -1.0), np.full(d, 4.0), order, grid)
    return grid


def read(grid: Array, Q: Array, order: int) -> Array:
    d, result = Q.shape[1], np.empty(len(Q))
    READERS[d](grid, Q / 4 - 1, np.full(d, -1.0), np.full(d, 4.0), order, result)
    return result


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("at", [15.0, 15.25, 15.5, np.nextafter(16, 0), 16.0])
def test_a_point_becomes_the_cardinal_spline(order: int, at: float) -> None:
    spline = BSpline.basis_element(np.arange(order + 1) - order / 2, extrapolate=False)
    expected = np.nan_to_num(spline(np.arange(CELLS) - at))
    np.testing.assert_allclose(spread(np.array([[at]]), NO_WEIGHT, order), expected, atol=1e-14)


@settings(max_examples=60)
@given(order=st.sampled_from(ORDERS), d=st.integers(1, 3), n=st.integers(0, 40), seed=st.integers(0, 999))
def test_total_weight_is_preserved(order: int, d: int, n: int, seed: int) -> None:
    """Nor does the centre of gravity move."""
    X, weight = positions(n, d, seed), np.random.default_rng(seed).uniform(0.0, 1.0, n)
    grid = spread(X, weight, order)
    assert grid.sum() == pytest.approx(weight.sum(), rel=1e-13, abs=1e-13)
    assert spread(X, NO_WEIGHT, order).sum() == pytest.approx(n, rel=1e-13, abs=1e-13)
    for axis in range(d):
        others = tuple(a for a in range(d) if a != axis)
        assert grid.sum(axis=others) @ np.arange(CELLS) == pytest.approx(weight @ X[:, axis], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_interpolation_is_the_transpose_of_spreading(order: int, d: int) -> None:
    """⟨spread(w), g⟩ = ⟨w, read(g)⟩ for any grid g."""
    X, rng = positions(30, d), np.random.default_rng(1)
    weight, grid = rng.normal(size=30), rng.normal(size=(CELLS,) * d)
    assert np.vdot(spread(X, weight, order), grid) == pytest.approx(weight @ read(grid, X, order), rel=1e-12)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_straight_line_is_interpolated_exactly(order: int, d: int) -> None:
    Q, slopes = positions(20, d), np.arange(1.0, d + 1)
    grid = 3 + np.tensordot(slopes, np.indices((CELLS,) * d), axes=1)
    np.testing.assert_allclose(read(np.ascontiguousarray(grid), Q, order), 3 + Q @ slopes, rtol=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
def test_linear_spreading_is_the_spline_of_order_2(weighted: bool) -> None:
    X = np.concatenate([positions(50, 1), [[13.0], [14.0]]])
    weight = np.random.default_rng(0).uniform(size=52) if weighted else NO_WEIGHT
    grid = np.zeros(CELLS)
    fourier_loops.spread_pairs(X / 4 - 1, weight, np.array([-1.0]), np.array([4.0]), grid)
    np.testing.assert_allclose(grid, spread(X, weight, 2), atol=1e-13)
