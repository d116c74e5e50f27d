"""Probabilities of a support vector classifier that agree with its predictions.

A softmax of τ times each class's smallest margin: its decision against the rival that does best against it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy.special import log_softmax

from mercer._typing import Array
from mercer._warn import warn
from mercer.models.svm._calibration import Calibration
from mercer.models.svm.one_against_one import agreeing, smallest_margins


class WithProbabilities(ABC):
    """What a classifier that decides between pairs of classes needs in order to say how sure it is."""

    probability: Any
    classes_: Array
    _intercept_: Array
    _comparison: Any
    _calibration: Calibration

    @abstractmethod
    def _decisions(self, X: Any) -> Array:
        """Decisions of all pairs, above 0 for the first class of each."""

    @abstractmethod
    def _winner(self, decisions: Array) -> Array:
        """The class that these decisions are for."""

    def predict_proba(self, X: Any) -> Array:
        """p(y|x) of every row and class, largest for the class that `predict` gives.

        A softmax of each class's smallest margin over another one, times a scale that fits approximate leave-one-out
        margins of the training rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of shape (n_samples, n_features)
            Rows to score; their kernel with the rows of the fit if it is precomputed.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        decisions = self._decisions(X)
        log = self._log_probabilities(decisions)
        return agreeing(np.exp(log), self._winner(decisions))

    def predict_log_proba(self, X: Any) -> Array:
        """log p(y|x) of every row and class.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of shape (n_samples, n_features)
            Rows to score; their kernel with the rows of the fit if it is precomputed.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        return self._log_probabilities(self._decisions(X))

    def _log_probabilities(self, decisions: Array) -> Array:
        return log_probabilities(decisions, self._winner(decisions), self._scale(), len(self.classes_))

    def _scale(self) -> float:
        """The factor of the scores in probabilities; where only the fit knew the kernel matrix it is known by now."""
        return self._calibration.scale(getattr(self._comparison, "among", None))

    @property
    def probA_(self) -> Array:
        """Slopes of Platt's sigmoids, where `probability=True`: of the scale of the scores; deprecated."""
        return self._platt("probA_", -2.0)

    @property
    def probB_(self) -> Array:
        """Offsets of Platt's sigmoids, where `probability=True`: 0, so that they agree with `predict`; deprecated."""
        return self._platt("probB_", 0.0)

    def _platt(self, name: str, factor: float) -> Array:
        machines = len(self._intercept_)
        warn(
            f"Attribute `{name}` was deprecated in version 1.9 and will be removed in 1.11 as the `probability=True` "
            "option for SVC and NuSVC was deprecated and will be removed in 1.11. Use predict_proba.",
            FutureWarning,
        )
        return np.full(machines, factor * self._scale()) if self.probability is True else np.empty(0)

    def _warn_of_probability(self) -> None:
        if not (isinstance(self.probability, str) and self.probability == "deprecated"):
            warn(
                "The `probability` parameter was deprecated in 1.9 and will be removed in version 1.11. Use "
                "`CalibratedClassifierCV(SVC(), ensemble=False)` instead of `SVC(probability=True)`. Here "
                "predict_proba is there without it.",
                FutureWarning,
            )


def log_probabilities(decisions: Array, winner: Array, scale: float, n_classes: int) -> Array:
    """log p of every class, largest for the winner."""
    scores = smallest_margins(decisions, n_classes)
    rows = np.arange(len(scores))
    # where votes go round in circles no class beats every other; the one that is chosen is then as probable as any
    scores[rows, winner] = scores.max(axis=1)
    return agreeing(np.asarray(log_softmax(scale * scores, axis=1)), winner)
