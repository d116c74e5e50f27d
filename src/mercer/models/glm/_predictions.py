"""What a fitted GLM says of new rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from mercer._errors import NonFiniteError
from mercer._gpu import is_tensor, like, namespace
from mercer._typing import Array
from mercer.designs import Terms
from mercer.families import Distribution, Family, Link, response_family_from
from mercer.families.response import Response
from mercer.models._finite import refuse_not_finite
from mercer.models._kernel_rows import checked_rows
from mercer.models._tensors import best_class, in_memory
from mercer.models.base import checked_table, checked_weight, column_names
from mercer.models.glm._tensors import tensor_predictors
from mercer.models.glm.inputs import read_offset, refuse_spoilt_table
from mercer.models.glm.kind import Kind
from mercer.models.glm.regressor import deviance_explained
from mercer.models.glm.target import is_label_family, read_target
from mercer.models.glm.trials import read_trials
from mercer.models.kernel_models.feature_function import Function


def _has_labels(model: Predictions) -> bool:
    """Whether the model is a classifier."""
    try:
        labels = is_label_family(response_family_from(model.family))
    except ValueError as unknown:  # `hasattr` is to say no, and `fit` to complain
        raise AttributeError(str(unknown)) from None
    if not labels:
        raise AttributeError(f"family={model.family!r} has no classes; bernoulli and categorical have.")
    return True


class Predictions:
    """The predicting half of `GLM`, from what `fit` has stored."""

    family: Any
    family_: Family
    link_: Link
    dispersion_: float
    classes_: Array
    dual_coef_: Array
    _terms: Terms
    _kind: Kind
    _w: Array
    _function: Function

    def predict_linear(self, X: Any, offset: Any = None, exposure: Any = None) -> Array:
        """The linear predictor Xβ + b + offset of every row.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or tensor of shape (n_samples, n_features)
            Rows to predict.
        offset, exposure : array-like of shape (n_samples,), default=None
            As in `fit`; 0 and 1 if not given.

        Returns
        -------
        eta : ndarray of shape (n_samples,), for "categorical" (n_samples, n_classes)
            Linear predictors.
        """
        eta = self._predictors(X, offset, exposure)
        return self._kind.linear(eta)

    def _predictors(self, X: Any, offset: Any, exposure: Any) -> Array:
        check_is_fitted(self)
        eta = self._of_columns(X) if hasattr(self, "_terms") else self._of_kernel(X)
        added = read_offset(in_memory(offset), in_memory(exposure), self.link_, len(eta))
        return eta if added is None else eta + like(added, eta)

    def _of_columns(self, X: Any) -> Array:
        if is_tensor(X):
            return self._of_tensor(X)  # type: ignore[no-any-return]
        table, _ = checked_table(self, X, reset=False, codes=True)
        with np.errstate(over="ignore", invalid="ignore"):
            eta = self._terms.design(table).times(self._w)
        if not np.isfinite(eta).all():
            refuse_spoilt_table(table, column_names(self), estimator="GLM")
            row = int(np.argmin(np.isfinite(eta) if eta.ndim == 1 else np.isfinite(eta).all(axis=1)))
            raise NonFiniteError(f"the linear predictor of row {row} is beyond float64; divide the largest columns.")
        return eta

    def _of_tensor(self, X: Any) -> Any:
        eta = tensor_predictors(self, X)
        if not bool(eta.isfinite().all()):
            refuse_not_finite(self, X)
        return eta

    def _of_kernel(self, X: Any) -> Any:
        values = self._function.values(checked_rows(self, self._function.kernel, X, reset=False))
        return values if self.dual_coef_.ndim == 2 else values[:, 0]

    def _mean(self, X: Any, offset: Any, exposure: Any) -> Array:
        eta = self._predictors(X, offset, exposure)
        return self._kind.mean(eta)

    def predict(self, X: Any, offset: Any = None, exposure: Any = None) -> Array:
        """The mean response of every row, or its most probable class.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or tensor of shape (n_samples, n_features)
            Rows to predict.
        offset, exposure : array-like of shape (n_samples,), default=None
            As in `fit`; 0 and 1 if not given.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Means, or class labels.
        """
        mean = self._mean(X, offset, exposure)
        if not hasattr(self, "classes_"):
            return mean
        return best_class(mean if mean.ndim == 2 else mean - 0.5, self.classes_)  # type: ignore[no-any-return]

    @available_if(_has_labels)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, offset: Any = None, exposure: Any = None) -> Array:
        """p(y|x) for every row and class.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or tensor of shape (n_samples, n_features)
            Rows to predict.
        offset, exposure : array-like of shape (n_samples,), default=None
            As in `fit`; 0 and 1 if not given.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        mean = self._mean(X, offset, exposure)
        return mean if mean.ndim == 2 else namespace(mean).column_stack([1 - mean, mean])

    @available_if(_has_labels)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any, offset: Any = None, exposure: Any = None) -> Array:
        """log p(y|x) for every row and class, also where p itself is too small for a number.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or tensor of shape (n_samples, n_features)
            Rows to predict.
        offset, exposure : array-like of shape (n_samples,), default=None
            As in `fit`; 0 and 1 if not given.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        eta = self._predictors(X, offset, exposure)
        return self._kind.log_probabilities(eta)

    def predict_distribution(self, X: Any, offset: Any = None, exposure: Any = None) -> Distribution:
        """The fitted p(y|x) itself: its density, distribution function, quantiles, samples.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or tensor of shape (n_samples, n_features)
            Rows to predict.
        offset, exposure : array-like of shape (n_samples,), default=None
            As in `fit`; 0 and 1 if not given.

        Returns
        -------
        distribution : families.Distribution
            Of every row; of labels, those of their codes 0, 1, … in `classes_`.
        """
        eta = self._predictors(X, offset, exposure)
        return self._kind.distribution(eta, self.dispersion_)

    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None, exposure: Any = None) -> float:
        """D², the share of the deviance of a constant mean that is explained; for labels, the accuracy.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or tensor of shape (n_samples, n_features)
            Rows to predict.
        y : array-like of shape (n_samples,)
            Their responses.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.
        offset, exposure : array-like of shape (n_samples,), default=None
            As in `fit`; 0 and 1 if not given.

        Returns
        -------
        score : float
            1 at best.
        """
        if is_label_family(response_family_from(self.family)):
            predicted = in_memory(self.predict(X, offset, exposure))
            return float(accuracy_score(in_memory(y), predicted, sample_weight=in_memory(sample_weight)))
        eta = in_memory(self._predictors(X, offset, exposure))
        trials = read_trials(response_family_from(self.family), in_memory(y))
        values = read_target(self.family_, column_or_1d(trials.y)).values
        check_consistent_length(eta, values)
        weight = trials.weighted(checked_weight(in_memory(sample_weight), values))
        return deviance_explained(Response(self.family_, self.link_), values, eta, weight)
