"""Classes of another package, which declare traits. Their module is imported by the tests of traits alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data  # noqa: TID251

from mercer.base import Candidate, Question, floats, length, stored, traits, values

#: whether the model below takes part in comparisons
TAKES_PART = False


def candidates(question: Question) -> Iterator[Candidate]:
    if TAKES_PART and question.is_numeric:
        yield Candidate(NearestMean(), place=60, view="array")


@traits(
    "classification",
    kind="generative",
    columns="points",
    half="columns",
    candidates=candidates,
    export="mercer.export.linear.logistic",
)
@stored(classes_=values("k"), n_features_in_=length("d"), coef_=floats("kd"), intercept_=floats("k"))
class NearestMean(ClassifierMixin, BaseEstimator):
    """Normal densities with unit variances: p(y|x) ∝ exp(−‖x − mean of y‖²/2)."""

    def fit(self, X: Any, y: Any) -> Self:
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.coef_ = np.array([X[codes == k].mean(axis=0) for k in range(len(self.classes_))])
        self.intercept_ = -np.square(self.coef_).sum(axis=1) / 2
        return self

    def predict_proba(self, X: Any) -> Any:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return softmax(X @ self.coef_.T + self.intercept_, axis=1)

    def predict(self, X: Any) -> Any:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class Renamed(NearestMean):
    """Subclass without declarations of its own."""


def squares(model: NearestMean, X: Any) -> tuple[Any, Any, list[str]]:
    """Return the constants and the contributions of the scores of each class."""
    away = np.asarray(X)[:, :, None] - model.coef_.T
    names = [f"x{j}" for j in range(away.shape[1])] if not hasattr(X, "columns") else [*X.columns]
    return np.zeros(len(model.classes_)), -np.square(away) / 2, names


@traits("classification", evidence=squares)
class Explained(NearestMean):
    """One that declares how its predictions are explained."""
