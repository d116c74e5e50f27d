"""Leave-one-out errors in closed form are those of fits without the row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from mercer._errors import NonFiniteError
from mercer.matrices import Observations, observations_of
from mercer.optim.least_squares import least_squares
from mercer.optim.leave_one_out import (
    HouseholderReflection,
    RidgeSpectrum,
    TallSpectrum,
    candidate_penalties,
    decompose,
    index_of_least,
)

Array = np.ndarray
ALPHAS = np.array([1e-3, 1.0, 50.0])


def draw(n: int, d: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.normal(1, 1, size=(n, d))
    return X, X @ rng.normal(size=(d, 2)) + rng.normal(size=(n, 2)) + 3


def left_out(rows: Observations, alpha: float, intercept: bool) -> Array:
    """Return the leave-one-out errors by a fit without each row."""
    errors = np.empty_like(rows.y)
    for i in range(len(rows)):
        rest = np.arange(len(rows)) != i
        others = rows.take(np.flatnonzero(rest))
        others = observations_of(others.design, others.y, others.weight)
        fit = least_squares(others, np.full(2, alpha), intercept=intercept).coef
        errors[i] = rows.y[i] - rows.design.data[[i]] @ fit.coefficients - fit.intercept
    return errors


def every_error(spectrum: RidgeSpectrum) -> Array:
    parts = list(spectrum.errors(ALPHAS, lambda errors: errors))
    assert [part.rows.start for part in parts[1:]] == [part.rows.stop for part in parts[:-1]]
    return np.concatenate([part.values for part in parts])


@pytest.mark.parametrize("shape", [(25, 4), (6, 5), (6, 6), (6, 20)], ids=str)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("stable", [True, False])
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
def test_leave_one_out_errors_agree_with_refits(
    shape: tuple[int, int],
    intercept: bool,
    weighted: bool,
    stable: bool,
    wrap: Callable[[Array], Any],
) -> None:
    X, Y = draw(*shape)
    weight = np.random.default_rng(1).integers(0, 3, shape[0]) + 0.5 if weighted else None
    rows = observations_of(wrap(X), Y, weight)
    errors = every_error(decompose(rows, intercept=intercept, stable=stable))
    for position, alpha in enumerate(ALPHAS):
        expected = left_out(rows, alpha, intercept)
        np.testing.assert_allclose(errors[:, :, position], expected, rtol=1e-7, atol=1e-7)


def test_rows_in_several_tiles() -> None:
    """The errors are (y − ŷ)/(1 − h), with the leverages h of the ridge regression."""
    X, Y = draw(20_000, 4)
    parts = list(decompose(observations_of(X, Y), intercept=False).errors(ALPHAS, lambda errors: errors))
    assert len(parts) > 1
    errors = np.concatenate([part.values for part in parts])
    for position, alpha in enumerate(ALPHAS):
        axes = X @ np.linalg.inv(X.T @ X + alpha * np.eye(4))
        expected = (Y - axes @ (X.T @ Y)) / (1 - np.einsum("ij,ij->i", axes, X))[:, None]
        np.testing.assert_allclose(errors[:, :, position], expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("shape", [(25, 4), (6, 20)], ids=str)
def test_rows_without_weight_are_predicted_by_all_others(shape: tuple[int, int]) -> None:
    X, Y = draw(*shape)
    weight = np.ones(len(X))
    weight[2] = 0.0
    rows = observations_of(X, Y, weight)
    errors = every_error(decompose(rows, intercept=True))
    for position, alpha in enumerate(ALPHAS):
        np.testing.assert_allclose(errors[:, :, position], left_out(rows, alpha, True), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("shape", [(25, 4), (6, 20)], ids=str)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("stable", [True, False])
def test_generalised_cross_validation_agrees_with_its_definition(
    shape: tuple[int, int], intercept: bool, stable: bool
) -> None:
    X, Y = draw(*shape)
    n, d = shape
    scores = decompose(observations_of(X, Y), intercept=intercept, stable=stable).generalised_errors(ALPHAS)
    A = X - X.mean(axis=0) if intercept else X
    for position, alpha in enumerate(ALPHAS):
        hat = A @ np.linalg.solve(A.T @ A + alpha * np.eye(d), A.T) + (1 / n if intercept else 0.0)
        residual = Y - hat @ Y
        expected = (residual**2).mean(axis=0) / (1 - np.trace(hat) / n) ** 2
        np.testing.assert_allclose(scores[position], expected, rtol=1e-6)


def test_small_penalties_take_a_stable_factorisation() -> None:
    X, Y = draw(50, 3)
    X = X * [1.0, 1e-5, 1.0]
    cheap, stable = (decompose(observations_of(X, Y), intercept=True, smallest=alpha) for alpha in (1.0, 1e-9))
    assert cheap.sums is not None
    assert stable.sums is None
    np.testing.assert_allclose(np.sort(cheap.values)[1:], np.sort(stable.values)[1:], rtol=1e-10)


def test_eigenvalues_beyond_float64_are_rejected() -> None:
    """All leave-one-out errors would be NaN, and the first penalty would always be chosen."""
    X, Y = draw(50, 3)
    with pytest.raises(NonFiniteError, match="too large for float64"):
        decompose(observations_of(1e160 * X, Y), intercept=True)


def test_candidates_cover_the_spectrum() -> None:
    X, Y = draw(50, 3)
    for scale, count in (([1.0, 1.0, 1.0], None), ([1.0, 1e-4, 1.0], 31)):
        spectrum = decompose(observations_of(X * scale, Y), intercept=True)
        assert isinstance(spectrum, TallSpectrum)
        alphas = candidate_penalties(spectrum)
        largest, smallest = spectrum.values.max(), spectrum.values.min()
        np.testing.assert_allclose(alphas[-1], 100 * largest)
        np.testing.assert_allclose(alphas[1:] / alphas[:-1], 10 ** (1 / 3))
        # a penalty that no coefficient feels is none to try
        assert 1e-6 / 2 < alphas[0] / max(smallest, 1e-2 * largest) < 2e-6
        assert count in (None, len(alphas))


def test_candidates_for_constant_columns() -> None:
    alphas = candidate_penalties(decompose(observations_of(np.ones((9, 2)), np.ones((9, 1))), intercept=True))
    assert len(alphas) == 31
    assert (alphas > 0).all()


def test_a_reflection_takes_its_direction_to_the_first_axis() -> None:
    direction = np.array([3.0, 0.0, 4.0])
    turn = HouseholderReflection.of(direction)
    np.testing.assert_allclose(turn.reduce(direction[:, None]), 0.0, atol=1e-15)
    identity = turn.restore(turn.reduce(np.eye(3)))
    np.testing.assert_allclose(identity, np.eye(3) - np.outer(direction, direction) / 25, atol=1e-15)


@pytest.mark.parametrize("shape", [(20, 3), (3, 20)], ids=str)
@pytest.mark.parametrize("stable", [True, False])
def test_a_value_that_is_not_a_number(shape: tuple[int, int], stable: bool) -> None:
    X, Y = draw(*shape)
    X[1, 2] = np.nan
    with pytest.raises(NonFiniteError, match="not finite"):
        decompose(observations_of(X, Y), intercept=True, stable=stable)


@pytest.mark.parametrize("shape", [(12, 27), (27, 4)], ids=str)
@pytest.mark.parametrize("stable", [True, False])
def test_the_largest_numbers_are_rejected(shape: tuple[int, int], stable: bool) -> None:
    """LAPACK would not converge, or the squares of its results would be infinite."""
    X = np.finfo(float).max * np.random.default_rng(0).choice([-1.0, 0.0, 1.0], size=shape)
    with pytest.raises(NonFiniteError, match="too large for float64"):
        decompose(observations_of(X, np.ones((len(X), 1))), intercept=False, stable=stable)


@pytest.mark.parametrize("weight", [1e-320, 1e-150])
def test_tiny_weights_do_not_hide_numbers_whose_differences_or_squares_overflow(weight: float) -> None:
    X = np.finfo(float).max * np.array([[1.0], [0.0], [0.0], [-1.0], [-1.0], [-1.0]])
    rows = observations_of(X, np.ones((6, 1)), np.full(6, weight))
    with pytest.raises(NonFiniteError, match="too large for float64"):
        list(decompose(rows, intercept=True, smallest=0.1).errors(ALPHAS, lambda errors: errors))


@pytest.mark.parametrize("intercept", [True, False])
def test_squares_beyond_float64_are_not_needed_with_tiny_weights(intercept: bool) -> None:
    """Only x √w matters, which is of ordinary size."""
    X, Y = draw(12, 2)
    weight = np.random.default_rng(2).uniform(0.5, 1.5, 12)
    usual = every_error(decompose(observations_of(X, Y, weight), intercept=intercept))
    huge = every_error(decompose(observations_of(1e155 * X, Y, 1e-310 * weight), intercept=intercept))
    np.testing.assert_allclose(huge, usual, rtol=1e-9)


@pytest.mark.parametrize("shape", [(30, 3), (6, 20)], ids=str)
def test_rows_without_weight_may_be_arbitrarily_far_away(shape: tuple[int, int]) -> None:
    X, Y = draw(*shape)
    X *= 1e300  # so that the difference between the largest number and the mean is none
    weight = np.full(len(X), 1e-300)
    weight[2], X[2] = 0.0, -np.finfo(float).max
    heavy = weight > 0
    expected = every_error(decompose(observations_of(X[heavy], Y[heavy], weight[heavy]), intercept=True))
    found = every_error(decompose(observations_of(X, Y, weight), intercept=True))
    np.testing.assert_allclose(found[heavy], expected, rtol=1e-8)


def test_one_row_of_the_largest_numbers_has_all_the_weight() -> None:
    """The triangle has no rows, so that nothing is explained."""
    X = np.full((6, 2), np.finfo(float).max)
    rows = observations_of(X, np.ones((6, 1)), np.eye(6)[0])
    assert every_error(decompose(rows, intercept=True, stable=True)).shape == (6, 1, len(ALPHAS))


def test_the_largest_of_equally_good_penalties_is_chosen() -> None:
    spectrum = decompose(observations_of(np.eye(4)[:, :2], np.ones((4, 1))), intercept=False)
    alphas = np.array([1e-8, 1e-4, 1.0, 100.0])
    assert index_of_least(spectrum, alphas, np.array([2.0, 2.0, 2.0, 2.0]) - 1e-8 * (alphas < 1e-6)) == 3
    assert index_of_least(spectrum, alphas, np.array([2.0, 2.0, 2.0, 2.0 + 2e-15])) == 3
    assert index_of_least(spectrum, alphas, np.array([2.0, 2.0, 2.0 - 1e-15, 2.1])) == 2
    assert index_of_least(spectrum, alphas, np.array([2.0, 2.0 - 1e-6, 2.0, 2.0])) == 1
    assert index_of_least(spectrum, alphas, np.array([1.0, 2.0, np.nan, np.inf])) == 0
