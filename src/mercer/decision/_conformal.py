"""Conformal prediction: sets and intervals that contain the true value with a given probability, for any model.

The first part has conformal p-values, i.e. ranks of scores among calibration scores, which outlier detection uses as
well. `ConformalClassifier` and `ConformalRegressor` share the held-out rows and the guarantee of `ConformalModel`.
"""

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
from mercer._stored import each_of, estimator, floats, integers, part_of, real, sequence, stored
from mercer._typing import Array
from mercer._warn import warn
from mercer.base.fitted_fields import FITTED, FITTED_CLASSES
from mercer.base.sources import fits_sources
from mercer.data.labels import codes_of, encode_labels
from mercer.decision.wrapped import (
    WrappedTraining,
    WrapsModel,
    arrange_columns,
    check_has_probabilities,
    check_prefit,
    cv_constraint,
    folds_of,
    is_prefit,
    plan_around,
    probabilities,
    split_rows,
)
from mercer.families.base import as_generator
from mercer.optim.certificate import Certificate
from mercer.report.wording import format_count

#: (n + 1) coverage may exceed an integer by this amount because coverage has no exact binary form
RANK_ROUNDING = 1e-9


def conformal_p_values(scores: Any, calibration: Any, *, rng: np.random.Generator | None = None) -> Array:
    """Compute conformal p-values (1 + #{calibration ≤ score}) / (n + 1), which are small for low scores.

    For a row exchangeable with the calibration rows P(p ≤ t) ≤ t, for any scoring function that was learnt without
    these rows. All p-values share one calibration, which makes them positively dependent (Bates et al. 2023).

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        Scores of the rows to test; low scores are unusual.
    calibration : array-like of shape (n,)
        Scores of regular rows.
    rng : numpy.random.Generator, default=None
        Breaks ties at random, so that p-values of regular rows are exactly uniform; without it they are conservative.

    Returns
    -------
    p : ndarray of shape (n_rows,)
        P-values: multiples of 1/(n + 1), unless ties are broken at random.

    Examples
    --------
    >>> conformal_p_values([-9.0, 0.5], calibration=[-1.0, 0.0, 1.0])
    array([0.25, 0.75])
    """
    new, known = _check_scores(scores, "scores"), np.sort(_check_scores(calibration, "calibration"))
    if not known.size:
        raise DataError("there are no calibration scores to rank others by; hold out some rows.")
    if rng is None:
        return np.asarray((1 + np.searchsorted(known, new, side="right")) / (len(known) + 1))
    below, upto = (np.searchsorted(known, new, side=side) for side in ("left", "right"))
    return np.asarray((below + rng.random(new.shape) * (1 + upto - below)) / (len(known) + 1))


def least_p_value(calibration: Array) -> float:
    """Return the smallest possible p-value, that of the score −inf."""
    return float(conformal_p_values([-np.inf], calibration)[0])


def exact_rank(n: int, coverage: float) -> int:
    """Return ⌈(n + 1) coverage⌉, a rank among n ascending scores.

    A new score does not exceed the score of this rank with the probability `coverage`. The rank is more than n if there
    are too few scores.
    Examples
    --------
    >>> exact_rank(9, 0.9), exact_rank(99, 0.95), exact_rank(5, 0.9)
    (9, 95, 6)
    """
    return ceil((n + 1) * coverage - RANK_ROUNDING)


def exact_level(n: int, coverage: float) -> float:
    """Return the largest p-value among n scores at which a row may be left out for a coverage of at least `coverage`.

    It is a multiple of 1/(n + 1) to the last bit, as p-values are; 1 − coverage in general is not.
    """
    return max(0, n + 1 - exact_rank(n, coverage)) / (n + 1)


def score_threshold(calibration: Array, level: float) -> float:
    """Return the score above which a row has a conformal p-value above `level`; −inf if every row has."""
    ranks = np.arange(1, len(calibration) + 1) / (len(calibration) + 1)
    flagged = int(np.count_nonzero(ranks <= level))
    return float(np.partition(calibration, flagged - 1)[flagged - 1]) if flagged else -np.inf


def leave_one_out_p_values(scores: Array) -> Array:
    """Return #{j: s_j ≤ s_i}/n, the conformal p-value of each row with all others as its calibration."""
    return np.asarray(np.searchsorted(np.sort(scores), scores, side="right") / len(scores))


def _check_scores(scores: Any, name: str) -> Array:
    """Return scores as an array; raise NonFiniteError for NaN."""
    values = np.asarray(scores, dtype=float)
    if np.isnan(values).any():
        raise NonFiniteError(
            f"{name} has NaN at position {int(np.argmax(np.isnan(values)))}, which cannot be ranked; leave it out."
        )
    return values


#: parameter constraints that both conformal estimators share
CONFORMAL_CONSTRAINTS: dict[str, Any] = {
    "coverage": [Interval(Real, 0, 1, closed="neither")],
    "cv": cv_constraint("split", "prefit"),
    "calibration": [Interval(Real, 0, 1, closed="neither")],
    "random_state": ["random_state", np.random.Generator],
}


class HeldOutFold(NamedTuple):
    """A fitted model, the rows held out from it, and its training rows (none if it was given fitted)."""

    model: Any
    rows: Array
    learnt: Array


class ConformalModel(WrapsModel):
    """Base class of the conformal estimators: fits models and calibrates them on rows held out."""

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
        """Fit the models by the folds of `cv`; return each with the rows held out from it."""
        n = len(training)
        if is_prefit(self):
            check_prefit(self.model)
            parts = [HeldOutFold(self.model, np.arange(n), np.arange(0))]
        elif n < 2:
            raise DataError(f"n_samples={n} leaves no row to hold out; give two rows or more.")
        else:
            parts = [
                HeldOutFold(training.fit_copy(self.model, train), test, train) for train, test in self._folds(training)
            ]
        self.models_ = [part.model for part in parts]
        self.model_ = self.models_[0] if len(parts) == 1 else training.fit_copy(self.model)
        return parts

    def _folds(self, training: WrappedTraining) -> list[tuple[Array, Array]]:
        """Return training and held-out rows, drawn in random order because the guarantee assumes exchangeable rows."""
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
                f"cv holds out row {int(np.argmax(counts > 1))} more than once; give folds that hold out each row at "
                "most once."
            )
        return folds

    def _publish(self, guarantee: Guarantee, path: str, ranks: str) -> None:
        """Set the attributes for guarantee, certificate and plan."""
        self.guaranteed_coverage_, self.guarantee_ = guarantee
        self.certificate_ = Certificate.closed_form(f"ranks among {ranks} of held-out rows")
        parts = f"{self._n_held_out} rows held out in {format_count(len(self.models_), 'part')}"
        self.plan_ = plan_around(self.model_, f"{path} of {parts}")


@stored()
class Guarantee(NamedTuple):
    """The guarantee for a new row, as a number and in words."""

    coverage: float
    sentence: str


def make_guarantee(coverage: float, sizes: list[Array], *, what: str, by_class: bool = False) -> Guarantee:
    """Return the guarantee for a new row that is exchangeable with the calibration rows.
    Parameters
    ----------
    coverage : float
        The requested coverage.
    sizes : list of arrays of shape (n_folds,)
        Number of rows held out in each fold: of all classes together, or of each class.
    what : str
        Name of the target: "class" or "value".
    by_class : bool
        Whether the guarantee is for each class.
    """
    n, folds, each = int(np.sum(sizes)), len(sizes[0]), " of each class" if by_class else ""
    least = min(least_coverage(coverage, size) for size in sizes)
    usual = "" if folds == 1 else f", and usually of about {coverage:.4g}"
    how = (
        f"the {n} rows held out"
        if folds == 1
        else f"{n} rows, held out in {folds} parts from models fitted to the others"
    )
    return Guarantee(
        least,
        f"A new row{each} has its true {what} inside with a probability of at least {least:.4g}{usual}, whatever the "
        f"model: on average over new rows and {how}, not for each row separately, and if all rows are exchangeable.",
    )


def least_coverage(coverage: float, sizes: Array) -> float:
    """Return the coverage that is proven for rows held out in folds of these sizes.

    With one fold it is the coverage itself. With more (Barber, Candès, Ramdas and Tibshirani 2021, theorem 4) it is
    1 − 2α minus the smaller of two losses. The first follows for folds of any size because twice the average of their
    p-values is a p-value. The second, which is 0 if each row is a fold, needs folds of equal size.

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
    """Warn if n held-out rows are too few for the coverage."""
    if exact_rank(n, coverage) > n:
        needed = ceil(coverage / (1 - coverage) - RANK_ROUNDING)
        warn(
            f"{format_count(n, 'held-out row')} cannot give a coverage of {coverage:g}: {consequence}. Hold out "
            f"{needed:,} or more (more rows, a larger share with calibration=…, or cv=5, which holds out all rows in "
            "turn), or request a lower coverage.",
            CalibrationWarning,
        )


@stored(
    **FITTED_CLASSES,
    model_=estimator(),
    models_=sequence("m", estimator()),
    calibration_codes_=sequence("m", integers("_n", below="k")),
    guarantee_=part_of(str),
    guaranteed_coverage_=real(),
    calibration_scores_=sequence("m", floats("_n")),
)
class ConformalClassifier(ConformalModel, ClassifierMixin, BaseEstimator):
    """A classifier that predicts sets of classes, which contain the true class with a given probability.

    A class is in the set of a row unless its score there is lower than that of the true class in most of the held-out
    rows. A poor model has large sets, not wrong ones: the guarantee only assumes that new rows and held-out rows are
    exchangeable.

    Parameters
    ----------
    model : classifier with `predict_proba`
        Copied and fitted by `fit`; with `cv="prefit"` a fitted model, used as it is.
    coverage : float, default=0.9
        The probability that the set contains the true class.
    method : {"score", "adaptive"}, default="score"
        - "score": the score of a class is its probability. Sets are smallest on average; a row that resembles none of
          the classes may get an empty set.
        - "adaptive": the score is minus the total probability of the more probable classes. Sets are never empty, and
          larger for difficult rows than for easy ones (Romano, Sesia and Candès 2020).
    by_class : bool, default=False
        Whether the guarantee holds for the rows of each class separately (Mondrian).
    penalty : float, default=0.0
        For the method "adaptive": penalty for each class after the first `free_classes`, which makes sets of many
        unlikely classes smaller (Angelopoulos et al. 2021).
    free_classes : int, default=1
        Number of classes without penalty.
    cv : {"split", "prefit"}, int, splitter or list of splits, default="split"
        "split" holds out the share `calibration` of the rows. A number of folds holds out all rows in turn, which
        uses all rows but guarantees less: see `guarantee_`. "prefit" takes a fitted model and treats all rows as held
        out.
    calibration : float, default=0.25
        The share of rows held out with `cv="split"`.
    random_state : int, RandomState or Generator, default=None
        Determines which rows are held out.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    model_ : estimator
        The fitted model; with several folds, the one fitted on all rows.
    models_ : list of estimators
        One for each held-out part.
    calibration_scores_ : list of ndarray
        Scores of the true classes of the held-out rows, for each model; low scores are unusual.
    calibration_codes_ : list of ndarray
        Positions of these classes in `classes_`.
    guarantee_ : str
        The guarantee in words.
    guaranteed_coverage_ : float
        The guaranteed coverage.
    certificate_ : Certificate
        Evidence for the result.
    plan_ : Plan
        The path that the fit of the model took.

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
        **CONFORMAL_CONSTRAINTS,
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

    # Fitting.

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **parameters: Any) -> Self:
        """Fit the model, and compute the scores of the true classes of held-out rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Training rows, in any form that the model accepts; with `cv="prefit"` rows that it was not fitted on.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows for the model's `fit`; the guarantee is about rows, not their weights.
        **parameters : dict
            Further parameters of the model's `fit`.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        with self._learning(X, y, sample_weight, parameters) as training:
            labels, _ = encode_labels(training.y)
            parts = self._fit_parts(training)
            check_has_probabilities(self.model_)
            self.classes_ = np.unique(np.concatenate([labels, *(np.asarray(m.classes_) for m in self.models_)]))
            self.calibration_codes_ = [codes_of(training.y[part.rows], self.classes_) for part in parts]
            self.calibration_scores_ = [
                self._scores(part.model, training.take(part.rows))[np.arange(len(codes)), codes]
                for part, codes in zip(parts, self.calibration_codes_, strict=True)
            ]
            # rows held out in each fold: of all classes together, or of each class
            counts = np.array([np.bincount(codes, minlength=len(self.classes_)) for codes in self.calibration_codes_])
            sizes = list(counts.T) if self.by_class else [counts.sum(axis=1)]
            guarantee = make_guarantee(self.coverage, sizes, what="class", by_class=self.by_class)
            self._publish(guarantee, "conformal sets", "scores")
        fewest = min(int(each.sum()) for each in sizes)
        consequence = "every set has the class with too few rows" if self.by_class else "every set has all classes"
        warn_if_too_few(fewest, self.coverage, consequence)
        return self

    def _scores(self, model: Any, X: Any) -> Array:
        """Return the score of each class as the true class of each row; low scores are unusual."""
        p = arrange_columns(probabilities(model, X), np.asarray(model.classes_), self.classes_, 0.0)
        if self.method == "score":
            return p
        ahead, number = rank_classes(p)
        scores: Array = -ahead - self.penalty * np.maximum(number + 1 - self.free_classes, 0)
        return scores

    # Prediction.

    def p_values(self, X: Any) -> Array:
        """Return conformal p-values of each class: P(p ≤ t) ≤ t for the true class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, in any form that the model accepts; not those of the fit.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Conformal p-values; with several folds approximately P(p ≤ t) ≤ 2t.
        """
        check_is_fitted(self)
        below, n = self._counts(X)
        return np.asarray((1 + below) / (n + 1))

    def _counts(self, X: Any) -> tuple[Array, Array]:
        """Return the number of held-out rows with no higher score for each row and class, and of all held-out rows."""
        K = len(self.classes_)
        below, n = np.zeros((1, K)), np.zeros(K)
        for model, scores, codes in zip(self.models_, self.calibration_scores_, self.calibration_codes_, strict=True):
            new = self._scores(model, X)
            counts = np.empty(new.shape)
            for k in range(K):
                known = np.sort(scores[codes == k] if self.by_class else scores)
                counts[:, k] = np.searchsorted(known, new[:, k], side="right")
                n[k] += len(known)
            below = below + counts
        return below, n

    def predict_set(self, X: Any) -> Array:
        """Predict the set of classes of every row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, in any form that the model accepts.

        Returns
        -------
        sets : bool ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`. See `guarantee_` for their meaning.
        """
        check_is_fitted(self)
        below, n = self._counts(X)
        level = np.array([exact_level(int(each), self.coverage) for each in n])
        return np.asarray((1 + below) / (n + 1) > level)

    def predict_proba(self, X: Any) -> Array:
        """Return the model's p(y|x) for every row and class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, in any form that the model accepts.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        check_is_fitted(self)
        return arrange_columns(probabilities(self.model_, X), np.asarray(self.model_.classes_), self.classes_, 0.0)

    def predict(self, X: Any) -> Array:
        """Return the class that the model predicts for every row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, in any form that the model accepts.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Values of `classes_`.
        """
        check_is_fitted(self)
        return np.asarray(self.model_.predict(X))


def rank_classes(p: Array) -> tuple[Array, Array]:
    """Return, for each class of a row, the total probability and the number of the more probable classes."""
    order = np.argsort(-p, axis=1, kind="stable")
    falling = np.take_along_axis(p, order, axis=1)
    # equal probabilities have the rank of the first of them
    first = np.where(np.diff(falling, axis=1, prepend=2.0) != 0, np.arange(p.shape[1]), 0)
    place = np.maximum.accumulate(first, axis=1)
    before = np.take_along_axis(np.cumsum(falling, axis=1) - falling, place, axis=1)
    ahead, number = np.empty(p.shape), np.empty(p.shape, dtype=np.intp)
    np.put_along_axis(ahead, order, before, axis=1)
    np.put_along_axis(number, order, place, axis=1)
    return ahead, number


#: halvings of the bracket of an interval's end, which exhaust the digits of float64
BISECTION_STEPS = 64
#: relative rounding error of an interval's ends
INTERVAL_ROUNDING = 4 * np.finfo(np.float64).eps
#: bound on the absolute logarithm of a spread: neither its inverse nor its products overflow
MAX_LOG_SPREAD = 500.0
#: residuals are raised to at least this share of the median one before the logarithm, which may be −inf otherwise
MIN_RESIDUAL_SHARE = 1e-3


@stored(
    lambda model: all(map(len, getattr(model, "calibration_scores_", ()))),
    **FITTED,
    model_=estimator(),
    models_=sequence("m", estimator()),
    spreads_=sequence(".", estimator()),
    quantiles_=sequence(".", each_of(estimator(), estimator())),
    guarantee_=part_of(str),
    guaranteed_coverage_=real(),
    calibration_scores_=sequence("m", floats("_n")),
)
class ConformalRegressor(ConformalModel, RegressorMixin, BaseEstimator):
    """A regressor that predicts intervals, which contain the true value with a given probability.

    The width of the interval follows from the errors on held-out rows. A poor model has wide intervals, not wrong ones:
    the guarantee only assumes that new rows and held-out rows are exchangeable.

    Parameters
    ----------
    model : regressor
        Copied and fitted by `fit`; with `cv="prefit"` a fitted model, used as it is.
    coverage : float, default=0.9
        The probability that the interval contains the true value.
    method : {"absolute", "normalised", "quantile"}, default="absolute"
        - "absolute": intervals of the same width for all rows.
        - "normalised": wider where errors are larger, as learnt by `spread`.
        - "quantile": between two quantiles predicted by a model with a parameter `quantile`, shifted for coverage
          (Romano, Patterson and Candès 2019). `predict` uses the model as given.
    spread : regressor, default=None
        For the method "normalised": predicts the logarithm of the size of an error. By default a copy of the model.
    cv : {"split", "prefit"}, int, splitter or list of splits, default="split"
        "split" holds out the share `calibration` of the rows. A number of folds holds out all rows in turn (CV+; with
        one fold per row the jackknife+), which uses all rows but guarantees less: see `guarantee_`. "prefit" takes a
        fitted model and treats all rows as held out.
    calibration : float, default=0.25
        The share of rows held out with `cv="split"`.
    random_state : int, RandomState or Generator, default=None
        Determines which rows are held out.

    Attributes
    ----------
    model_ : estimator
        The fitted model; with several folds, the one fitted on all rows.
    models_ : list of estimators
        One for each held-out part.
    spreads_, quantiles_ : lists of estimators and of pairs of estimators
        One for each part, with the methods "normalised" and "quantile"; else empty.
    calibration_scores_ : list of ndarray
        Absolute errors of the held-out rows for each model, in units of the spread if there is one; with the method
        "quantile" the distance outside the interval, negative inside.
    guarantee_ : str
        The guarantee in words.
    guaranteed_coverage_ : float
        The guaranteed coverage.
    certificate_ : Certificate
        Evidence for the result.
    plan_ : Plan
        The path that the fit of the model took.

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
        **CONFORMAL_CONSTRAINTS,
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

    # Fitting.

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **parameters: Any) -> Self:
        """Fit the model, and compute its errors on held-out rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Training rows, in any form that the model accepts; with `cv="prefit"` rows that it was not fitted on.
        y : array-like of shape (n_samples,)
            Target values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows for the model's `fit`; the guarantee is about rows, not their weights.
        **parameters : dict
            Further parameters of the model's `fit`.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        with self._learning(X, y, sample_weight, parameters) as given:
            training = replace(given, y=_check_target(given.y))
            parts = self._fit_parts(training)
            self.spreads_ = [self._fit_spread(training, part) for part in parts if self.method == "normalised"]
            self.quantiles_ = [self._fit_quantiles(training, part) for part in parts if self.method == "quantile"]
            self.calibration_scores_ = [self._errors(training, number, part) for number, part in enumerate(parts)]
            sizes = np.array([len(scores) for scores in self.calibration_scores_])
            self._publish(make_guarantee(self.coverage, [sizes], what="value"), "conformal intervals", "errors")
        warn_if_too_few(self._n_held_out, self.coverage, "every interval is infinite")
        return self

    def _fit_spread(self, training: WrappedTraining, part: HeldOutFold) -> Any:
        """Fit a model of the size of errors, on rows that are not held out."""
        rows = self._rows_to_learn_from(part)
        sizes = np.abs(self._cross_fitted_errors(training, rows))
        middle = float(np.median(sizes)) or 1.0
        spread = self.model if self.spread is None else self.spread
        return WrappedTraining(training.take(rows), np.log(np.maximum(sizes, MIN_RESIDUAL_SHARE * middle))).fit_copy(
            spread
        )

    def _fit_quantiles(self, training: WrappedTraining, part: HeldOutFold) -> tuple[Any, Any]:
        """Fit models of the two quantiles between which the share `coverage` lies."""
        if "quantile" not in self.model.get_params():
            raise DataError(
                f'{type(self.model).__name__} has no parameter `quantile`, which method="quantile" sets; use a model '
                "that has "
                "one, such as scikit-learn's QuantileRegressor, or another method."
            )
        rows, tail = self._rows_to_learn_from(part), (1 - self.coverage) / 2
        low, high = (
            training.fit_copy(clone(self.model).set_params(quantile=share), rows) for share in (tail, 1 - tail)
        )
        return low, high

    def _rows_to_learn_from(self, part: HeldOutFold) -> Array:
        """Return the rows that are not held out; raise DataError if there are none."""
        if not len(part.learnt):
            raise DataError(
                f'method="{self.method}" learns the spread of the target from rows that are not held out, of which '
                'cv="prefit" leaves none; use cv="split", or method="absolute".'
            )
        return part.learnt

    def _cross_fitted_errors(self, training: WrappedTraining, rows: Array) -> Array:
        """Return errors of rows by models fitted without them, as errors on training rows are too small."""
        plain = WrappedTraining(training.X, training.y)
        halves = rows[::2], rows[1::2]
        errors = np.empty(len(plain))
        for train, test in (halves, halves[::-1]):
            if len(train) and len(test):
                errors[test] = plain.y[test] - _predict_finite(plain.fit_copy(self.model, train), plain.take(test))
            else:
                errors[test] = 1.0
        return errors[rows]

    def _errors(self, training: WrappedTraining, number: int, part: HeldOutFold) -> Array:
        """Return the calibration scores: distances outside the band, in its unit."""
        low, high, unit = self._band(number, training.take(part.rows))
        y = training.y[part.rows]
        return np.asarray(np.maximum(low - y, y - high) / unit)

    def _band(self, number: int, X: Any) -> tuple[Array, Array, Array]:
        """Return the ends of one model's band before calibration, and the unit in which it is widened."""
        if self.quantiles_:
            first, second = (_predict_finite(model, X) for model in self.quantiles_[number])
            return np.minimum(first, second), np.maximum(first, second), np.ones(len(first))
        centre = _predict_finite(self.models_[number], X)
        if not self.spreads_:
            return centre, centre, np.ones(len(centre))
        return (
            centre,
            centre,
            np.exp(np.clip(_predict_finite(self.spreads_[number], X), -MAX_LOG_SPREAD, MAX_LOG_SPREAD)),
        )

    # Prediction.

    def predict(self, X: Any) -> Array:
        """Return the value that the model predicts for every row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, in any form that the model accepts.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predicted values.
        """
        check_is_fitted(self)
        return np.asarray(self.model_.predict(X))

    def predict_interval(self, X: Any) -> Array:
        """Predict an interval for every row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, in any form that the model accepts.

        Returns
        -------
        intervals : ndarray of shape (n_samples, 2)
            Lower and upper ends; infinite if too few rows were held out. See `guarantee_` for their meaning.
        """
        check_is_fitted(self)
        bands = [self._band(number, X) for number in range(len(self.models_))]
        low, high, unit = (np.stack(each, axis=1) for each in zip(*bands, strict=True))
        n = self._n_held_out
        if (rank := exact_rank(n, self.coverage)) > n:
            return np.tile([-np.inf, np.inf], (len(low), 1))
        if len(self.models_) > 1:
            return widen_by_rounding(self._pooled(low, high, unit, rank), low, high)
        more = np.partition(self.calibration_scores_[0], rank - 1)[rank - 1] * unit
        # quantiles may be shifted inwards until they cross
        return widen_by_rounding(np.sort(np.concatenate([low - more, high + more], axis=1), axis=1), low, high)

    def _pooled(self, low: Array, high: Array, unit: Array, rank: int) -> Array:
        """Return the ends of CV+: order statistics of prediction ± error over the held-out rows and their models."""
        errors = [np.sort(each) for each in self.calibration_scores_]
        ends = np.column_stack([-select_ranked(-low, unit, errors, rank), select_ranked(high, unit, errors, rank)])
        # the ends may cross if models disagree by more than their errors
        return np.sort(ends, axis=1)


def widen_by_rounding(ends: Array, low: Array, high: Array) -> Array:
    """Widen intervals by their rounding error.

    f + (y − f) is not always y to the last digit; if many rows had the same y, the interval could miss all of them.
    """
    size = np.maximum(np.abs(low), np.abs(high)).max(axis=1, keepdims=True) + np.abs(ends)
    return np.asarray(ends + np.array([-1.0, 1.0]) * INTERVAL_ROUNDING * size)


def select_ranked(starts: Array, units: Array, errors: list[Array], rank: int) -> Array:
    """Return for each row the rank-th smallest of start + unit · error, over all errors of all models (columns).

    Bisection uses that the errors of each model are sorted; selection would need every error for every row.
    """
    below = (starts + units * np.array([each[0] for each in errors])).min(axis=1)
    above = (starts + units * np.array([each[-1] for each in errors])).max(axis=1)
    for _ in range(BISECTION_STEPS):
        middle = below + (above - below) / 2
        steps = (middle[:, None] - starts) / units
        upto = sum(np.searchsorted(each, steps[:, j], side="right") for j, each in enumerate(errors))
        enough = upto >= rank
        above, below = np.where(enough, middle, above), np.where(enough, below, middle)
    return np.asarray(above)


def _predict_finite(model: Any, X: Any) -> Array:
    """Return predictions; raise NonFiniteError for NaN and infinity."""
    values = np.asarray(model.predict(X), dtype=np.float64)
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise NonFiniteError(
            f"{type(model).__name__} predicts {values[row]} for row {row}, which has no interval; check this row for "
            "unusual values, or leave it out."
        )
    return values


def _check_target(y: Array) -> Array:
    """Return the target as float64; raise an error if it is not numeric and finite."""
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("y must be numbers; for classes use ConformalClassifier.") from None
    if not (finite := np.isfinite(values)).all():
        row = int(np.argmin(finite))
        raise NonFiniteError(f"Input y contains NaN or infinity. Row {row} has y = {values[row]}; drop such rows.")
    return values
