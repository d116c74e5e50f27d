"""Pivoted Cholesky factors: exact on their pivots, and wherever the rank is low."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.kernels import RBF, Gram, Linear
from mercer.kernels.gram import GivenMatrix
from mercer.kernels.pivoted import PivotedCholesky
from tests.kernels._clusters import clusters


@given(n=st.integers(1, 40), d=st.integers(1, 4), seed=st.integers(0, 99))
def test_a_matrix_of_low_rank_is_reproduced_exactly(n: int, d: int, seed: int) -> None:
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


def test_it_stops_at_the_tolerance() -> None:
    X = np.random.default_rng(0).normal(size=(300, 1))
    gram = Gram(RBF(gamma=1.0), X)
    found = PivotedCholesky.of(gram, 300, 1e-3)
    left = gram.diagonal - np.einsum("ij,ij->i", found.L, found.L)
    assert left.mean() <= 1e-3
    assert len(found.pivots) < 100


def test_a_matrix_of_zeros_has_no_pivots() -> None:
    assert len(PivotedCholesky.of(Gram(Linear(), np.zeros((5, 2))), 5, 0.0).pivots) == 0


@pytest.mark.parametrize("most", [1, 30, 200])
def test_the_remainder_is_the_trace_of_the_difference(most: int) -> None:
    X = clusters()
    K = RBF(gamma=0.5)(X)
    found = PivotedCholesky.of(Gram(RBF(gamma=0.5), X), most, 0.0)
    np.testing.assert_allclose(found.left, np.trace(K - found.L @ found.L.T), atol=1e-9)
    np.testing.assert_allclose(found.error, found.left / len(X), rtol=1e-12)


def test_a_seed_fixes_the_pivots_and_another_draws_others() -> None:
    gram = Gram(RBF(gamma=0.5), clusters())
    first, again, other = (PivotedCholesky.of(gram, 40, 0.0, rng=seed).pivots for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, again)
    assert set(first.tolist()) != set(other.tolist())


def test_a_given_matrix_has_the_pivots_of_its_kernel() -> None:
    X = clusters(300)
    by_kernel = PivotedCholesky.of(Gram(RBF(gamma=0.5), X), 40, 0.0)
    by_matrix = PivotedCholesky.of(GivenMatrix(RBF(gamma=0.5)(X)), 40, 0.0)
    np.testing.assert_array_equal(by_kernel.pivots, by_matrix.pivots)
    np.testing.assert_allclose(by_kernel.L, by_matrix.L, atol=1e-10)


def test_pivots_are_drawn_as_if_one_by_one() -> None:
    """Proposing many and turning some down leaves the distribution that drawing each on its own has."""
    K = RBF(gamma=0.3)(np.array([[0.0], [0.1], [1.0], [3.0], [3.3]]))
    exact = np.zeros((5, 5))
    for first in range(5):
        left = np.maximum(np.diag(K) - K[first] ** 2, 0.0)
        exact[first] = left / left.sum() / 5
    draws = 4000
    found = np.zeros((5, 5))
    for seed in range(draws):
        first, second = PivotedCholesky.of(GivenMatrix(K), 2, 0.0, rng=seed).pivots
        found[first, second] += 1 / draws
    assert np.abs(found - exact).max() < 5 * np.sqrt(exact.max() / draws)


def test_the_approximation_is_close_to_the_optimal_one() -> None:
    """60 pivots leave no more than twice the remainder of the 45 largest eigenvalues."""
    X = clusters()
    values = np.linalg.eigvalsh(RBF(gamma=0.5)(X))
    for seed in range(5):
        assert PivotedCholesky.of(Gram(RBF(gamma=0.5), X), 60, 0.0, rng=seed).left < 2 * values[:-45].sum()


@pytest.mark.parametrize("enough", [0.3, 0.03])
def test_it_takes_no_more_pivots_than_it_needs(enough: float) -> None:
    """Pivots are proposed in blocks, but kept only up to the one that reaches the required error."""
    gram = Gram(RBF(gamma=0.5), clusters())
    found = PivotedCholesky.of(gram, 600, enough)
    kept = found.L[:, :-1]
    assert found.left / 600 <= enough < (gram.diagonal.sum() - np.square(kept).sum()) / 600
    np.testing.assert_allclose(found.left, gram.diagonal.sum() - np.square(found.L).sum(), atol=1e-8)


def test_a_row_exhausted_by_rounding_is_not_chosen_again() -> None:
    """The diagonal indicates a remainder, the row itself none."""

    class Rounded(GivenMatrix):
        diagonal = np.ones(3)  # type: ignore[assignment]

    found = PivotedCholesky.of(Rounded(np.diag([1.0, 0.0, 1.0])), 3, 0.0)
    assert set(found.pivots) == {0, 2}


def test_inconsistent_rows_are_not_chosen_again() -> None:
    """The matrix is not positive definite: the remainders of the diagonal and of the rows are inconsistent."""
    found = PivotedCholesky.of(GivenMatrix(np.array([[1.0, 2.0], [2.0, 1.0]])), 2, 0.0)
    assert len(found.pivots) == 1
