"""Any norm-regularised model with any kernel: the representer theorem as a function (lecture 1)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._errors import MercerWarning, NoRepresenterError
from mercer._gpu import is_tensor
from mercer._stored import either, floats, part_of, real, stored
from mercer._typing import Array
from mercer._warn import warn
from mercer.base import Candidate, Half, Question, kernel_choice, resolve, traits, traits_of
from mercer.base.fitted_fields import FITTED, FITTED_KERNEL_ROWS
from mercer.base.kernel_rows import check_kernel_rows, check_semidefinite, fetch_row_values, kernel_plan
from mercer.base.progress import watch_fit
from mercer.base.sources import fits_sources
from mercer.base.validation import Plan, best_class, check_has_target, raise_if_interrupted, restore_on_failure
from mercer.kernel_approximation.approximate import fit_feature_map
from mercer.kernel_approximation.function import Function, KernelFunction
from mercer.kernel_ridge.objectives import ObjectiveTarget, find_objective
from mercer.kernels import Kernel, KernelHolder, kernel_from
from mercer.linear_model import LogisticRegression
from mercer.linear_model.glm_response import ResponseKind
from mercer.linear_model.kernel_fit import (
    KernelFit,
    KernelProblemSpec,
    fit_kernel,
    kernel_convergence_warnings,
)
from mercer.optim.certificate import Certificate


def is_classifier(model: KernelModel) -> bool:
    """Return whether the model of features is a classifier."""
    return bool(get_tags(model.model).estimator_type == "classifier")


def _has_classes(model: KernelModel) -> bool:
    if is_classifier(model):
        return True
    raise AttributeError(f"{type(model.model).__name__} has no classes, and so no decision function.")


def _scores_every_class(model: Any) -> bool:
    """Return whether there are coefficients for each class, or one vector of them for two classes."""
    alpha = getattr(model, "dual_coef_", None)
    if alpha is None or not hasattr(model, "classes_"):
        return True
    return len(model.classes_) == (2 if alpha.ndim == 1 else alpha.shape[1])


@stored(_scores_every_class, tag=None)
class KernelModel(KernelHolder, BaseEstimator, ABC):
    """f(x) + b = Σ αᵢ k(x, xᵢ) + b, in place of the linear function of a model of features."""

    classes_: Array
    dual_coef_: Array
    intercept_: Any
    certificate_: Certificate
    plan_: Plan
    _function: Function

    def __init__(self, model: Any, kernel: Any) -> None:
        self.model = model
        self.kernel = kernel

    @abstractmethod
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self: ...

    def _publish(self, function: Function, *, flat: bool) -> None:
        """Store the function in attributes; with `flat`, without an axis for outputs."""
        self._function, self.kernel_, self.X_fit_ = function, function.kernel, function.rows
        self.dual_coef_ = function.alpha[:, 0] if flat else function.alpha
        self.intercept_ = float(function.intercept[0]) if flat else function.intercept

    def predict_linear(self, X: Any) -> Any:
        """Return f(x) + b of every row, to which a link or a threshold is applied.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence
            Rows to predict, as the kernel compares them.

        Returns
        -------
        eta : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Values.
        """
        check_is_fitted(self)
        values = self._function.values(check_kernel_rows(self, self.kernel_, X, reset=False))
        return values[:, 0] if self.dual_coef_.ndim == 1 else values

    @available_if(_has_classes)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Return f(x) + b of every row: above 0 for the second of two classes, or highest for the predicted class.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence
            Rows to score, as the kernel compares them.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores.
        """
        return self.predict_linear(X)

    def __sklearn_tags__(self) -> Any:
        tags, of_model = super().__sklearn_tags__(), get_tags(self.model)
        tags.estimator_type, tags.target_tags = of_model.estimator_type, of_model.target_tags
        tags.classifier_tags, tags.regressor_tags = of_model.classifier_tags, of_model.regressor_tags
        tags.input_tags.sparse = not isinstance(self.kernel, Kernel) or self.kernel.numeric
        return tags


def _has_probabilities(model: Kernelized) -> bool:
    if is_classifier(model):
        return True
    raise AttributeError(f"{type(model.model).__name__} has no classes, and so no probabilities of them.")


def _describe_half(model: Kernelized) -> Half:
    return "kernelized" if traits_of(model.model).half_of(model.model) else ""


#: values of C that a comparison tries, safest first
KERNEL_LOGISTIC_C = (10.0, 1.0, 100.0)


def _candidates(question: Question) -> Iterator[Candidate]:
    """Yield a kernel logistic regression.

    C = 1 shrinks a function of such a kernel too far: on four of five data sets 10 has the lower log loss.
    """
    if question.predicts_classes and not question.has_texts:
        search = ("model__C", KERNEL_LOGISTIC_C) if kernel_choice.searches_price(question) else None
        model = Kernelized(LogisticRegression(C=10), kernel_choice.default_kernel(question))
        most = kernel_choice.most_rows_of_factors(question)
        yield Candidate(model, 71, "array", search=search, scale=question.is_sparse, most_rows=most)


@traits(
    "classification",
    "regression",
    kind="kernel",
    columns="points",
    half=_describe_half,
    label=lambda model: f"kernelize({model.model!r}, {model.kernel!r})",
    candidates=_candidates,
    export="mercer.export.kernels.kernelized",
    objective="mercer.kernel_ridge.objectives.raise_for_second_kernel",
)
@stored(
    **FITTED | FITTED_KERNEL_ROWS,
    kernel_=part_of(Kernel),
    _kind=part_of(ResponseKind),
    _function=part_of(n="n", d="d"),
    intercept_=either(real(), floats()),
)
class Kernelized(KernelModel):
    """A model with an L2 penalty, fitted to the features of a kernel, which are never written out.

    It minimises the model's own objective over functions f(x) = Σ αᵢ k(x, xᵢ) of the rows, with αᵀKα for ‖w‖²: by the
    representer theorem no other function of the kernel does better. On `Linear()` it is the model itself.

    Parameters
    ----------
    model : Ridge, LogisticRegression, PoissonRegressor, GammaRegressor or TweedieRegressor
        Model whose objective, penalty, intercept and limits are used; `model__alpha` sets its parameters. It is never
        fitted.
    kernel : str, Kernel or callable
        Kernel that compares two rows; `kernel__gamma` sets a parameter of a `Kernel`.
    approximate : {"nystroem", "fourier", "auto"}, Nystroem, RandomFourierFeatures or None, default=None
        Features that approximate the kernel, for up to millions of rows; see `GLM`.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        α: a number for each row and target, or class where there are more than two.
    intercept_ : float or ndarray of shape (n_outputs,)
        b; 0 if there is none.
    X_fit_ : ndarray, sparse matrix or list
        The rows; with Nyström features the landmarks, with Fourier features None.
    approximation_ : Approximation
        Distance of the features from the kernel, if they approximate it.
    kernel_ : Kernel
        Kernel used.
    classes_ : ndarray of shape (n_classes,)
        Class labels, of a classifier.
    n_iter_ : int
        Newton steps.
    certificate_ : Certificate
        Evidence of optimality.
    plan_ : Plan
        Path that the fit took.
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

    _kind: ResponseKind

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
        with restore_on_failure(self):
            cautions = self._fit_checked(X, y, sample_weight)
        for caution in cautions:
            warn(caution)
        return self

    def _fit_checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[MercerWarning, ...]:
        check_has_target(self, y, "response")
        self.model._validate_params()
        objective = find_objective(self.model)
        kernel = kernel_from(self.kernel)
        X, y = check_kernel_rows(
            self, kernel, X, y, reset=True, y_numeric=objective.numeric, multi_output=objective.multi_output
        )
        check_semidefinite(kernel, X)
        target = objective.target(X, y, fetch_row_values(sample_weight, X, "sample_weight"))
        within = kernel + objective.constant if objective.constant else kernel
        machine = KernelProblemSpec(within, target.kind, target.strength, objective.intercept, objective.limits)
        machine = replace(machine, map=fit_feature_map(self, within, target.data.counted(X)))
        with watch_fit(self, verbose=getattr(self.model, "verbose", 0), X=X, y=y) as watch:
            fit = fit_kernel(machine, X, target.data, callback=watch.callback)
        self._store(fit, target, kernel, objective.constant, X)
        raise_if_interrupted(fit.solution)
        return kernel_convergence_warnings(fit, objective.limits)

    def _store(self, fit: KernelFit, target: ObjectiveTarget, kernel: Kernel, constant: float, X: Any) -> None:
        self.__dict__.pop("classes_", None)  # of an earlier model
        if target.classes is not None:
            self.classes_ = target.classes
        function = fit.function
        if constant and isinstance(function, KernelFunction):
            function = replace(function, kernel=kernel, intercept=constant * function.alpha.sum(axis=0))
        self._kind = fit.kind
        self._publish(function, flat=target.data.y.ndim == 1 and function.alpha.shape[1] == 1)
        self.n_iter_ = max(1, fit.solution.n_iter)
        self.certificate_ = fit.solution.certificate
        self.plan_ = kernel_plan(fit.path, X, exact=fit.is_exact)
        self.__dict__.pop("approximation_", None)
        if fit.approximation is not None:
            self.approximation_ = fit.approximation

    # Predicting.

    def predict(self, X: Any) -> Array:
        """Predict the mean response of every row, or its most probable class.

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
        """Return p(y|x) for every row and class.

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
        """Return log p(y|x) for every row and class.

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
        """Return the score that the model defines: the accuracy, R², or D², the share of the deviance explained.

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
        return find_objective(self.model).score(self, X, y, sample_weight)


def kernelize(model: Any, kernel: Any, approximate: Any = None) -> Any:
    """Return a model with the features of a kernel in place of its columns, not fitted yet.

    A model with a linear function w·x + b, fitted to losses plus λ/2 ‖w‖², depends on its rows only through their
    inner products: w is a sum of rows. With k(x, z) for these products, the same model is fitted to features that need
    not be computed.

    Parameters
    ----------
    model : Ridge, LogisticRegression, PoissonRegressor, GammaRegressor, TweedieRegressor, GLM, Perceptron or \
    LinearThreshold(rule="perceptron")
        Model to fit; it is copied, not changed. Parameters such as C, alpha, fit_intercept or class_weight keep their
        meaning. Models whose penalty is not an L2 norm (the lasso), and those without one, raise an error: their
        optimum need not be a sum of rows. `warm_start` has an effect on a `GLM` only: every other fit starts anew.
    kernel : str, Kernel or callable
        Kernel that compares two rows: "rbf", `RBF(gamma=0.1)`, `Spectrum(3)` for texts, a function k(x, z), ….
    approximate : {"nystroem", "fourier", "auto"}, Nystroem, RandomFourierFeatures or None, default=None
        Features that approximate the kernel, for up to millions of rows; see `GLM`. Not for a perceptron.

    Returns
    -------
    estimator : Kernelized, KernelPerceptron or GLM
        With scikit-learn's interface: parameters are reached by `model__C` and `kernel__gamma`; a `GLM` keeps its
        own.

    Examples
    --------
    >>> from mercer import LogisticRegression, kernelize
    >>> from mercer.kernels import RBF
    >>> from sklearn.datasets import make_circles
    >>> X, y = make_circles(100, noise=0.05, factor=0.5, random_state=0)
    >>> model = kernelize(LogisticRegression(C=10), RBF(gamma=1)).fit(X, y)
    >>> model.score(X, y), model.certificate_.holds
    (1.0, True)
    """
    if isinstance(model, type) or not hasattr(model, "get_params"):
        raise NoRepresenterError(
            f"kernelize takes a model such as Ridge() or LogisticRegression(), got {model!r}; give an estimator."
        )
    # a kernel by its name becomes an object, so that its parameters can be searched
    model, chosen = clone(model), kernel_from(kernel)
    if (form := traits_of(model).kernelize) is not None:
        return resolve(form)(model, chosen, approximate)
    find_objective(model)
    return Kernelized(model, chosen, approximate)
