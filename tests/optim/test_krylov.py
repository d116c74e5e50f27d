"""Conjugate gradients."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.optim.krylov import conjugate_gradient
from tests._ctrl_c import interrupted_at

Array = np.ndarray


def positive_definite(size: int, condition: float = 1e3, seed: int = 0) -> Array:
    Q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(size, size)))
    return np.asarray((Q * np.geomspace(1, condition, size)) @ Q.T)


@settings(max_examples=30)
@given(st.integers(1, 20), st.integers(1, 3), st.integers(0, 1000))
def test_each_column_is_solved(size: int, targets: int, seed: int) -> None:
    A, b = positive_definite(size, seed=seed), np.random.default_rng(seed).normal(size=(size, targets))
    solution = conjugate_gradient(lambda v: A @ v, b, tolerance=1e-12)
    assert solution.certificate.holds
    np.testing.assert_allclose(solution.coef, np.linalg.solve(A, b), rtol=1e-7, atol=1e-9)


def test_as_many_steps_as_there_are_eigenvalues() -> None:
    """There are three eigenvalues, each thirty times."""
    A = np.diag(np.repeat([1.0, 5.0, 9.0], 30))
    solution = conjugate_gradient(lambda v: A @ v, np.ones(90), tolerance=1e-12)
    assert solution.n_iter == 3


def test_a_preconditioner_saves_steps() -> None:
    rng = np.random.default_rng(0)
    A = np.diag(np.geomspace(1, 1e6, 60)) + 0.01 * positive_definite(60, 10)
    b = rng.normal(size=60)
    plain = conjugate_gradient(lambda v: A @ v, b, tolerance=1e-8)
    scaled = conjugate_gradient(lambda v: A @ v, b, tolerance=1e-8, precondition=lambda r: r / np.diagonal(A))
    assert scaled.certificate.holds
    assert scaled.n_iter < plain.n_iter / 3


def test_the_shortest_solution_of_a_singular_system() -> None:
    A = positive_definite(10)
    A[:5] = A[:, :5] = 0.0
    b = A @ np.arange(10.0)
    solution = conjugate_gradient(lambda v: A @ v, b)
    np.testing.assert_allclose(solution.coef, np.linalg.pinv(A) @ b, atol=1e-7)


def test_a_start_at_the_solution_is_the_end() -> None:
    A, v = positive_definite(10), np.arange(10.0)
    solution = conjugate_gradient(lambda v: A @ v, A @ v, start=v)
    assert solution.n_iter == 0
    assert solution.certificate.holds


def test_a_right_hand_side_of_zeros() -> None:
    solution = conjugate_gradient(lambda v: 2 * v, np.zeros(3))
    assert not solution.coef.any()
    assert solution.certificate.holds


def test_the_certificate_of_too_few_steps_does_not_hold() -> None:
    A = positive_definite(50, 1e6)
    solution = conjugate_gradient(lambda v: A @ v, np.ones(50), most_steps=3)
    assert solution.n_iter == 3
    assert not solution.certificate.holds
    assert "3 steps" in str(solution.certificate)


def test_the_certificate_is_computed_anew() -> None:
    A, b = positive_definite(30, 1e8), np.ones(30)
    solution = conjugate_gradient(lambda v: A @ v, b, tolerance=1e-9)
    np.testing.assert_allclose(
        solution.certificate.value, np.linalg.norm(b - A @ solution.coef) / np.linalg.norm(b), rtol=1e-3
    )


def test_a_right_hand_side_outside_the_range_has_no_solution() -> None:
    A = np.diag([1.0, 0.0])
    solution = conjugate_gradient(lambda v: A @ v, np.array([1.0, 1.0]))
    assert not solution.certificate.holds
    assert np.isfinite(solution.coef).all()


def test_an_interruption_keeps_the_coefficients() -> None:
    A = positive_definite(50, 1e6)
    solution = conjugate_gradient(interrupted_at(5, lambda v: A @ v), np.ones(50))
    assert solution.interrupted
    assert solution.n_iter == 4
    assert not solution.certificate.holds
    assert solution.coef.any()


def test_a_preconditioner_that_is_not_positive_is_not_followed() -> None:
    A = positive_definite(6)
    found = conjugate_gradient(lambda v: A @ v, np.ones((6, 1)), precondition=lambda r: -r, tolerance=1e-10)
    assert not found.certificate.holds
    assert found.n_iter <= 2
