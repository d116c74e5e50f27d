"""Least squares with absolute values in the penalty: optimality conditions, on data of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mercer._errors import NonFiniteError
from mercer.optim import lasso
from tests._ctrl_c import interrupt
from tests.optim._lasso_cases import objective, regression, strengths, violation


def test_orthogonal_columns_are_shrunk_one_by_one() -> None:
    rng = np.random.default_rng(0)
    Q, _ = np.linalg.qr(rng.normal(size=(40, 8)))
    y = rng.normal(size=40)
    least = Q.T @ y
    fit = lasso.solve(Q, y, strengths(0.3, columns=8), fit_intercept=False).coef
    expected = np.sign(least) * np.maximum(np.abs(least) - 0.3, 0.0)
    assert (expected == 0).any()
    np.testing.assert_allclose(fit.coefficients, expected, atol=1e-12)


@pytest.mark.parametrize("shape", [(60, 30), (20, 100)])
def test_without_absolute_values_it_is_ridge_regression(shape: tuple[int, int]) -> None:
    X, y = regression(*shape)
    p = shape[1]
    Z, z = X - X.mean(axis=0), y - y.mean()
    expected = np.linalg.solve(Z.T @ Z + 3.0 * np.eye(p), Z.T @ z)
    solution = lasso.solve(X, y, strengths(0.0, 3.0, columns=p), tolerance=1e-14)
    assert solution.certificate.holds
    np.testing.assert_allclose(solution.coef.coefficients, expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(solution.coef.intercept, y.mean() - X.mean(axis=0) @ expected, rtol=1e-7)


@settings(max_examples=40)
@given(
    st.integers(2, 40),
    st.integers(1, 60),
    st.sampled_from([0.5, 0.05, 0.005]),
    st.sampled_from([0.0, 1.0]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 1000),
)
def test_conditions_of_optimality_hold(
    n: int, p: int, share: float, l2: float, intercept: bool, weighted: bool, seed: int
) -> None:
    X, y = regression(n, p, seed=seed, correlated=float(seed % 3))
    weight = np.random.default_rng(seed).uniform(0.1, 3, n) if weighted else None
    penalty = strengths(share * np.abs(X.T @ y).max(), l2, columns=p)
    solution = lasso.solve(X, y, penalty, weight=weight, fit_intercept=intercept, tolerance=1e-12)
    fit = solution.coef
    assert solution.certificate.holds
    assert violation(X, y, fit.coefficients, fit.intercept, penalty, weight) < 1e-5
    if intercept:
        np.testing.assert_allclose(np.average(y - X @ fit.coefficients, weights=weight), fit.intercept, rtol=1e-8)


@settings(max_examples=40)
@given(st.integers(1, 12), st.sampled_from([0.0, 2.0]), st.booleans(), st.integers(0, 1000))
def test_the_gap_bounds_the_distance_to_the_minimum(sweeps: int, l2: float, positive: bool, seed: int) -> None:
    X, y = regression(20, 50, seed=seed, correlated=1.0)
    penalty = strengths(0.02 * np.abs(X.T @ y).max(), l2, columns=50)
    early = lasso.solve(X, y, penalty, positive=positive, tolerance=0.0, most_sweeps=sweeps)
    late = lasso.solve(X, y, penalty, positive=positive, tolerance=1e-13)
    heights = [objective(X, y, *s.coef[:2], penalty) for s in (early, late)]
    assert early.certificate.value >= heights[0] - heights[1] - 1e-9 * heights[1]
    assert late.certificate.value <= 1e-10 * heights[1]


def test_every_coefficient_has_its_own_penalty_and_mean() -> None:
    X, y = regression()
    rng = np.random.default_rng(1)
    penalty = strengths(rng.uniform(0, 30, 30), rng.uniform(0, 3, 30), rng.normal(size=30))
    fit = lasso.solve(X, y, penalty, tolerance=1e-13).coef
    assert violation(X, y, fit.coefficients, fit.intercept, penalty) < 1e-7
    assert (fit.coefficients == penalty.mean).any()


def test_a_mean_is_a_shift() -> None:
    X, y = regression()
    mean = np.random.default_rng(1).normal(size=30)
    shifted = lasso.solve(X, y, strengths(10.0, mean=mean), tolerance=1e-13).coef
    plain = lasso.solve(X, y - X @ mean, strengths(10.0), tolerance=1e-13).coef
    np.testing.assert_allclose(shifted.coefficients, mean + plain.coefficients, atol=1e-9)


def test_coefficients_that_are_not_penalised_have_no_slope() -> None:
    X, y = regression()
    l1 = np.where(np.arange(30) < 3, 0.0, 20.0)
    solution = lasso.solve(X, y, strengths(l1), tolerance=1e-14)
    fit = solution.coef
    slopes = X[:, :3].T @ (y - X @ fit.coefficients - fit.intercept)
    np.testing.assert_allclose(slopes, 0, atol=1e-4)
    assert "unpenalised" in solution.certificate.sentence


def test_coefficients_can_be_constrained_to_be_positive() -> None:
    X, y = regression()
    penalty = strengths(5.0)
    fit = lasso.solve(X, y, penalty, positive=True, tolerance=1e-13).coef
    rest = X.T @ (y - X @ fit.coefficients - fit.intercept)
    assert (fit.coefficients >= 0).all()
    assert (fit.coefficients > 0).any()
    np.testing.assert_allclose(rest[fit.coefficients > 0], 5.0, rtol=1e-6)
    assert (rest <= 5.0 + 1e-6).all()


@pytest.mark.parametrize("duplicates", [1, 5])
def test_columns_that_depend_on_each_other(duplicates: int) -> None:
    X, y = regression(15, 40)
    X[:, 10 : 10 + duplicates] = -2 * X[:, :duplicates]
    penalty = strengths(0.001 * np.abs(X.T @ y).max(), columns=40)
    solution = lasso.solve(X, y, penalty, tolerance=1e-12)
    assert solution.certificate.holds
    assert violation(X, y, *solution.coef[:2], penalty) < 1e-6


def test_weights_are_equivalent_to_repetitions() -> None:
    X, y = regression(n=25)
    times = np.random.default_rng(0).integers(0, 4, 25)
    weighted = lasso.solve(X, y, strengths(8.0), weight=times.astype(float), tolerance=1e-13).coef
    repeated = lasso.solve(np.repeat(X, times, axis=0), np.repeat(y, times), strengths(8.0), tolerance=1e-13).coef
    np.testing.assert_allclose(weighted.coefficients, repeated.coefficients, atol=1e-9)
    np.testing.assert_allclose(weighted.intercept, repeated.intercept, atol=1e-9)


# Kinds of data.


def layouts(X: Any) -> dict[str, Any]:
    read_only = np.array(X, order="F")
    read_only.flags.writeable = False
    spread = np.zeros((2 * len(X), X.shape[1]))
    spread[::2] = X
    return {
        "C": np.ascontiguousarray(X),
        "read-only": read_only,
        "strided": spread[::2],
        "csc": sparse.csc_array(X),
        "csr": sparse.csr_matrix(X),
    }


@pytest.mark.parametrize("shape", [(60, 30), (20, 80), (4000, 30)])
@pytest.mark.parametrize("layout", ["C", "read-only", "strided", "csc", "csr"])
def test_the_layout_does_not_matter(shape: tuple[int, int], layout: str) -> None:
    X, y = regression(*shape)
    X = np.where(np.abs(X) > 0.7, X, 0.0)
    penalty, kept = strengths(6.0, 0.5, columns=shape[1]), X.copy()
    plain = lasso.solve(np.asfortranarray(X), y, penalty, tolerance=1e-13).coef
    other = lasso.solve(layouts(X)[layout], y, penalty, tolerance=1e-13).coef
    np.testing.assert_allclose(other.coefficients, plain.coefficients, atol=1e-9)
    np.testing.assert_allclose(other.intercept, plain.intercept, atol=1e-9)
    np.testing.assert_array_equal(X, kept)


@pytest.mark.parametrize("order", ["C", "F"])
def test_single_precision_is_added_up_in_double(order: Any) -> None:
    X, y = regression(200, 30)
    X = np.asarray(X, dtype=np.float32, order=order)
    single = lasso.solve(X, y, strengths(6.0), tolerance=1e-13).coef
    double = lasso.solve(X.astype(np.float64), y, strengths(6.0), tolerance=1e-13).coef
    np.testing.assert_allclose(single.coefficients, double.coefficients, atol=1e-10)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(60, 30), (20, 80), (4000, 30)])
def test_columns_far_from_zero_keep_their_digits(shape: tuple[int, int], order: Any) -> None:
    X, y = regression(*shape)
    X = np.asarray(np.round(X * 2**20) / 2**20, order=order)  # so that adding 1e8 is exact
    near, far = (lasso.solve(data, y, strengths(5.0, columns=shape[1]), tolerance=1e-14).coef for data in (X, X + 1e8))
    np.testing.assert_allclose(far.coefficients, near.coefficients, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("layout", ["C", "read-only", "csc"])
@pytest.mark.parametrize(("of_x", "of_y"), [(1e150, 1e-100), (1e-150, 1.0), (1.0, 1e150), (1e-140, 1e140)])
def test_units_do_not_matter(of_x: float, of_y: float, layout: str) -> None:
    X, y = regression()
    plain = lasso.solve(X, y, strengths(5.0), tolerance=1e-13).coef
    scaled = lasso.solve(layouts(X * of_x)[layout], y * of_y, strengths(5.0 * of_x * of_y), tolerance=1e-13).coef
    np.testing.assert_allclose(scaled.coefficients * (of_x / of_y), plain.coefficients, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("layout", ["C", "read-only", "csc"])
def test_columns_without_spread_stay_at_zero(layout: str) -> None:
    X, y = regression()
    X[:, 3], X[:, 7] = 0.1, 0.0
    fit = lasso.solve(layouts(X)[layout], y, strengths(1.0)).coef
    assert (fit.coefficients[[3, 7]] == 0).all()
    others = np.delete(np.arange(30), [3, 7])
    without = lasso.solve(X[:, others], y, strengths(1.0, columns=28)).coef
    np.testing.assert_allclose(fit.coefficients[others], without.coefficients, atol=1e-4)


def test_responses_without_spread_need_no_coefficients() -> None:
    X, _ = regression()
    solution = lasso.solve(X, np.full(60, 7.0), strengths(1.0))
    assert (solution.coef.coefficients == 0).all()
    assert solution.coef.intercept == 7.0
    assert solution.certificate.holds


@pytest.mark.parametrize("n", [1, 2])
def test_very_few_rows(n: int) -> None:
    X, y = regression(n, 5)
    solution = lasso.solve(X, y, strengths(0.1, columns=5))
    assert solution.certificate.holds
    assert np.isfinite(solution.coef.coefficients).all()


@pytest.mark.parametrize("shape", [(60, 30), (20, 80), (4000, 30)])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_data_that_are_not_finite_are_rejected(shape: tuple[int, int], value: float) -> None:
    X, y = regression(*shape)
    X[3, 2] = value
    with pytest.raises(NonFiniteError, match="divide the largest columns"):
        lasso.solve(X, y, strengths(1.0, columns=shape[1]))


# The algorithm.


def test_the_search_begins_at_the_given_start() -> None:
    X, y = regression(20, 80)
    penalty = strengths(1.0, columns=80)
    first = lasso.solve(X, y, penalty, tolerance=1e-8)
    again = lasso.solve(X, y, penalty, tolerance=1e-7, start=first.coef.coefficients)
    assert first.coef.sweeps > 0
    assert again.coef.sweeps == 0
    np.testing.assert_allclose(again.coef.coefficients, first.coef.coefficients, rtol=1e-12)


def test_the_certificate_of_an_early_stop_does_not_hold() -> None:
    X, y = regression(20, 80)
    solution = lasso.solve(X, y, strengths(0.01, columns=80), tolerance=1e-12, most_sweeps=1)
    assert solution.coef.sweeps == 1
    assert not solution.certificate.holds


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("layout", ["C", "read-only", "csc"])
def test_more_columns_than_the_gram_matrix_stores(layout: str, intercept: bool) -> None:
    X, y = regression(25, 300)
    penalty = strengths(0.05, 2.0, columns=300)
    expected = lasso.solve(X, y, penalty, fit_intercept=intercept, tolerance=1e-13).coef
    by_rows = lasso.solve(layouts(X)[layout], y, penalty, fit_intercept=intercept, tolerance=1e-12, max_gram=20)
    assert by_rows.certificate.holds
    np.testing.assert_allclose(by_rows.coef.coefficients, expected.coefficients, atol=1e-4)


def test_an_interruption_keeps_the_coefficients(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = regression(20, 80)
    monkeypatch.setattr(lasso.LassoPath, "_predict_columns", interrupt)
    stop = lasso.solve(X, y, strengths(1.0, columns=80))
    assert stop.interrupted
    assert stop.coef.coefficients.shape == (80,)
    assert not stop.certificate.holds
