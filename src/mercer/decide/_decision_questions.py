"""What a decision says about rows: probabilities, actions, and what these cost."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from mercer._errors import DataError
from mercer._typing import Array
from mercer.data.labels import codes_of
from mercer.decide import priors as shift
from mercer.decide._rule import Rule
from mercer.decide.wrapped import known_codes, log_probabilities, probabilities
from mercer.models.base import checked_weight


class DecisionQuestions:
    """An estimator with a rule, and priors that may differ from those of its model."""

    classes_: Any
    _fitted: Any

    @abstractmethod
    def _rule(self) -> Rule: ...

    @abstractmethod
    def _changed_priors(self) -> tuple[Array, Array] | None: ...

    def predict_proba(self, X: Any) -> Array:
        """p(y|x) of every row and class, under the priors that were given.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, of whatever kind the model takes.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`; those of the model, if no priors were given.
        """
        changed = self._changed_priors()
        if changed is None:
            return probabilities(self._fitted, X)
        return np.exp(shift.reweighted(log_probabilities(self._fitted, X), *changed, self.classes_))

    def predict(self, X: Any) -> Array:
        """The best action for every row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, of whatever kind the model takes.

        Returns
        -------
        actions : ndarray of shape (n_samples,)
            Of `actions_`; of equally good ones the first.
        """
        rule = self._rule()
        return np.asarray(rule.costs.actions[rule.chosen(self.predict_proba(X))])

    def costs_of_actions(self, X: Any) -> Array:
        """What each action is expected to cost for every row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, of whatever kind the model takes.

        Returns
        -------
        costs : ndarray of shape (n_samples, n_actions)
            Columns in the order of `actions_`; NaN for rejection, if `reject` does not say what it costs.
        """
        return self._rule().expected(self.predict_proba(X))

    def expected_cost(self, X: Any) -> Array:
        """What the action chosen for every row is expected to cost.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, of whatever kind the model takes.

        Returns
        -------
        cost : ndarray of shape (n_samples,)
            NaN for rejected rows, if `reject` does not say what rejecting costs.
        """
        rule, p = self._rule(), self.predict_proba(X)
        return np.asarray(rule.expected(p)[np.arange(len(p)), rule.chosen(p)])

    def average_cost(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """What the decisions cost per row where the classes are known.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, of whatever kind the model takes.
        y : array-like of shape (n_samples,)
            Their true classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        cost : float
            The mean; rejected rows are left out of it if `reject` does not say what rejecting costs.
        """
        rule, p = self._rule(), self.predict_proba(X)
        codes, weight = self._labelled(p, y, sample_weight)
        paid = rule.costs.of(codes, rule.chosen(p))
        counted = np.isfinite(paid)
        return float(np.average(paid[counted], weights=weight[counted])) if weight[counted].any() else float("nan")

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows for which the action is their true class; for rejected rows it is not.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, of whatever kind the model takes.
        y : array-like of shape (n_samples,)
            Their true classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            From 0 to 1. Where mistakes cost differently, `average_cost` says more.
        """
        rule, p = self._rule(), self.predict_proba(X)
        given, weight = _beside(p, y, sample_weight)
        chosen, codes = rule.chosen(p), codes_of(given, self.classes_)
        # a class that the model does not know is −1, and the last row
        actions, classes = rule.costs.actions.tolist(), [*self.classes_.tolist(), None]
        right = np.array([[label is not None and action == label for action in actions] for label in classes])
        return float(np.average(right[codes, chosen], weights=weight))

    def _labelled(self, p: Array, y: Any, sample_weight: Any) -> tuple[Array, Array]:
        """Codes and weights of rows whose class is known."""
        given, weight = _beside(p, y, sample_weight)
        return known_codes(given, self.classes_), np.ones(len(p)) if weight is None else weight


def _beside(p: Array, y: Any, sample_weight: Any) -> tuple[Array, Array | None]:
    """Labels and weights, as many as there are rows."""
    if len(given := column_or_1d(y)) != len(p):
        raise DataError(f"X has {len(p)} rows and y {len(given)} labels; give one label for each row.")
    return given, checked_weight(sample_weight, given)
