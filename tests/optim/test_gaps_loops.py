"""Inverses of small matrices, and derivatives of the likelihood of rows with missing values."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.optim import _em_loops as em_loops


@pytest.mark.parametrize("n", [0, 1, 2, 5, 40])
def test_inverse_and_determinant_agree_with_lapack(n: int) -> None:
    A = np.random.default_rng(n).normal(size=(n, n + 3))
    A = A @ A.T + 0.1 * np.eye(n)
    inverse, log_determinant = em_loops.invert(A)
    np.testing.assert_allclose(inverse, np.linalg.inv(A), rtol=1e-9, atol=1e-12)
    assert log_determinant == pytest.approx(np.linalg.slogdet(A)[1], rel=1e-12, abs=1e-12)


def test_only_the_lower_triangle_is_read() -> None:
    A = np.array([[2.0, 99.0], [0.5, 1.0]])
    inverse, _ = em_loops.invert(A)
    np.testing.assert_allclose(inverse @ np.array([[2.0, 0.5], [0.5, 1.0]]), np.eye(2), atol=1e-15)


@pytest.mark.parametrize("A", [[[1.0, 2.0], [2.0, 1.0]], [[0.0]], [[1.0, 0.0], [0.0, np.nan]]])
def test_a_matrix_that_is_not_positive_definite_has_no_determinant(A: list[list[float]]) -> None:
    assert np.isnan(em_loops.invert(np.array(A))[1])
