"""A norm-regularised model with a kernel: what `kernelize` returns for ridge, logistic and other regressions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._errors import MercerWarning
from mercer._gpu import is_tensor
from mercer._stored import part_of, stored
from mercer._typing import Array
from mercer._warn import warn
from mercer.base import Candidate, Half, Question, traits, traits_of
from mercer.kernels import Kernel, kernel_from
from mercer.models._kernel_rows import checked_rows, refuse_no_kernel
from mercer.models._progress import watched
from mercer.models._refusal import refuse_no_target
from mercer.models._tensor_kernels import kernel_plan, of_rows
from mercer.models._tensors import best_class
from mercer.models.base import old_state_on_failure
from mercer.models.fitted_fields import FITTED, FITTED_ROWS
from mercer.models.glm.kind import Kind
from mercer.models.kernel_models import compared
from mercer.models.kernel_models._base import KernelModel, is_classifier
from mercer.models.kernel_models.approximate import features_for
from mercer.models.kernel_models.fit import fit_kernel
from mercer.models.kernel_models.function import KernelFunction
from mercer.models.kernel_models.machine import Fit, KernelFitInterrupted, Machine, not_converged
from mercer.models.kernel_models.norm_regularised import Target, norm_regularised
from mercer.models.logistic.logistic_regression import LogisticRegression
from mercer.models.streaming.from_source import fits_sources


def _has_probabilities(model: Kernelized) -> bool:
    if is_classifier(model):
        return True
    raise AttributeError(f"{type(model.model).__name__} has no classes, and so no probabilities of them.")


def _half_of(model: Kernelized) -> Half:
    return "kernelized" if traits_of(model.model).half_of(model.model) else ""


#: prices of an error that a comparison tries, safest first
PRICES = (10.0, 1.0, 100.0)


def _candidates(question: Question) -> Iterator[Candidate]:
    """Yield a kernel logistic regression.

    C = 1 shrinks a function of such a kernel too far: on four of five data sets 10 has the lower log loss.
    """
    if question.predicts_classes and not question.has_texts:
        search = ("model__C", PRICES) if compared.searches_price(question) else None
        model = Kernelized(LogisticRegression(C=10), compared.default_kernel(question))
        most = compared.most_rows_of_factors(question)
        yield Candidate(model, 71, "array", search=search, scale=question.is_sparse, most_rows=most)


@traits(
    "classification",
    "regression",
    kind="kernel",
    columns="points",
    half=_half_of,
    label=lambda model: f"kernelize({model.model!r}, {model.kernel!r})",
    candidates=_candidates,
    export="mercer.export.kernels.kernelized",
    objective="mercer.models.kernel_models.norm_regularised.refuse_second_kernel",
)
@stored(**FITTED | FITTED_ROWS, kernel_=part_of(), _kind=part_of(Kind), _function=part_of(n="n", d="d"))
class Kernelized(KernelModel):
    """A model with an L2 penalty, fitted to the features of a kernel, which are never written out.

    It minimises the model's own objective over functions f(x) = Σ αᵢ k(x, xᵢ) of the rows, with αᵀKα for ‖w‖²: by the
    representer theorem no other function of the kernel does better. On `Linear()` it is the model itself.

    Parameters
    ----------
    model : Ridge, LogisticRegression, PoissonRegressor, GammaRegressor or TweedieRegressor
        Whose objective, penalty, intercept and limits are taken; `model__alpha` sets those of it. It is never fitted.
    kernel : str, Kernel or callable
        What compares two rows; `kernel__gamma` sets a parameter of a `Kernel`.
    approximate : {"nystroem", "fourier", "auto"}, Nystroem, RandomFourierFeatures or None, default=None
        Features that stand for the kernel, so that rows may be millions; see `GLM`.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        α: a number for each row and target, or class where there are more than two.
    intercept_ : float or ndarray of shape (n_outputs,)
        b; 0 if there is none.
    X_fit_ : ndarray, sparse matrix or list
        The rows; with Nyström features the landmarks, with Fourier features None.
    approximation_ : Approximation
        How far features that stand for the kernel are from it, if they do.
    kernel_ : Kernel
        As used.
    classes_ : ndarray of shape (n_classes,)
        Class labels, of a classifier.
    n_iter_ : int
        Newton steps.
    certificate_ : Certificate
        How we know that this is the optimum.
    plan_ : Plan
        Which path the fit took.
    n_features_in_ : int
        Number of columns seen in the fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, where they had any.

    Examples
    --------
    >>> from mercer import LogisticRegression, kernelize
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> kernelize(LogisticRegression(), "rbf").fit(X, y).predict(X)
    array([0, 1, 1, 0])
    """

    _kind: Kind

    def __init__(self, model: Any, kernel: Any, approximate: Any = None) -> None:
        super().__init__(model, kernel)
        self.approximate = approximate

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence
            Training rows, as the kernel compares them.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Responses.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.

        Returns
        -------
        self : object
            The fitted model.
        """
        with old_state_on_failure(self):
            cautions = self._learn(X, y, sample_weight)
        for caution in cautions:
            warn(caution)
        return self

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> tuple[MercerWarning, ...]:
        refuse_no_target(self, y, "response")
        self.model._validate_params()
        asked = norm_regularised(self.model)
        kernel = kernel_from(self.kernel)
        X, y = checked_rows(self, kernel, X, y, reset=True, y_numeric=asked.numeric, multi_output=asked.multi_output)
        refuse_no_kernel(kernel, X)
        target = asked.target(X, y, of_rows(sample_weight, X, "sample_weight"))
        within = kernel + asked.constant if asked.constant else kernel
        machine = Machine(within, target.kind, target.strength, asked.intercept, asked.limits)
        machine = replace(machine, map=features_for(self, within, target.data.counted(X)))
        with watched(self, verbose=getattr(self.model, "verbose", 0), X=X, y=y) as watch:
            try:
                fit = fit_kernel(machine, X, target.data, progress=watch.progress)
            except KernelFitInterrupted as stop:
                self._store(stop.fit, target, kernel, asked.constant, X)
                raise
        self._store(fit, target, kernel, asked.constant, X)
        return not_converged(fit, asked.limits)

    def _store(self, fit: Fit, target: Target, kernel: Kernel, constant: float, X: Any) -> None:
        self.__dict__.pop("classes_", None)  # of another model
        if target.classes is not None:
            self.classes_ = target.classes
        function = fit.function
        if constant and isinstance(function, KernelFunction):
            function = replace(function, kernel=kernel, intercept=constant * function.alpha.sum(axis=0))
        self._kind = fit.kind
        self._publish(function, flat=target.data.y.ndim == 1 and function.alpha.shape[1] == 1)
        self.n_iter_ = max(1, len(fit.solution.trace) - 1)
        self.certificate_ = fit.solution.certificate
        self.plan_ = kernel_plan(fit.path, X, exact=fit.is_exact)
        self.__dict__.pop("approximation_", None)
        if fit.approximation is not None:
            self.approximation_ = fit.approximation

    # Predicting.

    def predict(self, X: Any) -> Array:
        """The mean response of every row, or its most probable class.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence
            Rows to predict, as the kernel compares them.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Means, or class labels.
        """
        eta = self.predict_linear(X)
        return best_class(eta, self.classes_) if hasattr(self, "classes_") else self._kind.mean(eta)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """p(y|x) for every row and class.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence
            Rows to predict, as the kernel compares them.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        logs = self.predict_log_proba(X)
        return logs.exp() if is_tensor(logs) else np.asarray(np.exp(logs))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Array:
        """log p(y|x) for every row and class.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence
            Rows to predict, as the kernel compares them.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        eta = self.predict_linear(X)
        return self._kind.log_probabilities(eta)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """What the model calls its score: the accuracy, R², or D², the share of the deviance that is explained.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence
            Rows to predict, as the kernel compares them.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their responses.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.

        Returns
        -------
        score : float
            1 at best.
        """
        check_is_fitted(self)
        return norm_regularised(self.model).score(self, X, y, sample_weight)
