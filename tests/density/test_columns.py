"""Numbers and categories side by side: columns by name, by position and by type; statsmodels agrees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from statsmodels.nonparametric.kernel_regression import KernelReg

from mercer import LocalLinear, NadarayaWatson, NadarayaWatsonClassifier
from mercer._errors import BandwidthError, ColumnMismatchError, ColumnTypeError, NonFiniteError

Array = np.ndarray
COLOURS = np.array(["red", "green", "blue"])


def draw(n: int = 60, seed: int = 0) -> tuple[Array, Array, Array, Array]:
    """x, colour, whether, and y, which goes by the first two."""
    rng = np.random.default_rng(seed)
    x, code, whether = rng.uniform(0, 4, size=n), rng.integers(0, 3, size=n), rng.random(n) < 0.5
    return x, COLOURS[code], whether, np.sin(x) + code + 0.1 * rng.normal(size=n)


def frame(library: Any, n: int = 60, seed: int = 0) -> tuple[Any, Array]:
    x, colour, whether, y = draw(n, seed)
    return library({"x": x, "colour": colour, "whether": whether}), y


def with_codes(x: Array, colour: Array) -> Array:
    """Return x together with the numbers of colours."""
    return np.column_stack([x, [COLOURS.tolist().index(name) for name in colour]])


# Which columns.


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_columns_by_name_position_and_type_are_the_same(library: Any) -> None:
    X, y = frame(library)
    found = [
        NadarayaWatson(bandwidth=0.4, mismatch=0.1, categorical=chosen).fit(X, y).predict(X)
        for chosen in ("auto", ["colour", "whether"], [1, 2], np.array([-1, 1]))
    ]
    for other in found[1:]:
        assert_array_equal(other, found[0])


def test_libraries_and_category_types_do_not_matter() -> None:
    X, y = frame(pd.DataFrame)
    expected = NadarayaWatson(bandwidth=0.4, mismatch=0.1, categorical="auto").fit(X, y).predict(X)
    polars = frame(pl.DataFrame)[0]
    typed = X.astype({"colour": "category"})
    objects = X.to_numpy(dtype=object)
    for other in (polars, typed, objects):
        fitted = NadarayaWatson(bandwidth=0.4, mismatch=0.1, categorical="auto").fit(other, y)
        assert_allclose(fitted.predict(other), expected, rtol=1e-13)


def test_codes_are_categories_if_declared() -> None:
    x, colour, _, y = draw()
    X = with_codes(x, colour)
    named = NadarayaWatson(bandwidth=0.4, mismatch=0.2, categorical=["c"]).fit(pd.DataFrame({"x": x, "c": colour}), y)
    coded = NadarayaWatson(bandwidth=0.4, mismatch=0.2, categorical=[1]).fit(X, y)
    assert_allclose(named.predict(pd.DataFrame({"x": x, "c": colour})), coded.predict(X), rtol=1e-13)


def test_without_categories_auto_has_no_effect() -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))
    plain = NadarayaWatson().fit(X, X[:, 0])
    auto = NadarayaWatson(categorical="auto").fit(X, X[:, 0])
    assert_array_equal(auto.predict(X), plain.predict(X))
    assert auto.mismatch_ is None


# What they do.


def test_mismatch_is_chosen_with_the_bandwidth() -> None:
    X, y = frame(pd.DataFrame, 150)
    fitted = NadarayaWatson(categorical="auto").fit(X, y)
    colour, whether = fitted.mismatch_
    assert colour < 0.02  # distinguishes colours
    assert whether > 0.2  # says nothing
    assert fitted.bandwidth_choice_.error < 0.05
    without = NadarayaWatson().fit(X[["x"]], y)
    assert fitted.bandwidth_choice_.error < without.bandwidth_choice_.error / 5


def test_mismatch_is_chosen_for_a_given_bandwidth() -> None:
    X, y = frame(pd.DataFrame)
    fitted = NadarayaWatson(bandwidth=0.4, categorical="auto").fit(X, y)
    assert fitted.bandwidth_.value == 0.4
    error = np.mean((y - fitted.leave_one_out_predictions_) ** 2)
    for other in ([0.1, 0.3], [0.3, 0.5], [0.0, 0.0]):
        fixed = NadarayaWatson(bandwidth=0.4, categorical="auto", mismatch=other).fit(X, y)
        assert error <= np.mean((y - fixed.leave_one_out_predictions_) ** 2)


@pytest.mark.parametrize("model", [NadarayaWatson, LocalLinear])
@pytest.mark.parametrize("mismatch", [0.2, 0.0, [0.3, 0.5]])
@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
def test_leave_one_out_predictions_agree_with_refits(model: Any, mismatch: Any, kernel: str) -> None:
    X, y = frame(pd.DataFrame, 40)
    fitted = model(kernel, 0.8, categorical="auto", mismatch=mismatch).fit(X, y)
    weights = fitted.weights(X)
    assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-10)
    assert_allclose(weights @ y, fitted.predict(X), atol=1e-9)
    for i in range(0, 40, 3):
        others = np.arange(40) != i
        refit = model(kernel, 0.8, categorical="auto", mismatch=mismatch).fit(X[others], y[others])
        assert_allclose(fitted.leave_one_out_predictions_[i], refit.predict(X.iloc[[i]])[0], atol=1e-9)


def test_an_unseen_level_leaves_the_prediction_to_the_other_columns() -> None:
    x, colour, _, y = draw()
    X = pd.DataFrame({"x": x, "colour": colour})
    fitted = NadarayaWatson(bandwidth=0.4, categorical="auto", mismatch=0.0).fit(X, y)
    unseen = pd.DataFrame({"x": [1.0, 2.0], "colour": ["mauve", "teal"]})
    assert_allclose(fitted.predict(unseen), NadarayaWatson(bandwidth=0.4).fit(X[["x"]], y).predict(unseen[["x"]]))


@pytest.mark.parametrize("model", [NadarayaWatson, LocalLinear])
def test_categories_alone_give_the_means_of_their_cells(model: Any) -> None:
    _, colour, whether, y = draw()
    X = pd.DataFrame({"colour": colour, "whether": whether})
    fitted = model(categorical="auto", mismatch=0.0).fit(X, y)
    assert fitted.bandwidth_ is None
    expected = pd.Series(y).groupby([colour, whether]).transform("mean")
    assert_allclose(fitted.predict(X), expected)
    chosen = model(categorical="auto").fit(X, y)
    error = np.mean((y - chosen.leave_one_out_predictions_) ** 2)
    assert error <= np.mean((y - fitted.leave_one_out_predictions_) ** 2)
    assert chosen.mismatch_[0] < 0.1


def test_slopes_are_given_for_numerical_columns_only() -> None:
    x, colour, _, _ = draw()
    X = pd.DataFrame({"colour": colour, "x": x})
    y = 3 * x + (colour == "red")
    fitted = LocalLinear(bandwidth=1.0, categorical="auto", mismatch=0.0).fit(X, y)
    assert_allclose(fitted.coef(X), np.full((60, 1), 3.0), atol=1e-9)
    assert_allclose(fitted.predict(X), y, atol=1e-9)


@pytest.mark.parametrize("model", [NadarayaWatson, LocalLinear])
def test_a_level_of_rows_of_weight_zero_has_no_effect(model: Any) -> None:
    X, y = frame(pd.DataFrame)
    kept = X["colour"] != "green"
    weighted = model(bandwidth=0.5, categorical="auto", mismatch=0.2).fit(X, y, kept.astype(float))
    without = model(bandwidth=0.5, categorical="auto", mismatch=0.2).fit(X[kept], y[kept])
    assert_allclose(weighted.predict(X), without.predict(X), rtol=1e-12)
    assert_allclose(weighted.leave_one_out_predictions_[kept], without.leave_one_out_predictions_, rtol=1e-9)
    assert_allclose(weighted.leave_one_out_predictions_[~kept], without.predict(X[~kept]), rtol=1e-12)


@pytest.mark.parametrize("way", ["nearest", "mean"])
def test_out_of_reach_rows_that_agree_in_most_categories_are_nearest(way: str) -> None:
    X = pd.DataFrame({"x": [0.0, 1.0, 9.0, 10.0], "colour": ["red", "blue", "red", "blue"]})
    y = np.array([1.0, 2.0, 3.0, 6.0])
    fitted = NadarayaWatson("uniform", 0.5, categorical="auto", mismatch=0.0, out_of_reach=way).fit(X, y)
    expected = {"nearest": [3.0, 6.0], "mean": [3.0, 3.0]}[way]
    assert_allclose(fitted.predict(pd.DataFrame({"x": [50.0, 50.0], "colour": ["red", "blue"]})), expected)
    left_out = {"nearest": [3.0, 6.0, 1.0, 2.0], "mean": [11 / 3, 10 / 3, 3.0, 2.0]}[way]
    assert_allclose(fitted.leave_one_out_predictions_, left_out)


def test_classes_are_predicted_from_categories() -> None:
    X, _ = frame(pd.DataFrame)
    fitted = NadarayaWatsonClassifier(categorical="auto").fit(X[["x", "whether"]], X["colour"])
    assert_allclose(fitted.predict_proba(X[["x", "whether"]]).sum(axis=1), 1.0)
    certain = NadarayaWatsonClassifier(categorical="auto", mismatch=0.0).fit(X[["colour"]], X["colour"])
    assert_array_equal(certain.predict(X[["colour"]]), X["colour"])


# Others.


def test_predictions_agree_with_statsmodels() -> None:
    """Only of local means: its local lines have slopes along the codes of categories, which have no order."""
    x, colour, _, y = draw(40)
    X = with_codes(x, colour)
    theirs = KernelReg(y, X, "cu", reg_type="lc", bw=[0.5, 0.2])
    ours = NadarayaWatson(bandwidth=0.5, categorical=[1], mismatch=0.2).fit(X, y)
    assert_allclose(ours.predict(X), theirs.fit(X)[0], atol=1e-8)
    error = theirs.cv_loo(np.array([0.5, 0.2]), theirs.est["lc"])
    assert_allclose(np.mean((y - ours.leave_one_out_predictions_) ** 2), error, rtol=1e-8)


def test_the_error_is_no_greater_than_that_of_statsmodels() -> None:
    x, colour, _, y = draw(20)
    X = with_codes(x, colour)
    theirs = KernelReg(y, X, "cu", reg_type="lc", bw="cv_ls")
    # it goes out of the range of λ, where weights are negative
    bounded = np.clip(theirs.bw, [1e-9, 0.0], [np.inf, 2 / 3])
    error = theirs.cv_loo(bounded, theirs.est["lc"])
    ours = NadarayaWatson(categorical=[1]).fit(X, y)
    assert np.mean((y - ours.leave_one_out_predictions_) ** 2) <= error * (1 + 1e-9)


# Bad input.


def with_gap(X: pd.DataFrame, column: str) -> pd.DataFrame:
    X = X.copy()
    X.loc[5, column] = None
    return X


def test_invalid_columns_are_named() -> None:
    X, y = frame(pd.DataFrame)
    with pytest.raises(ColumnTypeError, match=r"'colour'.*categorical"):
        NadarayaWatson(categorical=["whether"]).fit(X, y)
    with pytest.raises(ColumnMismatchError, match=r"'color'.*'colour'"):
        NadarayaWatson(categorical=["color"]).fit(X, y)
    with pytest.raises(ColumnMismatchError, match="3 columns"):
        NadarayaWatson(categorical=[7]).fit(X, y)
    with pytest.raises(NonFiniteError, match=r"'colour'.*row 5"):
        NadarayaWatson(categorical="auto").fit(with_gap(X, "colour"), y)
    with pytest.raises(NonFiniteError, match=r"'x'.*row 5"):
        NadarayaWatson(categorical="auto").fit(with_gap(X, "x"), y)
    fitted = NadarayaWatson(bandwidth=1.0, mismatch=0.1, categorical="auto").fit(X, y)
    with pytest.raises(NonFiniteError, match=r"'colour'.*row 5"):
        fitted.predict(with_gap(X, "colour"))
    with pytest.raises(ColumnMismatchError):
        fitted.predict(X[["x", "colour"]])


@pytest.mark.parametrize("mismatch", [-0.1, 0.6, [0.1, 0.9], [0.1], [[0.1, 0.1]]])
def test_a_mismatch_out_of_range_is_rejected(mismatch: Any) -> None:
    X, y = frame(pd.DataFrame)
    with pytest.raises(BandwidthError, match=r"mismatch"):
        NadarayaWatson(bandwidth=1.0, mismatch=mismatch, categorical="auto").fit(X, y)


def test_a_category_of_one_level_has_no_effect() -> None:
    x, _, _, y = draw()
    X = pd.DataFrame({"x": x, "only": ["this"] * 60})
    fitted = NadarayaWatson(bandwidth=0.4, categorical="auto").fit(X, y)
    assert_allclose(fitted.predict(X), NadarayaWatson(bandwidth=0.4).fit(X[["x"]], y).predict(X[["x"]]))
