"""Calibrated probabilities: scores or overconfident probabilities of a model mapped to frequencies."""

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
from mercer._stored import estimator, floats, part_of, real, sequence, stored
from mercer._suggest import quoted
from mercer._typing import Array
from mercer._warn import warn
from mercer.base.fitted_fields import FITTED_CLASSES
from mercer.base.sources import fits_sources
from mercer.data.labels import encode_labels
from mercer.decision._priors import class_shares, find_trained_priors
from mercer.decision.wrapped import (
    WrappedTraining,
    WrapsModel,
    check_prefit,
    class_scores,
    cv_constraint,
    encode_known_classes,
    folds_of,
    is_prefit,
    plan_around,
    scores_against_the_rest,
)
from mercer.optim.certificate import Certificate
from mercer.svm.calibration import fit_scale, fit_sigmoid


@stored(scores=floats("n"), probabilities=floats("n"))
class StepFunction(NamedTuple):
    """An increasing function: linear between these points, constant outside them."""

    scores: Array
    probabilities: Array


@stored(
    **FITTED_CLASSES,
    model_=estimator(),
    _trained_shares=floats("k"),
    shares_=floats("k"),
    slopes_=floats("."),
    intercepts_=floats("."),
    temperature_=real(float(np.finfo(float).tiny)),
    steps_=sequence(".", part_of(StepFunction)),
)
class Calibrated(WrapsModel, ClassifierMixin, BaseEstimator):
    """A classifier with calibrated probabilities: of the rows with probability 0.8 for a class, about 80 % are of it.

    The map from scores to probabilities is learnt from rows that the model was not fitted on, by cross-validation or
    given with `cv="prefit"`. A model that has only a `decision_function` gets probabilities this way. With two classes
    the order of the rows by their scores is kept ("isotonic" may make ties): only their probabilities change.

    Parameters
    ----------
    model : classifier with `predict_proba` or `decision_function`
        Copied and fitted by `fit`; with `cv="prefit"` a fitted model, used as it is.
    method : {"temperature", "platt", "isotonic"}, default="temperature"
        - "temperature": log probabilities (or decisions) are divided by one number for all classes, found by maximum
          likelihood. The most probable class stays the same. Suitable for few rows, and for overconfident or
          underconfident models.
        - "platt": a sigmoid of the score of each class, with the targets of Platt (1999), normalised.
        - "isotonic": any increasing function of the score of each class, normalised; for 1,000 rows or more.
    cv : int, splitter, list of splits or "prefit", default=5
        How rows are held out. The model is fitted on each fold to get scores, and once on all rows for prediction.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    model_ : estimator
        The fitted model.
    temperature_ : float
        For the method "temperature", the number by which scores are divided: above 1 if the model is overconfident.
    slopes_, intercepts_ : ndarray of shape (n_classes,) or (1,) for two classes
        For the method "platt", the slopes and intercepts of the sigmoids.
    steps_ : list of StepFunction
        For the method "isotonic", the increasing functions.
    shares_ : ndarray of shape (n_classes,)
        Shares of the classes among the rows used for the calibration.
    class_prior_ : ndarray of shape (n_classes,)
        The class priors behind the probabilities, if they are known.
    certificate_ : Certificate
        Evidence that the calibration is optimal.
    plan_ : Plan
        The path that the fit of the model took.

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

    # Fitting.

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **parameters: Any) -> Self:
        """Fit the model, and the map from its scores to probabilities.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Training rows, in any form that the model accepts; with `cv="prefit"` rows that it was not fitted on.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows for the model and the calibration: a row of weight 2 counts as two rows.
        **parameters : dict
            Further parameters of the model's `fit`.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        with self._learning(X, y, sample_weight, parameters) as training:
            weight = training.weight
            scores, codes, rows = self._fit_model(training)
            for name in ("temperature_", "slopes_", "intercepts_", "steps_"):  # set by another method
                self.__dict__.pop(name, None)
            self._calibrate(_check_finite_scores(scores), codes, None if weight is None else weight[rows])
            held = "rows given" if is_prefit(self) else "rows held out in turn"
            self.plan_ = plan_around(self.model_, f"{self.method} calibration on {held}")
        if not self.certificate_.holds:
            warn(
                f"the {self.method} calibration stopped early: {self.certificate_}. Check the scores of the model: "
                "some may be very large.",
                NotConvergedWarning,
            )
        return self

    def _fit_model(self, training: WrappedTraining) -> tuple[Array, Array, Array]:
        """Fit the model; return the scores of held-out rows, their class codes, and their positions."""
        if is_prefit(self):
            check_prefit(self.model)
            self.model_, self.classes_ = self.model, np.asarray(self.model.classes_)
            self.__dict__.pop("_trained_shares", None)  # the training rows are unknown
            codes = encode_known_classes(training.y, self.classes_)
            return self._scores(self.model_, training.X, self.classes_), codes, np.arange(len(training))
        labels, codes = encode_labels(training.y)
        folds = self._folds(training, labels, codes)
        n_columns = 1 if len(labels) == 2 and self.method != "temperature" else len(labels)
        scores = np.full((len(training), n_columns), np.nan)
        for train, test in folds:
            scores[test] = self._scores(training.fit_copy(self.model, train), training.take(test), labels)
        self.model_ = training.fit_copy(self.model)
        self.classes_ = np.asarray(self.model_.classes_)
        self._trained_shares = class_shares(self.model_, training.y, training.weight)
        rows = np.unique(np.concatenate([test for _, test in folds]))
        return scores[rows], codes[rows], rows

    def _folds(self, training: WrappedTraining, labels: Array, codes: Array) -> list[tuple[Array, Array]]:
        if isinstance(self.cv, Integral) and (few := np.bincount(codes) < int(self.cv)).any():
            label, count = labels[few].tolist()[0], int(np.bincount(codes)[few][0])
            raise DataError(
                f"Requesting {self.cv}-fold cross-validation but provided less than {self.cv} examples for at least "
                f"one class: n_samples={len(training)}, and the class {quoted(label)} has {count}. Give a smaller cv."
            )
        return folds_of(check_cv(self.cv, training.y, classifier=True), training)

    def _scores(self, model: Any, X: Any, classes: Array) -> Array:
        if self.method == "temperature" or len(classes) == 1:
            return class_scores(model, X, classes)
        return scores_against_the_rest(model, X, classes)

    def _calibrate(self, scores: Array, codes: Array, weight: Array | None) -> None:
        K = len(self.classes_)
        total = np.bincount(codes, weight, minlength=K)
        self.shares_ = total / total.sum()
        if K == 1:
            self.certificate_ = Certificate.closed_form("the only class has probability 1")
        elif self.method == "temperature":
            inverse = fit_scale(scores, codes, weight, rows=float(total.sum()))
            self.temperature_, self.certificate_ = 1.0 / float(inverse.coef), inverse.certificate
        elif self.method == "platt":
            sigmoids = [fit_sigmoid(scores[:, j], platt_targets(codes == k, weight), weight) for j, k in self._events()]
            self.slopes_, self.intercepts_ = np.array([each.coef for each in sigmoids]).T
            self.certificate_ = max((each.certificate for each in sigmoids), key=lambda c: c.value - c.tolerance)
        else:
            self.steps_ = [fit_step_function(scores[:, j], codes == k, weight) for j, k in self._events()]
            self.certificate_ = Certificate.closed_form("pool adjacent violators: the nearest increasing function")

    def _events(self) -> list[tuple[int, int]]:
        """Return the columns of scores with the positions of their classes."""
        return [(0, 1)] if len(self.classes_) == 2 else [(k, k) for k in range(len(self.classes_))]

    # Prediction.

    @property
    def class_prior_(self) -> Array:
        """Return the priors behind the probabilities.

        Sigmoids and step functions are calibrated to the shares of the classes among the held-out rows, whatever the
        model's priors. A temperature T gives p ∝ (prior · likelihood)^(1/T), so the priors are the model's to the power
        1/T.
        """
        check_is_fitted(self)
        if not hasattr(self, "temperature_"):
            return np.asarray(self.shares_)
        try:
            power = find_trained_priors(self.model_, None, vars(self).get("_trained_shares")) ** (1 / self.temperature_)
        except PriorError as unknown:
            raise AttributeError(str(unknown)) from None
        return np.asarray(power / power.sum())

    def predict_proba(self, X: Any) -> Array:
        """Return the calibrated p(y|x) for every row and class.

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
        scores = _check_finite_scores(self._scores(self.model_, X, self.classes_))
        if hasattr(self, "temperature_"):
            return np.exp(log_softmax(scores / self.temperature_, axis=1))
        if len(self.classes_) == 1:
            return np.ones((len(scores), 1))
        if hasattr(self, "slopes_"):
            return self._normalize(expit(scores * self.slopes_ + self.intercepts_))
        values = [np.interp(scores[:, j], *steps) for j, steps in enumerate(self.steps_)]
        return self._normalize(np.stack(values, axis=1))

    def _normalize(self, p: Array) -> Array:
        """Return probabilities that sum to 1 from one event per class; the class shares for rows with zeros only."""
        if p.shape[1] == 1:
            return np.column_stack([1 - p, p])
        total = p.sum(axis=1, keepdims=True)
        return np.where(total > 0, p / np.where(total > 0, total, 1.0), self.shares_)

    def predict_log_proba(self, X: Any) -> Array:
        """Return the calibrated log p(y|x) for every row and class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, in any form that the model accepts.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        check_is_fitted(self)
        if hasattr(self, "temperature_"):
            scores = _check_finite_scores(self._scores(self.model_, X, self.classes_))
            return np.asarray(log_softmax(scores / self.temperature_, axis=1))
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> Array:
        """Return the most probable class of every row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, in any form that the model accepts.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Values of `classes_`. With the methods "platt" and "isotonic" they may differ from the model's predictions.
        """
        p = self.predict_proba(X)
        return np.asarray(self.classes_[p.argmax(axis=1)])


def platt_targets(event: Array, weight: Array | None) -> Array:
    """Return Platt's targets: (n₊ + 1)/(n₊ + 2) for rows of the class and 1/(n₋ + 2) for the others."""
    weight = np.ones(len(event)) if weight is None else weight
    positive, negative = float(weight @ event), float(weight @ ~event)
    return np.where(event, (positive + 1) / (positive + 2), 1 / (negative + 2))


def fit_step_function(scores: Array, event: Array, weight: Array | None) -> StepFunction:
    """Return the increasing function of the scores that is nearest to the events (0 and 1)."""
    from sklearn.isotonic import IsotonicRegression

    size = float(np.abs(scores).max()) or 1.0  # scikit-learn merges scores that differ by less than 1e-16
    fit = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    fitted = fit.fit(scores / size, event.astype(float), weight)
    return StepFunction(np.asarray(fitted.X_thresholds_) * size, np.asarray(fitted.y_thresholds_))


def _check_finite_scores(scores: Array) -> Array:
    """Return the scores; raise NonFiniteError if one is NaN or infinite."""
    if np.isfinite(scores).all():
        return scores
    row = int(np.argmin(np.isfinite(scores).all(axis=1)))
    raise NonFiniteError(
        f"the model's scores of row {row} are {scores[row].tolist()}, which cannot be mapped to probabilities; check "
        "this row for unusual values, or leave it out."
    )
