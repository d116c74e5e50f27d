"""Columns by a formula: its parameters are those of the fit, and errors name the cause."""

from __future__ import annotations

import pickle
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import TableFeatures
from mercer._errors import (
    FormulaError,
    MissingDependencyError,
    NonFiniteError,
    UnseenCategoryError,
    UnseenCategoryWarning,
)
from tests.preprocessing._frame import FRAME


def test_columns_follow_from_a_formula() -> None:
    whole = FRAME.dropna()
    features = TableFeatures(formula="log(age) + C(city) * member").fit(whole)
    names = features.get_feature_names_out().tolist()
    found = dict(zip(names, features.transform(whole).T, strict=True))
    assert_allclose(found["log(age)"], np.log(whole.age))
    assert_array_equal(found["C(city)[T.Ulm]"], whole.city == "Ulm")
    assert "Intercept" not in names
    assert features.feature_columns().tolist() == names
    # new rows have the levels of the fit
    assert features.transform(whole[whole.city == "Ulm"]).shape[1] == len(names)
    assert_allclose(features.transform(pl.from_pandas(whole)), features.transform(whole))
    assert "Formula: log(age)" in str(features.grid())
    copied = pickle.loads(pickle.dumps(features))
    assert_array_equal(copied.transform(whole), features.transform(whole))


def test_means_of_a_formula_are_stored_in_the_fit() -> None:
    features = TableFeatures(formula="center(visits)").fit(FRAME)
    assert_allclose(features.transform(FRAME[:1]), [[FRAME.visits[0] - FRAME.visits.mean()]])


@pytest.mark.parametrize(
    ("formula", "error", "words"),
    [
        ("visits + cty", FormulaError, "reads 'cty', which is not a column. Did you mean 'city'"),
        ("y ~ visits", FormulaError, "left side"),
        ("visits + (", FormulaError, "cannot be evaluated"),
        ("1", FormulaError, "no column"),
        ("age", NonFiniteError, "'age' has missing values.*missing='keep'"),
        ("city", NonFiniteError, "contains NaN"),
    ],
)
def test_invalid_formulas_are_rejected(formula: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        TableFeatures(formula=formula).fit(FRAME)


def test_a_formula_that_is_not_finite_is_rejected() -> None:
    with pytest.raises(NonFiniteError, match=r"'log\(x\)' is -inf in row 1; .* log\(1 \+ x\)"):
        TableFeatures(formula="log(x)").fit(pd.DataFrame({"x": [1.0, 0.0]}))
    features = TableFeatures(formula="log(x)").fit(pd.DataFrame({"x": [1.0, 2.0]}))
    with pytest.raises(NonFiniteError, match=r"is -inf in row 0"):
        features.transform(pd.DataFrame({"x": [0.0]}))


def test_a_formula_and_gaps() -> None:
    found = TableFeatures(formula="age", missing="keep").fit_transform(FRAME)
    assert_array_equal(np.isnan(found[:, 0]), FRAME.age.isna())
    with pytest.raises(NonFiniteError, match="'city' has a missing value in row 0; give missing values a level"):
        TableFeatures(formula="city", missing="keep").fit(FRAME)


def test_unseen_levels_of_a_formula() -> None:
    features = TableFeatures(formula="city").fit(FRAME.dropna())
    with pytest.warns(UnseenCategoryWarning, match="'Rome'.*first level"):
        features.transform(FRAME[1:2].assign(city="Rome"))
    with pytest.raises(UnseenCategoryError, match="'Rome'"):
        features.set_params(unseen="error").transform(FRAME[1:2].assign(city="Rome"))


def test_unseen_levels_of_a_formula_are_reported_by_every_thread() -> None:
    X = pd.DataFrame({"a": ["x", "y", "z"] * 10, "b": np.arange(30.0)})
    features = TableFeatures(formula="a + b", unseen="error").fit(X)
    shown, filters = warnings.showwarning, list(warnings.filters)

    def rejected(_: int) -> bool:
        with pytest.raises(UnseenCategoryError, match="did not occur"):
            features.transform(X.assign(a="w"))
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(rejected, range(50)))
    assert warnings.showwarning is shown
    assert warnings.filters == filters


def test_an_error_without_a_message_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("formulaic.model_matrix", fail)
    with pytest.raises(FormulaError, match=r"The formula 'b' cannot be evaluated: MemoryError\."):
        TableFeatures(formula="b").fit(pd.DataFrame({"b": [1.0, 2.0]}))


def test_a_missing_formulaic_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "formulaic", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'mercer\[formula\]'"):
        TableFeatures(formula="visits").fit(FRAME)
