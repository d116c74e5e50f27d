"""Least squares with coefficients that may not be negative."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from mercer._errors import NonFiniteError
from mercer.matrices import observations_of
from mercer.optim.least_squares import least_squares
from mercer.optim.nonnegative import nonnegative_least_squares

Array = np.ndarray


def draw(n: int, d: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=(d, 2)) + rng.normal(size=(n, 2)) + 3


@pytest.mark.parametrize("shape", [(60, 6), (6, 60)], ids=str)
@pytest.mark.parametrize("alpha", [0.0, 2.0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_the_solution_of_the_rows_agrees(shape: tuple[int, int], alpha: float, intercept: bool, weighted: bool) -> None:
    X, Y = draw(*shape)
    weight = np.arange(len(X)) % 3 + 0.5 if weighted else None
    solution = nonnegative_least_squares(observations_of(X, Y, weight), np.full(2, alpha), intercept=intercept)
    assert solution.certificate.holds
    assert solution.certificate.kind == "KKT"
    root = np.ones((len(X), 1)) if weight is None else np.sqrt(weight)[:, None]
    A, B = X, Y
    if intercept:
        A, B = X - np.average(X, axis=0, weights=weight), Y - np.average(Y, axis=0, weights=weight)
    stacked = np.vstack([root * A, np.sqrt(alpha) * np.eye(A.shape[1])])
    for k in range(2):
        target = np.append(root[:, 0] * B[:, k], np.zeros(A.shape[1]))
        w, shortest = nnls(stacked, target)
        found = solution.coef.coefficients[:, k]
        assert (found >= 0).all()
        np.testing.assert_allclose(np.linalg.norm(stacked @ found - target), shortest, rtol=1e-8, atol=1e-10)
        if alpha or shape[0] > shape[1]:  # else there are many solutions
            np.testing.assert_allclose(found, w, atol=1e-8)


def test_the_constraint_does_not_change_positive_coefficients() -> None:
    X, _ = draw(50, 4)
    Y = X @ np.array([[1.0], [2.0], [3.0], [4.0]]) + 1
    free = least_squares(observations_of(X, Y), np.zeros(1)).coef
    bound = nonnegative_least_squares(observations_of(X, Y), np.zeros(1), intercept=True).coef
    np.testing.assert_allclose(bound.coefficients, free.coefficients, rtol=1e-10)
    np.testing.assert_allclose(bound.intercept, free.intercept, rtol=1e-10)


def test_units_do_not_matter() -> None:
    X, Y = draw(50, 4)
    units = 10.0 ** np.array([100, -100, 6, 0])
    plain = nonnegative_least_squares(observations_of(X, Y), np.zeros(2), intercept=True).coef
    scaled = nonnegative_least_squares(observations_of(X * units, Y), np.zeros(2), intercept=True).coef
    np.testing.assert_allclose(scaled.coefficients * units[:, None], plain.coefficients, atol=1e-10)


def test_the_certificate_of_too_few_steps_does_not_hold() -> None:
    X, Y = draw(300, 40)
    solution = nonnegative_least_squares(observations_of(X, Y), np.zeros(2), intercept=True, most_steps=1)
    assert not solution.certificate.holds
    assert solution.coef.path.endswith("L-BFGS-B")
    assert (solution.coef.coefficients >= 0).all()


@pytest.mark.parametrize("shape", [(20, 3), (3, 20)], ids=str)
def test_a_value_that_is_not_a_number(shape: tuple[int, int]) -> None:
    X, Y = draw(*shape)
    X[1, 2] = np.inf
    with pytest.raises(NonFiniteError, match="not finite"):
        nonnegative_least_squares(observations_of(X, Y), np.zeros(2), intercept=True)


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_columns_below_rounding_do_not_matter(alpha: float) -> None:
    """The reciprocals of their lengths are infinite."""
    X = np.column_stack([np.full(4, 5e-324), np.arange(4.0)])
    solution = nonnegative_least_squares(observations_of(X, X[:, 1:]), np.full(1, alpha), intercept=False)
    assert solution.certificate.holds
    np.testing.assert_allclose(solution.coef.coefficients[:, 0], [0.0, 14 / (14 + alpha)], rtol=1e-12)


def test_targets_whose_squares_overflow() -> None:
    X = np.arange(4.0)[:, None]
    solution = nonnegative_least_squares(observations_of(X, 1e200 * X), np.zeros(1), intercept=False)
    assert solution.certificate.holds
    np.testing.assert_allclose(solution.coef.coefficients, 1e200, rtol=1e-12)


def test_the_largest_numbers_are_rejected() -> None:
    X = np.finfo(float).max * np.array([[1.0], [-1.0], [1.0]])
    with pytest.raises(NonFiniteError, match="too large for float64"):
        nonnegative_least_squares(observations_of(X, np.ones((3, 1))), np.zeros(1), intercept=True)


def test_columns_whose_length_overflows_are_rejected() -> None:
    X = np.finfo(float).max * np.array([[1.0, 0.8], [0.0, 0.8]])
    with pytest.raises(NonFiniteError, match="too large for float64"):
        nonnegative_least_squares(observations_of(X, np.ones((2, 1))), np.zeros(1), intercept=False)
