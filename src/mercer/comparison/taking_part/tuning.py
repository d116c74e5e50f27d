"""A small search for a parameter, made anew in every fit, on the rows of that fit alone."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._errors import DataError
from mercer._stored import optional, part_of, stored
from mercer._typing import Array
from mercer.comparison.measuring.splits import deal
from mercer.comparison.taking_part.inner import INNER_FOLDS, SEED, Inner
from mercer.using.tasks import Split
from mercer.using.which_task import task_for


@stored(parameter=part_of(str), cv=optional(part_of()), best_estimator_=part_of())
class Tuned(BaseEstimator):
    """A model with the value of a parameter that does best on folds of its own training rows.

    Since the choice sees nothing but the rows of a fit, scores on other rows are those of a model that was not tuned on
    them. A value with which the model cannot be fitted is passed over. Where the rows are too few to be parted, the
    first value is taken.

    Parameters
    ----------
    model : estimator
        To be tuned.
    parameter : str
        Its parameter, in the words of `set_params`.
    values : tuple
        Candidates, safest first: the first wins a tie.
    task : {"classification", "regression", "counts"}
        Which measure decides.
    cv : Inner or None, default=None
        Folds that keep groups whole or go forward in time; by default plain ones.

    Attributes
    ----------
    best_estimator_ : estimator
        The model with the chosen value, fitted to all rows of the fit.
    best_value_ : Any
        The chosen value.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import GaussianDiscriminant
    >>> Tuned(GaussianDiscriminant(), "shrinkage", (0.5, 0.0)).fit(*load_iris(return_X_y=True)).best_value_
    0.0
    """

    best_estimator_: Any
    best_value_: Any

    def __init__(
        self, model: Any, parameter: str, values: Any, task: str = "classification", cv: Inner | None = None
    ) -> None:
        self.model = model
        self.parameter = parameter
        self.values = values
        self.task = task
        self.cv = cv

    def fit(self, X: Any, y: Any) -> Self:
        X = X if isinstance(X, np.ndarray) or hasattr(X, "tocsr") else np.asarray(X)
        self.best_value_ = self.values[int(np.argmin(self._losses(X, np.asarray(y))))]
        self.best_estimator_ = self._with(self.best_value_).fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @available_if(lambda self: hasattr(self.model, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    @available_if(lambda self: hasattr(self.model, "predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        check_is_fitted(self)
        return self.best_estimator_.predict_log_proba(X)

    @property
    def classes_(self) -> Array:
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.classes_)

    def __sklearn_tags__(self) -> Any:
        return self.model.__sklearn_tags__()

    def _with(self, value: Any) -> Any:
        return clone(self.model).set_params(**{self.parameter: value})

    def _losses(self, X: Any, y: Array) -> list[float]:
        """Mean loss of each candidate; ∞ for one that cannot be fitted."""
        question = task_for(y, len(y), self.task)
        try:
            splits = deal(question, INNER_FOLDS, 1, SEED).splits if self.cv is None else list(self.cv.split(X))
        except DataError:  # too few rows, or one value only
            return [0.0]
        return [self._loss(value, X, question, splits) for value in self.values]

    def _loss(self, value: Any, X: Any, question: Any, splits: list[Split]) -> float:
        losses = []
        for train, test in splits:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the fit to all rows warns of what matters
                try:
                    model = self._with(value).fit(X[train], question.y[train])
                    loss = question.scores(question.forecast(model, X[test]), test, train)[question.metric.name]
                except (ValueError, ArithmeticError):
                    return float("inf")
            losses.append(loss)
        mean = float(np.mean(losses))
        return mean if np.isfinite(mean) else float("inf")
