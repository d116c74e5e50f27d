"""The perceptron, with scikit-learn's parameters and numbers.

The order of rows, the updates and the stopping rule are scikit-learn's (1.9), number for number; the updates are in
`_perceptron_loops`.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, NoReturn, Self

import numpy as np
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from mercer._errors import DataError, FitInterrupted, NonFiniteError
from mercer._stored import floats, real, stored
from mercer._threads import bounded, ordered_map, thread_count
from mercer._typing import Array
from mercer._warn import warn
from mercer.base import DECIDES_ONLY, traits
from mercer.base.agreement import check_announced_classes
from mercer.base.fitted_fields import FITTED_CLASSES
from mercer.base.linear import LinearClassifier
from mercer.base.sources import fits_sources
from mercer.base.validation import (
    STOPPED,
    Plan,
    check_finite,
    check_has_target,
    check_rows,
    check_two_classes,
    check_weight,
    compute_class_weight,
    restore_on_failure,
    validate_params,
)
from mercer.data.labels import codes_of, encode_labels
from mercer.data.sources.base import Chunk, Source
from mercer.linear_model import _perceptron_loops as loops
from mercer.linear_model._linear_threshold import learn_in_order, read_all_labels
from mercer.linear_model._perceptron_loops import PerceptronTerms
from mercer.matrices.entries import Entries
from mercer.optim.certificate import Certificate, Solution
from mercer.optim.row_order_loops import shuffle

#: codes of the penalties in the compiled loop
PENALTY_CODES = {None: 0, "l1": 1, "l2": 2, "elasticnet": 3}
#: factor of the intercept's updates for sparse rows, since every row updates the intercept, but only some each column
SPARSE_INTERCEPT_RATE = 0.01
#: upper bound of the random seeds by which rows are shuffled
LARGEST_SEED = np.iinfo(np.int32).max
#: number of entries from which on units are trained in threads
ENTRIES_WORTH_THREADS = 100_000
#: common factor of the weights below which it is multiplied into them
SMALLEST_WEIGHT_FACTOR = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-6}


class Stopping(NamedTuple):
    """Maximum number of passes; training also ends after `patience` passes in a row that gain less than `tolerance`.

    A tolerance of None leaves only the maximum.
    """

    tolerance: float | None
    patience: int
    most_passes: int


class PerceptronRows(NamedTuple):
    """Entries of rows, weights (empty if all are 1), and a mask of rows held out of training (empty for none)."""

    entries: Entries
    weight: Array
    held_out: Array
    sparse: bool

    @classmethod
    def of(cls, X: Any, weight: Array | None, held_out: Array | None) -> PerceptronRows:
        weight = np.zeros(0, dtype=X.dtype) if weight is None else weight
        held_out = np.zeros(0, dtype=bool) if held_out is None else held_out
        if not isinstance(X, np.ndarray):
            return cls(Entries.of(X), weight, held_out, sparse=True)
        entries = Entries.of_dense(np.require(X, requirements=["C", "W"]).reshape(-1))
        return cls(entries, weight, held_out, sparse=False)


@dataclass(eq=False)
class PerceptronUnit:
    """Perceptron that is trained to separate rows with y = 1 from rows with y = −1."""

    rows: PerceptronRows
    y: Array  # of int8, since a random row of little memory is read faster
    terms: PerceptronTerms
    stopping: Stopping
    w: Array
    intercept: float
    #: random seed of the order of the rows; None to keep their order
    seed: int | None
    #: accuracy on the held-out rows as a function of weights and intercept; None if no rows are held out
    validate: Callable[[Array, float], float] | None = None
    verbose: bool = False
    passes: int = 0
    is_finished: bool = False
    _state: Array = field(init=False)
    _taken: Array = field(init=False)
    _order: Array = field(init=False)
    _best: float = field(init=False)
    _idle: int = field(init=False, default=0)
    _began: float = field(init=False, default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        self._state = np.array([self.intercept, 1.0, self.w @ self.w, np.abs(self.w).sum(), 0.0, 0.0, 0.0])
        self._taken = np.zeros_like(self.w)
        self._order = np.arange(len(self.y), dtype=np.int32)
        self._best = math.inf if self.validate is None else -math.inf

    def learn(self) -> None:
        """Make one pass, and set whether it was the last."""
        if self.seed is not None:
            shuffle(self._order, self.seed)
        rows, smallest = self.rows, SMALLEST_WEIGHT_FACTOR[self.w.dtype]
        data = (*rows.entries, self.y, rows.weight, rows.held_out, self._order)
        loops.learn(*data, self.terms, smallest, self.w, self._state, self._taken)
        self.passes += 1
        self.intercept = float(self._state[loops.STATE_INTERCEPT])
        if not (math.isfinite(self.intercept) and np.isfinite(self.w).all()):
            raise OverflowError(self.passes)
        self._idle = self._idle + 1 if self._is_stagnant() else 0
        self.is_finished = self._idle >= self.stopping.patience or self.passes >= self.stopping.most_passes

    def _is_stagnant(self) -> bool:
        trained = len(self.y) - int(self.rows.held_out.sum())
        loss, objective = (
            float(self._state[position]) / trained for position in (loops.STATE_LOSS, loops.STATE_OBJECTIVE)
        )
        # as in scikit-learn, held-out rows are scored without the common factor of the weights
        score = objective if self.validate is None else self.validate(self.w, self.intercept)
        if self.verbose:
            self._report(loss, objective, score)
        sign = 1 if self.validate is None else -1
        is_idle = self.stopping.tolerance is not None and sign * score > sign * self._best - self.stopping.tolerance
        self._best = min(self._best, score) if self.validate is None else max(self._best, score)
        return is_idle

    def _report(self, loss: float, objective: float, score: float) -> None:
        validation = "" if self.validate is None else f", Validation score: {score:f}"
        sys.stdout.write(
            f"-- Epoch {self.passes}\nNorm: {np.linalg.norm(self.weights()):.2f}, "
            f"NNZs: {np.count_nonzero(self.w)}, Bias: {self.intercept:.6f}, T: {self.passes * len(self.y)}, "
            f"Avg. loss: {loss:f}, Objective: {objective:f}{validation}\n"
            f"Total training time: {time.perf_counter() - self._began:.2f} seconds.\n"
        )

    def weights(self) -> Array:
        """Return the weights with their common factor multiplied in."""
        w = self.w.copy()
        loops.unscale(w, self._state.copy())
        return w


def learn_all(units: list[PerceptronUnit], threads: int) -> None:
    """Train units until all have finished; with several threads, each pass of a unit is in a thread."""
    try:
        while active := [unit for unit in units if not unit.is_finished]:
            if threads > 1:
                ordered_map(PerceptronUnit.learn, active)
            else:
                for unit in active:
                    unit.learn()
    except OverflowError as overflow:
        raise NonFiniteError(
            f"Floating-point under-/overflow occurred at epoch #{overflow.args[0]}. Scaling input data with "
            "StandardScaler or MinMaxScaler might help."
        ) from None


def seed_of(seed: int) -> int:
    """Return the second number that scikit-learn draws from a generator with this seed."""
    rng = np.random.RandomState(seed)
    rng.randint(1, LARGEST_SEED)
    return int(rng.randint(LARGEST_SEED))


def choose_held_out(y: Array, weight: Array | None, fraction: float, random_state: Any) -> Array:
    """Return a mask of a stratified part of the rows, which decides when to stop, chosen as in scikit-learn."""
    split = StratifiedShuffleSplit(test_size=fraction, random_state=random_state)
    _, chosen = next(split.split(np.zeros((len(y), 1)), y))
    if weight is not None and not weight[chosen].any():
        raise DataError("The sample weights for validation set are all zero, consider using a different random state.")
    mask = np.zeros(len(y), dtype=bool)
    mask[chosen] = True
    return mask


@dataclass(frozen=True, eq=False)
class HeldOutAccuracy:
    """Accuracy of weights on held-out rows."""

    X: Any
    y: Array
    weight: Array | None

    @classmethod
    def of(cls, X: Any, y: Array, weight: Array | None, held_out: Array) -> Self:
        return cls(X[held_out], y[held_out], None if weight is None else weight[held_out])

    def __call__(self, w: Array, intercept: float) -> float:
        right = (np.asarray(self.X @ w) + intercept > 0) == (self.y > 0)
        return float(np.average(right, weights=self.weight))


@traits(
    "classification",
    kind="direct",
    no_counterpart=DECIDES_ONLY,
    export="mercer.export.linear.boundary",
    kernelize="mercer.kernel_ridge.perceptron.kernelize_perceptron",
)
@stored(**FITTED_CLASSES, coef_=floats("ud"), intercept_=floats("u"), t_=real())
class Perceptron(LinearClassifier):
    """Linear perceptron classifier; scikit-learn's `Perceptron` with a certificate.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet"}, default=None
        Penalty of the weights.
    alpha : float, default=0.0001
        Strength of the penalty.
    l1_ratio : float, default=0.15
        Share of L1 in "elasticnet", between 0 and 1.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    max_iter : int, default=1000
        Maximum number of passes over the rows in `fit`.
    tol : float or None, default=1e-3
        Decrease of the mean objective below which a pass counts as no change; None makes all passes.
    shuffle : bool, default=True
        Whether rows are shuffled before each pass.
    verbose : int, default=0
        Whether to print the results of each pass.
    eta0 : float, default=1
        Constant by which updates are multiplied.
    n_jobs : int, default=None
        Maximum number of threads, one for each class; None for the number of cores.
    random_state : int, RandomState instance or None, default=0
        Determines the order of rows and which are held out.
    early_stopping : bool, default=False
        Whether a part of the rows is held out, whose accuracy decides when to stop.
    validation_fraction : float, default=0.1
        Size of that part.
    n_iter_no_change : int, default=5
        Number of passes in a row without a change after which to stop.
    class_weight : dict, {class_label: weight} or "balanced", default=None
        Weights of the classes.
    warm_start : bool, default=False
        Whether `fit` begins at the weights of the previous one.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    n_iter_ : int
        Passes over the rows; the largest number over several classes.
    t_ : float
        One more than the number of rows processed.
    certificate_ : Certificate
        Number of rows on the wrong side: 0 proves that the classes are linearly separable.
    plan_ : Plan
        Path that the fit took.

    Examples
    --------
    >>> from mercer import Perceptron
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> model = Perceptron(tol=None, max_iter=20).fit(X, [0, 0, 0, 1])
    >>> model.predict(X), model.certificate_.holds
    (array([0, 0, 0, 1]), True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "penalty": [StrOptions({"l2", "l1", "elasticnet"}), None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "shuffle": ["boolean"],
        "verbose": ["verbose"],
        "eta0": [Interval(Real, 0, None, closed="neither")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        *,
        penalty: str | None = None,
        alpha: float = 0.0001,
        l1_ratio: float = 0.15,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        eta0: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = 0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: Any = None,
        warm_start: bool = False,
    ) -> None:
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.eta0 = eta0
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start

    @property
    def predict_proba(self) -> NoReturn:
        """Not available: a perceptron learns a boundary, and no probabilities."""
        raise AttributeError(
            "This 'Perceptron' has no attribute 'predict_proba': it learns a boundary and no probabilities; use "
            "LogisticRegression."
        )

    predict_log_proba = predict_proba

    # Fitting.

    @fits_sources
    def fit(self, X: Any, y: Any, coef_init: Any = None, intercept_init: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix of shape (n_samples, n_features), or Source
            Training rows. From a source, which has its target with it, weights are learnt in one pass.
        y : array-like of shape (n_samples,)
            Class labels.
        coef_init : array-like of shape (n_classes, n_features), default=None
            Weights to begin with.
        intercept_init : array-like of shape (n_classes,), default=None
            Intercepts to begin with.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.

        Returns
        -------
        self : object
            The fitted model.
        """
        with restore_on_failure(self):
            validate_params(self)
            X, y = self._checked(X, y, reset=True)
            self.classes_, codes = encode_labels(y)
            if self.warm_start and hasattr(self, "coef_"):
                self.densify()
                coef_init = self.coef_ if coef_init is None else coef_init
                intercept_init = self.intercept_ if intercept_init is None else intercept_init
            check_two_classes(self.classes_)
            self._begin(X, coef_init, intercept_init)
            self.t_ = 1.0
            self._learn(X, y, codes, sample_weight, passes=self.max_iter)
        if self.tol is not None and self.n_iter_ == self.max_iter:
            warn(
                "Maximum number of iteration reached before convergence. Consider increasing max_iter to improve the "
                "fit.",
                ConvergenceWarning,
            )
        return self

    def _fit_source(self, source: Source) -> Any:
        if self.early_stopping or self.class_weight == "balanced" or self.warm_start:
            return NotImplemented
        classes = read_all_labels(source)

        def learn_from(chunk: Chunk) -> None:
            self.partial_fit(chunk.X, chunk.y, classes=classes, sample_weight=chunk.weight)

        learn_in_order(self, source, learn_from, zero_is_positive=False)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Make one pass over more rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All classes that can ever appear; needed in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.

        Returns
        -------
        self : object
            The model.
        """
        with restore_on_failure(self):
            validate_params(self)
            first = not hasattr(self, "classes_")
            if first:
                self._check_partial_fit()
            X, y = self._checked(X, y, reset=first)
            self.classes_ = self._announced(classes, first)
            codes = codes_of(y, self.classes_)
            if np.any(codes < 0):
                raise DataError(
                    "classes should include all valid labels that can be in y. The first that is not among them is "
                    f"{np.asarray(y)[codes < 0].tolist()[0]!r}."
                )
            check_two_classes(self.classes_)
            if not hasattr(self, "coef_"):
                self._begin(X, None, None)
                self.t_ = 1.0
            self._learn(X, y, codes, sample_weight, passes=1)
        return self

    def _checked(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        check_has_target(self, y, "class")
        X, y = check_rows(self, X, y, reset=reset, dtype=[np.float64, np.float32], order="C", accept_large_sparse=False)
        check_finite(self, X)
        return X, y

    def _check_partial_fit(self) -> None:
        if self.early_stopping:
            raise DataError(
                "early_stopping should be False with partial_fit, which makes one pass over all rows it gets."
            )
        if self.class_weight == "balanced":
            raise DataError(
                "class_weight 'balanced' is not supported for partial_fit. In order to use 'balanced' weights, use "
                "compute_class_weight('balanced', classes=classes, y=y). In place of y you can use a large enough "
                "sample of the full training set target to properly estimate the class frequency distributions. Pass "
                "the resulting weights as the class_weight parameter."
            )

    def _announced(self, classes: Any, first: bool) -> Array:
        if classes is None:
            if first:
                raise ValueError(
                    "classes must be passed on the first call to partial_fit. A later batch may hold a class this one "
                    "does not: pass classes=numpy.unique(all_labels)."
                )
            return self.classes_
        return check_announced_classes(classes, None if first else self.classes_)

    def _begin(self, X: Any, coef_init: Any, intercept_init: Any) -> None:
        """Set the weights and intercepts to begin with, as copies."""
        units = 1 if len(self.classes_) == 2 else len(self.classes_)
        shapes = {"coef_init": (units, X.shape[1]), "intercept_init": (units,)}
        given = {"coef_init": coef_init, "intercept_init": intercept_init}
        initial = {
            name: np.zeros(shapes[name], dtype=X.dtype) if value is None else np.array(value, dtype=X.dtype)
            for name, value in given.items()
        }
        for name, value in initial.items():
            if value.shape != shapes[name] and not (units == 1 and value.size == np.prod(shapes[name])):
                raise DataError(
                    f"Provided {name} does not match dataset. It has shape {value.shape}, and {shapes[name]} is needed."
                )
        self.coef_, self.intercept_ = (initial[name].reshape(shapes[name]) for name in shapes)

    def _learn(self, X: Any, y: Any, codes: Array, sample_weight: Any, *, passes: int) -> None:
        weight = _in_precision(check_weight(sample_weight, X), X.dtype)
        class_weight = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        units = self._units(X, codes, weight, class_weight, passes)
        threads = None if self.n_jobs is None else effective_n_jobs(self.n_jobs)
        with bounded(threads):
            threads = thread_count() if len(units) > 1 and len(codes) * X.shape[1] >= ENTRIES_WORTH_THREADS else 1
            self.plan_ = Plan("perceptron, row after row", str(X.dtype), 1, min(threads, len(units)))
            try:
                learn_all(units, threads)
            except KeyboardInterrupt:
                self._store(X, units)
                raise FitInterrupted(STOPPED, Solution(self.coef_, self.certificate_, interrupted=True)) from None
        self._store(X, units)

    def _units(
        self, X: Any, codes: Array, weight: Array | None, class_weight: Array, passes: int
    ) -> list[PerceptronUnit]:
        """Return one unit for two classes, or one for each; random numbers are drawn in scikit-learn's order."""
        is_binary = len(self.classes_) == 2
        positive_codes = [1] if is_binary else range(len(self.classes_))
        targets = [np.where(codes == k, np.int8(1), np.int8(-1)) for k in positive_codes]
        if is_binary:
            rng = check_random_state(self.random_state)
            rng.randint(1, LARGEST_SEED)
            held_out = self._held_out(targets[0], weight)
            seeds = [rng.randint(LARGEST_SEED)]
            negative = class_weight[0]
            positives = class_weight[1:]
        else:
            held_out = self._held_out(codes, weight)
            drawn = check_random_state(self.random_state).randint(LARGEST_SEED, size=len(self.classes_))
            seeds = [seed_of(seed) for seed in drawn]
            negative, positives = 1.0, class_weight
        rows = PerceptronRows.of(X, weight, held_out)
        return [
            PerceptronUnit(
                rows,
                y,
                self._terms(float(positive), float(negative), rows.sparse),
                Stopping(self.tol, self.n_iter_no_change, passes),
                self.coef_[k].copy(),
                float(self.intercept_[k]),
                int(seed) if self.shuffle else None,
                None if held_out is None else HeldOutAccuracy.of(X, y, weight, held_out),
                bool(self.verbose),
            )
            for k, (y, positive, seed) in enumerate(zip(targets, positives, seeds, strict=True))
        ]

    def _held_out(self, y: Array, weight: Array | None) -> Array | None:
        return choose_held_out(y, weight, self.validation_fraction, self.random_state) if self.early_stopping else None

    def _terms(self, positive: float, negative: float, sparse: bool) -> PerceptronTerms:
        penalty = PENALTY_CODES[self.penalty]
        l1_ratio = {1: 1.0, 2: 0.0}.get(penalty, float(self.l1_ratio))
        intercept_rate = (SPARSE_INTERCEPT_RATE if sparse else 1.0) * bool(self.fit_intercept)
        return PerceptronTerms(
            float(self.eta0), float(self.alpha), l1_ratio, penalty, positive, negative, intercept_rate
        )

    def _store(self, X: Any, units: list[PerceptronUnit]) -> None:
        self.n_iter_ = max(unit.passes for unit in units)
        self.t_ += self.n_iter_ * X.shape[0]
        self.coef_ = np.array([unit.weights() for unit in units])
        # as in scikit-learn, the intercept of two classes stays in double precision
        self.intercept_ = np.array([unit.intercept for unit in units], dtype=None if len(units) == 1 else X.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = np.asarray(X @ self.coef_.T) + self.intercept_
        wrong = (scores > 0) != np.column_stack([unit.y > 0 for unit in units])
        sentence = "rows on the wrong side of a hyperplane; none would prove the classes separable"
        self.certificate_ = Certificate("separation", float(wrong.sum()), 0.0, sentence)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _in_precision(weight: Array | None, dtype: Any) -> Array | None:
    """Return the weights of the rows in the type of the rows."""
    if weight is None:
        return None
    with np.errstate(over="ignore"):
        result = weight.astype(dtype)
    if not np.isfinite(result).all():
        raise DataError(
            f"a sample_weight of {weight.max():.3g} is too large for {dtype}, the type of X; divide the weights by the "
            "largest."
        )
    return result
