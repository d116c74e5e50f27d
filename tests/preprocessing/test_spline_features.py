"""SplineFeatures: scikit-learn's B-splines, natural splines, and positions of knots."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.preprocessing import SplineTransformer

from mercer import LinearRegression, SplineFeatures
from mercer._errors import BinsError, ColumnMismatchError, NonFiniteError


def rows(n: int = 120, d: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).gamma(2.0, size=(n, d)) * [1.0, 100.0, 1e8][:d]


@pytest.mark.parametrize(("ours", "theirs"), [("quantiles", "quantile"), ("width", "uniform")])
@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("extrapolation", ["constant", "linear"])
@pytest.mark.parametrize("include_bias", [False, True])
def test_b_splines_agree_with_scikit_learn(
    ours: str, theirs: str, degree: int, extrapolation: str, include_bias: bool
) -> None:
    X, new = rows(), 2 * rows(seed=1) - 1
    if degree == 1:  # scikit-learn 1.9 takes the second column for one of another degree
        X, new = X[:, :1], new[:, :1]
    options = {"extrapolation": extrapolation, "include_bias": include_bias}
    mine = SplineFeatures(6, degree, knots=ours, **options).fit(X)
    other = SplineTransformer(6, degree, knots=theirs, **options).fit(X)
    for Z in (X, new):
        found, expected = mine.transform(Z), other.transform(Z)
        np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


def test_steps_agree_with_scikit_learn() -> None:
    X = rows()
    expected = SplineTransformer(6, 0).fit_transform(X)
    np.testing.assert_array_equal(SplineFeatures(6, 0, knots="width").fit_transform(X), expected)


@pytest.mark.parametrize("natural", [False, True])
@pytest.mark.parametrize("extrapolation", ["constant", "linear"])
def test_splines_of_each_column_add_up_to_one(natural: bool, extrapolation: str) -> None:
    features = SplineFeatures(6, natural=natural, extrapolation=extrapolation).fit(rows())
    made = features.transform(3 * rows(seed=1) - 2)
    np.testing.assert_allclose(made.reshape(len(made), 3, -1).sum(axis=2), 1, atol=1e-8)


def test_a_natural_spline_has_its_values_for_coefficients() -> None:
    x = np.linspace(0, 4, 400)[:, None]
    features = SplineFeatures(natural=True, knots=[0, 1, 2, 3, 4], extrapolation="linear").fit(x)
    assert features.get_feature_names_out().tolist() == [f"x0 at {k}" for k in range(5)]
    model = LinearRegression(fit_intercept=False).fit(features.transform(x), np.sin(x[:, 0]))
    np.testing.assert_allclose(model.coef_, np.sin(np.arange(5)), atol=0.05)
    slope = np.diff(model.predict(features.transform([[5.0], [6.0], [7.0]])))
    assert slope[0] == pytest.approx(slope[1])


def test_knots_by_column() -> None:
    X = pd.DataFrame({"age": [0.0, 50.0, 90.0], "N": [1.0, 2.0, 3.0]})
    features = SplineFeatures(2, 1, knots={"age": [0, 18, 65]}).fit(X)
    assert features.get_feature_names_out().tolist() == [
        "age spline 0", "age spline 1", "age spline 2", "N spline 0", "N spline 1",
    ]  # fmt: skip
    np.testing.assert_array_equal(features.knots_[1], [1, 3])
    np.testing.assert_allclose(features.transform(X)[1, :3], [0, 15 / 47, 32 / 47])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_frames_are_accepted(frame: Any) -> None:
    X = frame({"age": np.linspace(0, 1, 30)})
    out = SplineFeatures(3).set_output(transform="pandas").fit_transform(X)
    assert out.columns.tolist() == [f"age spline {j}" for j in range(5)]


@pytest.mark.parametrize("natural", [False, True])
@pytest.mark.parametrize("scale", [1e-150, 1e150, 1.7e308])
def test_extreme_scales(natural: bool, scale: float) -> None:
    X = np.linspace(-1, 1, 21)[:, None]
    expected = SplineFeatures(4, natural=natural).fit_transform(X)
    np.testing.assert_allclose(SplineFeatures(4, natural=natural).fit_transform(X * scale), expected, atol=1e-12)


def test_columns_that_do_not_vary() -> None:
    X = np.column_stack([np.full(5, np.nan), np.full(5, 1e8), np.zeros(5)])
    made = SplineFeatures(5).fit_transform(X)
    assert np.isnan(made[:, :4]).all()
    np.testing.assert_allclose(made[:, 4:].sum(axis=1), 2)


def test_missing_values_single_precision_read_only_pickle() -> None:
    X = rows().astype(np.float32)
    X[2, 1] = np.nan
    X.flags.writeable = False
    features = SplineFeatures().fit(X)
    made = features.transform(X)
    assert made.dtype == np.float32
    assert np.isnan(made[2]).sum() == 7
    assert np.isnan(made).sum() == 7
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(features)).transform(X), made)


def test_contradictory_options_are_rejected() -> None:
    X = rows()
    with pytest.raises(BinsError, match="natural splines are cubic"):
        SplineFeatures(degree=2, natural=True).fit(X)
    with pytest.raises(BinsError, match="knots for every column"):
        SplineFeatures(knots=[0, np.inf]).fit(X)
    with pytest.raises(ColumnMismatchError, match="no such column"):
        SplineFeatures(knots={7: [0, 1]}).fit(X)
    with pytest.raises(NonFiniteError, match="'x2' is inf in row 0"):
        SplineFeatures().fit(np.where(np.arange(3) == 2, np.inf, X))


def test_an_extreme_missing_value_code_does_not_move_the_other_knots() -> None:
    x = np.linspace(0, 1, 100)
    with_a_code = np.append(x, 1e13)[:, None]
    model = SplineFeatures(n_knots=5).fit(with_a_code)
    np.testing.assert_allclose(model.knots_[0], [0, 25 / 99, 50 / 99, 75 / 99, 1e13])
    np.testing.assert_allclose(model.transform(with_a_code).sum(axis=1), 1)
    assert np.ptp(model.transform(x[:, None]), axis=0).max() > 0.5  # they still bend where the rows are
    natural = SplineFeatures(n_knots=5, natural=True).fit_transform(with_a_code)
    np.testing.assert_allclose(natural.sum(axis=1), 1)
