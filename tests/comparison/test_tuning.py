"""Tests of a search that uses only the rows of the fit."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris

from mercer import SVC, GaussianDiscriminant, LogisticRegression, Ridge
from mercer._errors import SingularCovarianceError
from mercer.comparison._inner_search import Tuned

X, Y = load_iris(return_X_y=True)
Y = np.array(["a", "b", "c"])[Y]


class Spy(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Model that records the number of rows of its fits, and is right if `right` is set."""

    rows_of_fits: ClassVar[list[int]] = []

    def __init__(self, right: bool = False) -> None:
        self.right = right

    def fit(self, X: Any, y: Any) -> Spy:
        Spy.rows_of_fits.append(len(X))
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.where(np.asarray(X)[:, 0] > 0, "b", "a")

    def predict_proba(self, X: Any) -> Any:
        p = np.where((np.asarray(X)[:, 0] > 0) == self.right, 0.9, 0.1)
        return np.column_stack([1 - p, p])


def test_tuned_chooses_by_inner_folds_and_refits() -> None:
    Spy.rows_of_fits = []
    x = np.tile([1.0, -1.0], 15)[:, None]
    tuned = Tuned(Spy(), "right", (False, True)).fit(x, np.where(x[:, 0] > 0, "b", "a"))
    assert tuned.best_value_ is True
    assert Spy.rows_of_fits == [20] * 6 + [30]
    assert tuned.classes_.tolist() == ["a", "b"]
    assert tuned.predict_proba(x)[0, 1] == 0.9


def test_a_value_that_fails_is_skipped() -> None:
    twice = np.column_stack([X, X[:, :1]])
    tuned = Tuned(GaussianDiscriminant(), "shrinkage", (0.0, 0.1)).fit(twice, Y)
    assert tuned.best_value_ == 0.1
    with pytest.raises(SingularCovarianceError):
        Tuned(GaussianDiscriminant(), "shrinkage", (0.0,)).fit(twice, Y)


def test_too_few_rows_to_choose() -> None:
    assert Tuned(LogisticRegression(), "C", (1.0, 2.0)).fit(X[[0, 60]], Y[[0, 60]]).best_value_ == 1.0


def test_a_target_of_one_value_leaves_nothing_to_choose() -> None:
    tuned = Tuned(Ridge(), "alpha", (2.0, 1.0), "regression").fit(X, np.ones(150))
    assert tuned.best_value_ == 2.0


def test_tuned_is_an_estimator_with_the_methods_of_its_model() -> None:
    tuned = Tuned(SVC(), "C", (1.0, 10.0))
    assert clone(tuned).get_params()["model__C"] == 1.0
    assert hasattr(tuned, "predict_proba") == hasattr(SVC(), "predict_proba")
    assert not hasattr(Tuned(Ridge(), "alpha", (1.0,), "regression"), "predict_proba")


def test_a_regression_is_tuned() -> None:
    y = X[:, 0] * 3 + np.random.default_rng(0).normal(scale=0.01, size=150)
    tuned = Tuned(Ridge(), "alpha", (1e4, 1e-3), "regression").fit(X, y)
    assert tuned.best_value_ == 1e-3
