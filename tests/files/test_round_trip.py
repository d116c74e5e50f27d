"""A saved and loaded model is the same model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

import mercer
from tests.files._again import again
from tests.files._cases import CASES, Case, numbers

ANSWERS = ("predict", "predict_proba", "decision_function", "transform", "score_samples", "log_density", "p_values")


def answers(model: Any, X: Any) -> dict[str, Any]:
    return {name: plain(getattr(model, name)(X)) for name in ANSWERS if hasattr(model, name)}


def plain(answer: Any) -> Any:
    return answer.toarray() if hasattr(answer, "toarray") else np.asarray(answer)


def described(value: Any) -> str:
    """Return a description of a value without its address in memory."""
    return re.sub(r" at 0x[0-9A-Fa-f]+", "", repr(value))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_loaded_model_gives_identical_results(case: Case, tmp_path: Path) -> None:
    model = case.fitted()
    X = case.data().X
    loaded = again(model, tmp_path)
    assert type(loaded) is type(model)
    expected, found = answers(model, X), answers(loaded, X)
    assert expected
    assert found.keys() == expected.keys()
    for name, answer in expected.items():
        np.testing.assert_array_equal(found[name], answer, err_msg=name)
    assert described(loaded.get_params()) == described(model.get_params())
    assert described(clone(loaded).get_params()) == described(clone(model).get_params())
    for name in ("certificate_", "plan_"):
        if hasattr(model, name):
            assert repr(getattr(loaded, name)) == repr(getattr(model, name))


@pytest.mark.parametrize("columns", [1, 2, 5])
@pytest.mark.parametrize("structure", ["full", "diagonal", "spherical", "shared diagonal"])
def test_the_numbers_of_classes_and_columns_may_differ(structure: str, columns: int, tmp_path: Path) -> None:
    data = numbers()
    X = np.tile(data.X, 2)[:, :columns] + np.random.default_rng(0).normal(size=(45, columns))
    model = mercer.GaussianDiscriminant(structure).fit(X, data.y)
    np.testing.assert_array_equal(again(model, tmp_path).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("model", "ask", "error"),
    [
        (mercer.LinearDiscriminantAnalysis(solver="lsqr"), lambda model, X: model.transform(X), NotImplementedError),
        (mercer.GaussianNB(), lambda model, X: model.predict("text"), ValueError),
        (mercer.GaussianNB(), lambda model, X: model.predict(), TypeError),
    ],
)
def test_a_loaded_model_rejects_with_the_same_error(model: Any, ask: Any, error: type, tmp_path: Path) -> None:
    model = clone(model).fit(numbers().X, numbers().y)
    said = []
    for each in (model, again(model, tmp_path)):
        with pytest.raises(error) as rejection:
            ask(each, numbers().X)
        said.append((type(rejection.value), str(rejection.value)))
    assert said[0] == said[1]


@pytest.mark.parametrize("make", [mercer.NadarayaWatson, mercer.LocalLinear, mercer.NadarayaWatsonClassifier])
def test_a_smoother_is_saved_after_predictions_out_of_reach(make: Any, tmp_path: Path) -> None:
    X, y = numbers().X, np.arange(45) % 2
    model = make(kernel="epanechnikov", bandwidth=1.0, out_of_reach="nearest").fit(X, y)
    far = X + 1e3
    expected = model.predict(far)
    np.testing.assert_array_equal(again(model, tmp_path).predict(far), expected)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "int64", "uint64", "bool"])
def test_random_features_of_numbers_of_any_type_are_saved(dtype: str, tmp_path: Path) -> None:
    X = np.random.default_rng(0).poisson(2.0, size=(20, 3)).astype(dtype)
    for rows in (X,) if dtype == "float16" else (X, csr_array(X)):  # SciPy has no float16
        model = mercer.RandomFourierFeatures(n_components=8, random_state=0).fit(rows)
        loaded = again(model, tmp_path)
        np.testing.assert_array_equal(loaded.transform(rows), model.transform(rows))
        assert loaded.approximation_error_ == model.approximation_error_
