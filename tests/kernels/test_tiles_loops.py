"""Loops over tiles: what they compute is tested in tests/kernels; here their corners, and that Python agrees."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.kernels import _value_loops as loops

EVERY = [
    loops.QuadraticValue(),
    loops.TanhValue(0.5, -1.0),
    loops.ExponentialValue(0.5),
    loops.MaternOneValue(2.0),
    loops.MaternThreeValue(2.0),
    loops.MaternFiveValue(2.0),
    loops.RationalQuadraticValue(0.5, 2.0),
]


def test_every_kernel_has_a_value_function() -> None:
    assert {type(kernel) for kernel in EVERY} == set(loops.KERNEL_LOOPS)


@pytest.mark.parametrize("kernel", EVERY, ids=lambda kernel: type(kernel).__name__)
def test_a_value_called_from_python_agrees_with_the_loop(kernel: object) -> None:
    tile = np.array([[0.0, 0.3, 7.0]])
    expected = [loops.evaluate_kernel(kernel, s) for s in tile[0]]
    loops.apply_kernel(kernel, tile)
    np.testing.assert_allclose(tile[0], expected, rtol=1e-15)


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 7, 8, 21])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_powers_agree_with_numpy(degree: int, dtype: type[np.floating]) -> None:
    base = np.linspace(-1.5, 1.5, 15, dtype=dtype).reshape(3, 5)
    tile = base.copy()
    loops.raise_to_power(tile, degree)
    np.testing.assert_allclose(tile, base**degree, rtol=8 * np.finfo(dtype).eps)


def test_distances_are_never_negative() -> None:
    X = 1e4 + np.random.default_rng(0).normal(size=(40, 3)) * 1e-6
    squares, tile = np.einsum("ij,ij->i", X, X), X @ X.T
    loops.products_to_distances(tile, squares, squares)
    assert (tile >= 0).all()
    loops.refine_distances(tile, squares, squares, X, X, 1e-3)
    np.testing.assert_array_equal(np.diagonal(tile), 0.0)
    np.testing.assert_allclose(tile, ((X[:, None] - X) ** 2).sum(axis=-1), rtol=1e-12)
