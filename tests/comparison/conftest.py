"""A comparison with models of every kind."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB

from mercer.comparison import Comparison, compare
from tests.comparison._models import Broken


@pytest.fixture(scope="module")
def five() -> Comparison:
    """Models of iris: a good one, a guess, one without probabilities, one that fails, one that is sure and wrong."""
    X, y = load_iris(return_X_y=True)
    models = {
        "bayes": GaussianNB(),
        "guess": DummyClassifier(),
        "ridge": RidgeClassifier(),
        "broken": Broken(),
        "sure": DummyClassifier(strategy="most_frequent"),
    }
    return compare(X, np.array(["setosa", "versicolor", "virginica"])[y], models=models, cv=3)
