"""Products of matrices agree with NumPy, for every size, order and precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer._jit import product

SIZES = st.one_of(st.integers(0, 30), st.integers(180, 210))
#: rounding of a product of numbers about 1, for each of its terms
ROUNDING = {np.float64: 1e-15, np.float32: 1e-6}


def drawn(rng: np.random.Generator, rows: int, columns: int, dtype: Any, transposed: bool = False) -> Any:
    if transposed:
        return rng.normal(size=(columns, rows)).astype(dtype).T
    return rng.normal(size=(rows, columns)).astype(dtype)


@settings(max_examples=80)
@given(
    sizes=st.tuples(SIZES, st.integers(0, 40), SIZES),
    transposed=st.tuples(st.booleans(), st.booleans()),
    dtype=st.sampled_from([np.float64, np.float32]),
    seed=st.integers(0, 2**32),
)
def test_a_product_agrees_with_numpy(
    sizes: tuple[int, int, int], transposed: tuple[bool, bool], dtype: Any, seed: int
) -> None:
    rng, (n, depth, m) = np.random.default_rng(seed), sizes
    left, right = drawn(rng, n, depth, dtype, transposed[0]), drawn(rng, depth, m, dtype, transposed[1])
    out = np.full((n, m), np.nan, dtype)
    product.put_product(left, right, out)
    np.testing.assert_allclose(out, left @ right, atol=10 * (depth + 1) * ROUNDING[dtype])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("depth", [255, 256, 257, 512, 700, 1100])
def test_long_sums_go_through_several_panels(depth: int, dtype: Any) -> None:
    rng = np.random.default_rng(depth)
    left, right = drawn(rng, 43, depth, dtype), drawn(rng, depth, 71, dtype)
    out = np.empty((43, 71), dtype)
    product.put_product(left, right, out)
    np.testing.assert_allclose(out, left.astype(float) @ right, atol=depth * ROUNDING[dtype])


@settings(max_examples=60)
@given(
    rows=st.integers(0, 300),
    columns=SIZES,
    transposed=st.booleans(),
    dtype=st.sampled_from([np.float64, np.float32]),
    seed=st.integers(0, 2**32),
)
def test_a_square_agrees_with_numpy_and_is_symmetric(
    rows: int, columns: int, transposed: bool, dtype: Any, seed: int
) -> None:
    X = drawn(np.random.default_rng(seed), rows, columns, dtype, transposed)
    found = product.square(X)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(found, X.T @ X, atol=10 * (rows + 1) * ROUNDING[dtype])


def test_a_row_does_not_depend_on_the_other_rows() -> None:
    if not product._panels_are_faster():
        pytest.skip("BLAS takes sums in an order of its own")
    rng = np.random.default_rng(0)
    left, right = drawn(rng, 100, 300, float), drawn(rng, 300, 50, float)
    whole, part = np.empty((100, 50)), np.empty((61, 50))
    product.put_product(left, right, whole)
    product.put_product(left[13:74], right, part)
    np.testing.assert_array_equal(part, whole[13:74])


def test_nan_and_infinity_stay_in_their_row_and_column() -> None:
    left, right = np.ones((20, 9)), np.ones((9, 30))
    left[17, 3], right[4, 29] = np.nan, np.inf
    out = np.empty((20, 30))
    product.put_product(left, right, out)
    np.testing.assert_array_equal(out, left @ right)


def test_read_only_rows_are_multiplied() -> None:
    X = np.random.default_rng(0).normal(size=(40, 60))
    X.flags.writeable = False
    np.testing.assert_allclose(product.square(X), X.T @ X, atol=1e-13)


def test_the_product_is_the_same_without_a_compiler() -> None:
    rng = np.random.default_rng(0)
    left, right, out = drawn(rng, 20, 30, float), drawn(rng, 30, 10, float), np.empty((20, 10))
    product.multiply(left, right, out)
    np.testing.assert_allclose(out, left @ right)


def test_squares_by_panels_agree_with_blas() -> None:
    X = drawn(np.random.default_rng(0), 50, 20, float)
    np.testing.assert_allclose(product.square(X, by_panels=False), product.square(X, by_panels=True), atol=1e-13)
    np.testing.assert_array_equal(product.square(X, by_panels=False), X.T @ X)
