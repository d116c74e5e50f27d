"""Sets of classes that hold the true one with a probability that is stated, whatever the model."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from mercer._stored import floats, integers, part_of, sequence, stored
from mercer._typing import Array
from mercer.data.labels import codes_of, encode_labels
from mercer.decide._conformal import CONSTRAINTS, HoldsOut, promise, warn_if_too_few
from mercer.decide.conformal import exact_level
from mercer.decide.wrapped import in_order, probabilities, refuse_scores_only
from mercer.models.fitted_fields import FITTED_CLASSES
from mercer.models.streaming.from_source import fits_sources


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
