"""Passes over columns, in either order and precision, are NumPy's products about the centres."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from mercer.matrices import column_loops as loops

DTYPES = [np.float64, np.float32]


def matrix(dtype: Any) -> np.ndarray:
    return np.random.default_rng(0).normal(3.0, 1.0, size=(37, 11)).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("centred", [True, False])
def test_moments_are_weighted_and_about_the_mean(dtype: Any, centred: bool) -> None:
    X, weight = matrix(dtype), np.random.default_rng(1).random(37)
    expected = np.average(X.astype(float), axis=0, weights=weight) if centred else np.zeros(11)
    squares = weight @ np.square(X.astype(float) - expected)
    for loop, data in ((loops.moments_by_column, np.ascontiguousarray(X.T)), (loops.moments_by_row, X)):
        mean, second = np.zeros(11), np.zeros(11)
        for start, stop in ((0, 4), (4, 11)):
            loop(data, weight, weight.sum(), start, stop, centred, mean, second)
        np.testing.assert_allclose(mean, expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(second, squares, rtol=1e-12)


def test_a_constant_column_has_exactly_length_zero() -> None:
    X, weight = np.full((1000, 2), 0.1), np.random.default_rng(0).random(1000)
    for loop, data in ((loops.moments_by_column, np.ascontiguousarray(X.T)), (loops.moments_by_row, X)):
        mean, squares = np.zeros(2), np.zeros(2)
        loop(data, weight, weight.sum(), 0, 2, True, mean, squares)
        assert (squares == 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_with_one_vector_and_with_four(dtype: Any) -> None:
    X, rng = matrix(dtype), np.random.default_rng(1)
    centre, V, ids = rng.normal(size=11), rng.normal(size=(4, 37)), np.array([10, 0, 3, 4, 9])
    expected = V @ (X.astype(float) - centre)
    by_column, by_row = np.zeros((4, 5)), np.zeros((4, 11))
    loops.products_by_column(np.ascontiguousarray(X.T), ids, centre, V, 0, 5, by_column)
    loops.products_by_row(X, centre, V, 0, 6, by_row)
    loops.products_by_row(X, centre, V, 6, 11, by_row)
    np.testing.assert_allclose(by_column, expected[:, ids], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(by_row, expected, rtol=1e-10, atol=1e-10)
    one, other = np.zeros(5), np.zeros(11)
    loops.product_by_column(np.ascontiguousarray(X.T), ids, centre, V[2], 0, 5, one)
    loops.product_by_row(X, centre, V[2], 0, 11, other)
    np.testing.assert_allclose(one, expected[2, ids], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(other, expected[2], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("dtype", DTYPES)
def test_combinations_add_up_columns(dtype: Any) -> None:
    X, rng = matrix(dtype), np.random.default_rng(1)
    centre, ids, W = rng.normal(size=11), np.array([7, 2]), np.array([[1.0, 2.0], [0.0, 3.0]])
    expected = W @ (X.astype(float) - centre)[:, ids].T
    for loop, data in ((loops.combine_by_column, np.ascontiguousarray(X.T)), (loops.combine_by_row, X)):
        out = np.zeros((2, 37))
        loop(data, ids, centre, W, 0, 20, out)
        loop(data, ids, centre, W, 20, 37, out)
        np.testing.assert_allclose(out, expected, rtol=1e-10, atol=1e-10)


def test_sparse_columns_are_multiplied_by_their_entries() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(37, 11)) * (rng.random((37, 11)) < 0.3)
    csc, ids = sparse.csc_array(X), np.array([3, 10, 0])
    entries = csc.indptr.astype(np.uint64), csc.indices.astype(np.uint32), csc.data
    V, h, W = rng.normal(size=(37, 2)), rng.random(37), rng.normal(size=(3, 2))
    products, squares, combined = np.full((3, 2), np.nan), np.full(3, np.nan), np.zeros((37, 2))
    loops.products_of_sparse(*entries, ids, V, 0, 3, products)
    loops.squares_of_sparse(*entries, ids, h, 0, 3, squares)
    loops.combine_sparse(*entries, ids, W, combined)
    np.testing.assert_allclose(products, (X.T @ V)[ids], atol=1e-12)
    np.testing.assert_allclose(squares, (h @ X**2)[ids], atol=1e-12)
    np.testing.assert_allclose(combined, X[:, ids] @ W, atol=1e-12)
