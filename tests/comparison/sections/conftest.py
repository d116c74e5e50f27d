"""Comparisons of small tables, and their pages: each made once, because all sections look at it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline

from mercer import (
    GLM,
    GaussianNB,
    LinearDiscriminantAnalysis,
    LinearRegression,
    LogisticRegression,
    MultinomialNB,
    TableFeatures,
    compare,
)
from mercer.comparison.comparison import Comparison
from mercer.comparison.sections.whole import page
from mercer.report import Page
from tests.comparison.sections._pages import linear


@pytest.fixture(scope="session")
def iris() -> Comparison:
    X, y = load_iris(return_X_y=True, as_frame=True)
    models = {
        "normal": GaussianNB(),
        "LDA": LinearDiscriminantAnalysis(),
        "logistic": linear(LogisticRegression()),
        "nothing": DummyClassifier(strategy="prior"),
    }
    return compare(X, np.array(["setosa", "versicolor", "virginica"])[y], models=models)


@pytest.fixture(scope="session")
def of_iris(iris: Comparison) -> Page:
    return page(iris)


@pytest.fixture(scope="session")
def mixed() -> Comparison:
    """Numbers with gaps, a category, text, an identifier: all that a person may bring."""
    rng = np.random.default_rng(0)
    n = 90
    y = rng.integers(0, 2, n)
    age = rng.normal(40 + 8 * y, 8)
    age[::9] = np.nan
    frame = pd.DataFrame(
        {
            "id": [f"p{i:03d}" for i in range(n)],
            "age": age,
            "colour": np.where(rng.random(n) < 0.2 + 0.6 * y, "red", "blue"),
            "said": [
                " ".join(rng.choice(["good", "fine", "nice"] if each else ["bad", "poor", "ill"], 3)) + f" {i % 7} day"
                for i, each in enumerate(y)
            ],
        }
    )
    models = {
        "logistic": linear(LogisticRegression()),
        "words": make_pipeline(TableFeatures(text="counts", exclude=["id", "age", "colour"]), MultinomialNB()),
        "mixed": make_pipeline(TableFeatures(exclude=["id", "said"], unseen="ignore"), LogisticRegression()),
    }
    return compare(frame, np.where(y, "yes", "no"), models=models, cv=3)


@pytest.fixture(scope="session")
def of_mixed(mixed: Comparison) -> Page:
    return page(mixed)


def _of_amounts(count: bool) -> Comparison:
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(150, 3)), columns=["a", "b", "c"])
    eta = 1.5 + 0.6 * X["a"] - 0.3 * X["b"]
    y = rng.poisson(np.exp(eta)) if count else 10 * eta + rng.normal(size=150)
    models = {"poisson": GLM("poisson")} if count else {"least squares": linear(LinearRegression())}
    return compare(X, np.asarray(y, dtype=float), models=models, task="counts" if count else "regression", cv=3)


@pytest.fixture(scope="session")
def numbers() -> Comparison:
    return _of_amounts(count=False)


@pytest.fixture(scope="session")
def of_numbers(numbers: Comparison) -> Page:
    return page(numbers)


@pytest.fixture(scope="session")
def of_counts() -> Page:
    return page(_of_amounts(count=True))
