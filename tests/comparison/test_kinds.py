"""Kinds of models, and their counterparts."""

from __future__ import annotations

from typing import Any

import pytest
import sklearn.naive_bayes
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from mercer import (
    GLM,
    SVC,
    SVR,
    GaussianDiscriminant,
    KernelBayes,
    LinearThreshold,
    LogisticRegression,
    NaiveBayes,
    kernelize,
    kernels,
)
from mercer.comparison._inner_search import Tuned
from mercer.comparison.pairs import find_partners, kind_of


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (NaiveBayes(), "generative"),
        (make_pipeline(StandardScaler(), GaussianDiscriminant()), "generative"),
        (LogisticRegression(), "discriminative"),
        (RandomForestClassifier(), "discriminative"),
        (LinearThreshold("lms"), "direct"),
        (Tuned(SVC(), "C", (1,)), "kernel"),
        (TransformedTargetRegressor(SVR()), "kernel"),
        (GLM("poisson", kernel=kernels.RBF()), "kernel"),
        (GLM("poisson"), "discriminative"),
        (kernelize(LogisticRegression(), kernels.RBF()), "kernel"),
        (KernelBayes(), "density"),
        (DummyClassifier(), "baseline"),
    ],
)
def test_models_are_generative_or_discriminative(model: Any, kind: str) -> None:
    assert kind_of(model) == kind


def test_each_model_has_the_counterpart_with_the_same_boundary() -> None:
    squares = make_pipeline(PolynomialFeatures(), LogisticRegression())
    models = [NaiveBayes(), GaussianDiscriminant("shared full"), GaussianDiscriminant(), LogisticRegression(), squares]
    assert find_partners(models) == [3, 3, 4, 0, 2]
    assert find_partners([GaussianDiscriminant(), LogisticRegression()]) == [1, 0]
    assert find_partners([NaiveBayes(), SVC()]) == [None, None]
    windows = [KernelBayes(), kernelize(LogisticRegression(), kernels.RBF()), LogisticRegression()]
    assert find_partners(windows) == [1, 0, None]


def test_models_of_scikit_learn_have_counterparts_too() -> None:
    assert find_partners([sklearn.naive_bayes.GaussianNB(), LogisticRegression()]) == [1, 0]
