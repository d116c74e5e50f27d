"""Kernel expansions: sums over rows of the fit give the model's predictions in every language."""

from __future__ import annotations

import sqlite3
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_iris
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer as m
from mercer.export import obstacle, to_sql
from mercer.kernels import RBF, Polynomial
from tests.export._languages import by_model, check

IRIS = load_iris(as_frame=True)
X, SPECIES = IRIS.data, IRIS.target_names[IRIS.target]
HARD = X["sepal length (cm)"] > X["sepal width (cm)"] * 1.9
WIDTH = X["petal width (cm)"]
FEW = X.iloc[:, :2]
LOGISTIC = m.LogisticRegression(C=10)


@pytest.mark.parametrize("y", [SPECIES, HARD], ids=["three classes", "two"])
@pytest.mark.parametrize(
    "model",
    [
        m.SVC(),
        m.SVC(kernel="poly", degree=2, coef0=1.0),
        m.SVC(kernel="linear"),
        m.kernelize(LOGISTIC, RBF(gamma=0.3)),
        m.kernelize(LOGISTIC, Polynomial(2)),
        m.kernelize(m.Perceptron(), RBF(gamma=0.3)),
        m.KernelBayes(),
        m.NadarayaWatsonClassifier(bandwidth=0.5),
        m.KernelBayes(bandwidth=[[0.3, 0.1, 0, 0], [0.1, 0.3, 0, 0], [0, 0, 0.2, 0], [0, 0, 0, 0.2]]),
    ],
    ids=repr,
)
def test_kernel_classifiers_are_exported(model: Any, y: Any) -> None:
    check(model.fit(X, y), X)


@pytest.mark.parametrize(
    "model",
    [
        m.SVR(),
        m.KernelRidge(kernel="rbf"),
        m.KernelRidge(kernel="rbf", approximate="nystroem"),
        m.GLM("poisson", penalty="l2", kernel="rbf"),
        m.kernelize(m.PoissonRegressor(), RBF(gamma=0.3)),
        m.NadarayaWatson(),
        TransformedTargetRegressor(m.SVR(), transformer=StandardScaler()),
        TransformedTargetRegressor(m.Ridge(), func=np.log, inverse_func=np.exp),
        TransformedTargetRegressor(m.KernelRidge(kernel="rbf"), func=np.log1p, inverse_func=np.expm1),
    ],
    ids=repr,
)
def test_kernel_regressions_are_exported(model: Any) -> None:
    check(model.fit(FEW, WIDTH), FEW)


def test_several_outputs_are_exported() -> None:
    check(m.KernelRidge(kernel="rbf").fit(FEW, X.iloc[:, 2:]), FEW)


def test_rows_far_from_all_others() -> None:
    """If every kernel underflows to 0, the nearest rows still decide."""
    far = FEW + 1e3
    check(m.KernelBayes().fit(FEW, SPECIES), far)
    check(m.NadarayaWatson().fit(FEW, WIDTH), far)


def test_cyclic_votes_are_exported() -> None:
    """Three classes, each of which beats one other: the first is predicted, not the most probable."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(60, 2))
    model = m.SVC(C=100.0).fit(noise, rng.integers(0, 5, 60))
    check(model, rng.normal(size=(300, 2)) * 3)


def test_kernel_machines_after_features_and_with_gaps() -> None:
    frame = X.mask(np.random.default_rng(0).random(X.shape) < 0.1).assign(name=np.where(WIDTH > 1, "big", "small"))
    check(make_pipeline(m.TableFeatures(output="array"), m.SVC()).fit(frame, SPECIES), frame)
    numbers = frame.drop(columns="name")
    check(make_pipeline(SimpleImputer(), StandardScaler(), m.KernelBayes()).fit(numbers, SPECIES), numbers)


def test_keys_are_kept_with_their_rows() -> None:
    model = m.SVR().fit(FEW, WIDTH)
    frame = FEW.assign(id=np.arange(len(FEW))[::-1])
    with sqlite3.connect(":memory:") as connection:
        frame.to_sql("s0", connection, index=False)  # the name of a stage
        table = pd.read_sql(to_sql(model, "s0", keep="id", dialect="sqlite"), connection)
    expected = pd.Series(by_model(model, FEW).prediction, index=frame["id"])
    np.testing.assert_allclose(table["prediction"], expected[table["id"]], rtol=1e-9)


def test_too_many_points_are_rejected() -> None:
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(700, 1600))
    model = m.KernelRidge(kernel="rbf").fit(wide, wide[:, 0])
    assert obstacle(model, "onnx") is None
    assert obstacle(model, "sql") == (
        "KernelRidge cannot be exported to SQL: its 700 rows or words would be about 25 MB of "
        "text, and at most 20 MB are written."
    )
