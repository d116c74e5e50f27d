"""Pivoted Cholesky factors: exact on their pivots, and wherever the rank is low."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.kernels import RBF, Gram, Linear
from mercer.kernels.pivoted import PivotedCholesky


@given(n=st.integers(1, 40), d=st.integers(1, 4), seed=st.integers(0, 99))
def test_a_matrix_of_low_rank_is_found_whole(n: int, d: int, seed: int) -> None:
    X = np.random.default_rng(seed).normal(size=(n, d))
    found = PivotedCholesky.of(Gram(Linear(), X), n, 0.0)
    assert len(found.pivots) <= min(n, d)
    np.testing.assert_allclose(found.L @ found.L.T, X @ X.T, atol=1e-8)


@pytest.mark.parametrize("most", [1, 20, 150])
def test_rows_of_the_pivots_are_exact(most: int) -> None:
    X = np.random.default_rng(0).normal(size=(200, 2))
    gram = Gram(RBF(gamma=1.0), X)
    found = PivotedCholesky.of(gram, most, 0.0)
    assert len(found.pivots) <= most
    assert len(set(found.pivots.tolist())) == len(found.pivots)
    np.testing.assert_allclose(found.corner @ found.L.T, gram.rows(found.pivots), atol=1e-8)
    np.testing.assert_allclose(found.corner, np.tril(found.corner), atol=1e-7)
    left = gram.diagonal - np.einsum("ij,ij->i", found.L, found.L)
    assert left.min() > -1e-8


def test_it_stops_when_enough_is_found() -> None:
    X = np.random.default_rng(0).normal(size=(300, 1))
    gram = Gram(RBF(gamma=1.0), X)
    found = PivotedCholesky.of(gram, 300, 1e-3)
    left = gram.diagonal - np.einsum("ij,ij->i", found.L, found.L)
    assert left.mean() <= 1e-3
    assert len(found.pivots) < 100


def test_a_matrix_of_zeros_has_no_pivots() -> None:
    assert len(PivotedCholesky.of(Gram(Linear(), np.zeros((5, 2))), 5, 0.0).pivots) == 0
