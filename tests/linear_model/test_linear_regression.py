"""Ordinary least squares: scikit-learn's numbers, and what mercer adds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import linear_model

from mercer import engine
from mercer._errors import DataError, NonFiniteError
from mercer.linear_model import LinearRegression, least_squares
from mercer.optim import least_squares as direct
from tests.linear_model._regressions import CONTAINERS, Array, draw, draw_wide


@pytest.mark.parametrize("shape", [(60, 5), (5, 5), (4, 9), (1, 3), (30, 1)], ids=str)
@pytest.mark.parametrize("targets", [None, 1, 3])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_coefficients_agree_with_scikit_learn(
    shape: tuple[int, int], targets: int | None, intercept: bool, weighted: bool
) -> None:
    X, y = draw(*shape, targets)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(X)) if weighted else None
    ours = LinearRegression(fit_intercept=intercept).fit(X, y, sample_weight=weight)
    theirs = linear_model.LinearRegression(fit_intercept=intercept, tol=1e-12).fit(X, y, sample_weight=weight)
    for name in ("coef_", "intercept_", "singular_"):
        mine, expected = getattr(ours, name), getattr(theirs, name)
        assert np.shape(mine) == np.shape(expected)
        np.testing.assert_allclose(mine, expected, rtol=1e-9, atol=1e-10 * np.abs(expected).max(initial=1e-3))
    assert ours.rank_ == theirs.rank_
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9, atol=1e-9)
    assert ours.certificate_.holds


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("shape", [(60, 5), (4, 9)], ids=str)
def test_any_container_is_accepted(container: str, shape: tuple[int, int]) -> None:
    X, y = draw(*shape)
    model, plain = LinearRegression().fit(CONTAINERS[container](X), y), LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.predict(CONTAINERS[container](X)), plain.predict(X), rtol=1e-8, atol=1e-8)
    assert model.coef_.dtype == np.float64


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, bool])
def test_integers_are_converted_in_blocks_with_the_same_result(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, size=(50, 3)).astype(dtype), rng.normal(size=50)
    np.testing.assert_allclose(
        LinearRegression().fit(X, y).coef_, LinearRegression().fit(X.astype(float), y).coef_, rtol=1e-12
    )


def test_single_precision_is_kept() -> None:
    X, y = draw(60, 3, 2)
    model = LinearRegression().fit(X.astype(np.float32), y.astype(np.float32))
    exact = LinearRegression().fit(X.astype(np.float32).astype(float), y.astype(np.float32))
    for name in ("coef_", "intercept_", "singular_"):
        assert getattr(model, name).dtype == np.float32
        np.testing.assert_array_equal(getattr(model, name), getattr(exact, name).astype(np.float32))
    assert model.predict(X.astype(np.float32)).dtype == np.float32
    assert model.plan_.dtype == "float32"


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_are_accepted(frame: Any) -> None:
    X, y = draw(30, 3)
    rows = frame({name: X[:, j] for j, name in enumerate("abc")})
    model = LinearRegression().fit(rows, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(model.predict(rows), LinearRegression().fit(X, y).predict(X))


@settings(max_examples=25)
@given(st.integers(1, 20), st.integers(1, 6), st.booleans(), st.booleans(), st.integers(0, 1000))
def test_weights_are_equivalent_to_repetitions(n: int, d: int, intercept: bool, dense: bool, seed: int) -> None:
    X, y = draw(n, d, seed=seed)
    times = np.random.default_rng(seed).integers(0, 3, n)
    times[0] += 1
    wrap = np.asarray if dense else sparse.csr_array
    weighted = LinearRegression(fit_intercept=intercept).fit(wrap(X), y, sample_weight=times)
    repeated = LinearRegression(fit_intercept=intercept).fit(wrap(np.repeat(X, times, axis=0)), np.repeat(y, times))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-6, atol=1e-6)


def test_threads_do_not_change_the_result() -> None:
    X, y = draw(200_000, 50)
    with engine(threads=1):
        alone = LinearRegression().fit(X, y)
    with engine(threads=2):
        together = LinearRegression().fit(X, y)
    assert alone.plan_.blocks > 1
    assert (together.coef_ == alone.coef_).all()


# What mercer adds.


def test_collinear_and_constant_columns_are_named_without_a_warning() -> None:
    X, y = draw(40, 3)
    rows = pd.DataFrame(X, columns=["a", "b", "c"]).assign(d=lambda f: f.a - 2 * f.b, e=3.0)
    diagnosis = LinearRegression().fit(rows, y).diagnosis_
    assert [(finding.code, finding.columns) for finding in diagnosis] == [
        ("constant", ("e",)),
        ("collinear", ("a", "b", "d")),
    ]
    assert "Ridge" in str(diagnosis)


def test_more_coefficients_than_rows_are_reported() -> None:
    X, y = draw(4, 9)
    assert LinearRegression().fit(X, y).diagnosis_.codes == ("underdetermined",)
    assert "3 of 9" in str(LinearRegression().fit(X, y).diagnosis_)
    X[:, 2] = 1.0
    (constant, _) = LinearRegression().fit(X, y).diagnosis_
    assert str(constant) == "note (constant): Column 'x2' does not vary. Leave constant columns out."


def test_digits_that_scikit_learn_loses_are_kept() -> None:
    """scikit-learn's default tol=1e-6 cuts off directions by their units and loses the third coefficient."""
    X, _ = draw(50, 3)
    X = (X - X.mean(axis=0)) * [1.0, 1.0, 1e-8]
    y = X @ [1.0, 2.0, 1e8]
    np.testing.assert_allclose(LinearRegression().fit(X, y).coef_, [1, 2, 1e8], rtol=1e-8)
    assert abs(linear_model.LinearRegression().fit(X, y).coef_[2]) < 1e7


def test_far_from_zero_and_extreme_units() -> None:
    X, y = draw(300, 3)
    X = np.round(X, 6)
    plain = LinearRegression().fit(X, y)
    np.testing.assert_allclose(LinearRegression().fit(X + 1e8, y).coef_, plain.coef_, rtol=1e-6)
    for unit in (1e-300, 1e-150, 1e150, 1e300):
        np.testing.assert_allclose(LinearRegression().fit(X * unit, y).coef_ * unit, plain.coef_, rtol=1e-9)
        np.testing.assert_allclose(LinearRegression().fit(X, y * unit).coef_ / unit, plain.coef_, rtol=1e-9)


def test_nonnegative_coefficients() -> None:
    X, y = draw(60, 5, 2)
    ours, theirs = (kind(positive=True).fit(X, y) for kind in (LinearRegression, linear_model.LinearRegression))
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-8)
    assert ours.certificate_.kind == "KKT"
    assert not hasattr(ours, "rank_")


@pytest.mark.parametrize("level", [0.1, 1.1, 1 / 3])
@pytest.mark.parametrize("n", [5, 6, 20])
def test_nonnegative_coefficients_of_constant_columns_are_zero(n: int, level: float) -> None:
    """The column varies only where a row has no weight."""
    rng = np.random.default_rng(n)
    X, y = np.full((n, 1), level), rng.normal(size=n)
    X[0], weight = 2.0, np.append(0.0, rng.random(n - 1))
    model = LinearRegression(positive=True).fit(X, y, weight)
    assert model.coef_.tolist() == [0.0]
    assert model.intercept_ == pytest.approx(np.average(y, weights=weight))


def test_wide_sparse_data_by_conjugate_gradients() -> None:
    _, y, X = draw_wide(300, 400)
    model = LinearRegression(tol=1e-10).fit(X, y)
    assert model.plan_.path == "conjugate gradients"
    assert model.certificate_.holds
    np.testing.assert_allclose(model.predict(X), y, atol=1e-6)


def test_a_new_fit_replaces_the_old_one() -> None:
    X, y = draw(30, 3)
    model = LinearRegression().fit(X, y)
    model.set_params(positive=True).fit(X, y)
    assert not hasattr(model, "rank_")


# Errors.


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("container", ["C", "F", "csr"])
@pytest.mark.parametrize("shape", [(30, 3), (3, 30)], ids=str)
def test_a_value_that_is_not_finite_is_named(bad: float, container: str, shape: tuple[int, int]) -> None:
    X, y = draw(*shape)
    X[2, 1] = bad
    with pytest.raises(NonFiniteError, match=r"Column 'x1'.*row 2"):
        LinearRegression().fit(CONTAINERS[container](X), y)
    y[1] = bad
    with pytest.raises(NonFiniteError, match=r"Input y contains.*Row 1"):
        LinearRegression().fit(np.zeros(shape), y)


def test_rows_for_prediction_are_checked() -> None:
    X, y = draw(30, 3)
    model = LinearRegression().fit(X, y)
    X[4, 2] = np.nan
    with pytest.raises(NonFiniteError, match=r"Input X contains NaN. Column 'x2'.*row 4"):
        model.predict(X)


@pytest.mark.parametrize(
    ("weight", "message"),
    [([1, -1, 1], "Row 1 has the weight -1"), ([1, 1], "shape"), ([0, 0, 0], "zero")],
)
def test_invalid_weights(weight: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LinearRegression().fit(np.eye(3), [1, 2, 3], sample_weight=weight)


def test_other_invalid_arguments_are_rejected() -> None:
    X, y = draw(10, 2)
    with pytest.raises(DataError, match="requires y"):
        LinearRegression().fit(X, None)
    with pytest.raises(TypeError, match="Sparse data was passed for y"):
        LinearRegression().fit(X, sparse.csr_array(y[:, None]))
    with pytest.raises(ValueError, match="3 features"):
        LinearRegression().fit(X, y).predict(np.zeros((2, 3)))


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("intercept", [True, False])
def test_nonnegative_coefficients_of_sparse_and_dense_rows_agree(kind: Any, intercept: bool) -> None:
    X, y = draw(40, 6)
    X[np.abs(X) < 0.8] = 0.0
    model = LinearRegression(positive=True, fit_intercept=intercept)
    dense = LinearRegression(positive=True, fit_intercept=intercept).fit(X, y)
    model.fit(kind(X), y)
    np.testing.assert_allclose(model.coef_, dense.coef_, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, dense.intercept_, atol=1e-12)
    assert (model.coef_ > 0).any()
    assert model.certificate_.holds


def test_a_failed_fit_leaves_the_old_model() -> None:
    X, y = draw(30, 3)
    model = LinearRegression().fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(NonFiniteError):
        model.fit(np.full((30, 4), np.nan), y)
    assert (model.coef_ == before).all()
    assert model.n_features_in_ == 3


def test_an_interrupted_fit_keeps_the_best_coefficients(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = draw(30, 3)

    def interrupted(rows: Any, alpha: Array, **options: Any) -> Any:
        return replace(direct.least_squares(rows, alpha), interrupted=True)

    monkeypatch.setattr(least_squares, "least_squares", interrupted)
    model = LinearRegression()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.coef_.shape == (3,)


def test_singular_values_beyond_single_precision() -> None:
    """Singular values are infinite, as in scikit-learn, without a warning."""
    X = np.arange(12, dtype=np.float32).reshape(6, 2) ** 2
    model = LinearRegression().fit(X, np.arange(6.0), sample_weight=np.full(6, 1e150))
    assert model.singular_.dtype == np.float32
    assert np.isinf(model.singular_).all()
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("others", [0.0, 1e-10])
def test_one_row_has_nearly_all_the_weight(others: float) -> None:
    """The heavy row varies by rounding only; the other rows determine the slope in spite of their small weights."""
    X, y = np.array([[20.1], [-25.3], [4.7]]), np.array([-2.5, 16.5, 4.75])
    model = LinearRegression().fit(X, y, sample_weight=[1e10, others, others])
    expected = (X[1:, 0] - X[0, 0]) @ (y[1:] - y[0]) / np.sum((X[1:, 0] - X[0, 0]) ** 2) if others else 0.0
    np.testing.assert_allclose(model.coef_, [expected], rtol=1e-6)
    np.testing.assert_allclose(model.predict(X[:1]), y[:1])
