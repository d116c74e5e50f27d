"""What estimators of densities have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from sklearn.base import BaseEstimator

from mercer._typing import Array


class DensityEstimator(BaseEstimator):
    """An estimator of p(x): `score_samples` is its logarithm."""

    @abstractmethod
    def score_samples(self, X: Any) -> Array:
        """log p(x) for each row."""

    def log_density(self, X: Any) -> Array:
        """Log density of each row: another name of `score_samples`.

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
        """Log likelihood of all rows together.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows to score.
        y : None
            Ignored.

        Returns
        -------
        log_likelihood : float
            Σ log p(x): −inf if the density is 0 at a single row.
        """
        return float(self.score_samples(X).sum())
