"""What transformers of numbers share: rows at the door, and names for what is made of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from mercer._typing import Array
from mercer.base.sources import fit_to_sample, fits_sources, maps_sources
from mercer.base.validation import (
    Plan,
    checked,
    column_names,
    is_sparse,
    old_state_on_failure,
    position_of,
    refuse_infinite,
)
from mercer.data.sources.base import Source

# What is given for every column, or by column: edges of buckets, knots of splines.


def by_column(parameter: str, given: Any, names: list[str], check: Callable[[Any, str], Array]) -> dict[int, Array]:
    """Positions of the columns for which numbers are given, and these; a word gives none."""
    if isinstance(given, str):
        return {}
    if isinstance(given, dict):
        return {position_of(key, names, parameter): check(numbers, repr(key)) for key, numbers in given.items()}
    return dict.fromkeys(range(len(names)), check(given, "every column"))


def increasing(numbers: Any) -> Array | None:
    """Two or more increasing numbers as a vector; None if they are not."""
    try:
        vector = np.asarray(numbers, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return vector if vector.ndim == 1 and len(vector) > 1 and (vector[1:] > vector[:-1]).all() else None


class NumericTransformer(TransformerMixin, BaseEstimator):
    """A transformer of columns of float64 or float32 that may have missing values, but no infinite ones."""

    #: whether sparse rows are taken, and have sparse features
    _takes_sparse = False

    @fits_sources
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what the map needs to know of the columns.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features), or Source
            Rows; NaN is a missing value. Of a source that is large a sample is looked at.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        with old_state_on_failure(self):
            self._refuse_unmappable(self._fit_rows(X))
        return self

    def _fit_source(self, source: Source) -> Any:
        with old_state_on_failure(self):
            return fit_to_sample(self, source, NumericTransformer._fit_rows)

    def _fit_rows(self, X: Any) -> Any:
        self._validate_params()
        X = self._rows(X, reset=True)
        self.plan_ = Plan(self._learn(X), str(X.dtype), 1, 1)
        return X

    @maps_sources
    def transform(self, X: Any) -> Any:
        """The features of rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows, of the columns of the fit.

        Returns
        -------
        features : array or sparse matrix of shape (n_samples, n_output_features_)
            One row for each, in the precision of X.
        """
        check_is_fitted(self)
        return self._mapped(self._rows(X, reset=False))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the features.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns; by default those of the fit, or x0, x1, …

        Returns
        -------
        names : ndarray of str objects
            One for each feature.
        """
        check_is_fitted(self)
        columns = [str(name) for name in _check_feature_names_in(self, input_features)]
        return np.asarray(self._names(columns), dtype=object)

    @abstractmethod
    def _learn(self, X: Any) -> str:
        """Store what was learnt; the path that was taken."""

    @abstractmethod
    def _mapped(self, X: Any) -> Any:
        """The features of checked rows."""

    def _refuse_unmappable(self, X: Any) -> None:
        """Refuse rows of a fit that have no features; those of a source are refused when they are mapped."""

    @abstractmethod
    def _names(self, columns: list[str]) -> list[str]:
        """Names of features by those of columns."""

    def _rows(self, X: Any, *, reset: bool) -> Any:
        sparse = "csr" if self._takes_sparse else False
        X = checked(self, X, reset=reset, dtype=[np.float64, np.float32], accept_sparse=sparse)
        if not np.isfinite(largest(X)):
            refuse_infinite(X, column_names(self), estimator=type(self).__name__)
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def largest(X: Any) -> float:
    """The largest absolute value, without a copy; NaN if there is one."""
    values = X.data if is_sparse(X) else X
    return float(max(-values.min(), values.max())) if values.size else 0.0
