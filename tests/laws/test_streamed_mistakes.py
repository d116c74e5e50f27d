"""Errors about the rows of a source name block and row, and separation is reported although it is not proved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone

from mercer import GLM, LogisticRegression, Perceptron, PoissonRegressor, Ridge
from mercer._errors import (
    DataError,
    NonFiniteError,
    SeparationError,
    SeparationWarning,
    SupportError,
    UnsuitableSolverError,
)
from tests.laws._linear import DATA, MODELS, N, SampledRows, Tables, assert_same


@pytest.mark.parametrize("name", ["ridge", "lasso", "logistic", "Poisson", "GLM, Poisson"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_named(name: str, value: float) -> None:
    model, response, _ = MODELS[name]
    X = DATA["X"].copy()
    X[300, 2] = value
    with pytest.raises(NonFiniteError, match=r"rows 226 to 338.*'?x2'?.*row 74"):
        clone(model).fit(SampledRows(X, DATA[response], rows=113))


@pytest.mark.parametrize("name", ["ridge", "logistic", "Poisson", "GLM, Poisson"])
def test_invalid_responses_are_named(name: str) -> None:
    model, response, _ = MODELS[name]
    y = DATA[response].astype(object if name == "logistic" else float)
    y[300] = None if name == "logistic" else np.nan
    with pytest.raises(NonFiniteError, match=r"In rows 226 to 338: .*y contains NaN"):
        clone(model).fit(SampledRows(DATA["X"], y, rows=113))


@pytest.mark.parametrize("model", [PoissonRegressor(), GLM("poisson")])
def test_responses_outside_the_support_are_named(model: Any) -> None:
    y = DATA["count"].copy()
    y[300] = -1
    with pytest.raises(SupportError, match=r"In rows 226 to 338: .*row 74"):
        clone(model).fit(SampledRows(DATA["X"], y, rows=113))


def test_a_missing_level_is_named() -> None:
    data = pa.table({"city": ["a", "b", None] * 100})
    with pytest.raises(NonFiniteError, match=r"In rows from 0: .*'city'.*row 2"):
        GLM().fit(Tables(data, DATA["number"][:300]))


def test_one_class_is_rejected() -> None:
    with pytest.raises(DataError, match="one class"):
        LogisticRegression().fit(SampledRows(DATA["X"], np.zeros(N), rows=100))


def test_offsets_are_rejected_by_models_that_take_none() -> None:
    for model in (Ridge(), LogisticRegression(), PoissonRegressor(), Perceptron()):
        with pytest.raises(DataError, match="takes no offset"):
            model.fit(SampledRows(DATA["X"], DATA["two"], None, DATA["offset"]))


def test_suspected_separation_is_reported() -> None:
    X, y = np.linspace(-1, 1, 200)[:, None], np.repeat(["a", "b"], 100)
    with pytest.warns(SeparationWarning, match="does not search for"):
        model = GLM("bernoulli").fit(SampledRows(X, y, rows=30))
    assert [finding.code for finding in model.diagnosis_] == ["separation"]
    with pytest.raises(SeparationError):
        GLM("bernoulli", on_separation="error").fit(SampledRows(X, y, rows=30))
    with pytest.raises(UnsuitableSolverError, match="ridge"):
        GLM("bernoulli", on_separation="firth").fit(SampledRows(X, y, rows=30))
    ridge = GLM("bernoulli", on_separation="ridge", tol=1e-10)
    assert_same(clone(ridge).fit(SampledRows(X, y, rows=30)), clone(ridge).fit(X, y))


def test_separated_classes_are_reported_too() -> None:
    X, y = np.linspace(-1, 1, 300)[:, None], np.repeat(["a", "b", "c"], 100)
    with pytest.warns(SeparationWarning, match="does not search for"):
        GLM("categorical").fit(SampledRows(X, y, rows=70))
    model = LogisticRegression(C=np.inf).fit(SampledRows(X, y, rows=70))
    assert [finding.code for finding in model.diagnosis_] == ["separation"]


def test_a_strong_effect_is_not_separation() -> None:
    """Some rows have no information about η, although no hyperplane separates all of them."""
    X = np.linspace(-30, 30, 600)[:, None]
    y = np.where(X[:, 0] + np.random.default_rng(0).logistic(size=600) > 0, "b", "a")
    model = GLM("bernoulli", tol=1e-10)
    streamed = clone(model).fit(SampledRows(X, y, rows=70))
    assert not list(streamed.diagnosis_)
    assert_same(streamed, clone(model).fit(X, y))


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_rows_of_a_source_are_predicted_chunk_by_chunk(method: str) -> None:
    source = SampledRows(DATA["X"], DATA[MODELS["logistic"][1]], rows=113)
    model = LogisticRegression().fit(source)
    with pytest.raises(DataError, match=r"Predict chunk by chunk: for chunk in source: model\.predict\(chunk\.X\)"):
        getattr(model, method)(source)
