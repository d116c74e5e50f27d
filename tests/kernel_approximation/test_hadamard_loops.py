"""The fast transform agrees with the product with the Hadamard matrix."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import hadamard

from mercer.kernel_approximation._fourier_loops import GROUP, MIN_LENGTH, put_hadamard_products, transform


@pytest.mark.parametrize("length", [MIN_LENGTH, 16, 32, 64, 128, 1024])
def test_a_transform_agrees_with_a_matrix_product(length: int) -> None:
    rng = np.random.default_rng(length)
    values, signs = rng.normal(size=(length, GROUP)), rng.choice([-1.0, 1.0], length)
    found = values.copy()
    transform(found.reshape(-1), signs)
    np.testing.assert_allclose(found, hadamard(length) @ (signs[:, None] * values), rtol=1e-12, atol=1e-12 * length)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("rows", "columns", "count"), [(1, 1, 1), (33, 20, 70), (16, 32, 32), (5, 9, 100)])
def test_chains_of_blocks(dtype: type[np.floating], rows: int, columns: int, count: int) -> None:
    rng = np.random.default_rng(rows)
    length, blocks = 32, -(-count // 32)
    X, scales = rng.normal(size=(rows, columns)).astype(dtype), rng.uniform(1, 2, count).astype(dtype)
    signs = rng.choice([-1.0, 1.0], (blocks, 3, length)).astype(dtype)
    H = hadamard(length)
    W = np.vstack([H @ np.diag(one) @ H @ np.diag(two) @ H @ np.diag(three) for one, two, three in signs])
    found = np.empty((rows, count), dtype)
    put_hadamard_products(X, signs, scales, found)
    expected = X @ (scales[:, None] * W[:count, :columns]).T
    np.testing.assert_allclose(found, expected, atol=50 * np.finfo(dtype).eps * np.abs(expected).max())
