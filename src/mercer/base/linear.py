"""Linear predictors X coef_ᵀ + intercept_ of arrays and tensors, and the predictions of linear classifiers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score, r2_score

from mercer._gpu import is_tensor, like
from mercer._gpu.chunks import in_chunks, tile_size
from mercer._stored import stored
from mercer._threads import ordered_map, row_blocks
from mercer._typing import Array
from mercer.base.posterior import log_posterior, posterior
from mercer.base.validation import (
    best_class,
    check_finite,
    check_is_fitted,
    check_rows,
    check_tensor,
    fetch_tensor,
    is_sparse,
)
from mercer.data.blocks import COPIED_BLOCK, rows_per_block
from mercer.matrices import Encoded


def tensor_scores(estimator: Any, X: Any, coefficients: Array, intercept: Any) -> Any:
    """Return X @ coefficients + intercept on the device of X; coefficients are (columns,) or (columns, scores).

    It is computed in float32 if X and the coefficients are, else in float64: then X is copied in chunks of rows.
    """
    import torch

    X = check_tensor(estimator, X, reset=False)
    single = X.dtype == torch.float32 and coefficients.dtype == np.float32
    dtype = torch.float32 if single else torch.float64
    w, b = (like(part, X, dtype=dtype) for part in (coefficients, np.asarray(intercept)))
    scores = X.new_empty((len(X), *w.shape[1:]), dtype=dtype)

    def work(rows: slice) -> None:
        scores[rows] = X[rows].to(dtype) @ w + b

    in_chunks(len(X), tile_size(X) // X.shape[1], work, "rows in the precision of the coefficients")
    if not bool(scores.isfinite().all()):
        check_finite(estimator, X)
    return scores


def two_columns(scores: Any) -> Any:
    """Return scores of all classes; with two classes, those of the first are 0."""
    import torch

    return torch.stack([torch.zeros_like(scores), scores], dim=1) if scores.ndim == 1 else scores


def accuracy(estimator: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """Return the share of rows whose label is predicted, compared in main memory."""
    predicted = estimator.predict(X)
    return float(accuracy_score(fetch_tensor(y), fetch_tensor(predicted), sample_weight=fetch_tensor(sample_weight)))


def r_squared(estimator: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """Return R² of the predictions, computed in main memory."""
    predicted = estimator.predict(X)
    return float(r2_score(fetch_tensor(y), fetch_tensor(predicted), sample_weight=fetch_tensor(sample_weight)))


def linear_predictor(estimator: Any, X: Any) -> Array:
    """Return X @ coef_.T + intercept_ of a fitted estimator, in one pass on all threads, without a copy of X."""
    if is_tensor(X):
        return tensor_scores(estimator, X, np.asarray(estimator.coef_).T, estimator.intercept_)  # type: ignore[no-any-return]
    X = check_rows(estimator, X, reset=False, accept_sparse=["csr", "csc"], codes=True)
    coefficients, intercept = estimator.coef_, estimator.intercept_
    with np.errstate(invalid="ignore", over="ignore"):  # the cause is found below
        predicted = _times(X, coefficients.T) + intercept
    if not np.isfinite(predicted).all():
        check_finite(estimator, X)
    return np.asarray(predicted)


def _times(X: Any, w: Array) -> Array:
    """Return X w; where the types of X and w differ, one block of X is converted at a time."""
    if isinstance(X, Encoded):
        return X @ w
    n = X.shape[0]
    blocks = row_blocks(n, rows_per_block(X.shape[1]))
    if is_sparse(X) or len(blocks) == 1:
        return np.asarray(X @ w)
    product = np.empty((n, *w.shape[1:]), dtype=np.result_type(X.dtype, w.dtype))

    def work(rows: slice) -> None:
        product[rows] = X[rows] @ w

    ordered_map(work, blocks)
    return product


def _scores_every_class(model: Any) -> bool:
    """Return whether there is a row of coefficients for each class, or one for two classes."""
    if not (hasattr(model, "coef_") and hasattr(model, "classes_")):
        return True
    n_classes = len(model.classes_)
    return n_classes > 1 and model.coef_.shape[0] == (1 if n_classes == 2 else n_classes)


@stored(_scores_every_class, tag=None)
class LinearClassifier(ClassifierMixin, BaseEstimator):
    """Predictions of a model with `classes_`, `coef_` and `intercept_`: a score for each class, or one for two."""

    classes_: Array
    coef_: Any  # an array, or after `sparsify` a sparse matrix
    intercept_: Array

    def decision_function(self, X: Any) -> Array:
        """Return the scores of every row, `X coef_ᵀ + intercept_`.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or tensor of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Above 0 for the second of two classes, or highest for the most probable of several.
        """
        if is_tensor(X):
            return self._tensor_scores(X)  # type: ignore[no-any-return]
        return self._over_blocks(X, lambda scores: scores)

    def predict(self, X: Any) -> Array:
        """Return the most probable class of every row.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or tensor of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        if is_tensor(X):
            return best_class(self._tensor_scores(X), self.classes_)  # type: ignore[no-any-return]
        best = self._over_blocks(X, _best_codes, dtype=np.intp)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any) -> Array:
        """Return p(y|x) for every row and class.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or tensor of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        if is_tensor(X):
            return two_columns(self._tensor_scores(X)).softmax(dim=1)  # type: ignore[no-any-return]
        return self._over_blocks(X, _probabilities, width=2)

    def predict_log_proba(self, X: Any) -> Array:
        """Return log p(y|x) for every row and class.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or tensor of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        if is_tensor(X):
            return two_columns(self._tensor_scores(X)).log_softmax(dim=1)  # type: ignore[no-any-return]
        return self._over_blocks(X, _log_probabilities, width=2)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows whose class is predicted.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or tensor of shape (n_samples, n_features)
            Rows to classify.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.

        Returns
        -------
        score : float
            The accuracy, 1 at best.
        """
        return accuracy(self, X, y, sample_weight)

    def _tensor_scores(self, X: Any) -> Any:
        check_is_fitted(self)
        coefficients = _dense(self.coef_).T
        if coefficients.shape[1] == 1:
            return tensor_scores(self, X, coefficients[:, 0], np.ravel(self.intercept_)[0])
        return tensor_scores(self, X, coefficients, self.intercept_)

    def sparsify(self) -> Self:
        """Turn `coef_` into a sparse matrix, which takes less memory where most coefficients are zero.

        Returns
        -------
        self : object
            The model itself.
        """
        check_is_fitted(self, msg="Estimator, %(name)s, must be fitted before sparsifying.")
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Turn `coef_` back into an array.

        Returns
        -------
        self : object
            The model itself.
        """
        check_is_fitted(self, msg="Estimator, %(name)s, must be fitted before densifying.")
        self.coef_ = _dense(self.coef_)
        return self

    def _over_blocks(
        self, X: Any, finish: Callable[[Array], Array], *, width: int | None = None, dtype: Any = None
    ) -> Array:
        """Return `finish(scores)` of every row, block by block; `width` is that of the result for two classes."""
        check_is_fitted(self)
        X = check_rows(self, X, reset=False, codes=True)
        coefficients = _dense(self.coef_).T
        kind = np.result_type(X.dtype, coefficients.dtype, np.asarray(self.intercept_).dtype)
        n, k = X.shape[0], coefficients.shape[1]
        if k == 1:
            coefficients = coefficients[:, 0]
        if dtype is not None:  # labels
            out = np.empty(n, dtype=dtype)
        else:
            out = np.empty((n, k) if k > 1 else n if width is None else (n, width), dtype=kind)

        def work(rows: slice) -> None:
            with np.errstate(invalid="ignore", over="ignore"):  # the cause is found below
                scores = X[rows] @ coefficients + (self.intercept_ if k > 1 else np.ravel(self.intercept_)[0])
            if not np.isfinite(scores).all():
                check_finite(self, X)
            out[rows] = finish(np.asarray(scores))

        held = X.nbytes // 8 if isinstance(X, Encoded) else X.nnz if is_sparse(X) else n * X.shape[1]
        per_row = held // max(1, n)
        ordered_map(work, row_blocks(n, rows_per_block(max(per_row, k), COPIED_BLOCK)))
        return out


def _dense(coef: Any) -> Array:
    return np.asarray(coef.toarray() if is_sparse(coef) else coef)


def _best_codes(scores: Array) -> Array:
    return np.asarray(scores > 0 if scores.ndim == 1 else scores.argmax(axis=1))


def _probabilities(scores: Array) -> Array:
    if scores.ndim == 1:
        return np.stack([expit(-scores), expit(scores)], axis=1)
    return posterior(np.array(scores, dtype=float, order="C"))


def _log_probabilities(scores: Array) -> Array:
    if scores.ndim == 1:
        return np.stack([log_expit(-scores), log_expit(scores)], axis=1)
    return log_posterior(np.array(scores, dtype=float, order="C"))
