"""Objectives of models that have a kernel form, losses plus λ/2 times a squared norm; and why others have none.

The representer theorem (lecture 1): of all functions f of a kernel, the one that minimises losses of its values on the
rows, plus an increasing function of ‖f‖, is a sum Σ αᵢ k(·, xᵢ) over these rows. What is orthogonal to them changes no
value and adds to the norm. Without that norm nothing keeps the optimum there.
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
from mercer.base.kernel_rows import row_weight
from mercer.base.linear import accuracy, r_squared
from mercer.base.validation import finite_numbers, in_memory
from mercer.families import IDENTITY, LOGIT, Bernoulli, Gaussian
from mercer.families.response import Response
from mercer.linear_model.glm_regressors import deviance_explained
from mercer.linear_model.glm_response import ClassResponse, MeanResponse, ResponseKind
from mercer.linear_model.glm_solve import SolverLimits
from mercer.linear_model.kernel_fit import INSTEAD, THEOREM, KernelData
from mercer.linear_model.least_squares import checked_penalties
from mercer.linear_model.logistic_path import classes_and_codes, row_weights

if TYPE_CHECKING:
    from mercer.linear_model import LogisticRegression, Ridge
    from mercer.linear_model.glm_regressors import GLMRegressor

#: standard errors at which a fit is exact for every purpose, and steps cost little
TOLERANCE, MOST_STEPS = 1e-8, 100


class ObjectiveTarget(NamedTuple):
    """What is to be fitted."""

    kind: ResponseKind
    data: KernelData
    strength: Array | float
    classes: Array | None = None


class NormRegularised(ABC):
    """What a kernel model has to know of the model it was made from."""

    #: whether y may have several columns, and must be numbers
    multi_output, numeric = False, True

    @property
    @abstractmethod
    def limits(self) -> SolverLimits:
        """When a fit may stop."""

    @property
    @abstractmethod
    def intercept(self) -> bool:
        """Whether there is one that is not penalised."""

    @property
    def constant(self) -> float:
        """What the kernel has to have added for an intercept that is penalised."""
        return 0.0

    @abstractmethod
    def target(self, X: Any, y: Any, sample_weight: Any) -> ObjectiveTarget:
        """The responses, checked, and λ."""

    @abstractmethod
    def score(self, model: Any, X: Any, y: Any, sample_weight: Any) -> float:
        """What the model calls its score, of a fitted kernel model."""


@dataclass(frozen=True)
class OfRidge(NormRegularised):
    """‖y − f − b‖² + alpha ‖f‖²: twice ours."""

    model: Ridge
    multi_output = True

    @property
    def limits(self) -> SolverLimits:
        return SolverLimits(TOLERANCE, MOST_STEPS if self.model.max_iter is None else self.model.max_iter)

    @property
    def intercept(self) -> bool:
        return self.model.fit_intercept

    def target(self, X: Any, y: Any, sample_weight: Any) -> ObjectiveTarget:
        values = finite_numbers(y)
        alpha = checked_penalties(self.model.alpha, 1 if values.ndim == 1 else values.shape[1])
        weight = row_weight(sample_weight, values)
        return ObjectiveTarget(MeanResponse(Response(Gaussian(), IDENTITY)), KernelData(values, weight), alpha)

    def score(self, model: Any, X: Any, y: Any, sample_weight: Any) -> float:
        return r_squared(model, X, y, sample_weight)


@dataclass(frozen=True)
class OfLogistic(NormRegularised):
    """C Σ loss + ½‖f‖²: ours times C. liblinear's intercept is penalised: it is a constant in the kernel."""

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
        classes, codes = classes_and_codes(y, self.model.solver)
        weight = row_weights(sample_weight, np.empty((len(codes), 1)), self.model.class_weight, classes, codes)
        two = len(classes) == 2
        kind = MeanResponse(Response(Bernoulli(), LOGIT)) if two else ClassResponse.of(classes, None)
        return ObjectiveTarget(kind, KernelData(codes.astype(float), weight), 1 / self.C, classes)

    def score(self, model: Any, X: Any, y: Any, sample_weight: Any) -> float:
        return accuracy(model, X, y, sample_weight)


@dataclass(frozen=True)
class OfRegressor(NormRegularised):
    """1/(2 Σw) Σ w deviance + alpha/2 ‖f‖²: ours divided by Σw."""

    model: GLMRegressor

    @property
    def limits(self) -> SolverLimits:
        return SolverLimits(min(self.model.tol, TOLERANCE), self.model.max_iter)

    @property
    def intercept(self) -> bool:
        return self.model.fit_intercept

    def target(self, X: Any, y: Any, sample_weight: Any) -> ObjectiveTarget:
        values = self.model._checked_target(y)
        data = KernelData(values, row_weight(sample_weight, values))
        return ObjectiveTarget(MeanResponse(self.model._response()), data, self.model.alpha * data.total)

    def score(self, model: Any, X: Any, y: Any, sample_weight: Any) -> float:
        values = self.model._checked_target(column_or_1d(in_memory(y), warn=True))
        eta = in_memory(model.predict_linear(X))
        return deviance_explained(self.model._response(), values, eta, row_weight(sample_weight, values))


def norm_regularised(model: Any) -> NormRegularised:
    """Return the objective that the class of a model declares; raise the reason where it has no kernel form."""
    return resolve(traits_of(model).objective or _refuse)(model)  # type: ignore[no-any-return]


def of_ridge(model: Ridge) -> OfRidge:
    """Return the objective of a ridge regression."""
    if model.positive:
        raise NoRepresenterError(
            f"Ridge(positive=True) has no kernel form. {THEOREM}, and a bound on the signs of coefficients is none. "
            f"{INSTEAD}, and fit it to those."
        )
    if isinstance(model.alpha, str):
        raise PenaltyError(
            f"alpha={model.alpha!r} is a choice of Ridge among its own fits; use KernelRidge(alpha={model.alpha!r}), "
            "or give a number and search with GridSearchCV over model__alpha."
        )
    return OfRidge(model)


def of_logistic(model: LogisticRegression) -> OfLogistic:
    """Return the objective of a logistic regression."""
    C, l1_ratio = model._penalised()
    if l1_ratio > 0:
        raise NoRepresenterError(
            f"logistic regression with an L1 penalty has no kernel form. {THEOREM}, and Σ|w| depends on the axes that "
            f"w is written in. {INSTEAD}, and fit it to those, or use l1_ratio=0."
        )
    return OfLogistic(model, C)


def refuse_l1(model: Any) -> NoReturn:
    """Raise the reason why a model with an L1 penalty has no kernel form."""
    name = type(model).__name__
    raise NoRepresenterError(
        f"{name} has no kernel form. {THEOREM}, and Σ|w| depends on the axes that w is written in. {INSTEAD}, and "
        f"fit {name} to those, or kernelize Ridge."
    )


def refuse_unpenalised(model: Any) -> NoReturn:
    """Raise the reason why a model without a penalty has no kernel form."""
    raise NoRepresenterError(
        f"{type(model).__name__} has no penalty, and so no kernel form. {THEOREM}. Without one every row is fitted "
        "exactly, by many functions; kernelize Ridge with a small alpha."
    )


def refuse_search(model: Any) -> NoReturn:
    """Raise the reason why a model that chooses its penalty has no kernel form."""
    name = type(model).__name__
    raise NoRepresenterError(
        f"{name} chooses among its own fits; kernelize {name.removesuffix('CV')} and search with GridSearchCV."
    )


def refuse_linear_machine(model: Any) -> NoReturn:
    """Raise the reason why a linear support vector machine is not given a kernel."""
    name = type(model).__name__
    raise NoRepresenterError(
        f"{name} is a support vector machine, whose kernel form is {name.removeprefix('Linear')}(kernel=…)."
    )


def refuse_second_kernel(model: Any) -> NoReturn:
    """Raise the reason why a model with a kernel is not given another one."""
    raise NoRepresenterError(f"{type(model).__name__} has a kernel of its own; give it as kernel=….")


def _refuse(model: Any) -> NoReturn:
    """Raise the reason why a class that declares no objective has no kernel form."""
    name = type(model).__name__
    if not type(model).__module__.startswith("mercer."):
        raise NoRepresenterError(
            f"{name} is no model of mercer; kernelize takes those with a norm for a penalty, such as mercer.Ridge."
        )
    raise NoRepresenterError(
        f"{name} models how the rows themselves are distributed, by statistics of each column, and has no norm of a w "
        "to penalise: the representer theorem does not speak of it. Kernelize a model of y given x: Ridge, "
        "LogisticRegression, PoissonRegressor, GLM, Perceptron."
    )
