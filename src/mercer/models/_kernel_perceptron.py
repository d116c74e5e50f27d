"""The perceptron with a kernel: what `kernelize` returns for `Perceptron` and `LinearThreshold`."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils import check_random_state, compute_class_weight

from mercer._errors import DataError, FitInterrupted, NoRepresenterError, NotConvergedWarning
from mercer._jit import perceptron as loops
from mercer._threads import blas_for
from mercer.data.labels import encode_labels
from mercer.kernels import Gram, kernel_from
from mercer.models._base import Array, Plan, checked_weight, is_sparse, old_state_on_failure
from mercer.models._comparisons import count, take
from mercer.models._kernel_fit import KernelFunction
from mercer.models._kernel_model import KernelModel
from mercer.models._kernel_rows import checked_rows, refuse_no_kernel
from mercer.models._progress import Progress, watched
from mercer.models.linear_threshold import LinearThreshold
from mercer.models.perceptron import MOST, Perceptron, _seed_of
from mercer.solvers.certificate import Certificate, Solution
from mercer.solvers.kernel_perceptron import KernelPocket, KernelUnit, kept_rows
from mercer.solvers.kernel_rows import KernelRows
from mercer.solvers.online import shuffled
from mercer.solvers.rates import Rate
from mercer.solvers.scikit_perceptron import SPARSE_INTERCEPT_RATE


class Lesson(NamedTuple):
    """Rows by their kernel matrix, and for each unit which of them it is to answer to."""

    rows: KernelRows
    codes: Array
    classes: Array
    weight: Array
    sparse: bool

    @property
    def targets(self) -> list[Array]:
        """±1, for the second of two classes or for each of several."""
        wanted = [1] if len(self.classes) == 2 else range(len(self.classes))
        return [np.where(self.codes == k, 1.0, -1.0) for k in wanted]


class Learnt(NamedTuple):
    """α and intercept of each unit, the passes made, mistakes left, and what to say of those."""

    alpha: Array
    intercept: Array
    passes: int
    mistakes: float
    caution: str | None


class Rule(ABC):
    """How the model it was made from goes about it."""

    @abstractmethod
    def learn(self, lesson: Lesson, progress: Progress | None) -> Learnt:
        """Pass after pass over the rows."""


@dataclass(frozen=True)
class OfLinearThreshold(Rule):
    """The lectures' rule: until no row is on the wrong side; the best so far is kept."""

    model: LinearThreshold

    def learn(self, lesson: Lesson, progress: Progress | None) -> Learnt:
        model, incremental = self.model, self.model.mode == "incremental"
        units = [
            KernelUnit(lesson.rows, y, lesson.weight, float(model.fit_intercept), zero_is_positive=True)
            for y in lesson.targets
        ]
        pockets = [KernelPocket(unit, average=model.average) for unit in units]
        rate = Rate(1.0 if model.rate == "auto" else float(model.rate), model.decay or 0.0)
        rng = np.random.default_rng(check_random_state(model.random_state).randint(np.iinfo(np.int32).max))
        passes, done = 0, False
        try:
            while passes < model.max_iter and not done:
                if incremental:
                    self._pass(lesson, units, rate, passes, rng)
                # a step over all rows shows at the next look at them
                done = self._looked(pockets) and model.tol is not None
                if not incremental and not done:
                    for unit in units:
                        unit.step_over(rate.after(passes))
                passes += 1
                if progress is not None:
                    wrong = sum(int(unit.wrong().sum()) for unit in units)
                    progress(passes, wrong / len(lesson.codes), wrong)
            if not done and not incremental:
                done = self._looked(pockets)
        except KeyboardInterrupt:
            stopped = self._learnt(units, pockets, passes)
            raise FitInterrupted("stopped by the user; the best function found so far is kept.", stopped) from None
        return self._learnt(units, pockets, passes)

    def _pass(self, lesson: Lesson, units: list[KernelUnit], rate: Rate, passes: int, rng: np.random.Generator) -> None:
        n = len(lesson.codes)
        order = shuffled(n, rng) if self.model.shuffle else np.arange(n)
        for unit in units:
            unit.pass_over(order, rate, passes)

    def _looked(self, pockets: list[KernelPocket]) -> bool:
        perfect = [pocket.look() for pocket in pockets]  # a look at each
        return all(perfect)

    def _learnt(self, units: list[KernelUnit], pockets: list[KernelPocket], passes: int) -> Learnt:
        if self.model.tol is None:  # all passes were asked for, and where they led
            found = [unit.averaged()[:2] if self.model.average else (unit.alpha, unit.intercept) for unit in units]
        else:
            found = [(pocket.alpha, pocket.intercept) for pocket in pockets]
        mistakes = float(sum(pocket.mistakes for pocket in pockets))
        caution = None
        if self.model.tol is not None and mistakes > 0:
            caution = (
                f"the perceptron has found no function without mistakes: {mistakes:g} are left after {passes} passes. "
                f"Allow more of them (max_iter={10 * passes}), or use a kernel of more features: a narrower RBF, say."
            )
        alpha = np.column_stack([alpha for alpha, _ in found])
        return Learnt(alpha, np.array([intercept for _, intercept in found]), max(1, passes), mistakes, caution)


@dataclass(frozen=True)
class OfPerceptron(Rule):
    """scikit-learn's: until the sum of the mistakes' scores stops falling, for each unit by itself."""

    model: Perceptron

    def learn(self, lesson: Lesson, progress: Progress | None) -> Learnt:
        model = self.model
        weights = compute_class_weight(model.class_weight, classes=lesson.classes, y=lesson.classes[lesson.codes])
        intercept_rate = (SPARSE_INTERCEPT_RATE if lesson.sparse else 1.0) * bool(model.fit_intercept)
        units, passes = [], []
        for k, (y, seed) in enumerate(zip(lesson.targets, self._seeds(len(lesson.classes)), strict=True)):
            negative, positive = weights if len(lesson.classes) == 2 else (1.0, weights[k])
            importance = lesson.weight * np.where(y > 0, positive, negative)
            unit = KernelUnit(lesson.rows, y, importance, intercept_rate, zero_is_positive=False)
            units.append(unit)
            passes.append(self._taught(unit, seed))
        mistakes = float(sum(unit.wrong().sum() for unit in units))
        caution = None
        if model.tol is not None and max(passes) == model.max_iter:
            caution = (
                "Maximum number of iteration reached before convergence. Consider increasing max_iter to improve the "
                "fit."
            )
        alpha, intercept = np.column_stack([unit.alpha for unit in units]), np.array([u.intercept for u in units])
        return Learnt(alpha, intercept, max(passes), mistakes, caution)

    def _seeds(self, classes: int) -> list[int]:
        """Drawn in scikit-learn's order."""
        rng = check_random_state(self.model.random_state)
        if classes == 2:
            rng.randint(1, MOST)
            return [int(rng.randint(MOST))]
        return [_seed_of(seed) for seed in rng.randint(MOST, size=classes)]

    def _taught(self, unit: KernelUnit, seed: int) -> int:
        model, n = self.model, len(unit.y)
        order, best, idle = np.arange(n, dtype=np.int32), math.inf, 0
        for passes in range(1, model.max_iter + 1):
            if model.shuffle:
                loops.shuffle(order, seed)
            loss = unit.pass_over(order, Rate(float(model.eta0), 0.0), passes) / n
            idle = idle + 1 if model.tol is not None and loss > best - model.tol else 0
            best = min(best, loss)
            if idle >= model.n_iter_no_change:
                break
        return passes


def rule_of(model: Any) -> Rule:
    """How a perceptron learns; a typed error where that has no kernel form."""
    if isinstance(model, LinearThreshold):
        return OfLinearThreshold(model)
    if model.penalty is not None:
        raise NoRepresenterError(
            f"Perceptron(penalty={model.penalty!r}) has no kernel form here: the penalty changes w after every row, "
            "not only after mistakes, and L1 along axes that a kernel does not have. Leave it out, or kernelize "
            "LogisticRegression, whose penalty is a norm."
        )
    if model.early_stopping:
        raise DataError("early_stopping is not for a perceptron with a kernel; leave it out, and set max_iter instead.")
    return OfPerceptron(model)


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
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where they had any.

    Examples
    --------
    >>> from mercer import LinearThreshold, kernelize
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> kernelize(LinearThreshold(), "rbf").fit(X, y).predict(X)
    array([0, 1, 1, 0])
    """

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
            warnings.warn(NotConvergedWarning(caution), stacklevel=2)
        return self

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> str | None:
        self._refuse_no_target(y)
        self.model._validate_params()
        rule, kernel = rule_of(self.model), kernel_from(self.kernel)
        X, y = checked_rows(self, kernel, X, y, reset=True)
        refuse_no_kernel(kernel, X)
        weight = checked_weight(sample_weight, np.empty((len(y), 1)))
        weight = np.ones(len(y)) if weight is None else weight
        seen = np.flatnonzero(weight)
        self.classes_, codes = encode_labels(np.asarray(y)[seen])
        if len(self.classes_) < 2:
            raise DataError(
                "The number of classes has to be greater than one; got 1 class. All rows are of class "
                f"{self.classes_.tolist()[0]!r}; add rows of another."
            )
        rows = kept_rows(Gram(kernel, X if len(seen) == len(y) else take(X, seen)))
        lesson = Lesson(rows, codes, self.classes_, weight[seen], is_sparse(X))
        self.plan_ = Plan(f"perceptron in the span of {len(seen)} rows", "float64", 1, 1)
        with watched(self, verbose=self.model.verbose, X=X, y=y) as watch:
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
