"""The perceptron with a kernel: what `kernelize` returns for `Perceptron` and `LinearThreshold`."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils import check_random_state, compute_class_weight

from mercer._errors import DataError, KernelError, NoRepresenterError, NotConvergedWarning
from mercer._stored import either, floats, part_of, real, stored
from mercer._threads import blas_for
from mercer._typing import Array
from mercer._warn import warn
from mercer.base import DECIDES_ONLY, traits
from mercer.base.fitted_fields import FITTED, FITTED_KERNEL_ROWS
from mercer.base.kernel_rows import check_kernel_rows, check_row_weight, check_semidefinite
from mercer.base.progress import watch_fit
from mercer.base.sources import fits_sources
from mercer.base.validation import (
    Plan,
    check_has_target,
    check_two_classes,
    is_sparse,
    raise_if_interrupted,
    restore_on_failure,
)
from mercer.data.labels import encode_labels
from mercer.kernel_approximation.function import KernelFunction
from mercer.kernel_ridge._kernelize import KernelModel
from mercer.kernel_ridge.perceptron_solver import KernelPocket, KernelUnit, cache_rows
from mercer.kernels import Gram, Kernel, kernel_from
from mercer.kernels.inputs import count, take
from mercer.linear_model import LinearThreshold, Perceptron
from mercer.linear_model.perceptron import LARGEST_SEED, SPARSE_INTERCEPT_RATE, seed_of
from mercer.optim.certificate import Certificate, Solution
from mercer.optim.descent import Callback, Step
from mercer.optim.learning_rules import LearningRate
from mercer.optim.row_order_loops import shuffle
from mercer.optim.span.kernel_rows import KernelRows
from mercer.optim.stochastic import shuffle_rows


class PerceptronProblem(NamedTuple):
    """Rows by their kernel matrix, and their classes."""

    rows: KernelRows
    codes: Array
    classes: Array
    weight: Array
    is_sparse_input: bool

    @property
    def targets(self) -> list[Array]:
        """Return ±1 for each row, for the second of two classes or for each of several."""
        wanted = [1] if len(self.classes) == 2 else range(len(self.classes))
        return [np.where(self.codes == k, 1.0, -1.0) for k in wanted]


class PerceptronResult(NamedTuple):
    """α and intercept of each unit, the passes made, the mistakes left, and a warning about these."""

    alpha: Array
    intercept: Array
    passes: int
    mistakes: float
    warning: str | None
    interrupted: bool = False


class KernelPerceptronRule(ABC):
    """Learning rule of the perceptron that the model was made from."""

    @abstractmethod
    def learn(self, problem: PerceptronProblem, callback: Callback | None) -> PerceptronResult:
        """Learn from the rows, pass after pass."""


@dataclass(frozen=True)
class KernelThresholdRule(KernelPerceptronRule):
    """The lectures' rule: pass until no row is on the wrong side; the best function is kept."""

    model: LinearThreshold

    def learn(self, problem: PerceptronProblem, callback: Callback | None) -> PerceptronResult:
        model, incremental = self.model, self.model.mode == "incremental"
        units = [
            KernelUnit(problem.rows, y, problem.weight, float(model.fit_intercept), zero_is_positive=True)
            for y in problem.targets
        ]
        pockets = [KernelPocket(unit, average=model.average) for unit in units]
        rate = LearningRate(1.0 if model.rate == "auto" else float(model.rate), model.decay or 0.0)
        rng = np.random.default_rng(check_random_state(model.random_state).randint(np.iinfo(np.int32).max))
        passes, done = 0, False
        try:
            while passes < model.max_iter and not done:
                if incremental:
                    self._pass(problem, units, rate, passes, rng)
                # the effect of a step over all rows is measured in the next pass
                done = self._update_pockets(pockets) and model.tol is not None
                if not incremental and not done:
                    for unit in units:
                        unit.step_over(rate.after(passes))
                passes += 1
                _report_progress(callback, passes, units)
            if not done and not incremental:
                done = self._update_pockets(pockets)
        except KeyboardInterrupt:
            return self._collect(units, pockets, passes)._replace(interrupted=True)
        return self._collect(units, pockets, passes)

    def _pass(
        self,
        problem: PerceptronProblem,
        units: list[KernelUnit],
        rate: LearningRate,
        passes: int,
        rng: np.random.Generator,
    ) -> None:
        n = len(problem.codes)
        order = shuffle_rows(n, rng) if self.model.shuffle else np.arange(n)
        for unit in units:
            unit.pass_over(order, rate, passes)

    def _update_pockets(self, pockets: list[KernelPocket]) -> bool:
        perfect = [pocket.update() for pocket in pockets]  # update every pocket
        return all(perfect)

    def _collect(self, units: list[KernelUnit], pockets: list[KernelPocket], passes: int) -> PerceptronResult:
        if self.model.tol is None:  # all passes are made, and the last function counts
            last = [unit.function(average=self.model.average) for unit in units]
            found = [(alpha, intercept) for alpha, intercept, _ in last]
            counts = [unit.is_wrong(scores=scores).sum() for unit, (_, _, scores) in zip(units, last, strict=True)]
        else:
            found = [(pocket.alpha, pocket.intercept) for pocket in pockets]
            counts = [pocket.mistakes for pocket in pockets]
        mistakes = float(sum(counts))
        warning = None
        if self.model.tol is not None and mistakes > 0:
            warning = (
                f"the perceptron has found no function without mistakes: {mistakes:g} are left after {passes} passes. "
                f"Allow more of them (max_iter={10 * passes}), or use a kernel of more features: a narrower RBF, say."
            )
        alpha = np.column_stack([alpha for alpha, _ in found])
        return PerceptronResult(
            alpha, np.array([intercept for _, intercept in found]), max(1, passes), mistakes, warning
        )


@dataclass(frozen=True)
class KernelSklearnRule(KernelPerceptronRule):
    """scikit-learn's rule: pass until the sum of the mistakes' scores stops falling, for each unit by itself."""

    model: Perceptron

    def learn(self, problem: PerceptronProblem, callback: Callback | None) -> PerceptronResult:
        model = self.model
        weights = compute_class_weight(model.class_weight, classes=problem.classes, y=problem.classes[problem.codes])
        intercept_rate = (SPARSE_INTERCEPT_RATE if problem.is_sparse_input else 1.0) * bool(model.fit_intercept)
        units = []
        for k, y in enumerate(problem.targets):
            negative, positive = weights if len(problem.classes) == 2 else (1.0, weights[k])
            importance = problem.weight * np.where(y > 0, positive, negative)
            units.append(KernelUnit(problem.rows, y, importance, intercept_rate, zero_is_positive=False))
        passes: list[int] = []
        try:
            for unit, seed in zip(units, self._seeds(len(problem.classes)), strict=True):
                passes.append(0)
                for _ in self._run_passes(unit, seed):
                    passes[-1] += 1
                    _report_progress(callback, sum(passes), units)
        except KeyboardInterrupt:
            return self._collect(units, passes)._replace(interrupted=True)
        return self._collect(units, passes)

    def _collect(self, units: list[KernelUnit], passes: list[int]) -> PerceptronResult:
        mistakes = float(sum(unit.is_wrong().sum() for unit in units))
        most, warning = max([1, *passes]), None
        if self.model.tol is not None and most == self.model.max_iter:
            warning = (
                "Maximum number of iteration reached before convergence. Consider increasing max_iter to improve the "
                "fit."
            )
        alpha, intercept = np.column_stack([unit.alpha for unit in units]), np.array([u.intercept for u in units])
        return PerceptronResult(alpha, intercept, most, mistakes, warning)

    def _seeds(self, classes: int) -> list[int]:
        """Draw the seeds of the units in scikit-learn's order."""
        rng = check_random_state(self.model.random_state)
        if classes == 2:
            rng.randint(1, LARGEST_SEED)
            return [int(rng.randint(LARGEST_SEED))]
        return [seed_of(seed) for seed in rng.randint(LARGEST_SEED, size=classes)]

    def _run_passes(self, unit: KernelUnit, seed: int) -> Iterator[None]:
        """Train a unit, and yield after each pass."""
        model, n = self.model, len(unit.y)
        order, best, idle = np.arange(n, dtype=np.int32), math.inf, 0
        for passes in range(1, model.max_iter + 1):
            if model.shuffle:
                shuffle(order, seed)
            loss = unit.pass_over(order, LearningRate(float(model.eta0), 0.0), passes) / n
            idle = idle + 1 if model.tol is not None and loss > best - model.tol else 0
            best = min(best, loss)
            yield
            if idle >= model.n_iter_no_change:
                break


def _report_progress(callback: Callback | None, passes: int, units: list[KernelUnit]) -> None:
    if callback is not None:
        mistakes = sum(int(unit.is_wrong().sum()) for unit in units)
        callback(Step(passes, mistakes / len(units[0].y), mistakes, [unit.alpha for unit in units]))


def make_rule(model: Any) -> KernelPerceptronRule:
    """Return the learning rule of a perceptron; raise an error where that has no kernel form."""
    if isinstance(model, LinearThreshold):
        return KernelThresholdRule(model)
    if model.penalty is not None:
        raise NoRepresenterError(
            f"Perceptron(penalty={model.penalty!r}) has no kernel form here: the penalty changes w after every row, "
            "not only after mistakes, and L1 along axes that a kernel does not have. Leave it out, or kernelize "
            "LogisticRegression, whose penalty is a norm."
        )
    if model.early_stopping:
        raise DataError(
            "early_stopping is not available for a perceptron with a kernel; leave it out, and set max_iter instead."
        )
    return KernelSklearnRule(model)


def kernelize_perceptron(model: Any, kernel: Any, approximate: Any) -> KernelPerceptron:
    """Return a `Perceptron` or a `LinearThreshold` with a kernel, for `kernelize`."""
    if getattr(model, "rule", "perceptron") != "perceptron":
        raise NoRepresenterError(
            f"of the learning rules only the perceptron has a kernel form here, not {model.rule!r}; kernelize Ridge "
            "for lms, LogisticRegression for logistic."
        )
    make_rule(model)
    if approximate is not None:
        raise KernelError(
            f"{type(model).__name__} has no approximate form: it compares each row only with those that it got "
            "wrong.  Put Nystroem(…) before the model in a Pipeline, or give approximate=None."
        )
    return KernelPerceptron(model, kernel)


@traits(
    "classification",
    no_counterpart=DECIDES_ONLY,
    export="mercer.export.kernels.kernel_perceptron",
    cost="mercer.cost.work.perceptron",
    objective="mercer.kernel_ridge.objectives.raise_for_second_kernel",
)
@stored(
    **FITTED | FITTED_KERNEL_ROWS,
    kernel_=part_of(Kernel),
    _function=part_of(KernelFunction, n="n", d="d"),
    intercept_=either(real(), floats()),
)
class KernelPerceptron(KernelModel):
    """A perceptron in the features of a kernel: αᵢ counts the mistakes about row i.

    On `Linear()` it makes the steps of the model itself, one by one.

    Parameters
    ----------
    model : Perceptron or LinearThreshold(rule="perceptron")
        Model whose rule, rate, order of rows and limits are used. It is never fitted.
    kernel : str, Kernel or callable
        Kernel that compares two rows; `kernel__gamma` sets a parameter of a `Kernel`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        α: the sum of the steps for each row, for the second of two classes or for each class.
    intercept_ : float or ndarray of shape (n_classes,)
        b; 0 if there is none.
    X_fit_ : ndarray, sparse matrix or list
        The rows.
    kernel_ : Kernel
        Kernel used.
    n_iter_ : int
        Passes over the rows; of several classes, the most that one took.
    certificate_ : Certificate
        How many rows are on the wrong side: 0 proves that the classes are separable in the features of the kernel.
    plan_ : Plan
        Path that the fit took.
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
        """Fit the model, pass after pass over the rows.

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
        with restore_on_failure(self):
            warning = self._fit_checked(X, y, sample_weight)
        if warning is not None:
            warn(NotConvergedWarning(warning))
        return self

    def _fit_checked(self, X: Any, y: Any, sample_weight: Any) -> str | None:
        check_has_target(self, y, "response")
        self.model._validate_params()
        rule, kernel = make_rule(self.model), kernel_from(self.kernel)
        X, y = check_kernel_rows(self, kernel, X, y, reset=True)
        check_semidefinite(kernel, X)
        weight = check_row_weight(sample_weight, np.empty((len(y), 1)))
        weight = np.ones(len(y)) if weight is None else weight
        weighted = np.flatnonzero(weight)
        self.classes_, codes = encode_labels(np.asarray(y)[weighted])
        check_two_classes(self.classes_)
        rows = cache_rows(Gram(kernel, X if len(weighted) == len(y) else take(X, weighted)))
        problem = PerceptronProblem(rows, codes, self.classes_, weight[weighted], is_sparse(X))
        self.plan_ = Plan(f"perceptron in the span of {len(weighted)} rows", "float64", 1, 1)
        watching = watch_fit(self, verbose=self.model.verbose, X=X, y=y, sentence=_describe_pass)
        with watching as watch, blas_for(1):  # once, not for every mistake
            result = rule.learn(problem, watch.callback)
        self._store(result, kernel, X, weighted)
        raise_if_interrupted(Solution(self.dual_coef_, self.certificate_, interrupted=result.interrupted))
        return result.warning

    def _store(self, result: PerceptronResult, kernel: Any, X: Any, weighted: Array) -> None:
        alpha = np.zeros((count(X), result.alpha.shape[1]))
        alpha[weighted] = result.alpha
        self._publish(KernelFunction(kernel, X, alpha, result.intercept), flat=result.alpha.shape[1] == 1)
        self.n_iter_ = result.passes
        sentence = "rows on the wrong side; none proves the classes separable in the features of the kernel"
        self.certificate_ = Certificate("separation", result.mistakes, 0.0, sentence)

    def predict(self, X: Any) -> Array:
        """Predict the class of every row by the rule of the original model.

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
        """Return the accuracy.

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


def _describe_pass(step: Step) -> str:
    return f"{step.iteration} passes, {step.distance:g} mistakes left"
