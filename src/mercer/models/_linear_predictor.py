"""X w + b of many rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._gpu import is_tensor
from mercer._threads import ordered_map, row_blocks
from mercer._typing import Array
from mercer.data.blocks import rows_per_block
from mercer.designs.encoded import Encoded
from mercer.models._finite import refuse_not_finite
from mercer.models._tensor_linear import tensor_scores
from mercer.models.base import checked, is_sparse


def linear_predictor(estimator: Any, X: Any) -> Array:
    """X @ coef_.T + intercept_ of a fitted estimator, in one pass on all threads; X is only looked at."""
    if is_tensor(X):
        return tensor_scores(estimator, X, np.asarray(estimator.coef_).T, estimator.intercept_)  # type: ignore[no-any-return]
    X = checked(estimator, X, reset=False, accept_sparse=["csr", "csc"], codes=True)
    coefficients, intercept = estimator.coef_, estimator.intercept_
    with np.errstate(invalid="ignore", over="ignore"):  # what spoils a product is looked for below
        predicted = _times(X, coefficients.T) + intercept
    if not np.isfinite(predicted).all():
        refuse_not_finite(estimator, X)
    return np.asarray(predicted)


def _times(X: Any, w: Array) -> Array:
    """X w, where only a block of X is converted at a time if its type is not that of w."""
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
