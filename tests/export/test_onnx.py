"""ONNX: inputs, outputs, and the package that it needs."""

from __future__ import annotations

import sys

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer as m
from mercer._errors import ExportError, MissingDependencyError
from mercer.export import to_onnx
from tests.export._languages import by_model, in_onnx

X, Y = load_iris(return_X_y=True)


def test_inputs_and_outputs() -> None:
    session = onnxruntime.InferenceSession(to_onnx(m.LogisticRegression().fit(X, Y)))
    assert [(each.name, each.shape, each.type) for each in session.get_inputs()] == [
        ("X", ["rows", 4], "tensor(double)")
    ]
    assert [each.name for each in session.get_outputs()] == ["label", "probabilities"]
    scores = onnxruntime.InferenceSession(to_onnx(m.LinearSVC().fit(X, Y)))
    assert [each.name for each in scores.get_outputs()] == ["label", "scores"]


def test_columns_may_have_the_names_of_outputs_and_values() -> None:
    frame = pd.DataFrame(X, columns=["label", "probabilities", "v1", "X"])
    model = m.GaussianNB().fit(frame, Y)
    got, expected = in_onnx(model, frame), by_model(model, frame)
    np.testing.assert_allclose(got.values, expected.values, atol=1e-9)
    assert (got.prediction == expected.prediction).all()


@pytest.mark.parametrize("labels", [["ä", "b\"'c", ""], [0, 5, -3], [0.0, 1.0, 2.0]])
def test_labels_of_all_types(labels: list[object]) -> None:
    model = m.LogisticRegression().fit(X, np.array(labels)[Y])
    assert (in_onnx(model, X).prediction == model.predict(X)).all()


def test_a_constant_model_predicts_every_row() -> None:
    model = m.Lasso(alpha=1e6).fit(X, Y)
    np.testing.assert_allclose(in_onnx(model, X).prediction, model.predict(X))


@pytest.mark.parametrize("factor", [1 + 1e-9, -1 - 1e-9, 1.0, 1e-50])
def test_factors_near_one_and_terms_near_zero_are_kept(factor: float) -> None:
    """In single precision onnxruntime loses a factor of 1 + 1e-9 and a term of 1e-50."""
    size = np.array([[1.0], [2.0], [4.0]])
    model = m.LinearRegression().fit(size, factor * (size.ravel() + 1))
    np.testing.assert_allclose(in_onnx(model, size).prediction, factor * (size.ravel() + 1), rtol=1e-14)
    scaled = make_pipeline(StandardScaler(with_mean=False), m.LinearRegression()).fit(size * abs(factor), size.ravel())
    np.testing.assert_allclose(in_onnx(scaled, size * abs(factor)).prediction, size.ravel(), rtol=1e-14)


def test_columns_that_onnx_cannot_represent_are_rejected() -> None:
    """Strings are compared word by word, so that spaces around them do not count."""
    frame = pd.DataFrame({"city": ["Bad  Ulm", "Bad Ulm", "Bonn"] * 4})
    with pytest.raises(ExportError, match="'city' cannot be exported"):
        to_onnx(m.NaiveBayes().fit(frame, ["a", "b", "a"] * 4))
    with pytest.raises(ExportError, match="without a name"):
        to_onnx(m.Ridge().fit(pd.DataFrame({"": [0.0, 1.0]}), [0, 1]))


def test_the_file_names_its_producer() -> None:
    graph = onnx.load_from_string(to_onnx(m.Ridge().fit(X, Y)))
    assert graph.producer_name == "mercer"
    assert graph.graph.name == "Ridge"


def test_a_missing_onnx_package_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'mercer\[onnx\]'"):
        to_onnx(m.Ridge().fit(X, Y))
