"""Log-normal regression: the coefficients of least squares of log y, and means of y."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import mercer
from mercer import LogNormalRegressor
from mercer._errors import DataError, InferenceError, SupportError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
Y = np.exp(1 + X @ [0.5, -0.3, 0.0] + 0.6 * RNG.normal(size=400))
WEIGHT = RNG.integers(1, 4, size=400)


def test_coefficients_agree_with_ridge_on_the_logarithm() -> None:
    model = LogNormalRegressor(alpha=0.1).fit(X, Y, sample_weight=WEIGHT)
    ridge = Ridge(alpha=0.1 * WEIGHT.sum()).fit(X, np.log(Y), sample_weight=WEIGHT)
    np.testing.assert_allclose(model.coef_, ridge.coef_, rtol=1e-6)
    residuals = np.log(Y) - ridge.predict(X)
    assert model.smearing_ == pytest.approx(np.average(np.exp(residuals), weights=WEIGHT))
    np.testing.assert_allclose(model.predict(X), np.exp(ridge.predict(X)) * model.smearing_, rtol=1e-6)
    assert model.certificate_.holds


def test_predictions_are_means_and_not_medians() -> None:
    y = np.exp(1 + 0.6 * np.random.default_rng(1).normal(size=200_000))
    model = LogNormalRegressor().fit(np.zeros((len(y), 1)), y)
    assert model.predict([[0.0]])[0] == pytest.approx(y.mean(), rel=1e-9)
    assert model.smearing_ == pytest.approx(np.exp(0.6**2 / 2), rel=0.01)


def test_units_of_y_scale_the_predictions() -> None:
    one, other = (LogNormalRegressor(alpha=0.01).fit(X, scale * Y).predict(X) for scale in (1.0, 1e-9))
    np.testing.assert_allclose(other, 1e-9 * one, rtol=1e-9)


def test_fits_without_an_intercept_and_with_a_warm_start() -> None:
    free = LogNormalRegressor(alpha=0, fit_intercept=False).fit(X, Y)
    np.testing.assert_allclose(free.coef_, np.linalg.lstsq(X, np.log(Y))[0], rtol=1e-6)
    warm = LogNormalRegressor(warm_start=True).fit(X, Y)
    before = warm.coef_.copy()
    np.testing.assert_allclose(warm.fit(X, Y).coef_, before, rtol=1e-9)


def test_errors_name_a_remedy() -> None:
    with pytest.raises(SupportError, match="0 in row 2"):
        LogNormalRegressor().fit(X[:4], [1.0, 2.0, 0.0, 1.0])
    with pytest.raises(InferenceError, match="LinearRegression or Ridge of log y"):
        mercer.summary(LogNormalRegressor().fit(X, Y), X, Y)
    with pytest.raises(DataError, match="GammaRegressor"):
        LogNormalRegressor().fit(mercer.data.open(X, Y))


@pytest.mark.parametrize("n", [1, 40])
def test_coefficients_of_single_precision_have_a_certificate(n: int) -> None:
    rng = np.random.default_rng(n)
    X, y = rng.normal(size=(n, 3)).astype(np.float32), rng.gamma(2.0, size=n)
    model = LogNormalRegressor(alpha=0.1).fit(X, y)
    assert model.certificate_.holds
    assert 0 < model.certificate_.value < 1e-6
    assert "float32" in model.certificate_.sentence
