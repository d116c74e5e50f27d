"""PoissonRegressor, GammaRegressor and TweedieRegressor: scikit-learn's numbers, and what mercer adds."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning

from mercer import GLM, GammaRegressor, PoissonRegressor, TweedieRegressor, kernelize
from mercer._errors import DataError, NonFiniteError, SupportError
from mercer.families import L2, Tweedie
from mercer.linear_model.glm_regressors import warn_if_not_converged
from mercer.optim.certificate import Certificate

N = 200
MODELS = {
    "poisson": (PoissonRegressor, linear_model.PoissonRegressor, {}),
    "gamma": (GammaRegressor, linear_model.GammaRegressor, {}),
    "normal": (TweedieRegressor, linear_model.TweedieRegressor, {"power": 0}),
    "normal of logarithm": (TweedieRegressor, linear_model.TweedieRegressor, {"power": 0, "link": "log"}),
    "compound": (TweedieRegressor, linear_model.TweedieRegressor, {"power": 1.5}),
    "inverse Gaussian": (TweedieRegressor, linear_model.TweedieRegressor, {"power": 3}),
    "counts of identity": (TweedieRegressor, linear_model.TweedieRegressor, {"power": 1, "link": "identity"}),
}


def rows(seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 4))
    return X, np.exp(0.3 * X @ [1, -1, 0.5, 0] + 1) * rng.gamma(3, 1 / 3, size=N)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_coefficients_agree_with_scikit_learn(name: str, fit_intercept: bool, weighted: bool) -> None:
    ours, theirs, options = MODELS[name]
    if name == "counts of identity" and not fit_intercept:
        pytest.skip("no coefficients give every row a positive mean")
    X, y = rows()
    weight = np.random.default_rng(1).uniform(0.5, 2, size=N) if weighted else None
    options = options | {"alpha": 0.1, "fit_intercept": fit_intercept, "max_iter": 1000}
    model = ours(**options, tol=1e-10).fit(X, y, sample_weight=weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = theirs(**options, tol=1e-12).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, other.intercept_, rtol=1e-4, atol=1e-6)
    assert model.score(X, y, weight) == pytest.approx(other.score(X, y, weight), rel=1e-6)
    assert model.certificate_.holds


@pytest.mark.parametrize(
    ("power", "link", "expected"),
    [(0, "auto", "identity"), (1, "auto", "log"), (2, "auto", "log"), (3, "auto", "log"), (1, "identity", "identity")],
)
def test_the_link_follows_the_power_unless_it_is_given(power: float, link: str, expected: str) -> None:
    model = TweedieRegressor(power=power, link=link).fit([[1.0], [2.0]], [0.1, 0.5])
    eta = model.intercept_ + 3.0 * model.coef_[0]
    assert model.predict([[3.0]]) == pytest.approx(eta if expected == "identity" else np.exp(eta))


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky"])
def test_both_solvers_agree(solver: str) -> None:
    X, y = rows()
    model = PoissonRegressor(solver=solver, alpha=0.01).fit(X, y)
    np.testing.assert_allclose(model.coef_, PoissonRegressor(alpha=0.01, tol=1e-10).fit(X, y).coef_, rtol=1e-5)


def test_alpha_is_the_strength_per_unit_of_weight() -> None:
    X, y = rows()
    weight = np.random.default_rng(0).uniform(size=N)
    model = TweedieRegressor(power=1.5, alpha=0.3, tol=1e-10).fit(X, y, sample_weight=weight)
    other = GLM(Tweedie(1.5), "log", L2(0.3 * weight.sum())).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-6)


def test_fractions_of_counts_are_allowed_as_in_scikit_learn() -> None:
    X, y = rows()
    assert PoissonRegressor().fit(X, y).score(X, y) > 0


@pytest.mark.parametrize("X", [sp.csr_matrix, sp.csc_array, np.asfortranarray, np.float32])
def test_any_container_is_accepted(X: Any) -> None:
    plain, y = rows()
    given = plain.astype(np.float32) if X is np.float32 else X(plain)
    model = PoissonRegressor(tol=1e-10).fit(given, y)
    np.testing.assert_allclose(model.coef_, PoissonRegressor(tol=1e-10).fit(plain, y).coef_, rtol=1e-5)
    assert model.predict(given).dtype == model.coef_.dtype == (np.float32 if X is np.float32 else np.float64)


def test_errors_name_values_that_cannot_be_fitted() -> None:
    X, y = rows()
    y_bad, X_bad = y.copy(), X.copy()
    y_bad[3], X_bad[5, 1] = -1.0, np.nan
    with pytest.raises(SupportError, match=r"valid range of the loss 'HalfPoissonLoss'.*row 3"):
        PoissonRegressor().fit(X, y_bad)
    with pytest.raises(SupportError, match="valid range"):
        PoissonRegressor().fit(X, y).score(X, y_bad)
    with pytest.raises(NonFiniteError, match=r"'x1'.*row 5"):
        GammaRegressor().fit(X_bad, y)
    with pytest.raises(NonFiniteError, match=r"'x1'.*row 5"):
        GammaRegressor().fit(X, y).predict(X_bad)
    with pytest.raises(DataError, match="requires y"):
        GammaRegressor().fit(X, None)
    with pytest.raises(ValueError, match="no Tweedie"):
        TweedieRegressor(power=0.5).fit(X, y)
    with pytest.raises(NonFiniteError, match=r"'x0'.*row 0"):
        TweedieRegressor(power=3).fit([[np.nan]], [0.5])


def test_values_below_the_smallest_normal_number_are_rejected_without_a_warning_about_arithmetic() -> None:
    X = np.array([2.0, 1, 0, -2, -1, -3, -3, -3])[:, None] * np.finfo(float).smallest_subnormal
    y = [2.25, 2.23, 3.23, 1.17, 2.28, 1.80, 0.99, 1.22]
    with pytest.raises(NonFiniteError, match="multiply the column"):
        GammaRegressor(alpha=0).fit(X, y)


@pytest.mark.parametrize(
    "model", [PoissonRegressor(), GammaRegressor(), TweedieRegressor(power=1), TweedieRegressor(power=1.5)]
)
def test_a_response_below_zero_is_rejected_also_where_single_precision_rounds_it_to_zero(model: Any) -> None:
    X, y = rows()
    y[3] = -1e-150
    with pytest.raises(SupportError, match="-1e-150 in row 3"):
        model.fit(X.astype(np.float32), y)


def test_an_unfinished_fit_warns_as_scikit_learn_does() -> None:
    X, y = rows()
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = PoissonRegressor(max_iter=1, tol=1e-8).fit(X, y)
    assert not model.certificate_.holds
    model.set_params(max_iter=100, warm_start=True).fit(X, y)
    assert model.certificate_.holds


@pytest.mark.parametrize(("distance", "warns"), [(0.5, True), (1e-6, False)])
def test_a_search_that_fails_after_a_few_steps_gives_a_warning(distance: float, warns: bool) -> None:
    """scikit-learn's lbfgs also warns of a search that fails; not of what rounding leaves within `tol`."""
    stuck = Certificate("gradient norm", distance, 1e-8, "no step leads down")
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        warn_if_not_converged("lbfgs", stuck, 3, 100, allowed=1e-2)
    assert [warning.category for warning in given] == [ConvergenceWarning] * warns


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky"])
def test_a_warm_start_without_finite_means_is_ignored(solver: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(100, 2))
    y = rng.poisson(1 + 3 * X[:, 0])
    model = TweedieRegressor(power=1, link="identity", alpha=0, solver=solver, warm_start=True)
    other = TweedieRegressor(power=1, link="identity", alpha=0, solver=solver).fit(-2 * X, y)
    np.testing.assert_allclose(model.fit(X, y).fit(-2 * X, y).coef_, other.coef_, rtol=1e-6)
    assert model.certificate_.holds


def test_a_warm_start_of_other_columns_is_rejected() -> None:
    X, y = rows()
    model = PoissonRegressor(warm_start=True).fit(X, y)
    with pytest.raises(DataError, match=r"shape \(4,\), expected shape \(2,\). Set warm_start=False"):
        model.fit(X[:, :2], y)


@pytest.mark.parametrize("model", [PoissonRegressor(), kernelize(PoissonRegressor(), "rbf")], ids=["plain", "kernel"])
def test_a_column_of_responses_is_scored_as_it_is_fitted(model: Any) -> None:
    X, y = rows()
    model.fit(X, y)
    with pytest.warns(DataConversionWarning):
        assert model.score(X, y[:, None]) == model.score(X, y)
    with pytest.raises(ValueError, match="1d array"):
        model.score(X, np.column_stack([y, y]))


def test_large_problems_start_from_a_sample() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 3))
    y = rng.poisson(np.exp(0.2 * X.sum(axis=1)))
    model = PoissonRegressor(alpha=0, tol=1e-8).fit(X, y)
    other = linear_model.PoissonRegressor(alpha=0, solver="newton-cholesky", tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-6)


def test_coefficients_of_zero_columns_stay_zero_with_enormous_responses() -> None:
    X = np.array([[1.0, 0.0, 1.0, -2.0], [0.0, 0.0, 2.0, -1.0]])
    y = np.array([3e148, 4e149])
    np.testing.assert_allclose(PoissonRegressor(alpha=0.0).fit(X, y).predict(X), y, rtol=1e-6)


MOST = np.finfo(float).max * np.array([[1.0], [0.0], [-1.0], [1.0], [-1.0], [-1.0], [1.0], [0.0]])


def test_a_penalty_is_negligible_in_the_units_of_the_largest_numbers() -> None:
    """The strength of the penalty overflows in the units of the data, so that there is no closed form."""
    assert np.isfinite(GLM(penalty=L2(0.1)).fit(MOST, np.arange(1.0, 9.0)).predict(MOST)).all()


@pytest.mark.parametrize("model", [PoissonRegressor(alpha=0.0), TweedieRegressor()], ids=repr)
def test_sparse_rows_of_the_largest_numbers_are_rejected_with_a_sentence(model: Any) -> None:
    with pytest.raises(NonFiniteError, match="too large for float64"):
        model.fit(sp.csr_array(MOST), np.arange(1.0, 9.0))


def test_one_sparse_row_of_the_largest_numbers() -> None:
    """Squares that overflow are not a dependence."""
    X = sp.csr_array(MOST[:1])
    np.testing.assert_allclose(PoissonRegressor(alpha=0.0).fit(X, [2.0]).predict(X), 2.0, rtol=1e-6)


def test_an_error_names_the_column_of_a_coefficient_that_overflows() -> None:
    X = 1e-300 * np.arange(1.0, 9.0)[:, None]
    with pytest.raises(NonFiniteError, match="column 'x0' is too large for float64"):
        TweedieRegressor(alpha=0.0).fit(X, 1e12 * X[:, 0] / 1e-300)


def test_steps_whose_length_overflows_are_rejected_without_a_warning() -> None:
    X = np.random.default_rng(0).choice([-1.0, 0.0, 1.0], size=(2, 23)) * np.finfo(float).max
    with pytest.raises(NonFiniteError, match="too large for float64"):
        PoissonRegressor().fit(X, 0.5 * X[:, -1] + 1.0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", [PoissonRegressor(), GammaRegressor()])
def test_means_beyond_single_precision_are_predicted_in_double(model: Any) -> None:
    X = np.array([[0.5], [0.5]], dtype=np.float32)
    np.testing.assert_allclose(model.fit(X, [1e150, 1e150]).predict(X), 1e150, rtol=1e-4)
    assert model.fit(X, [1.0, 3.0]).predict(X).dtype == np.float32


@pytest.mark.parametrize("seed", [37, 53, 54])
def test_descents_with_tiny_curvature_give_no_arithmetic_warnings(seed: int) -> None:
    """Test an inverse Gaussian response, whose objective is not convex and whose means may go to infinity."""
    rng = np.random.default_rng(seed)
    X, y = rng.poisson(2.0, size=(30, 4)), rng.gamma(2.0, size=30)
    model = TweedieRegressor(power=3, tol=1e-10, max_iter=1000).fit(X, y)
    assert model.certificate_.holds
