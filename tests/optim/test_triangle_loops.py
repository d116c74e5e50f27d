"""A triangle from which rows and columns are removed is that of the remaining ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.optim import _triangle_loops as triangle_loops


def positive_definite(size: int, seed: int) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(2 * size + 1, size))
    return X.T @ X


def upper(G: np.ndarray, room: int) -> np.ndarray:
    U = np.full((room, room), np.nan)
    U[: len(G), : len(G)] = np.linalg.cholesky(G).T
    return U


@settings(max_examples=50)
@given(st.integers(1, 20), st.integers(0, 100))
def test_the_system_is_solved(size: int, seed: int) -> None:
    G, b = positive_definite(size, seed), np.random.default_rng(seed + 1).normal(size=size)
    x = b.copy()
    triangle_loops.solve(upper(G, size + 3), size, x)
    np.testing.assert_allclose(G @ x, b, rtol=1e-7, atol=1e-8)


@settings(max_examples=50)
@given(st.integers(2, 20), st.integers(0, 100), st.integers(0, 2**20 - 1))
def test_the_remaining_triangle_agrees_with_a_new_factorisation(size: int, seed: int, bits: int) -> None:
    keep = np.array([bool(bits >> i & 1) for i in range(size)])
    if keep.all() or not keep.any():
        keep[0] = not keep[0]
    G = positive_definite(size, seed)
    U, left = upper(G, size + 2), int(keep.sum())
    triangle_loops.remove_columns(U, size, keep)
    np.testing.assert_allclose(
        np.triu(U[:left, :left]), np.linalg.cholesky(G[np.ix_(keep, keep)]).T, rtol=1e-8, atol=1e-9
    )


@pytest.mark.parametrize("gone", [0, 4, 9])
def test_one_column_is_removed(gone: int) -> None:
    G, keep = positive_definite(10, 0), np.arange(10) != gone
    U = upper(G, 10)
    triangle_loops.remove_columns(U, 10, keep)
    kept = np.triu(U[:9, :9])
    np.testing.assert_allclose(kept.T @ kept, G[np.ix_(keep, keep)], rtol=1e-10)
