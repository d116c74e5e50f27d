"""Factorised Hessians: inverses where there is one, pseudo-inverses where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.optim.curvature import Curvature


def gram(seed: int, rows: int, columns: int) -> np.ndarray:
    A = np.random.default_rng(seed).normal(size=(rows, columns))
    return A.T @ A


@given(st.integers(0, 2**32 - 1), st.integers(1, 8))
def test_a_definite_matrix_is_inverted(seed: int, p: int) -> None:
    H, g = gram(seed, p + 5, p), np.random.default_rng(seed).normal(size=p)
    curvature = Curvature.of(H)
    assert curvature.definite
    assert curvature.rank == p
    np.testing.assert_allclose(H @ curvature.solve(g), g, rtol=1e-7, atol=1e-7)


def test_units_do_not_matter() -> None:
    H, g = gram(0, 9, 3), np.ones(3)
    units = np.array([1e-120, 1.0, 1e120])
    np.testing.assert_allclose(
        units * Curvature.of(H).solve(g), Curvature.of(H / units / units[:, None]).solve(g / units), rtol=1e-12
    )


def test_a_direction_without_curvature_is_not_taken() -> None:
    H = np.array([[2.0, 2.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
    curvature = Curvature.of(H)
    assert not curvature.definite
    assert curvature.rank == 1
    np.testing.assert_allclose(curvature.solve(np.array([2.0, 2.0, 0.0])), [0.5, 0.5, 0.0], atol=1e-14)


@pytest.mark.parametrize("H", [gram(1, 9, 4), gram(1, 2, 4)], ids=["definite", "singular"])
def test_a_larger_objective_has_shorter_steps(H: np.ndarray) -> None:
    g = H @ np.arange(1.0, 5.0)
    np.testing.assert_allclose(Curvature.of(H).scaled_by(8.0).solve(g), Curvature.of(8 * H).solve(g), rtol=1e-8)


@pytest.mark.parametrize("H", [gram(1, 9, 4), gram(1, 2, 4)], ids=["definite", "singular"])
def test_the_share_of_a_penalty(H: np.ndarray) -> None:
    """It is the trace of H⁻¹ diag(l2), here by solving for each unit vector."""
    curvature, l2 = Curvature.of(H), np.arange(4.0)
    expected = l2 @ [curvature.solve(unit)[j] for j, unit in enumerate(np.eye(4))]
    np.testing.assert_allclose(curvature.share(l2), expected, rtol=1e-8)


def test_the_share_of_a_penalty_whose_inverse_overflows() -> None:
    tiny = np.full(2, 1e-310)
    np.testing.assert_allclose(Curvature.of(np.diag(2 * tiny)).share(tiny), 1.0, rtol=1e-8)


def test_a_column_without_curvature_does_not_move() -> None:
    """Rounding errors of columns of enormous curvature would move it far in its own units."""
    curved = np.arange(16) % 3 == 0
    H = np.zeros((16, 16))
    H[np.ix_(curved, curved)] = 1e150 * gram(0, 2, 6)
    assert not Curvature.of(H).solve(H @ np.ones(16))[~curved].any()


def test_a_gradient_without_curvature_has_a_large_norm() -> None:
    """The part of a gradient outside the range of H must not be ignored by the certificate."""
    rounding = np.full(2, 1e-15)
    flat = Curvature.of(np.array([[1.0, 1.0], [1.0, 1.0]]))
    assert flat.length_outside_range(np.array([1.0, 1.0]), rounding) == 0
    assert flat.length_outside_range(np.array([1.0, 1.0 + 1e-16]), rounding) == 0
    assert flat.length_outside_range(np.array([1.0, -1.0]), rounding) > 1e6
    none = Curvature.of(np.diag([1.0, 0.0]))
    assert none.length_outside_range(np.array([1.0, 0.0]), rounding) == 0
    assert none.length_outside_range(np.array([1.0, 1.0]), rounding) > 1e100
    assert Curvature.of(np.eye(2)).length_outside_range(np.array([1.0, 1.0]), rounding) == 0
