"""Fitted drop-ins for scikit-learn's linear models and their data, as inference needs them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer._errors import InferenceError
from mercer._typing import Array
from mercer.data.labels import encode_labels
from mercer.designs import Design, Observations, Terms, design_of
from mercer.families import IDENTITY, LOGIT, Bernoulli, Gaussian
from mercer.families.penalties import L2, ElasticNet, Penalty, Strengths
from mercer.families.response import Response
from mercer.models.base import checked, checked_weight, column_names
from mercer.models.inference.fits import Beside, Reading, fitted_classes, fitted_of, refuse_other_classes
from mercer.models.logistic.options import row_weights
from mercer.solvers.problem import Problem

AS_GIVEN: dict[str, Any] = {"accept_sparse": ["csc", "csr"], "codes": True}


def read_glm_regressor(model: Any, X: Any, y: Any, beside: Beside) -> Reading:
    """Of `PoissonRegressor` and its like."""
    beside.refuse_offset(model)
    X, y = _numbers(model, X, y)
    weight = checked_weight(beside.sample_weight, X)
    strength = model.alpha * (len(y) if weight is None else weight.sum())
    return Given(model, X, model._checked_target(y), weight, L2(strength)).reading(model._response())


def read_least_squares(model: Any, X: Any, y: Any, beside: Beside) -> Reading:
    """Of `LinearRegression`, `Ridge` and `RidgeCV`."""
    beside.refuse_offset(model)
    if getattr(model, "positive", False):
        raise InferenceError(
            "coefficients that were kept from being negative have no standard errors: where one is 0, its estimate is "
            "not even nearly normal. Fit with positive=False, or bootstrap."
        )
    X, y = _numbers(model, X, y)
    weight, strength = checked_weight(beside.sample_weight, X), np.squeeze(getattr(model, "alpha_", 0.0))
    return Given(model, X, y, weight, L2(float(strength))).reading(Response(Gaussian(), IDENTITY))


def read_logistic(model: Any, X: Any, y: Any, beside: Beside) -> Reading:
    """Of `LogisticRegression`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about deprecated parameters: the fit has told
        return _read_logistic(model, X, y, beside, model._penalised())


def read_logistic_cv(model: Any, X: Any, y: Any, beside: Beside) -> Reading:
    """Of `LogisticRegressionCV`: of the penalty that it chose."""
    if not model.refit:
        raise InferenceError(
            "refit=False has averaged the coefficients of the folds, which are no optimum that could have standard "
            "errors; fit with refit=True."
        )
    return _read_logistic(model, X, y, beside, model._penalised)


def _read_logistic(model: Any, X: Any, y: Any, beside: Beside, penalised: tuple[float, float]) -> Reading:
    beside.refuse_offset(model)
    if model.solver == "liblinear" and model.fit_intercept:
        raise InferenceError(
            "solver='liblinear' has penalised the intercept too, and its posterior is not known here; fit with another."
        )
    X, y = checked(model, X, y, reset=False, **AS_GIVEN)
    classes, codes = encode_labels(y)
    refuse_other_classes(classes, model.classes_)
    weight = row_weights(beside.sample_weight, X, model.class_weight, classes, codes)
    C, l1_ratio = penalised
    given = Given(model, X, codes.astype(np.float64), weight, ElasticNet(1 / C, l1_ratio=l1_ratio))
    return given.reading(Response(Bernoulli(), LOGIT)) if len(classes) == 2 else given.reading_of_classes()


def _numbers(model: Any, X: Any, y: Any) -> tuple[Any, Array]:
    X, y = checked(model, X, y, reset=False, y_numeric=True, multi_output=True, **AS_GIVEN)
    y = np.asarray(y, dtype=np.float64)
    if y.ndim > 1 and y.shape[1] > 1:
        raise InferenceError(f"y has {y.shape[1]} targets; fit and summarise each of them by itself.")
    return X, y.ravel()


@dataclass(frozen=True, eq=False)
class Given:
    """A model whose columns are numbers and which knows no offset, with its data and its penalty."""

    model: Any
    X: Any
    y: Array
    weight: Array | None
    penalty: Penalty

    @cached_property
    def _design(self) -> tuple[Design, Terms]:
        return design_of(self.X, intercept=self.model.fit_intercept, weight=self.weight)

    @property
    def _observations(self) -> Observations:
        return Observations(self._design[0], self.y, self.weight)

    @property
    def _strengths(self) -> Strengths:
        return self._design[0].coordinates.strengths(self.penalty.strengths(self.X.shape[1]))

    def reading(self, response: Response) -> Reading:
        """With one linear predictor."""
        problem = Problem(self._observations, response, self._strengths)
        coefficients, intercept = np.ravel(self.model.coef_).astype(float), float(np.squeeze(self.model.intercept_))
        w = self._design[0].coordinates.from_user(coefficients, intercept)
        names = column_names(self.model)
        return Reading(fitted_of(problem, w, names, title=self._title), self._new, names)

    def reading_of_classes(self) -> Reading:
        """With one for each class."""
        names = column_names(self.model)
        fitted = fitted_classes(self.model, self._observations, self._strengths, names, None, title=self._title)
        return Reading(fitted, self._new, names)

    @property
    def _title(self) -> str:
        return type(self.model).__name__

    def _new(self, X: Any, offset: Any, exposure: Any) -> tuple[Design, Array | None]:
        Beside(None, offset, exposure).refuse_offset(self.model)
        return self._design[1].design(checked(self.model, X, reset=False, **AS_GIVEN)), None
