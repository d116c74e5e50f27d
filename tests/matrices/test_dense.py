"""Dense designs keep their digits where the numbers are large, and copy no more than a tile."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from mercer.matrices import Coordinates, DenseMatrix
from mercer.matrices.dense import FoldedTile, ShiftedTile


def exact(X: np.ndarray, coordinates: Coordinates) -> np.ndarray:
    """Working coordinates in extended precision."""
    return (X.astype(np.longdouble) - coordinates.shift) / coordinates.scale


@pytest.mark.parametrize("offset", [0.0, 50.0, 1e4, 1e8])
def test_a_column_far_from_zero_keeps_ten_digits(offset: float) -> None:
    rng = np.random.default_rng(0)
    X = offset + rng.normal(size=(20_000, 3))
    design = DenseMatrix.of(X)
    A = np.hstack([exact(X, design.coordinates), np.ones((len(X), 1))])
    w, r, h = rng.normal(size=4), rng.normal(size=len(X)), rng.uniform(size=len(X))
    np.testing.assert_allclose(design.matvec(w), (A @ w).astype(float), rtol=0, atol=1e-12)
    np.testing.assert_allclose(design.rmatvec(r), (A.T @ r).astype(float), rtol=0, atol=1e-10)
    np.testing.assert_allclose(design.gram(h), (A.T * h @ A).astype(float), rtol=0, atol=1e-9)


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_products_of_very_small_and_large_numbers_neither_underflow_nor_overflow(size: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2)) * [1.0, size]
    design, same = DenseMatrix.of(X), DenseMatrix.of(X / [1.0, size])
    ratio = design.coordinates.scale / same.coordinates.scale / [1.0, size]  # a power of two is not one of ten
    X = design.dense()
    np.testing.assert_allclose(X[:, :2] * ratio, same.dense()[:, :2], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(design.gram(np.ones(100)), X.T @ X, rtol=1e-10, atol=1e-10)


def kind_of_tile(X: np.ndarray) -> type:
    return type(next(DenseMatrix.of(X).tiles())[1])


def test_numbers_near_zero_are_multiplied_without_a_copy() -> None:
    X = np.random.default_rng(0).normal(size=(100, 3))
    for same in (X, np.asfortranarray(X), X[::2], X[:, ::-1][:, ::-1], np.asfortranarray(X)[10:50, 1:]):
        assert kind_of_tile(same) is FoldedTile
    for other in (X + 1000, X.astype(np.float32), X[:, ::2], (X > 0)):
        assert kind_of_tile(other) is ShiftedTile


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
def test_nothing_larger_than_a_few_tiles_is_allocated(order: str, dtype: type) -> None:
    X = np.asarray(np.random.default_rng(0).normal(size=(200_000, 20)) * 10, dtype=dtype, order=order)
    X.flags.writeable = False
    ones = np.ones(len(X))
    design = DenseMatrix.of(X)
    design.gram(ones)
    tracemalloc.start()
    design.gram(ones)
    design.rmatvec(ones)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < X.size * 8 / 4
