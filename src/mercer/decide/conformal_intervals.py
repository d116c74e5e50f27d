"""Intervals that hold the true value with a probability that is stated, whatever the model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import check_is_fitted

from mercer._errors import DataError, NonFiniteError
from mercer._stored import each_of, floats, part_of, sequence, stored
from mercer._typing import Array
from mercer.decide._conformal import CONSTRAINTS, Fold, HoldsOut, promise, warn_if_too_few
from mercer.decide._training import Training
from mercer.decide.conformal import exact_rank
from mercer.models.fitted_fields import FITTED
from mercer.models.streaming.from_source import fits_sources

#: of the stretch in which an end of an interval lies, after which no digit is left to find
HALVINGS = 64
#: by which numbers may be off that were computed from others of size 1
ROUNDING = 4 * np.finfo(np.float64).eps
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

    def _fit_spread(self, training: Training, part: Fold) -> Any:
        """How large errors are, from rows that are not compared with."""
        rows = self._rows_to_learn_from(part)
        sizes = np.abs(self._cross_fitted_errors(training, rows))
        middle = float(np.median(sizes)) or 1.0
        spread = self.model if self.spread is None else self.spread
        return Training(training.taken(rows), np.log(np.maximum(sizes, SMALLEST * middle))).fitted(spread)

    def _fit_quantiles(self, training: Training, part: Fold) -> tuple[Any, Any]:
        """Models of the two quantiles between which the share `coverage` lies."""
        if "quantile" not in self.model.get_params():
            raise DataError(
                f"{type(self.model).__name__} has no parameter `quantile`, by which two quantiles are asked for; use a "
                "model that has one, such as QuantileRegressor of scikit-learn, or another method."
            )
        rows, tail = self._rows_to_learn_from(part), (1 - self.coverage) / 2
        low, high = (training.fitted(clone(self.model).set_params(quantile=share), rows) for share in (tail, 1 - tail))
        return low, high

    def _rows_to_learn_from(self, part: Fold) -> Array:
        if not len(part.learnt):
            raise DataError(
                f'method="{self.method}" learns how far values spread from rows that are not held out, of which '
                'cv="prefit" leaves none; use cv="split", or method="absolute".'
            )
        return part.learnt

    def _cross_fitted_errors(self, training: Training, rows: Array) -> Array:
        """Errors of rows by models that have not seen them: those of a model on its own rows are too small."""
        plain = Training(training.X, training.y)
        halves = rows[::2], rows[1::2]
        errors = np.empty(len(plain))
        for train, test in (halves, halves[::-1]):
            if len(train) and len(test):
                errors[test] = plain.y[test] - _predicted(plain.fitted(self.model, train), plain.taken(test))
            else:
                errors[test] = 1.0
        return errors[rows]

    def _errors(self, training: Training, number: int, part: Fold) -> Array:
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
    return np.asarray(ends + np.array([-1.0, 1.0]) * ROUNDING * size)


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
