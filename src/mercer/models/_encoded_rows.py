"""Encoded rows at the door of an estimator: what scikit-learn's validation does for arrays and frames."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, check_X_y

from mercer._errors import ColumnMismatchError, EmptyDataError
from mercer.data.table import Table
from mercer.designs.encoded import Encoded


def checked_encoded(estimator: Any, X: Encoded, y: Any, *, reset: bool, codes: bool, **options: Any) -> Any:
    """As they are where the estimator reads `codes`, else as a sparse matrix if it takes one, else written out."""
    remember_columns(estimator, X, reset=reset)
    options = {"estimator": estimator, **options}
    if not codes:
        matrix = X.tocsr() if options["accept_sparse"] else X.toarray()
        return check_array(matrix, input_name="X", **options) if y is None else check_X_y(matrix, y, **options)
    if y is None:
        return X
    stands_for_X = np.broadcast_to(0.0, X.shape)
    return X, check_X_y(stands_for_X, y, **options)[1]


def encoded_table(estimator: Any, X: Encoded, *, reset: bool, codes: bool) -> Any:
    """As they are where the estimator reads `codes`, else a table of numbers."""
    remember_columns(estimator, X, reset=reset)
    if codes:
        return X
    table = Table.of(X.toarray())
    return table if X.given_names is None else replace(table, column_names=tuple(X.given_names), named=True)


def remember_columns(estimator: Any, X: Encoded, *, reset: bool) -> None:
    """In a fit, remember number and names of the columns; later, refuse others."""
    name = type(estimator).__name__
    for size, what in zip(X.shape, ("sample(s)", "feature(s)"), strict=True):
        if not size:
            raise EmptyDataError(
                f"Found array with 0 {what} (shape={X.shape}) while a minimum of 1 is required by {name}. Look at how "
                "X was selected or encoded."
            )
    if reset:
        estimator.n_features_in_ = X.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
        if X.given_names is not None:
            estimator.feature_names_in_ = np.asarray(X.given_names, dtype=object)
        return
    if X.shape[1] != estimator.n_features_in_:
        raise ColumnMismatchError(
            f"X has {X.shape[1]} features, but {name} is expecting {estimator.n_features_in_} features as input. "
            "Encode the rows with the transformer of the fit."
        )
    _refuse_other_names(X, getattr(estimator, "feature_names_in_", None))


def _refuse_other_names(X: Encoded, fitted: Any) -> None:
    if fitted is None or X.given_names is None or X.given_names is fitted:
        return
    differ = np.flatnonzero(np.asarray(X.given_names, dtype=object) != fitted)
    if len(differ):
        column = int(differ[0])
        raise ColumnMismatchError(
            f"The feature names should match those that were passed during fit. Column {column} is "
            f"{X.given_names[column]!r}, but was {fitted[column]!r}; encode the rows with the transformer of the fit."
        )
