"""Small differences from scikit-learn, mostly of types, as decision 5 lists them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import mercer

X = np.random.default_rng(0).normal(size=(60, 3))
TWO = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)
SINGLE = X.astype(np.float32)
SPELLED = X.round(3).astype(str)


def test_dtypes_of_results_for_float32_rows() -> None:
    naive, discriminant = mercer.GaussianNB().fit(SINGLE, TWO), mercer.LinearDiscriminantAnalysis().fit(SINGLE, TWO)
    assert naive.epsilon_.dtype == naive.predict_proba(SINGLE).dtype == np.float64
    assert discriminant.decision_function(SINGLE).dtype == discriminant.predict_proba(SINGLE).dtype == np.float64
    assert mercer.LinearRegression(positive=True, fit_intercept=False).fit(SINGLE, TWO).coef_.dtype == np.float32


def test_kernel_ridge_stores_integers_as_floats() -> None:
    assert mercer.KernelRidge().fit(np.arange(6).reshape(3, 2), [0.0, 1.0, 2.0]).X_fit_.dtype == np.float64


@pytest.mark.parametrize("name", ["Ridge", "RidgeCV", "Lasso", "ElasticNet", "LassoCV", "LinearDiscriminantAnalysis"])
def test_arrays_of_strings_are_not_numbers_in_a_fit(name: str) -> None:
    with pytest.raises(ValueError, match="not compatible with arrays of bytes/strings"):
        getattr(mercer, name)().fit(SPELLED, TWO)
    getattr(mercer, name)().fit(SPELLED.astype(object), TWO)


@pytest.mark.parametrize("labels", [TWO.astype("S1"), TWO.astype(object)], ids=["bytes", "objects"])
def test_distinct_labels_are_labels(labels: Any) -> None:
    model = mercer.GaussianNB().fit(X, labels)
    assert model.classes_.dtype == labels.dtype
    assert np.isin(model.predict(X), labels).all()


def test_classes_of_pandas_strings_have_dtype_object() -> None:
    assert mercer.Perceptron().fit(X, pd.Series(np.where(TWO, "yes", "no"))).classes_.dtype == object


def test_a_class_without_weight_has_a_row_of_coefficients() -> None:
    three = np.arange(60) % 3
    assert mercer.LinearSVC().fit(X, three, sample_weight=1.0 * (three < 2)).coef_.shape == (3, 3)


def test_products_with_y_are_ignored() -> None:
    y = X @ [1.0, 2.0, 0.0]
    given = mercer.enet_path(X, y, alphas=[0.1], Xy=np.full(3, 9.0))[1]
    np.testing.assert_array_equal(given, mercer.enet_path(X, y, alphas=[0.1])[1])


@pytest.mark.parametrize("name", ["GaussianNB", "LogisticRegression", "Nystroem", "PoissonRegressor", "Ridge"])
def test_arrays_of_other_libraries_are_not_announced(name: str) -> None:
    assert not getattr(mercer, name)().__sklearn_tags__().array_api_support
