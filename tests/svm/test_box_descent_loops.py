"""Steps in a box: the largest score, the optimum of a small tile, and no unit of its own."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.svm._smo_loops import MAXIMUM_BLOCK, descend_pairs, descend_singles, find_largest

Array = np.ndarray


def tile(n: int = 40) -> tuple[Array, Array]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 3))
    return X @ X.T, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)


def descended(K: Array, y: Array, C: float, *, intercept: bool, epsilon: float = 0.0) -> tuple[Array, Array, int]:
    beta, G = np.zeros(len(y)), -y.copy()
    descend = descend_pairs if intercept else descend_singles
    bounds = np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)
    return beta, G, descend(K, beta, G, *bounds, epsilon, 1e-6, 1_000_000)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_first_of_the_largest_is_found(dtype: type) -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        scores = np.round(rng.normal(size=4 * MAXIMUM_BLOCK), 1).astype(dtype)
        scores[rng.random(len(scores)) < 0.3] = -np.inf
        where, value = find_largest(scores)
        assert (where, value) == (np.argmax(scores), scores.max())


@pytest.mark.parametrize("intercept", [True, False])
def test_the_gradient_is_updated_with_the_coefficients(intercept: bool) -> None:
    K, y = tile()
    beta, G, steps = descended(K, y, 1.0, intercept=intercept)
    assert steps > 0
    np.testing.assert_allclose(G, K @ beta - y, atol=1e-12)
    assert (beta * y >= 0).all()
    assert np.abs(beta).max() <= 1.0
    if intercept:
        assert abs(beta.sum()) < 1e-12


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("unit", [2.0**-1000, 2.0**-60, 2.0**900])
def test_steps_do_not_depend_on_the_unit_of_the_kernel(unit: float, intercept: bool) -> None:
    K, y = tile()
    beta, _, steps = descended(K, y, 1.0, intercept=intercept)
    scaled, _, same = descended(unit * K, y, 1.0 / unit, intercept=intercept)
    assert same == steps
    np.testing.assert_array_equal(scaled * unit, beta)


@pytest.mark.parametrize("intercept", [True, False])
def test_rows_without_a_length_end_at_their_bounds(intercept: bool) -> None:
    beta, _, _ = descended(np.zeros((4, 4)), np.array([1.0, -1.0, 1.0, -1.0]), 2.0, intercept=intercept)
    np.testing.assert_array_equal(beta, [2.0, -2.0, 2.0, -2.0])
