"""Conformal intervals: coverage within binomial bounds, exact ranks, and the stated guarantee."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import QuantileRegressor
from sklearn.linear_model import Ridge as ScikitRidge
from sklearn.model_selection import KFold, LeaveOneOut
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import GLM, ConformalRegressor, LinearRegression, NadarayaWatson, Ridge
from mercer._errors import CalibrationWarning, DataError, NonFiniteError
from mercer.decision._conformal import exact_rank, select_ranked


def draw(n: int, rng: np.random.Generator):
    """Return rows whose errors grow with the second column."""
    X = rng.normal(size=(n, 2))
    return X, 3 * X[:, 0] + np.exp(X[:, 1]) * rng.normal(size=n)


RNG = np.random.default_rng(0)
X, Y = draw(300, RNG)


def inside(intervals: np.ndarray, y: np.ndarray) -> np.ndarray:
    return (intervals[:, 0] <= y) & (y <= intervals[:, 1])


def test_at_most_the_nominal_share_of_left_out_rows_is_missed():
    """Exact for every set of n rows: α of them with a model that saw none, 2α with the jackknife+ (theorem 1)."""
    rows, y = X[:15], Y[:15]
    fitted = ScikitRidge().fit(X[100:], Y[100:])
    for model, most in (
        (ConformalRegressor(fitted, coverage=0.8, cv="prefit"), 0.2 * 15),
        (ConformalRegressor(ScikitRidge(), coverage=0.8, cv=LeaveOneOut()), 2 * 0.2 * 15),
    ):
        missed = 0
        for new in range(15):
            found = model.fit(np.delete(rows, new, axis=0), np.delete(y, new)).predict_interval(rows[[new]])
            missed += not inside(found, y[[new]])[0]
        assert 0 < missed <= most


def test_repeated_values_are_not_lost_to_rounding():
    """f − (f − y) is not always y: here all values are at an end of the interval."""
    y = np.repeat([0.1, 0.2, 0.3, 0.7], 10)
    for constant in np.random.default_rng(0).random(40):
        fitted = DummyRegressor(strategy="constant", constant=constant).fit([[0]], [0])
        model = ConformalRegressor(fitted, cv="prefit", coverage=0.7).fit(np.zeros((40, 1)), y)
        assert inside(model.predict_interval(np.zeros((40, 1))), y).mean() >= 0.7


def test_an_unbounded_spread_gives_finite_numbers():
    steep = np.exp(10 * X[:60, 0])
    model = ConformalRegressor(LinearRegression(), method="normalised", random_state=0).fit(X[:60], steep)
    assert not np.isnan(model.predict_interval(1e6 * X)).any()


@pytest.mark.parametrize(("cv", "method"), [("split", "normalised"), (4, "absolute")])
def test_intervals_have_the_nominal_coverage(cv, method):
    """Each fit has one new row, so that hits are independent."""
    hits = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        model = ConformalRegressor(ScikitRidge(), coverage=0.8, method=method, cv=cv, random_state=seed)
        new, truth = draw(1, rng)
        hits.append(inside(model.fit(*draw(80, rng)).predict_interval(new), truth)[0])
    assert sum(hits) >= binom.ppf(0.001, 40, 0.8)


def test_a_useless_model_has_wide_but_valid_intervals():
    wide = ConformalRegressor(DummyRegressor(), random_state=0).fit(X, Y)
    narrow = ConformalRegressor(LinearRegression(), random_state=0).fit(X, Y)
    new, truth = draw(2000, RNG)
    for model in (wide, narrow):
        assert abs(inside(model.predict_interval(new), truth).mean() - 0.9) < 0.07  # that of 75 rows held out
    assert np.ptp(wide.predict_interval(new), axis=1).mean() > 1.3 * np.ptp(narrow.predict_interval(new), axis=1).mean()


def test_intervals_may_follow_the_size_of_errors():
    """Wider where errors are larger: covered alike in quiet and in noisy rows."""
    new, truth = draw(4000, RNG)
    quiet, noisy = new[:, 1] < -0.5, new[:, 1] > 0.5
    rates = {}
    for method in ("absolute", "normalised"):
        model = ConformalRegressor(LinearRegression(), coverage=0.8, method=method, random_state=0)
        hit = inside(model.fit(*draw(1500, RNG)).predict_interval(new), truth)
        rates[method] = hit[quiet].mean() - hit[noisy].mean()
    assert rates["absolute"] > 0.3
    assert abs(rates["normalised"]) < 0.1
    other = ConformalRegressor(LinearRegression(), method="normalised", spread=Ridge(), random_state=0).fit(X, Y)
    assert isinstance(other.spreads_[0], Ridge)


@pytest.mark.parametrize("n", [19, 20, 40])
def test_the_half_width_is_an_exact_rank_of_errors(n):
    """Errors 1, 2, …, n around 0: the ⌈(n + 1) · 0.9⌉-th smallest."""
    fitted = DummyRegressor(strategy="constant", constant=0.0).fit([[0]], [0])
    model = ConformalRegressor(fitted, cv="prefit").fit(np.zeros((n, 1)), np.arange(1.0, n + 1))
    rank = exact_rank(n, 0.9)
    np.testing.assert_allclose(model.predict_interval([[0.0]]), [[-rank, rank]], rtol=1e-14)


@given(seed=st.integers(0, 999), sizes=st.lists(st.integers(1, 6), min_size=1, max_size=4), ties=st.booleans())
def test_ranks_by_bisection_agree_with_sorting(seed, sizes, ties):
    rng = np.random.default_rng(seed)
    errors = [np.sort(rng.integers(3, size=n) if ties else rng.normal(size=n)).astype(float) for n in sizes]
    starts, units = rng.integers(3, size=(5, len(sizes))).astype(float), rng.uniform(0.5, 2, (5, len(sizes)))
    every = [starts[:, [j]] + units[:, [j]] * each for j, each in enumerate(errors)]
    expected = np.sort(np.concatenate(every, axis=1), axis=1)
    rank = rng.integers(sum(sizes))
    np.testing.assert_allclose(select_ranked(starts, units, errors, rank + 1), expected[:, rank], atol=1e-12)


@pytest.mark.parametrize("cv", [KFold(3), LeaveOneOut()], ids=["CV+", "jackknife+"])
def test_intervals_from_folds_agree_with_barber_et_al(cv):
    """Ends are ranks of f₋ᵢ(x) ∓ |yᵢ − f₋ᵢ(xᵢ)|, Barber, Candès, Ramdas and Tibshirani 2021."""
    rows, y = X[:30], Y[:30]
    low, high = [], []
    for train, test in cv.split(rows):
        fold = LinearRegression().fit(rows[train], y[train])
        errors = np.abs(y[test] - fold.predict(rows[test]))
        low += [fold.predict(X[30:35]) - error for error in errors]
        high += [fold.predict(X[30:35]) + error for error in errors]
    rank = exact_rank(30, 0.8)
    expected = np.column_stack([np.sort(low, axis=0)[30 - rank], np.sort(high, axis=0)[rank - 1]])
    model = ConformalRegressor(LinearRegression(), coverage=0.8, cv=cv).fit(rows, y)
    np.testing.assert_allclose(model.predict_interval(X[30:35]), expected)
    assert len(model.models_) == cv.get_n_splits(rows)


@pytest.mark.parametrize("cv", ["split", 3])
def test_quantiles_are_adjusted_to_the_coverage(cv):
    """Quantiles of rows with growing errors have the coverage, even if the model is far off."""
    rows, y = draw(900, RNG)
    new, truth = draw(3000, RNG)
    for alpha in (0.0, 100.0):  # the second predicts one constant
        model = ConformalRegressor(
            QuantileRegressor(alpha=alpha), method="quantile", coverage=0.8, cv=cv, random_state=0
        )
        found = model.fit(rows, y).predict_interval(new)
        assert abs(inside(found, truth).mean() - 0.8) < 0.06
        assert (found[:, 0] <= found[:, 1]).all()
    (low, high), *_ = model.quantiles_
    assert (low.quantile, high.quantile) == pytest.approx((0.1, 0.9))
    with pytest.raises(DataError, match="Ridge has no parameter `quantile`"):
        ConformalRegressor(Ridge(), method="quantile").fit(rows, y)


@pytest.mark.parametrize(("method", "model"), [("normalised", LinearRegression()), ("quantile", QuantileRegressor())])
def test_rows_left_out_by_a_split_are_not_used_for_training(method, model):
    """A split may leave out rows, such as those after the held-out rows or too close to them."""
    splits = [(np.arange(100), np.arange(150, 220))]
    other = np.where(np.arange(300) < 220, Y, 1e6 * np.arange(300))
    found, expected = (
        ConformalRegressor(model, method=method, cv=splits).fit(X, y).predict_interval(X[:20]) for y in (other, Y)
    )
    np.testing.assert_allclose(found, expected)


def test_the_guarantee_is_given_as_text_and_as_a_number():
    split = ConformalRegressor(Ridge(), random_state=0).fit(X, Y)
    assert split.guaranteed_coverage_ == 0.9
    assert "at least 0.9" in split.guarantee_
    jackknife = ConformalRegressor(Ridge(), cv=LeaveOneOut()).fit(X[:30], Y[:30])
    assert jackknife.guaranteed_coverage_ == pytest.approx(0.8)
    folds = ConformalRegressor(Ridge(), cv=5, random_state=0).fit(X, Y)
    assert 0.8 - np.sqrt(2 / 300) <= folds.guaranteed_coverage_ < 0.8
    assert folds.certificate_.holds
    assert "conformal intervals" in str(folds.plan_)


def test_too_few_rows_give_infinite_intervals_and_a_warning():
    with pytest.warns(CalibrationWarning, match=r"5 held-out rows.*infinite. Hold out 9 or more"):
        model = ConformalRegressor(Ridge(), random_state=0).fit(X[:20], Y[:20])
    np.testing.assert_array_equal(model.predict_interval(X[:2]), [[-np.inf, np.inf]] * 2)


def test_every_input_of_the_model_is_accepted():
    frame = pd.DataFrame({"u": X[:, 0], "v": X[:, 1], "w": np.where(X[:, 0] > 0, "p", "q")})
    expected = ConformalRegressor(GLM(), random_state=0).fit(frame, Y).predict_interval(frame)
    polars = ConformalRegressor(GLM(), random_state=0).fit(pl.DataFrame(frame), pl.Series(Y))
    np.testing.assert_allclose(polars.predict_interval(pl.DataFrame(frame)), expected)
    single = ConformalRegressor(Ridge(), random_state=0).fit(X.astype(np.float32), Y.astype(np.float32))
    assert single.predict_interval(X.astype(np.float32)).dtype == np.float64
    smooth = ConformalRegressor(NadarayaWatson(bandwidth=0.5), random_state=0).fit(X, Y)
    assert inside(smooth.predict_interval(X), Y).mean() > 0.8
    far = ConformalRegressor(Ridge(), random_state=0).fit(X, 1e8 + Y)
    near = ConformalRegressor(Ridge(), random_state=0).fit(X, Y)
    np.testing.assert_allclose(far.predict_interval(X) - 1e8, near.predict_interval(X), atol=1e-6)


def test_constant_targets_have_intervals_of_width_zero():
    for method in ("absolute", "normalised"):
        model = ConformalRegressor(LinearRegression(), method=method, random_state=0).fit(X, np.full(300, 2.0))
        np.testing.assert_allclose(model.predict_interval(X), 2.0, atol=1e-9)


def test_invalid_input_is_named():
    with pytest.raises(NonFiniteError, match="Row 3 has y = nan"):
        ConformalRegressor(Ridge()).fit(X, np.where(np.arange(300) == 3, np.nan, Y))
    with pytest.raises(DataError, match="ConformalClassifier"):
        ConformalRegressor(Ridge()).fit(X, np.where(Y > 0, "p", "q"))
    with pytest.raises(DataError, match='cv="prefit" leaves none'):
        ConformalRegressor(Ridge().fit(X, Y), method="normalised", cv="prefit").fit(X, Y)
    for wrong in ({"coverage": 1.0}, {"method": "signed"}, {"calibration": 0.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            ConformalRegressor(Ridge(), **wrong).fit(X, Y)


def test_a_failed_fit_leaves_the_old_model():
    model = ConformalRegressor(Ridge(), random_state=0).fit(X, Y)
    before = model.predict_interval(X)
    with pytest.raises(DataError):
        model.fit(X, Y[:3])
    np.testing.assert_array_equal(model.predict_interval(X), before)


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks([ConformalRegressor(Ridge()), ConformalRegressor(Ridge(), cv=2, method="normalised")])
def test_follows_the_conventions_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)
