"""Working coordinates: close to the data at any scale, and without loss in either direction."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mercer.families.penalties import Strengths
from mercer.matrices import Coordinates, DenseMatrix

ROWS = 5000


def column(mean: float, spread: float) -> np.ndarray:
    return mean + spread * np.random.default_rng(0).normal(size=(ROWS, 1))


@given(
    hnp.arrays(float, st.tuples(st.integers(1, 30), st.integers(1, 4)), elements=st.floats(-1e3, 1e3)),
    st.booleans(),
    st.integers(0, 2**32),
    st.sampled_from([(), (2,)]),
)
def test_to_user_and_from_user_cancel(X: np.ndarray, intercept: bool, seed: int, more: tuple[int, ...]) -> None:
    coordinates = Coordinates.of(X, intercept=intercept)
    w = np.random.default_rng(seed).normal(size=(coordinates.n_columns, *more))
    size = 1e-12 * np.abs(coordinates.shift / coordinates.scale).sum()
    np.testing.assert_allclose(coordinates.from_user(*coordinates.to_user(w)), w, rtol=1e-12, atol=1e-12 + size)


def test_the_jacobian_agrees_with_to_user() -> None:
    coordinates = Coordinates.of(column(7.0, 3.0) @ [[1.0, 2.0]], intercept=True)
    w = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(coordinates.jacobian() @ w, np.append(*coordinates.to_user(w)))


@pytest.mark.parametrize("mean", [0.0, 1.0, 1e8, -1e15, 1e150, 1e-150])
@pytest.mark.parametrize("spread", [1.0, 1e-150, 1e150, 1e-300, 1e300])
def test_a_column_of_any_mean_and_spread_becomes_one_of_about_unit_size(mean: float, spread: float) -> None:
    X = column(mean, spread)
    coordinates = Coordinates.of(X, intercept=True)
    working = DenseMatrix(X, coordinates).dense()[:, 0]
    varies = bool(np.ptp(X) > 0)
    assert np.isfinite(working).all()
    if varies:
        assert 0.1 < working.std() < 10
        assert abs(working.mean()) < 2
    else:
        np.testing.assert_array_equal(working, 0.0)


@pytest.mark.parametrize("value", [0.3, 1e8 + 0.1, -1e-150])
def test_columns_that_vary_by_rounding_only_are_constant(value: float) -> None:
    X = np.where(np.arange(ROWS) % 2, value, np.nextafter(value, 1.0))[:, None]
    design = DenseMatrix.of(X)
    products = design.gram(np.ones(ROWS))
    assert products[0, 0] == 0
    strengths = design.coordinates.strengths(Strengths(np.ones(1), np.ones(1), np.zeros(1)))
    assert (strengths.l1[0] > 0) & (strengths.l2[0] > 0)


def test_without_an_intercept_nothing_is_shifted() -> None:
    coordinates = Coordinates.of(column(1000.0, 1.0), intercept=False)
    np.testing.assert_array_equal(coordinates.shift, [0.0])
    assert 500 < coordinates.scale[0] < 2000


def test_scales_are_powers_of_two() -> None:
    scale = Coordinates.of(np.random.default_rng(0).gamma(0.1, size=(100, 20)), intercept=True).scale
    np.testing.assert_array_equal(np.exp2(np.round(np.log2(scale))), scale)


@pytest.mark.parametrize("value", [0.0, 1.0, 3.7, -1e8, 1e150, 1e-290])
def test_a_constant_column_is_exactly_zero_in_every_product(value: float) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=ROWS), np.full(ROWS, value)])
    design = DenseMatrix.of(X)
    r = rng.normal(size=ROWS)
    assert design.rmatvec(r)[1] == 0
    assert (design.gram(r**2)[1] == 0).all()
    w = np.array([1.0, 1e6, 0.0])
    np.testing.assert_array_equal(design.matvec(w), design.matvec(w * [1, 0, 1]))


@pytest.mark.parametrize("value", [1.0, 1e150, 1e-150])
def test_a_value_outside_the_pilot_sample_is_found(value: float) -> None:
    X = np.zeros((ROWS, 1))
    X[3] = value
    coordinates = Coordinates.of(X, intercept=True)
    assert 0.5 <= coordinates.scale[0] / value <= 2


def test_values_that_are_not_finite_do_not_affect_coordinates() -> None:
    X = column(1e8, 1.0)
    X[::7] = np.nan
    X[0] = np.inf
    coordinates = Coordinates.of(X, intercept=True)
    assert np.isfinite([*coordinates.shift, *coordinates.scale]).all()


def test_penalties_are_equivalent_in_working_coordinates() -> None:
    coordinates = Coordinates.of(column(5.0, 3.0) @ [[1.0, 100.0]], intercept=True)
    penalty = Strengths(np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([0.5, -0.5]))
    coefficients = np.array([1.5, -2.5])
    w = coordinates.from_user(coefficients, 17.0)
    assert coordinates.strengths(penalty).value(w) == pytest.approx(penalty.value(coefficients))


def test_penalties_of_tiny_columns_stay_finite() -> None:
    coordinates = Coordinates.of(column(0.0, 1e-200), intercept=True)
    strengths = coordinates.strengths(Strengths(np.ones(1), np.ones(1), np.zeros(1)))
    assert np.isfinite(strengths.l1).all()
    assert np.isfinite(strengths.l2).all()
