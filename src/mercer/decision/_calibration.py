"""Probabilities that hold: scores of a model, or probabilities that are too sure, brought in line with frequencies."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import expit, log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import check_is_fitted

from mercer._errors import DataError, NonFiniteError, NotConvergedWarning, PriorError
from mercer._stored import floats, part_of, real, sequence, stored
from mercer._suggest import quoted
from mercer._typing import Array
from mercer._warn import warn
from mercer.base.fitted_fields import FITTED_CLASSES
from mercer.base.sources import fits_sources
from mercer.data.labels import encode_labels
from mercer.decision._priors import class_shares, trained_priors
from mercer.decision.wrapped import (
    WrappedTraining,
    WrapsModel,
    class_scores,
    cv_constraint,
    folds_of,
    is_prefit,
    known_codes,
    plan_of,
    refuse_unfitted,
    scores_against_the_rest,
)
from mercer.optim.certificate import Certificate
from mercer.svm.calibration import scale, sigmoid


@stored(scores=floats("n"), probabilities=floats("n"))
class StepFunction(NamedTuple):
    """A rising function through these points, constant beyond them."""

    scores: Array
    probabilities: Array


@stored(
    **FITTED_CLASSES,
    model_=part_of(),
    _trained_shares=floats("k"),
    shares_=floats("k"),
    slopes_=floats("."),
    intercepts_=floats("."),
    temperature_=real(float(np.finfo(float).tiny)),
    steps_=sequence(".", part_of(StepFunction)),
)
class Calibrated(WrapsModel, ClassifierMixin, BaseEstimator):
    """A classifier with calibrated probabilities: of the rows that get 0.8 for a class, about 80 % are of that class.

    Scores of rows that the model has not seen (by cross-validation, or given as such) are mapped to probabilities. A
    model that has only a `decision_function` gets probabilities this way. With two classes the order of the rows by
    their scores stays ("isotonic" may make ties): only their probabilities change.

    Parameters
    ----------
    model : classifier with `predict_proba` or `decision_function`
        Copied and fitted by `fit`; with `cv="prefit"` a fitted model, used as it is.
    method : {"temperature", "platt", "isotonic"}, default="temperature"
        - "temperature": log probabilities (or decisions) are divided by one number for all classes, found by maximum
          likelihood. The most probable class stays the same. Good for few rows, and for models too sure or not sure
          enough.
        - "platt": a sigmoid of each class's score, with the targets of Platt (1999), normalised.
        - "isotonic": any rising function of each class's score, normalised; for a thousand rows or more.
    cv : int, splitter, list of splits or "prefit", default=5
        How rows are held out. The model is fitted once for each fold, for the scores, and once on all rows, for use.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    model_ : estimator
        The fitted model.
    temperature_ : float
        For the method "temperature", the number by which scores are divided: above 1 where the model is too sure.
    slopes_, intercepts_ : ndarray of shape (n_classes,) or (1,) for two classes
        For the method "platt", the slopes and intercepts of the sigmoids.
    steps_ : list of Steps
        The rising functions, for the method "isotonic".
    shares_ : ndarray of shape (n_classes,)
        Shares of the classes among the rows that the calibration was learnt on.
    class_prior_ : ndarray of shape (n_classes,)
        The class priors that the probabilities rest on, where they are known.
    certificate_ : Certificate
        How we know that this is the optimum.
    plan_ : Plan
        Which path the fit of the model took.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mercer import Calibrated, GaussianNB
    >>> from mercer.decision import calibration_error
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> naive = GaussianNB().fit(X[::2], y[::2])
    >>> calibrated = Calibrated(GaussianNB()).fit(X[::2], y[::2])
    >>> [round(calibration_error(m.predict_proba(X[1::2]), y[1::2]).error, 2) for m in (naive, calibrated)]
    [0.04, 0.02]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "model": [HasMethods(["fit"]), HasMethods(["predict_proba"]), HasMethods(["decision_function"])],
        "method": [StrOptions({"temperature", "platt", "isotonic"})],
        "cv": cv_constraint("prefit"),
    }

    def __init__(self, model: Any, *, method: str = "temperature", cv: Any = 5) -> None:
        self.model = model
        self.method = method
        self.cv = cv

    # Learning.

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **parameters: Any) -> Self:
        """Fit the model, and the map from its scores to probabilities.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Training rows, of whatever kind the model takes; with `cv="prefit"` rows that the model has not seen.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for the model and for the calibration: one of weight 2 counts as two rows.
        **parameters : dict
            What else the model's `fit` takes.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        with self._learning(X, y, sample_weight, parameters) as training:
            weight = training.weight
            scores, codes, rows = self._fit_model(training)
            self._forget()
            self._calibrate(_finite(scores), codes, None if weight is None else weight[rows])
            held = "rows given" if is_prefit(self) else "rows held out in turn"
            self.plan_ = plan_of(self.model_, f"{self.method} calibration on {held}")
        if not self.certificate_.holds:
            warn(
                f"the {self.method} calibration stopped early: {self.certificate_}. Look at the scores of the model, "
                "of which some may be very large.",
                NotConvergedWarning,
            )
        return self

    def _fit_model(self, training: WrappedTraining) -> tuple[Array, Array, Array]:
        """Scores of rows the model has not seen, their classes, and which rows these are."""
        labels, codes = encode_labels(training.y)
        if is_prefit(self):
            return self._take_fitted(training)
        folds = self._folds(training, labels, codes)
        scores = np.full((len(training), self._columns(len(labels))), np.nan)
        for train, test in folds:
            scores[test] = self._scores(training.fitted(self.model, train), training.taken(test), labels)
        self.model_ = training.fitted(self.model)
        self.classes_ = np.asarray(self.model_.classes_)
        self._trained_shares = class_shares(self.model_, training.y, training.weight)
        rows = np.unique(np.concatenate([test for _, test in folds]))
        return scores[rows], codes[rows], rows

    def _take_fitted(self, training: WrappedTraining) -> tuple[Array, Array, Array]:
        refuse_unfitted(self.model)
        self.model_, self.classes_ = self.model, np.asarray(self.model.classes_)
        self.__dict__.pop("_trained_shares", None)  # which rows it was trained on is not known
        codes = known_codes(training.y, self.classes_)
        return self._scores(self.model_, training.X, self.classes_), codes, np.arange(len(training))

    def _folds(self, training: WrappedTraining, labels: Array, codes: Array) -> list[tuple[Array, Array]]:
        if isinstance(self.cv, Integral) and (few := np.bincount(codes) < int(self.cv)).any():
            label, count = labels[few].tolist()[0], int(np.bincount(codes)[few][0])
            raise DataError(
                f"Requesting {self.cv}-fold cross-validation but provided less than {self.cv} examples for at least "
                f"one class: n_samples={len(training)}, and the class {quoted(label)} has {count}. Give a smaller cv."
            )
        return folds_of(check_cv(self.cv, training.y, classifier=True), training)

    def _columns(self, n_classes: int) -> int:
        return 1 if n_classes == 2 and self.method != "temperature" else n_classes

    def _scores(self, model: Any, X: Any, classes: Array) -> Array:
        if self.method == "temperature" or len(classes) == 1:
            return class_scores(model, X, classes)
        return scores_against_the_rest(model, X, classes)

    def _forget(self) -> None:
        """What another method has left."""
        for name in ("temperature_", "slopes_", "intercepts_", "steps_"):
            self.__dict__.pop(name, None)

    def _calibrate(self, scores: Array, codes: Array, weight: Array | None) -> None:
        K = len(self.classes_)
        total = np.bincount(codes, weight, minlength=K)
        self.shares_ = total / total.sum()
        if K == 1:
            self.certificate_ = Certificate.closed_form("there is one class, and its probability is 1")
        elif self.method == "temperature":
            found = scale(scores, codes, weight, rows=float(total.sum()))
            self.temperature_, self.certificate_ = 1.0 / float(found.value), found.certificate
        elif self.method == "platt":
            self._fit_sigmoids(scores, codes, weight)
        else:
            self.steps_ = [rising(scores[:, j], codes == k, weight) for j, k in self._events()]
            self.certificate_ = Certificate.closed_form("pools of adjacent violators: the nearest rising function")

    def _events(self) -> list[tuple[int, int]]:
        """Columns of scores, and the classes they are for."""
        return [(0, 1)] if len(self.classes_) == 2 else [(k, k) for k in range(len(self.classes_))]

    def _fit_sigmoids(self, scores: Array, codes: Array, weight: Array | None) -> None:
        found = [sigmoid(scores[:, j], platt_targets(codes == k, weight), weight) for j, k in self._events()]
        self.slopes_, self.intercepts_ = np.array([each.value for each in found]).T
        self.certificate_ = max((each.certificate for each in found), key=lambda c: c.value - c.tolerance)

    # Asking.

    @property
    def class_prior_(self) -> Array:
        """The priors that the probabilities rest on.

        Sigmoids and steps make them hold where the classes have the shares of the rows held out, whatever the model's
        priors are. A temperature T leaves p ∝ (prior · likelihood)^(1/T), and of the model's priors their power 1/T.
        """
        check_is_fitted(self)
        if not hasattr(self, "temperature_"):
            return np.asarray(self.shares_)
        try:
            power = trained_priors(self.model_, None, vars(self).get("_trained_shares")) ** (1 / self.temperature_)
        except PriorError as unknown:
            raise AttributeError(str(unknown)) from None
        return np.asarray(power / power.sum())

    def predict_proba(self, X: Any) -> Array:
        """Calibrated p(y|x) of every row and class.

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
        scores = _finite(self._scores(self.model_, X, self.classes_))
        if hasattr(self, "temperature_"):
            return np.exp(log_softmax(scores / self.temperature_, axis=1))
        if len(self.classes_) == 1:
            return np.ones((len(scores), 1))
        if hasattr(self, "slopes_"):
            return self._normalised(expit(scores * self.slopes_ + self.intercepts_))
        values = [np.interp(scores[:, j], *steps) for j, steps in enumerate(self.steps_)]
        return self._normalised(np.stack(values, axis=1))

    def _normalised(self, p: Array) -> Array:
        """One row of probabilities from one event per class; where all are 0, the shares of the classes."""
        if p.shape[1] == 1:
            return np.column_stack([1 - p, p])
        total = p.sum(axis=1, keepdims=True)
        return np.where(total > 0, p / np.where(total > 0, total, 1.0), self.shares_)

    def predict_log_proba(self, X: Any) -> Array:
        """Calibrated log p(y|x) of every row and class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, of whatever kind the model takes.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        check_is_fitted(self)
        if hasattr(self, "temperature_"):
            scores = _finite(self._scores(self.model_, X, self.classes_))
            return np.asarray(log_softmax(scores / self.temperature_, axis=1))
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> Array:
        """The most probable class of every row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, of whatever kind the model takes.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Of `classes_`. With the methods "platt" and "isotonic" it may differ from what the model says.
        """
        p = self.predict_proba(X)
        return np.asarray(self.classes_[p.argmax(axis=1)])


def platt_targets(event: Array, weight: Array | None) -> Array:
    """(n₊ + 1)/(n₊ + 2) for rows of the class and 1/(n₋ + 2) for others, by Platt's rule."""
    weight = np.ones(len(event)) if weight is None else weight
    positive, negative = float(weight @ event), float(weight @ ~event)
    return np.where(event, (positive + 1) / (positive + 2), 1 / (negative + 2))


def rising(scores: Array, event: Array, weight: Array | None) -> StepFunction:
    """The rising function of the scores nearest to 0 and 1."""
    from sklearn.isotonic import IsotonicRegression

    size = float(np.abs(scores).max()) or 1.0  # scikit-learn takes scores for equal that differ by less than 1e-16
    fit = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    found = fit.fit(scores / size, event.astype(float), weight)
    return StepFunction(np.asarray(found.X_thresholds_) * size, np.asarray(found.y_thresholds_))


def _finite(scores: Array) -> Array:
    if np.isfinite(scores).all():
        return scores
    row = int(np.argmin(np.isfinite(scores).all(axis=1)))
    raise NonFiniteError(
        f"the model's scores of row {row} are {scores[row].tolist()}, from which no probability follows; look at what "
        "is unusual about this row, or leave it out."
    )
