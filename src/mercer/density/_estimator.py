"""Base class of density estimators."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from sklearn.base import BaseEstimator

from mercer._typing import Array


class DensityEstimator(BaseEstimator):
    """Base class of estimators of p(x); `score_samples` returns its logarithm."""

    @abstractmethod
    def score_samples(self, X: Any) -> Array:
        """Return log p(x) for each row."""

    def log_density(self, X: Any) -> Array:
        """Log density of each row; the same as `score_samples`.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            log p(x).
        """
        return self.score_samples(X)

    def score(self, X: Any, y: Any = None) -> float:
        """Log likelihood of all rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows to score.
        y : None
            Ignored.

        Returns
        -------
        log_likelihood : float
            Σ log p(x); −inf if the density of any row is 0.
        """
        return float(self.score_samples(X).sum())
