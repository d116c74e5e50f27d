"""Calibrated classifiers, and what else is built around a model."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import mercer as m
from mercer._errors import ExportError
from mercer.decision import Calibrated, ConformalClassifier
from mercer.export import to_sql
from tests.export._languages import check

DATA = load_iris(as_frame=True)
X, Y = DATA.data, DATA.target
HARD = (X["sepal length (cm)"] > X["sepal width (cm)"] * 1.9).astype(int)
#: how far what is exported may be from the model
NEAR = {"off": 1e-7, "relative": 1e-7}


@pytest.mark.parametrize("method", ["temperature", "platt", "isotonic"])
@pytest.mark.parametrize(
    "model", [m.GaussianNB(), m.LogisticRegression(), m.LinearSVC(), m.GLM("bernoulli", penalty="l2")], ids=repr
)
def test_calibrated_models_of_two_classes(model: Any, method: str) -> None:
    check(Calibrated(model, method=method, cv=2).fit(X, HARD), X, **NEAR)


@pytest.mark.parametrize("method", ["temperature", "platt", "isotonic"])
@pytest.mark.parametrize("model", [m.GaussianNB(), m.LogisticRegression(), m.LinearSVC()], ids=repr)
def test_calibrated_models_of_three_classes(model: Any, method: str) -> None:
    check(Calibrated(model, method=method, cv=2).fit(X, Y), X, **NEAR)


def test_calibrated_models_in_and_around_pipelines() -> None:
    check(Calibrated(make_pipeline(m.TableFeatures(), m.LogisticRegression())).fit(X, Y), X, **NEAR)
    check(make_pipeline(m.TableFeatures(), Calibrated(m.LinearDiscriminantAnalysis())).fit(X, Y), X, **NEAR)
    check(GridSearchCV(m.LogisticRegression(), {"C": [0.1, 1.0]}, cv=2).fit(X, Y), X, **NEAR)


def test_unsupported_calibrations_are_rejected() -> None:
    with pytest.raises(ExportError, match="its `model_`"):
        to_sql(ConformalClassifier(m.LogisticRegression()).fit(X, Y))
    with pytest.raises(ExportError, match="temperature"):
        to_sql(Calibrated(m.LinearDiscriminantAnalysis(), method="platt").fit(X, Y))
    with pytest.raises(ExportError, match="logit"):
        to_sql(Calibrated(m.GLM("bernoulli", link="probit", penalty="l2")).fit(X, HARD))
