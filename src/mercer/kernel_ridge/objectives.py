"""Objectives of models that have a kernel form, losses plus λ/2 times a squared norm, and errors for all others.

The representer theorem (lecture 1): of all functions f of a kernel, the one that minimises losses of its values on the
rows, plus an increasing function of ‖f‖, is a sum Σ αᵢ k(·, xᵢ) over these rows. A part of f that is orthogonal to them
changes no value and increases the norm. Without that norm the optimum need not be such a sum.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from sklearn.utils.validation import column_or_1d

from mercer._errors import NoRepresenterError, PenaltyError
from mercer._typing import Array
from mercer.base import resolve, traits_of
from mercer.base.kernel_rows import check_row_weight
from mercer.base.linear import accuracy, r_squared
from mercer.base.validation import check_finite_targets, fetch_tensor
from mercer.families import IDENTITY, LOGIT, Bernoulli, Gaussian
from mercer.families.response import Response
from mercer.linear_model.glm_figures import deviance_explained
from mercer.linear_model.glm_response import ClassResponse, MeanResponse, ResponseKind
from mercer.linear_model.glm_solve import SolverLimits
from mercer.linear_model.kernel_fit import REPRESENTER_THEOREM, WRITE_OUT_FEATURES, KernelData
from mercer.linear_model.least_squares import checked_penalties
from mercer.linear_model.logistic_path import encode_classes, row_weights

if TYPE_CHECKING:
    from mercer.linear_model import LogisticRegression, Ridge
    from mercer.linear_model.glm_regressors import GLMRegressor

#: distance from the optimum, in standard errors, at which a fit is exact for every purpose
KERNEL_FIT_TOLERANCE = 1e-8
#: Newton steps of a fit whose model sets no limit
KERNEL_FIT_STEPS = 100


class ObjectiveTarget(NamedTuple):
    """The response model, the validated responses, λ and the classes."""

    kind: ResponseKind
    data: KernelData
    strength: Array | float
    classes: Array | None = None


class NormPenalizedObjective(ABC):
    """Objective of a model with an L2 penalty, in the terms of a kernel fit."""

    #: whether y may have several columns
    multi_output = False
    #: whether y must be numbers
    numeric = True

    @property
    @abstractmethod
    def limits(self) -> SolverLimits:
        """Tolerance and number of steps of a fit."""

    @property
    @abstractmethod
    def intercept(self) -> bool:
        """Return whether there is an intercept without a penalty."""

    @property
    def constant(self) -> float:
        """Constant to add to the kernel for an intercept with a penalty."""
        return 0.0

    @abstractmethod
    def target(self, X: Any, y: Any, sample_weight: Any) -> ObjectiveTarget:
        """Validate the responses, and return them with λ."""

    @abstractmethod
    def score(self, model: Any, X: Any, y: Any, sample_weight: Any) -> float:
        """Return the model's score for a fitted kernel model."""


@dataclass(frozen=True)
class RidgeObjective(NormPenalizedObjective):
    """Minimise ‖y − f − b‖² + alpha ‖f‖², twice the objective of a kernel fit."""

    model: Ridge
    multi_output = True

    @property
    def limits(self) -> SolverLimits:
        return SolverLimits(
            KERNEL_FIT_TOLERANCE, KERNEL_FIT_STEPS if self.model.max_iter is None else self.model.max_iter
        )

    @property
    def intercept(self) -> bool:
        return self.model.fit_intercept

    def target(self, X: Any, y: Any, sample_weight: Any) -> ObjectiveTarget:
        values = check_finite_targets(y)
        alpha = checked_penalties(self.model.alpha, 1 if values.ndim == 1 else values.shape[1])
        weight = check_row_weight(sample_weight, values)
        return ObjectiveTarget(MeanResponse(Response(Gaussian(), IDENTITY)), KernelData(values, weight), alpha)

    def score(self, model: Any, X: Any, y: Any, sample_weight: Any) -> float:
        return r_squared(model, X, y, sample_weight)


@dataclass(frozen=True)
class LogisticObjective(NormPenalizedObjective):
    """Minimise C Σ loss + ½‖f‖², C times the objective of a kernel fit; liblinear's intercept is a constant in the
    kernel.
    """

    model: LogisticRegression
    C: float
    numeric = False

    @property
    def limits(self) -> SolverLimits:
        return SolverLimits(max(min(self.model.tol, 1e-6), 1e-10), self.model.max_iter)

    @property
    def intercept(self) -> bool:
        return self.model.fit_intercept and not self._penalised

    @property
    def _penalised(self) -> bool:
        return bool(self.model.solver == "liblinear")

    @property
    def constant(self) -> float:
        return float(self.model.intercept_scaling**2) if self._penalised and self.model.fit_intercept else 0.0

    def target(self, X: Any, y: Any, sample_weight: Any) -> ObjectiveTarget:
        classes, codes = encode_classes(y, self.model.solver)
        weight = row_weights(sample_weight, np.empty((len(codes), 1)), self.model.class_weight, classes, codes)
        two = len(classes) == 2
        kind = MeanResponse(Response(Bernoulli(), LOGIT)) if two else ClassResponse.of(classes, None)
        return ObjectiveTarget(kind, KernelData(codes.astype(float), weight), 1 / self.C, classes)

    def score(self, model: Any, X: Any, y: Any, sample_weight: Any) -> float:
        return accuracy(model, X, y, sample_weight)


@dataclass(frozen=True)
class DevianceObjective(NormPenalizedObjective):
    """Minimise 1/(2 Σw) Σ w deviance + alpha/2 ‖f‖², the objective of a kernel fit divided by Σw."""

    model: GLMRegressor

    @property
    def limits(self) -> SolverLimits:
        return SolverLimits(min(self.model.tol, KERNEL_FIT_TOLERANCE), self.model.max_iter)

    @property
    def intercept(self) -> bool:
        return self.model.fit_intercept

    def target(self, X: Any, y: Any, sample_weight: Any) -> ObjectiveTarget:
        values = self.model._checked_target(y)
        data = KernelData(values, check_row_weight(sample_weight, values))
        return ObjectiveTarget(MeanResponse(self.model._response()), data, self.model.alpha * data.total)

    def score(self, model: Any, X: Any, y: Any, sample_weight: Any) -> float:
        values = self.model._checked_target(column_or_1d(fetch_tensor(y), warn=True))
        eta = fetch_tensor(model.predict_linear(X))
        return deviance_explained(self.model._response(), values, eta, check_row_weight(sample_weight, values))


def find_objective(model: Any) -> NormPenalizedObjective:
    """Return the objective that the class of a model declares; raise an error where it has no kernel form."""
    return resolve(traits_of(model).objective or _raise_no_objective)(model)  # type: ignore[no-any-return]


def make_ridge_objective(model: Ridge) -> RidgeObjective:
    """Return the objective of a ridge regression."""
    if model.positive:
        raise NoRepresenterError(
            f"Ridge(positive=True) has no kernel form. {REPRESENTER_THEOREM}, "
            "and a bound on the signs of coefficients is not a norm.  "
            f"{WRITE_OUT_FEATURES}, and fit it to those."
        )
    if isinstance(model.alpha, str):
        raise PenaltyError(
            f"alpha={model.alpha!r} is a choice of Ridge among its own fits; use KernelRidge(alpha={model.alpha!r}), "
            "or give a number and search with GridSearchCV over model__alpha."
        )
    return RidgeObjective(model)


def make_logistic_objective(model: LogisticRegression) -> LogisticObjective:
    """Return the objective of a logistic regression."""
    C, l1_ratio = model._penalised()
    if l1_ratio > 0:
        raise NoRepresenterError(
            f"logistic regression with an L1 penalty has no kernel form. {REPRESENTER_THEOREM}, "
            "and Σ|w| depends on the axes that "
            f"w is written in. {WRITE_OUT_FEATURES}, and fit it to those, or use l1_ratio=0."
        )
    return LogisticObjective(model, C)


def raise_for_l1(model: Any) -> NoReturn:
    """Raise an error: a model with an L1 penalty has no kernel form."""
    name = type(model).__name__
    raise NoRepresenterError(
        f"{name} has no kernel form. {REPRESENTER_THEOREM}, and Σ|w| depends on the axes that w is written in. "
        f"{WRITE_OUT_FEATURES}, and "
        f"fit {name} to those, or kernelize Ridge."
    )


def raise_for_no_penalty(model: Any) -> NoReturn:
    """Raise an error: a model without a penalty has no kernel form."""
    raise NoRepresenterError(
        f"{type(model).__name__} has no penalty, and so no kernel form. {REPRESENTER_THEOREM}. "
        "Without one every row is fitted "
        "exactly, by many functions; kernelize Ridge with a small alpha."
    )


def raise_for_search(model: Any) -> NoReturn:
    """Raise an error: a model that chooses its penalty has no kernel form."""
    name = type(model).__name__
    raise NoRepresenterError(
        f"{name} chooses among its own fits; kernelize {name.removesuffix('CV')} and search with GridSearchCV."
    )


def raise_for_linear_machine(model: Any) -> NoReturn:
    """Raise an error: the kernel form of a linear support vector machine is another estimator."""
    name = type(model).__name__
    raise NoRepresenterError(
        f"{name} is a support vector machine, whose kernel form is {name.removeprefix('Linear')}(kernel=…)."
    )


def raise_for_second_kernel(model: Any) -> NoReturn:
    """Raise an error: a model with a kernel does not take another one."""
    raise NoRepresenterError(f"{type(model).__name__} has a kernel of its own; give it as kernel=….")


def _raise_no_objective(model: Any) -> NoReturn:
    """Raise an error: a class that declares no objective has no kernel form."""
    name = type(model).__name__
    if not type(model).__module__.startswith("mercer."):
        raise NoRepresenterError(
            f"{name} is not a model of mercer; kernelize takes models with an L2 penalty, such as mercer.Ridge."
        )
    raise NoRepresenterError(
        f"{name} models how the rows themselves are distributed, by statistics of each column, and has no norm of a w "
        "to penalise: the representer theorem does not apply. Kernelize a model of y given x: Ridge, "
        "LogisticRegression, PoissonRegressor, GLM, Perceptron."
    )
