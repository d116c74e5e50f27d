"""Linear threshold units by the four learning rules of lecture 2: perceptron, LMS, logistic and sigmoid.

From a source, rules that learn row after row make one pass in the order of its rows, and one that counts the remaining
mistakes. The result depends on the order of the rows and so on the chunks: it is that of `partial_fit` with one chunk
after the other.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import log_expit, logsumexp
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from mercer._errors import DataError, FitInterrupted
from mercer._gpu import is_tensor, like, namespace, to_numpy
from mercer._stored import floats, optional, part_of, sequence, stored
from mercer._threads import thread_count
from mercer._typing import Array
from mercer.base import DECIDES_ONLY, Candidate, Question, traits
from mercer.base.agreement import (
    check_announced_classes,
    check_label_types,
    check_labels_announced,
    regrow_weights,
)
from mercer.base.fitted_fields import FITTED_CLASSES
from mercer.base.linear import LinearClassifier
from mercer.base.progress import CallbackSupportMixin, watch_fit, with_callbacks
from mercer.base.sources import check_no_offset, fits_sources, reader_of, streamed_plan
from mercer.base.validation import (
    NO_WEIGHT,
    STOPPED,
    Plan,
    check_finite,
    check_has_target,
    check_rows,
    check_two_classes,
    check_weight,
    decode_labels,
    forget_fit,
    raise_if_interrupted,
    restore_on_failure,
    validate_params,
)
from mercer.data.labels import codes_of, encode_labels
from mercer.data.sources.base import Chunk, Source
from mercer.engines.folding import fold
from mercer.engines.passes import current_run
from mercer.linear_model._learning import learn
from mercer.linear_model._learning_history import LearningHistory
from mercer.optim.certificate import Certificate, Solution
from mercer.optim.learning_rules import LEARNING_RULES, LabelledRows, RuleOptions, ThresholdUnits


def learn_in_order(model: Any, source: Source, learn: Callable[[Chunk], Any], *, zero_is_positive: bool) -> None:
    """Make one pass that calls `learn` with every chunk, and one that counts the remaining mistakes.

    `zero_is_positive` is whether a score of 0 means the positive class, as in the model's `predict`.
    """
    check_no_offset(model, source.head())
    forget_fit(model)
    vars(model).pop("_units", None)
    try:
        for chunk in _weighted(source):
            learn(chunk)
        if not hasattr(model, "coef_"):
            raise DataError(NO_WEIGHT)
        model.n_iter_ = 1
        wrong = fold(partial(_mistakes, _scorer(model), zero_is_positive), source, operator.add)
    except KeyboardInterrupt:
        if not hasattr(model, "coef_"):  # nothing was learned, and the old model stays
            raise
        # the certificate of the last chunk is about its rows alone
        model.certificate_ = Certificate("separation", np.inf, 0.0, "was not computed: the fit was interrupted")
        raise FitInterrupted(STOPPED, Solution(model.coef_, model.certificate_, interrupted=True)) from None
    sentence = "rows on the wrong side of a hyperplane after one pass; none would prove the classes separable"
    model.certificate_ = Certificate("separation", wrong, 0.0, sentence)
    model.plan_ = streamed_plan(f"{model.plan_.path}, in one pass", model.plan_.dtype)


def read_all_labels(source: Source) -> Array:
    """Return all labels of a source, in ascending order, by one pass."""
    return fold(_labels, source, _merge_labels)


def _weighted(source: Source) -> Iterator[Chunk]:
    """Yield the chunks that have a row of positive weight."""
    current_run().passes += 1
    for chunk in source:
        if chunk.weight is None or np.any(chunk.weight):
            yield chunk


def _mistakes(reader: Any, zero_is_positive: bool, chunk: Chunk) -> float:
    """Return the number of rows of positive weight on the wrong side of a unit."""
    scores = reader.decision_function(chunk.X)
    codes = codes_of(chunk.y, reader.classes_)
    positive = scores >= 0 if zero_is_positive else scores > 0
    if scores.ndim == 1:
        wrong = positive != (codes > 0)
    else:
        wrong = (positive != (codes[:, None] == np.arange(scores.shape[1]))).any(axis=1)
    return float(wrong.sum() if chunk.weight is None else wrong[chunk.weight > 0].sum())


def _scorer(model: Any) -> Any:
    """Return a copy of the model with only what is needed to score chunks, so that it is small to send to workers."""
    reader = reader_of(model)
    reader.coef_, reader.intercept_, reader.classes_ = model.coef_, model.intercept_, model.classes_
    return reader


def _labels(chunk: Chunk) -> Array:
    return encode_labels(chunk.y)[0]


def _merge_labels(mine: Array, theirs: Array) -> Array:
    check_label_types(theirs, mine)
    return np.union1d(mine, theirs)


#: further remedy if all rows are of one class
OR_BY_PARTS = ", or learn with partial_fit, which may start with one"


def _has_probabilities(estimator: Any) -> bool:
    if LEARNING_RULES[estimator.rule].has_probabilities:
        return True
    raise AttributeError(
        f'the {estimator.rule} rule learns a boundary and no probabilities; use rule="logistic" or rule="sigmoid".'
    )


#: maximum number of rows for learning rules in a comparison: if no hyperplane separates the classes, they make all
#: passes, and the perceptron solves a linear program for each class
RULE_ROWS = {"perceptron": 5_000, "lms": 50_000}
#: maximum number of passes in a comparison: more would take most of its time, and are no better on held-out rows
MOST_PASSES_IN_COMPARISON = 200


def _candidates(question: Question) -> Iterator[Candidate]:
    """Yield models that learn a decision without probabilities (the third way of lecture 2), up to a number of rows.

    Deciding whether a hyperplane exists takes time in the square of the rows, for each class.
    """
    if question.has_texts:
        yield Candidate(LinearThreshold("perceptron", max_iter=MOST_PASSES_IN_COMPARISON), 40)
        return
    for rank, (rule, rows) in enumerate(RULE_ROWS.items(), start=40):
        model = LinearThreshold(rule, max_iter=MOST_PASSES_IN_COMPARISON)
        yield Candidate(model, rank, "array", scale=True, most_rows=int(rows / question.outputs**0.5))


@traits(
    "classification",
    kind="direct",
    no_counterpart=DECIDES_ONLY,
    label=lambda model: f"LinearThreshold({model.rule!r})",
    candidates=_candidates,
    export="mercer.export.linear.threshold",
    kernelize="mercer.kernel_ridge.perceptron.kernelize_perceptron",
)
@stored(
    **FITTED_CLASSES,
    _units=part_of(ThresholdUnits, u="u"),
    coef_=floats("ud"),
    intercept_=floats("u"),
    trace_=part_of(LearningHistory),
    separations_=optional(sequence(".", optional(part_of()))),
)
class LinearThreshold(CallbackSupportMixin, LinearClassifier):
    """Linear threshold units: class 1 if w·x + w₀ ≥ 0, trained by one of the four rules of the lectures.

    Each rule moves the weights by w ← w + α e x, row after row or by the sum over all rows:

    - "perceptron": e = y − s(u), with the step function s of u = w·x + w₀. Finds a hyperplane without mistakes if there
      is one, and otherwise stops with the proof that there is none.
    - "lms": e = t − u with t = ±1 (Widrow and Hoff): least squares. Rows far on the correct side count as errors too,
      and the only corner of class 1 of a Boolean function may lie exactly on the threshold.
    - "logistic": e = y − σ(u): the gradient of the likelihood of logistic regression.
    - "sigmoid": e = σ(u) (1 − σ(u)) (y − σ(u)): least squares of the probabilities.

    Each of more than two classes has a unit, trained against all others; the largest u decides.

    Parameters
    ----------
    rule : {"perceptron", "lms", "logistic", "sigmoid"}, default="perceptron"
        The learning rule.
    mode : {"batch", "incremental"}, default="batch"
        Whether a step is made for all rows together or after each row.
    rate : float or "auto", default="auto"
        The learning rate α. "auto" is half of the largest safe rate, which is 2/λmax(XᵀX) for a step of "lms" over all
        rows; 1 for the perceptron.
    decay : float, default=None
        After t passes over the rows, fractions included, the rate is rate / (1 + decay · t). None is 0, a constant
        rate; with rate="auto" in incremental mode it is 0.1, without which the weights would circle around the optimum.
    average : bool, default=False
        Whether to publish the mean of the weights after each step instead of the last ones.
    fit_intercept : bool, default=True
        Whether there is a w₀.
    max_iter : int, default=1000
        Maximum number of passes over the rows.
    tol : float or None, default=1e-3
        Tolerance of the gradient: the largest cosine between a column and the errors. The perceptron stops at a proof,
        for any tolerance. With None, `max_iter` passes are made without a test for convergence.
    shuffle : bool, default=True
        Whether rows are taken in another random order in each pass, in incremental mode.
    random_state : int, RandomState instance or None, default=0
        Determines the orders.
    proof_size : float, default=1e8
        Rows × columns² × units up to which a perceptron that makes no progress decides by linear programming whether a
        separating hyperplane exists. Beyond, it makes `max_iter` passes. 0 means never.
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the unit of the second of two classes, or of one unit per class.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        w₀ of each unit.
    n_iter_ : int
        Passes over the rows in the last `fit` or `partial_fit`.
    trace_ : LearningHistory
        Loss, error, mistakes and weights of each pass, with `trace_.frame()` and `trace_.plot()`.
    separations_ : tuple of Separation or None
        For each unit of a perceptron that found no hyperplane: whether one exists, with the proof.
    certificate_ : Certificate
        Evidence that the weights are final: no mistakes, no separating hyperplane, or a vanishing gradient.
    plan_ : Plan
        Path that the fit took.

    Examples
    --------
    >>> from mercer import LinearThreshold
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> LinearThreshold().fit(X, [0, 0, 0, 1]).predict(X)
    array([0, 0, 0, 1])
    >>> print(LinearThreshold().fit(X, [0, 1, 1, 0]).certificate_.kind)
    no separation
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "rule": [StrOptions(set(LEARNING_RULES))],
        "mode": [StrOptions({"batch", "incremental"})],
        "rate": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "decay": [Interval(Real, 0, None, closed="left"), None],
        "average": ["boolean"],
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "proof_size": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
    }

    _units: ThresholdUnits
    #: whether `classes` were given, so that no other classes may appear
    _classes_fixed: bool = False

    def __init__(
        self,
        rule: str = "perceptron",
        *,
        mode: str = "batch",
        rate: float | str = "auto",
        decay: float | None = None,
        average: bool = False,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        random_state: Any = 0,
        proof_size: float = 1e8,
        verbose: int = 0,
    ) -> None:
        self.rule = rule
        self.mode = mode
        self.rate = rate
        self.decay = decay
        self.average = average
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.random_state = random_state
        self.proof_size = proof_size
        self.verbose = verbose

    # Fitting.

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model, forgetting earlier fits.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame of shape (n_samples, n_features), or Source
            Training rows. From a source, mode="incremental" learns in one pass; mode="batch" needs all rows together.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, which multiply their errors; 1 if not given.

        Returns
        -------
        self : object
            The fitted model.
        """
        with restore_on_failure(self):
            validate_params(self)
            self._classes_fixed = False
            X, y, weight = self._checked(X, y, sample_weight, reset=True)
            self.classes_, codes = encode_labels(y)
            check_two_classes(self.classes_, OR_BY_PARTS)
            data = self._make_data(X, codes, weight)
            self._units = self._make_units(np.zeros((data.units, X.shape[1])), np.zeros(data.units), data)
            self._learn(data, X, y, tolerance=self.tol, most_passes=self.max_iter)
        return self

    def _fit_source(self, source: Source) -> Any:
        if self.mode == "batch":
            return NotImplemented
        records: list[tuple[float, LearningHistory]] = []

        def learn_from(chunk: Chunk) -> None:
            self.partial_fit(chunk.X, chunk.y, sample_weight=chunk.weight)
            records.append((float(chunk.n_rows if chunk.weight is None else chunk.weight.sum()), self.trace_))

        self._classes_fixed = False
        learn_in_order(self, source, learn_from, zero_is_positive=True)
        check_two_classes(self.classes_, OR_BY_PARTS)
        self.trace_ = LearningHistory.of_parts(records)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Make one pass over more rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels. New labels are allowed unless `classes` were given: their units start from zero.
        classes : array-like of shape (n_classes,), default=None
            All classes that can ever appear.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, which multiply their errors; 1 if not given.

        Returns
        -------
        self : object
            The model.
        """
        with restore_on_failure(self):
            validate_params(self)
            first = not hasattr(self, "classes_")
            X, y, weight = self._checked(X, y, sample_weight, reset=first)
            known = None if first else self.classes_
            self.classes_ = self._all_classes(encode_labels(y)[0], classes, known)
            data = self._make_data(X, codes_of(y, self.classes_), weight)
            self._units = self._fit_units_to(data, known)
            self._learn(data, X, y, tolerance=None, most_passes=1)
        return self

    def _checked(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple[Any, Any, Array | None]:
        check_has_target(self, y, "class")
        X, y = check_rows(self, X, y, reset=reset, dtype=[np.float64, np.float32])
        weight = check_weight(sample_weight, X)
        if weight is not None and (positive := weight > 0).sum() < len(weight):
            X, y, weight = X[positive], y[positive], weight[positive]
        return X, y, weight

    def _make_data(self, X: Any, codes: Array, weight: Array | None) -> LabelledRows:
        return LabelledRows(X, codes, len(self.classes_), weight, self.fit_intercept)

    def _make_units(self, coefficients: Array, intercept: Array, data: LabelledRows) -> ThresholdUnits:
        return ThresholdUnits.of(coefficients, intercept, by_column=data.entries is not None)

    def _fit_units_to(self, data: LabelledRows, known: Array | None) -> ThresholdUnits:
        """Return the last units, with a unit for each of the present classes and in the storage order of the rows."""
        if known is None:
            return self._make_units(np.zeros((data.units, data.n_columns)), np.zeros(data.units), data)
        units = self._units
        has_same_order = units.w.flags.c_contiguous if data.entries is not None else units.w.flags.f_contiguous
        if len(known) == len(self.classes_) and has_same_order:
            return units.copy()
        weights = (units.w.T, units.bias[:, None], units.w_sum.T, units.bias_sum[:, None])
        w, bias, w_sum, bias_sum = (regrow_weights(part, known, self.classes_) for part in weights)
        result = self._make_units(w, bias[:, 0], data)
        result.w_sum[...], result.bias_sum[...] = w_sum.T, bias_sum[:, 0]
        result.steps, result.passes = units.steps, units.passes
        return result

    def _all_classes(self, labels: Array, announced: Any, known: Array | None) -> Array:
        if announced is not None:
            known, self._classes_fixed = check_announced_classes(announced, known), True
        if known is None:
            return labels
        if self._classes_fixed:
            check_labels_announced(labels, known)
            return known
        check_label_types(labels, known)
        return np.union1d(known, labels)

    @with_callbacks
    def _learn(self, data: LabelledRows, X: Any, y: Any, *, tolerance: float | None, most_passes: int) -> None:
        rule, incremental = LEARNING_RULES[self.rule], self.mode == "incremental"
        rng = np.random.default_rng(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        options = RuleOptions(
            incremental,
            None if self.rate == "auto" else float(self.rate),
            self.decay,
            self.average,
            rng if incremental and self.shuffle else None,
            float(self.proof_size),
        )
        order = "row after row" if incremental else "all rows at once"
        self.plan_ = Plan(f"{self.rule} rule, {order}", str(X.dtype), 1, 1 if incremental else thread_count())
        with watch_fit(self, verbose=self.verbose, X=X, y=y) as watch:
            solution = learn(
                data,
                rule,
                options,
                self._units,
                tolerance=tolerance,
                most_passes=most_passes,
                callback=watch.callback,
                blame=lambda: check_finite(self, X),
            )
        self._store(solution)
        if not watch.stopped:
            raise_if_interrupted(solution)

    def _store(self, solution: Solution) -> None:
        learned = solution.coef
        self.coef_, self.intercept_ = learned.coefficients, learned.intercept
        self.trace_, self.separations_ = learned.history, learned.separations
        self.n_iter_ = max(1, len(learned.history))
        self.certificate_ = solution.certificate

    # Prediction.

    def predict(self, X: Any) -> Array:
        """Return the class of every row: of two, the second if u = w·x + w₀ ≥ 0; of more, the one with the largest u.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        u: Any = self.decision_function(X)
        best = u.argmax(axis=1) if u.ndim == 2 else (u >= 0) * (len(self.classes_) - 1)
        return decode_labels(self.classes_, best) if is_tensor(u) else np.asarray(self.classes_[best])

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return σ(u) of every row and class; for more than two classes these are divided by their sum.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        logs = self.predict_log_proba(X)
        return namespace(logs).exp(logs)  # type: ignore[no-any-return]

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of `predict_proba`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        u = self.decision_function(X)
        return like(self._log_probabilities(to_numpy(u)), u)  # type: ignore[no-any-return]

    def _log_probabilities(self, u: Array) -> Array:
        if len(self.classes_) == 1:
            return np.zeros((len(u), 1))
        if u.ndim == 1:
            return np.column_stack([log_expit(-u), log_expit(u)])
        each = log_expit(u)
        return np.asarray(each - logsumexp(each, axis=1, keepdims=True))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
