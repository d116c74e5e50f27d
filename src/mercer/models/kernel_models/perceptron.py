"""The perceptron with a kernel: what `kernelize` returns for `Perceptron` and `LinearThreshold`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.metrics import accuracy_score

from mercer._errors import FitInterrupted, KernelError, NoRepresenterError, NotConvergedWarning
from mercer._stored import part_of, stored
from mercer._threads import blas_for
from mercer._typing import Array
from mercer._warn import warn
from mercer.base import DECIDES_ONLY, traits
from mercer.data.labels import encode_labels
from mercer.kernels import Gram, kernel_from
from mercer.models._kernel_rows import checked_rows, refuse_no_kernel, row_weight
from mercer.models._progress import watched
from mercer.models._refusal import refuse_no_target, refuse_one_class
from mercer.models.base import Plan, is_sparse, old_state_on_failure
from mercer.models.comparisons import count, take
from mercer.models.fitted_fields import FITTED, FITTED_ROWS
from mercer.models.kernel_models._base import KernelModel
from mercer.models.kernel_models._perceptron_rules import Learnt, Lesson, rule_of
from mercer.models.kernel_models.function import KernelFunction
from mercer.models.rules.linear_threshold import LinearThreshold
from mercer.models.streaming.from_source import fits_sources
from mercer.solvers.certificate import Certificate, Solution
from mercer.solvers.threshold.kernel_perceptron import kept_rows


def kernelize_perceptron(model: Any, kernel: Any, approximate: Any) -> KernelPerceptron:
    """Return a `Perceptron` or a `LinearThreshold` with a kernel, for `kernelize`."""
    if getattr(model, "rule", "perceptron") != "perceptron":
        raise NoRepresenterError(
            f"of the learning rules only the perceptron has a kernel form here, not {model.rule!r}; kernelize Ridge "
            "for lms, LogisticRegression for logistic."
        )
    rule_of(model)
    if approximate is not None:
        raise KernelError(
            f"{type(model).__name__} has no approximate form: it looks at rows one by one, and compares them with "
            "those it got wrong only. Put Nystroem(…) before the model in a Pipeline, or give approximate=None."
        )
    return KernelPerceptron(model, kernel)


@traits(
    "classification",
    no_counterpart=DECIDES_ONLY,
    export="mercer.export.kernels.kernel_perceptron",
    cost="mercer.models.costs.work.perceptron",
    objective="mercer.models.kernel_models.norm_regularised.refuse_second_kernel",
)
@stored(**FITTED | FITTED_ROWS, kernel_=part_of(), _function=part_of(KernelFunction, n="n", d="d"))
class KernelPerceptron(KernelModel):
    """A perceptron in the features of a kernel: αᵢ counts the mistakes made about row i.

    On `Linear()` it makes the steps of the model itself, one by one.

    Parameters
    ----------
    model : Perceptron or LinearThreshold(rule="perceptron")
        Whose rule, rate, order of rows and limits are taken. It is never fitted.
    kernel : str, Kernel or callable
        What compares two rows; `kernel__gamma` sets a parameter of a `Kernel`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        α: what the mistakes about each row have added, for the second of two classes or for each.
    intercept_ : float or ndarray of shape (n_classes,)
        b; 0 if there is none.
    X_fit_ : ndarray, sparse matrix or list
        The rows.
    kernel_ : Kernel
        As used.
    n_iter_ : int
        Passes over the rows; of several classes, the most that one took.
    certificate_ : Certificate
        How many rows are on the wrong side: 0 proves that the classes are separable in the features of the kernel.
    plan_ : Plan
        Which path the fit took.
    n_features_in_ : int
        Number of columns seen in the fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, where they had any.

    Examples
    --------
    >>> from mercer import LinearThreshold, kernelize
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> kernelize(LinearThreshold(), "rbf").fit(X, y).predict(X)
    array([0, 1, 1, 0])
    """

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows, pass after pass.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence
            Training rows, as the kernel compares them.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.

        Returns
        -------
        self : object
            The fitted model.
        """
        with old_state_on_failure(self):
            caution = self._learn(X, y, sample_weight)
        if caution is not None:
            warn(NotConvergedWarning(caution))
        return self

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> str | None:
        refuse_no_target(self, y, "response")
        self.model._validate_params()
        rule, kernel = rule_of(self.model), kernel_from(self.kernel)
        X, y = checked_rows(self, kernel, X, y, reset=True)
        refuse_no_kernel(kernel, X)
        weight = row_weight(sample_weight, np.empty((len(y), 1)))
        weight = np.ones(len(y)) if weight is None else weight
        seen = np.flatnonzero(weight)
        self.classes_, codes = encode_labels(np.asarray(y)[seen])
        refuse_one_class(self.classes_)
        rows = kept_rows(Gram(kernel, X if len(seen) == len(y) else take(X, seen)))
        lesson = Lesson(rows, codes, self.classes_, weight[seen], is_sparse(X))
        self.plan_ = Plan(f"perceptron in the span of {len(seen)} rows", "float64", 1, 1)
        with watched(self, verbose=self.model.verbose, X=X, y=y, sentence=_of_pass) as watch:
            try:
                with blas_for(1):  # once, not for every mistake
                    learnt = rule.learn(lesson, watch.progress)
            except FitInterrupted as stop:
                self._store(stop.solution, kernel, X, seen)
                stop.solution = Solution(self.dual_coef_, self.certificate_, ())
                raise
        self._store(learnt, kernel, X, seen)
        return learnt.caution

    def _store(self, learnt: Learnt, kernel: Any, X: Any, seen: Array) -> None:
        alpha = np.zeros((count(X), learnt.alpha.shape[1]))
        alpha[seen] = learnt.alpha
        self._publish(KernelFunction(kernel, X, alpha, learnt.intercept), flat=learnt.alpha.shape[1] == 1)
        self.n_iter_ = learnt.passes
        sentence = "rows on the wrong side; none proves the classes separable in the features of the kernel"
        self.certificate_ = Certificate("separation", learnt.mistakes, 0.0, sentence)

    def predict(self, X: Any) -> Array:
        """The class of every row, as the model it was made from decides.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence
            Rows to classify, as the kernel compares them.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        u = self.predict_linear(X)
        if u.ndim == 2:
            return np.asarray(self.classes_[u.argmax(axis=1)])
        second = u >= 0 if isinstance(self.model, LinearThreshold) else u > 0
        return np.asarray(self.classes_[second.astype(np.intp)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows given to their class.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence
            Rows to classify, as the kernel compares them.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.

        Returns
        -------
        score : float
            1 at best.
        """
        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))


def _of_pass(number: int, _share: float, mistakes: float) -> str:
    return f"{number} passes, {mistakes:g} mistakes left"
