"""Intervals that hold the true value with a probability that is stated, whatever the model."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from mercer._errors import CalibrationWarning, DataError, NonFiniteError
from mercer._stored import each_of, floats, integers, part_of, sequence, stored
from mercer._typing import Array
from mercer._warn import warn
from mercer.base.fitted_fields import FITTED, FITTED_CLASSES
from mercer.base.sources import fits_sources
from mercer.data.labels import codes_of, encode_labels
from mercer.decision.wrapped import (
    WrappedTraining,
    WrapsModel,
    cv_constraint,
    folds_of,
    in_order,
    is_prefit,
    plan_of,
    probabilities,
    refuse_scores_only,
    refuse_unfitted,
    split_rows,
)
from mercer.families.base import as_generator
from mercer.optim.certificate import Certificate
from mercer.report.wording import counted

# Conformal p-values: how strange a score is, as its rank among scores of rows that are known to be usual.

#: (n + 1) coverage may be above a whole number by this because coverage has no exact binary form
ROUNDING = 1e-9


def conformal_p_values(scores: Any, calibration: Any, *, rng: np.random.Generator | None = None) -> Array:
    """(1 + #{calibration ≤ score}) / (n + 1): small for scores lower than most of the calibration's.

    For a row exchangeable with those of the calibration P(p ≤ t) ≤ t, whatever made the scores, as long as it has seen
    neither. All p-values rest on the same calibration, which makes them positively dependent (Bates et al. 2023).

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        Of the rows to be judged; low is strange.
    calibration : array-like of shape (n,)
        Scores of usual rows.
    rng : numpy.random.Generator, default=None
        Breaks ties at random, so that p-values of usual rows are exactly uniform; without it they are on the safe side.

    Returns
    -------
    p : ndarray of shape (n_rows,)
        Multiples of 1/(n + 1), unless ties are broken at random.

    Examples
    --------
    >>> conformal_p_values([-9.0, 0.5], calibration=[-1.0, 0.0, 1.0])
    array([0.25, 0.75])
    """
    asked, known = _checked(scores, "scores"), np.sort(_checked(calibration, "calibration"))
    if not known.size:
        raise DataError("there is no calibration score to rank others by; hold some rows out.")
    if rng is None:
        return np.asarray((1 + np.searchsorted(known, asked, side="right")) / (len(known) + 1))
    below, upto = (np.searchsorted(known, asked, side=side) for side in ("left", "right"))
    return np.asarray((below + rng.random(asked.shape) * (1 + upto - below)) / (len(known) + 1))


def least_p_value(calibration: Array) -> float:
    """That of the strangest row there can be, whose score is −inf."""
    return float(conformal_p_values([-np.inf], calibration)[0])


def exact_rank(n: int, coverage: float) -> int:
    """⌈(n + 1) coverage⌉: which of n ascending scores a new one stays below or at with that probability.

    More than n where there are too few of them.

    Examples
    --------
    >>> exact_rank(9, 0.9), exact_rank(99, 0.95), exact_rank(5, 0.9)
    (9, 95, 6)
    """
    return ceil((n + 1) * coverage - ROUNDING)


def exact_level(n: int, coverage: float) -> float:
    """The greatest p-value among n scores at which a row is left out, so that the rest is `coverage` or more.

    A multiple of 1/(n + 1) to the last bit, as p-values are: 1 − coverage is none where it cannot be written exactly.
    """
    return max(0, n + 1 - exact_rank(n, coverage)) / (n + 1)


def threshold(calibration: Array, level: float) -> float:
    """The score from which on a row has a conformal p-value above `level`; −inf where every row has."""
    ranks = np.arange(1, len(calibration) + 1) / (len(calibration) + 1)
    flagged = int(np.count_nonzero(ranks <= level))
    return float(np.partition(calibration, flagged - 1)[flagged - 1]) if flagged else -np.inf


def ranks_among_themselves(scores: Array) -> Array:
    """#{j: s_j ≤ s_i}/n: the conformal p-value of each row with all others as its calibration."""
    return np.asarray(np.searchsorted(np.sort(scores), scores, side="right") / len(scores))


def _checked(scores: Any, name: str) -> Array:
    values = np.asarray(scores, dtype=float)
    if np.isnan(values).any():
        raise NonFiniteError(f"{name} holds NaN at position {int(np.argmax(np.isnan(values)))}, which has no rank.")
    return values


# What conformal sets and intervals share: how rows are held out, what that promises, and how many it takes.

CONSTRAINTS: dict[str, Any] = {
    "coverage": [Interval(Real, 0, 1, closed="neither")],
    "cv": cv_constraint("split", "prefit"),
    "calibration": [Interval(Real, 0, 1, closed="neither")],
    "random_state": ["random_state", np.random.Generator],
}


class HeldOutFold(NamedTuple):
    """A fitted model, rows that it has not seen, and those that it has seen: none, where it came fitted."""

    model: Any
    rows: Array
    learnt: Array


class HoldsOut(WrapsModel):
    """A model within whose answers are compared with those about rows that it has not seen."""

    coverage: float
    cv: Any
    calibration: float
    random_state: Any
    models_: list[Any]
    calibration_scores_: list[Array]

    @property
    def _n_held_out(self) -> int:
        return sum(map(len, self.calibration_scores_))

    def _fit_parts(self, training: WrappedTraining) -> list[HeldOutFold]:
        """Fit the models; each comes with the rows held out from it, as `cv` says."""
        parts = self._parts_of(training)
        self.models_ = [part.model for part in parts]
        self.model_ = self.models_[0] if len(parts) == 1 else training.fitted(self.model)
        return parts

    def _parts_of(self, training: WrappedTraining) -> list[HeldOutFold]:
        n = len(training)
        if is_prefit(self):
            refuse_unfitted(self.model)
            return [HeldOutFold(self.model, np.arange(n), np.arange(0))]
        if n < 2:
            raise DataError(f"n_samples={n} leaves no row to compare others with; give two rows or more.")
        return [HeldOutFold(training.fitted(self.model, train), test, train) for train, test in self._folds(training)]

    def _folds(self, training: WrappedTraining) -> list[tuple[Array, Array]]:
        """Rows to learn from and held out, in a random order: the promise is for rows that could have come in any."""
        cv, n = self.cv, len(training)
        if isinstance(cv, str):
            return [split_rows(n, held_out=self.calibration, rng=as_generator(self.random_state))]
        if isinstance(cv, Integral):
            if int(cv) > n:
                raise DataError(f"Cannot have cv={cv} folds of n_samples={n} rows; give a smaller cv, or more rows.")
            order = as_generator(self.random_state).permutation(n)
            tests = [np.sort(part) for part in np.array_split(order, int(cv))]
            return [(np.setdiff1d(order, test), test) for test in tests]
        folds = folds_of(check_cv(cv, training.y), training)
        counts = np.bincount(np.concatenate([test for _, test in folds]), minlength=n)
        if (counts > 1).any():
            raise DataError(
                f"cv holds out row {int(np.argmax(counts > 1))} more than once; each row can be compared with once."
            )
        return folds

    def _publish(self, promised: Promise, path: str, ranks: str) -> None:
        """What is promised, how we know, and which path was taken."""
        self.guaranteed_coverage_, self.guarantee_ = promised
        self.certificate_ = Certificate.closed_form(f"ranks among {ranks} of rows held out")
        parts = f"{self._n_held_out} rows held out in {counted(len(self.models_), 'part')}"
        self.plan_ = plan_of(self.model_, f"{path} of {parts}")


@stored()
class Promise(NamedTuple):
    """What is guaranteed for a new row, as a number and in words."""

    coverage: float
    sentence: str


def promise(coverage: float, sizes: list[Array], *, what: str, by_class: bool = False) -> Promise:
    """For a row that comes from where those of the calibration came from.

    Parameters
    ----------
    coverage : float
        What was asked for.
    sizes : list of arrays of shape (n_folds,)
        How many rows were held out in each fold: of all classes, or for each class apart.
    what : str
        What is inside.
    by_class : bool
        Whether it is promised for each class.
    """
    n, folds, each = int(np.sum(sizes)), len(sizes[0]), " of each class" if by_class else ""
    least = min(least_coverage(coverage, size) for size in sizes)
    usual = "" if folds == 1 else f", and usually of about {coverage:.4g}"
    how = f"the {n} rows held out" if folds == 1 else f"{n} rows, held out in {folds} parts from models of the others"
    return Promise(
        least,
        f"A new row{each} has its true {what} inside with a probability of at least {least:.4g}{usual}, whatever the "
        f"model: on average over new rows and {how}, not for each row separately, and if all rows are exchangeable.",
    )


def least_coverage(coverage: float, sizes: Array) -> float:
    """What is proven for rows held out in folds of these sizes.

    One fold: the coverage itself. More (Barber, Candès, Ramdas and Tibshirani 2021, theorem 4): 1 − 2α less the smaller
    of two losses. The first comes from p-values of the folds, of which twice the average is one, whatever the sizes of
    the folds; the second, 0 where each row is a fold, needs folds of one size.

    Examples
    --------
    >>> least_coverage(0.9, np.array([100])), round(least_coverage(0.9, np.array([20] * 5)), 4)
    (0.9, 0.7238)
    """
    sizes = sizes[sizes > 0]
    n, folds = int(sizes.sum()), len(sizes)
    if folds <= 1:
        return coverage
    loss = 2 * (folds - 1) / (n + folds)
    if (sizes == sizes[0]).all():
        loss = min(loss, (1 - folds / n) / (folds + 1))
    return max(0.0, 1 - 2 * (1 - coverage) - loss)


def warn_if_too_few(n: int, coverage: float, consequence: str) -> None:
    """Say so where no rank is high enough."""
    if exact_rank(n, coverage) > n:
        needed = ceil(coverage / (1 - coverage) - ROUNDING)
        warn(
            f"{counted(n, 'held-out row')} cannot give a coverage of {coverage:g}: {consequence}. Hold out "
            f"{needed:,} or more (give more rows, a larger share with calibration=…, or cv=5, which holds out all "
            "of them in turn), or ask for a lower coverage.",
            CalibrationWarning,
        )


# Sets of classes that hold the true one with a probability that is stated, whatever the model.


@stored(
    **FITTED_CLASSES,
    model_=part_of(),
    models_=sequence("m", part_of()),
    calibration_codes_=sequence("m", integers("_n", below="k")),
    calibration_scores_=sequence("m", floats("_n")),
)
class ConformalClassifier(HoldsOut, ClassifierMixin, BaseEstimator):
    """A classifier that answers with a set of classes, which holds the true one with a stated probability.

    A class is in the set of a row unless it would be stranger there than the true class was in most of the rows held
    out. A poor model has large sets, not wrong ones: the promise needs only that new rows come from the same
    distribution as those held out.

    Parameters
    ----------
    model : classifier with `predict_proba`
        Copied and fitted by `fit`; with `cv="prefit"` a fitted model, used as it is.
    coverage : float, default=0.9
        The probability with which the set holds the true class.
    method : {"score", "adaptive"}, default="score"
        - "score": a class is as strange as its probability is low. The smallest sets on average; rows that are like
          none of the classes may get an empty one.
        - "adaptive": a class is as strange as the probability of the classes before it is high. Never empty; larger for
          difficult rows and smaller for easy ones (Romano, Sesia and Candès 2020).
    by_class : bool, default=False
        Whether the promise is to hold for the rows of each class separately (Mondrian).
    penalty : float, default=0.0
        For the method "adaptive": added for each class after the first `free_classes`, which makes sets of many
        unlikely classes smaller (Angelopoulos et al. 2021).
    free_classes : int, default=1
        How many classes have no penalty.
    cv : {"split", "prefit"}, int, splitter or list of splits, default="split"
        "split" holds out the share `calibration` of the rows. A number of folds holds out all rows in turn, which
        wastes none, and promises less: see `guarantee_`. "prefit" takes a fitted model, and all rows as held out.
    calibration : float, default=0.25
        The share of rows held out, where `cv="split"`.
    random_state : int, RandomState or Generator, default=None
        Which rows are held out.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    model_ : estimator
        The fitted model; where rows were held out in folds, the one fitted on all rows.
    models_ : list of estimators
        One for each part that was held out.
    calibration_scores_ : list of ndarray
        For each of them the scores of the true classes of its rows; low is strange.
    calibration_codes_ : list of ndarray
        And these classes, as positions in `classes_`.
    guarantee_ : str
        What is promised, in words.
    guaranteed_coverage_ : float
        And as a number.
    certificate_ : Certificate
        How we know that this is the answer.
    plan_ : Plan
        Which path the fit of the model took.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import ConformalClassifier, GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ConformalClassifier(GaussianNB(), coverage=0.95, random_state=0).fit(X, y)
    >>> model.predict_set(X[[0, 70, 100]])
    array([[ True, False, False],
           [False,  True,  True],
           [False, False,  True]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "model": [HasMethods(["fit"]), HasMethods(["predict_proba"])],
        "method": [StrOptions({"score", "adaptive"})],
        "by_class": ["boolean"],
        "penalty": [Interval(Real, 0, None, closed="left")],
        "free_classes": [Interval(Integral, 0, None, closed="left")],
        **CONSTRAINTS,
    }

    def __init__(
        self,
        model: Any,
        *,
        coverage: float = 0.9,
        method: str = "score",
        by_class: bool = False,
        penalty: float = 0.0,
        free_classes: int = 1,
        cv: Any = "split",
        calibration: float = 0.25,
        random_state: Any = None,
    ) -> None:
        self.model = model
        self.coverage = coverage
        self.method = method
        self.by_class = by_class
        self.penalty = penalty
        self.free_classes = free_classes
        self.cv = cv
        self.calibration = calibration
        self.random_state = random_state

    # Learning.

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **parameters: Any) -> Self:
        """Fit the model, and see how strange it finds the true classes of rows it has not seen.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Training rows, of whatever kind the model takes; with `cv="prefit"` rows that the model has not seen.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows for the model's `fit`; what is promised is about rows and not their weights.
        **parameters : dict
            What else the model's `fit` takes.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        with self._learning(X, y, sample_weight, parameters) as training:
            labels, _ = encode_labels(training.y)
            parts = self._fit_parts(training)
            refuse_scores_only(self.model_)
            self.classes_ = np.unique(np.concatenate([labels, *(np.asarray(m.classes_) for m in self.models_)]))
            self.calibration_codes_ = [codes_of(training.y[part.rows], self.classes_) for part in parts]
            self.calibration_scores_ = [
                self._scores(part.model, training.taken(part.rows))[np.arange(len(codes)), codes]
                for part, codes in zip(parts, self.calibration_codes_, strict=True)
            ]
            sizes = self._sizes()
            promised = promise(self.coverage, sizes, what="class", by_class=self.by_class)
            self._publish(promised, "conformal sets", "scores")
        fewest = min(int(each.sum()) for each in sizes)
        consequence = "every set holds the class that has so few" if self.by_class else "every set holds all classes"
        warn_if_too_few(fewest, self.coverage, consequence)
        return self

    def _sizes(self) -> list[Array]:
        """How many rows were held out in each fold: of all classes, or for each class apart."""
        K = len(self.classes_)
        sizes = np.array([np.bincount(codes, minlength=K) for codes in self.calibration_codes_])
        return list(sizes.T) if self.by_class else [sizes.sum(axis=1)]

    def _scores(self, model: Any, X: Any) -> Array:
        """How usual each class would be as the true one of each row; low is strange."""
        p = in_order(probabilities(model, X), np.asarray(model.classes_), self.classes_, 0.0)
        if self.method == "score":
            return p
        ahead, number = standing(p)
        scores: Array = -ahead - self.penalty * np.maximum(number + 1 - self.free_classes, 0)
        return scores

    # Asking.

    def p_values(self, X: Any) -> Array:
        """How strange each class would be as the true one: P(p ≤ t) ≤ t for the true class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, of whatever kind the model takes; not those of the fit.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Conformal p-values; where rows were held out in folds, P(p ≤ t) ≤ 2t, about.
        """
        check_is_fitted(self)
        below, n = self._counts(X)
        return np.asarray((1 + below) / (n + 1))

    def _counts(self, X: Any) -> tuple[Array, Array]:
        """For every row and class: how many of the rows held out scored no higher; and how many there are."""
        K = len(self.classes_)
        below, n = np.zeros((1, K)), np.zeros(K)
        for model, scores, codes in zip(self.models_, self.calibration_scores_, self.calibration_codes_, strict=True):
            asked = self._scores(model, X)
            counts = np.empty(asked.shape)
            for k in range(K):
                known = np.sort(scores[codes == k] if self.by_class else scores)
                counts[:, k] = np.searchsorted(known, asked[:, k], side="right")
                n[k] += len(known)
            below = below + counts
        return below, n

    def predict_set(self, X: Any) -> Array:
        """Which classes are in the set of every row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, of whatever kind the model takes.

        Returns
        -------
        sets : bool ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`. `guarantee_` says what it means.
        """
        check_is_fitted(self)
        below, n = self._counts(X)
        level = np.array([exact_level(int(each), self.coverage) for each in n])
        return np.asarray((1 + below) / (n + 1) > level)

    def predict_proba(self, X: Any) -> Array:
        """p(y|x) of every row and class, as the model has it.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, of whatever kind the model takes.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        check_is_fitted(self)
        return in_order(probabilities(self.model_, X), np.asarray(self.model_.classes_), self.classes_, 0.0)

    def predict(self, X: Any) -> Array:
        """The class that the model predicts for every row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, of whatever kind the model takes.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Of `classes_`.
        """
        check_is_fitted(self)
        return np.asarray(self.model_.predict(X))


def standing(p: Array) -> tuple[Array, Array]:
    """For each class of a row the probability of all that are more probable, and how many these are."""
    order = np.argsort(-p, axis=1, kind="stable")
    falling = np.take_along_axis(p, order, axis=1)
    # equal ones stand where the first of them stands
    first = np.where(np.diff(falling, axis=1, prepend=2.0) != 0, np.arange(p.shape[1]), 0)
    place = np.maximum.accumulate(first, axis=1)
    before = np.take_along_axis(np.cumsum(falling, axis=1) - falling, place, axis=1)
    ahead, number = np.empty(p.shape), np.empty(p.shape, dtype=np.intp)
    np.put_along_axis(ahead, order, before, axis=1)
    np.put_along_axis(number, order, place, axis=1)
    return ahead, number


#: of the stretch in which an end of an interval lies, after which no digit is left to find
HALVINGS = 64
#: by which numbers may be off that were computed from others of size 1
CONFORMAL_INTERVALS_ROUNDING = 4 * np.finfo(np.float64).eps
#: the logarithm of the unit of an error at most, and minus that at least: its inverse and its products are numbers
MOST_LOG = 500.0
#: residuals below this share of the middle one are taken for it, as the logarithm of 0 is no number
SMALLEST = 1e-3


@stored(
    **FITTED,
    model_=part_of(),
    models_=sequence("m", part_of()),
    spreads_=sequence(".", part_of()),
    quantiles_=sequence(".", each_of(part_of(), part_of())),
    calibration_scores_=sequence("m", floats("_n")),
)
class ConformalRegressor(HoldsOut, RegressorMixin, BaseEstimator):
    """A regressor that answers with an interval, which holds the true value with a stated probability.

    The interval is as wide as the errors on rows held out were. A poor model has wide intervals, not wrong ones: the
    promise needs only that new rows come from the same distribution as those held out.

    Parameters
    ----------
    model : regressor
        Copied and fitted by `fit`; with `cv="prefit"` a fitted model, used as it is.
    coverage : float, default=0.9
        The probability with which the interval holds the true value.
    method : {"absolute", "normalised", "quantile"}, default="absolute"
        - "absolute": intervals of the same width for all rows.
        - "normalised": wider where errors are larger, as learnt by `spread`.
        - "quantile": between two quantiles that a model with a parameter `quantile` predicts, moved until they hold
          (Romano, Patterson and Candès 2019). `predict` has the model as it was given.
    spread : regressor, default=None
        For the method "normalised": predicts the logarithm of the size of an error. A copy of the model, if not given.
    cv : {"split", "prefit"}, int, splitter or list of splits, default="split"
        "split" holds out the share `calibration` of the rows. A number of folds holds out all rows in turn (CV+, with
        as many folds as rows the jackknife+), which wastes none, and promises less: see `guarantee_`. "prefit" takes a
        fitted model, and all rows as held out.
    calibration : float, default=0.25
        The share of rows held out, where `cv="split"`.
    random_state : int, RandomState or Generator, default=None
        Which rows are held out.

    Attributes
    ----------
    model_ : estimator
        The fitted model; where rows were held out in folds, the one fitted on all rows.
    models_ : list of estimators
        One for each part that was held out.
    spreads_, quantiles_ : lists of estimators and of pairs of estimators
        One for each part, with the methods "normalised" and "quantile"; else empty.
    calibration_scores_ : list of ndarray
        For each of them the sizes of the errors of its rows, in units of the spread if there is one; with the method
        "quantile" how far outside they were, negative inside.
    guarantee_ : str
        What is promised, in words.
    guaranteed_coverage_ : float
        And as a number.
    certificate_ : Certificate
        How we know that this is the answer.
    plan_ : Plan
        Which path the fit of the model took.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ConformalRegressor, LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 1))
    >>> y = 2 * X[:, 0] + rng.normal(size=400)
    >>> model = ConformalRegressor(LinearRegression(), coverage=0.95, random_state=0).fit(X, y)
    >>> model.predict_interval([[0.0], [1.0]]).round(1)
    array([[-2.2,  2.1],
           [-0.1,  4.2]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "model": [HasMethods(["fit", "predict"]), HasMethods(["predict"])],
        "method": [StrOptions({"absolute", "normalised", "quantile"})],
        "spread": [HasMethods(["fit", "predict"]), None],
        **CONSTRAINTS,
    }

    def __init__(
        self,
        model: Any,
        *,
        coverage: float = 0.9,
        method: str = "absolute",
        spread: Any = None,
        cv: Any = "split",
        calibration: float = 0.25,
        random_state: Any = None,
    ) -> None:
        self.model = model
        self.coverage = coverage
        self.method = method
        self.spread = spread
        self.cv = cv
        self.calibration = calibration
        self.random_state = random_state

    # Learning.

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **parameters: Any) -> Self:
        """Fit the model, and see how large its errors are on rows it has not seen.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Training rows, of whatever kind the model takes; with `cv="prefit"` rows that the model has not seen.
        y : array-like of shape (n_samples,)
            True values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows for the model's `fit`; what is promised is about rows and not their weights.
        **parameters : dict
            What else the model's `fit` takes.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        with self._learning(X, y, sample_weight, parameters) as given:
            training = replace(given, y=_numbers(given.y))
            parts = self._fit_parts(training)
            self.spreads_ = [self._fit_spread(training, part) for part in parts if self.method == "normalised"]
            self.quantiles_ = [self._fit_quantiles(training, part) for part in parts if self.method == "quantile"]
            self.calibration_scores_ = [self._errors(training, number, part) for number, part in enumerate(parts)]
            sizes = np.array([len(scores) for scores in self.calibration_scores_])
            self._publish(promise(self.coverage, [sizes], what="value"), "conformal intervals", "errors")
        warn_if_too_few(self._n_held_out, self.coverage, "every interval is without end")
        return self

    def _fit_spread(self, training: WrappedTraining, part: HeldOutFold) -> Any:
        """How large errors are, from rows that are not compared with."""
        rows = self._rows_to_learn_from(part)
        sizes = np.abs(self._cross_fitted_errors(training, rows))
        middle = float(np.median(sizes)) or 1.0
        spread = self.model if self.spread is None else self.spread
        return WrappedTraining(training.taken(rows), np.log(np.maximum(sizes, SMALLEST * middle))).fitted(spread)

    def _fit_quantiles(self, training: WrappedTraining, part: HeldOutFold) -> tuple[Any, Any]:
        """Models of the two quantiles between which the share `coverage` lies."""
        if "quantile" not in self.model.get_params():
            raise DataError(
                f"{type(self.model).__name__} has no parameter `quantile`, by which two quantiles are asked for; use a "
                "model that has one, such as QuantileRegressor of scikit-learn, or another method."
            )
        rows, tail = self._rows_to_learn_from(part), (1 - self.coverage) / 2
        low, high = (training.fitted(clone(self.model).set_params(quantile=share), rows) for share in (tail, 1 - tail))
        return low, high

    def _rows_to_learn_from(self, part: HeldOutFold) -> Array:
        if not len(part.learnt):
            raise DataError(
                f'method="{self.method}" learns how far values spread from rows that are not held out, of which '
                'cv="prefit" leaves none; use cv="split", or method="absolute".'
            )
        return part.learnt

    def _cross_fitted_errors(self, training: WrappedTraining, rows: Array) -> Array:
        """Errors of rows by models that have not seen them: those of a model on its own rows are too small."""
        plain = WrappedTraining(training.X, training.y)
        halves = rows[::2], rows[1::2]
        errors = np.empty(len(plain))
        for train, test in (halves, halves[::-1]):
            if len(train) and len(test):
                errors[test] = plain.y[test] - _predicted(plain.fitted(self.model, train), plain.taken(test))
            else:
                errors[test] = 1.0
        return errors[rows]

    def _errors(self, training: WrappedTraining, number: int, part: HeldOutFold) -> Array:
        low, high, unit = self._band(number, training.taken(part.rows))
        y = training.y[part.rows]
        return np.asarray(np.maximum(low - y, y - high) / unit)

    def _band(self, number: int, X: Any) -> tuple[Array, Array, Array]:
        """What one of the models says before its errors are known: from where to where, and in which unit to widen."""
        if self.quantiles_:
            first, second = (_predicted(model, X) for model in self.quantiles_[number])
            return np.minimum(first, second), np.maximum(first, second), np.ones(len(first))
        centre = _predicted(self.models_[number], X)
        if not self.spreads_:
            return centre, centre, np.ones(len(centre))
        return centre, centre, np.exp(np.clip(_predicted(self.spreads_[number], X), -MOST_LOG, MOST_LOG))

    # Asking.

    def predict(self, X: Any) -> Array:
        """The value that the model predicts for every row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, of whatever kind the model takes.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predicted values.
        """
        check_is_fitted(self)
        return np.asarray(self.model_.predict(X))

    def predict_interval(self, X: Any) -> Array:
        """The interval of every row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, of whatever kind the model takes.

        Returns
        -------
        intervals : ndarray of shape (n_samples, 2)
            Lower and upper ends; infinite where too few rows were held out. `guarantee_` says what it means.
        """
        check_is_fitted(self)
        bands = [self._band(number, X) for number in range(len(self.models_))]
        low, high, unit = (np.stack(each, axis=1) for each in zip(*bands, strict=True))
        n = self._n_held_out
        if (rank := exact_rank(n, self.coverage)) > n:
            return np.tile([-np.inf, np.inf], (len(low), 1))
        if len(self.models_) > 1:
            return with_ties(self._pooled(low, high, unit, rank), low, high)
        more = np.partition(self.calibration_scores_[0], rank - 1)[rank - 1] * unit
        # quantiles may be moved inwards until they meet
        return with_ties(np.sort(np.concatenate([low - more, high + more], axis=1), axis=1), low, high)

    def _pooled(self, low: Array, high: Array, unit: Array, rank: int) -> Array:
        """CV+: the rank among what each row held out would have said, by the model that had not seen it."""
        errors = [np.sort(each) for each in self.calibration_scores_]
        ends = np.column_stack([-ranked(-low, unit, errors, rank), ranked(high, unit, errors, rank)])
        # models that disagree by more than their errors may leave nothing between the ends
        return np.sort(ends, axis=1)


def with_ties(ends: Array, low: Array, high: Array) -> Array:
    """Intervals as much wider as rounding may have made them too narrow.

    f + (y − f) is not always y to the last digit, and where many rows have the same y, they would all be left out.
    """
    size = np.maximum(np.abs(low), np.abs(high)).max(axis=1, keepdims=True) + np.abs(ends)
    return np.asarray(ends + np.array([-1.0, 1.0]) * CONFORMAL_INTERVALS_ROUNDING * size)


def ranked(starts: Array, units: Array, errors: list[Array], rank: int) -> Array:
    """For each row the rank-th smallest of start + unit · error, over all errors of all models (columns).

    By bisection, as each model's errors are in order: selection would have to look at every error for every row.
    """
    below = (starts + units * np.array([each[0] for each in errors])).min(axis=1)
    above = (starts + units * np.array([each[-1] for each in errors])).max(axis=1)
    for _ in range(HALVINGS):
        middle = below + (above - below) / 2
        steps = (middle[:, None] - starts) / units
        upto = sum(np.searchsorted(each, steps[:, j], side="right") for j, each in enumerate(errors))
        enough = upto >= rank
        above, below = np.where(enough, middle, above), np.where(enough, below, middle)
    return np.asarray(above)


def _predicted(model: Any, X: Any) -> Array:
    values = np.asarray(model.predict(X), dtype=np.float64)
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise NonFiniteError(
            f"{type(model).__name__} predicts {values[row]} for row {row}, so that there is no interval around it; "
            "look at what is unusual about this row, or leave it out."
        )
    return values


def _numbers(y: Array) -> Array:
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("y must be numbers; for classes use ConformalClassifier.") from None
    if not (finite := np.isfinite(values)).all():
        row = int(np.argmin(finite))
        raise NonFiniteError(f"Input y contains NaN or infinity. Row {row} has y = {values[row]}; drop such rows.")
    return values
