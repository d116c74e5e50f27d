"""Base class of the transformers of numbers: validation of rows, and names of features."""

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
    check_no_infinity,
    check_rows,
    column_names,
    find_column,
    is_sparse,
    restore_on_failure,
)
from mercer.data.sources.base import Source


def map_by_column(parameter: str, given: Any, names: list[str], check: Callable[[Any, str], Array]) -> dict[int, Array]:
    """Return the positions of columns with given numbers (edges or knots), and the checked numbers; a word gives
    none."""
    if isinstance(given, str):
        return {}
    if isinstance(given, dict):
        return {find_column(key, names, parameter): check(numbers, repr(key)) for key, numbers in given.items()}
    return dict.fromkeys(range(len(names)), check(given, "every column"))


def parse_increasing(numbers: Any) -> Array | None:
    """Return two or more increasing numbers as a vector; None if they are not increasing numbers."""
    try:
        vector = np.asarray(numbers, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return vector if vector.ndim == 1 and len(vector) > 1 and (vector[1:] > vector[:-1]).all() else None


class NumericTransformer(TransformerMixin, BaseEstimator):
    """Base class of transformers of float64 or float32 columns with missing, but no infinite, values."""

    #: whether sparse rows are accepted, which then have sparse features
    _takes_sparse = False

    @fits_sources
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the parameters of the map from the columns.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features), or Source
            Rows; NaN is a missing value. Of a large source only a sample is used.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        with restore_on_failure(self):
            self._check_mappable(self._fit_rows(X))
        return self

    def _fit_source(self, source: Source) -> Any:
        with restore_on_failure(self):
            return fit_to_sample(self, source, NumericTransformer._fit_rows)

    def _fit_rows(self, X: Any) -> Any:
        self._validate_params()
        X = self._rows(X, reset=True)
        self.plan_ = Plan(self._learn(X), str(X.dtype), 1, 1)
        return X

    @maps_sources
    def transform(self, X: Any) -> Any:
        """Compute the features of rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows with the columns of the fit.

        Returns
        -------
        features : array or sparse matrix of shape (n_samples, n_output_features_)
            Features of each row, in the precision of X.
        """
        check_is_fitted(self)
        return self._mapped(self._rows(X, reset=False))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the features.

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
        """Store what is learned, and return the description for `plan_`."""

    @abstractmethod
    def _mapped(self, X: Any) -> Any:
        """Return the features of checked rows."""

    def _check_mappable(self, X: Any) -> None:
        """Raise an error if rows of a fit have no features; rows of a source are checked when they are mapped."""

    @abstractmethod
    def _names(self, columns: list[str]) -> list[str]:
        """Return the names of the features, given those of the columns."""

    def _rows(self, X: Any, *, reset: bool) -> Any:
        sparse = "csr" if self._takes_sparse else False
        X = check_rows(self, X, reset=reset, dtype=[np.float64, np.float32], accept_sparse=sparse)
        if not np.isfinite(largest(X)):
            check_no_infinity(X, column_names(self), estimator=type(self).__name__)
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def largest(X: Any) -> float:
    """Return the largest absolute value without a copy; NaN if a value is missing."""
    values = X.data if is_sparse(X) else X
    return float(max(-values.min(), values.max())) if values.size else 0.0
