"""Simplicity of fitted models."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler

from mercer import (
    SVC,
    GaussianDiscriminant,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    QuadraticDiscriminantAnalysis,
)
from mercer.comparison._entry import Simplicity, assess_simplicity
from mercer.export import to_python

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = np.where(X[:, 0] + RNG.normal(size=40) > 0, "yes", "no")


def test_products_of_columns_are_not_a_sum_over_columns() -> None:
    plain = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
    products = make_pipeline(PolynomialFeatures(2, include_bias=False), LogisticRegression()).fit(X, Y)
    assert assess_simplicity(plain, X[:1]) == Simplicity(additive=True, obstacle=None)
    assert not assess_simplicity(products, X[:1]).additive


def test_a_long_export_is_less_simple_but_not_an_obstacle() -> None:
    model = LogisticRegression().fit(X, Y)
    found = assess_simplicity(model, X[:1], most_terms=5)
    assert found == Simplicity(True, None, "Its export is long: 6 terms, one for each feature and class.")
    assert "math" in to_python(model)
    assert assess_simplicity(model, X[:1], most_terms=6).long_export is None


def test_products_of_columns_and_training_rows_are_counted() -> None:
    quadratic = QuadraticDiscriminantAnalysis().fit(X, Y)
    long = assess_simplicity(quadratic, X[:1], most_terms=11).long_export
    assert long == "Its export is long: 12 terms, one for each product of two columns and class."
    assert assess_simplicity(quadratic, X[:1], most_terms=12).long_export is None
    long = assess_simplicity(SVC().fit(X, Y), X[:1], most_terms=5).long_export
    assert long == "Its export is long: the rows that it compares with have 3 columns."


def test_a_kind_that_cannot_be_exported_is_an_obstacle_however_long_it_is() -> None:
    found = assess_simplicity(make_pipeline(StandardScaler(), RandomForestClassifier(3)).fit(X, Y), X[:1], most_terms=5)
    assert str(found.obstacle).startswith("RandomForestClassifier cannot be exported")
    found = assess_simplicity(make_pipeline(MinMaxScaler(), LogisticRegression()).fit(X, Y), X[:1], most_terms=5)
    assert str(found.obstacle).startswith("MinMaxScaler cannot be exported")


def test_a_wide_linear_discriminant_of_complete_rows_is_as_simple_as_a_linear_model() -> None:
    wine = load_wine()
    for model in (LinearDiscriminantAnalysis(), GaussianDiscriminant(covariance="shared full")):
        found = assess_simplicity(model.fit(wine.data, wine.target), wine.data[:1])
        assert found == Simplicity(additive=True, obstacle=None)
