"""Linear models of tensors: X w + b where the rows are, and how well it predicts."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, r2_score

from mercer._gpu import like
from mercer._gpu.chunks import in_chunks, tile_size
from mercer._typing import Array
from mercer.models._finite import refuse_not_finite
from mercer.models._tensors import checked_tensor, in_memory


def tensor_scores(estimator: Any, X: Any, coefficients: Array, intercept: Any) -> Any:
    """X @ coefficients + intercept on the device of X; coefficients are (columns,) or (columns, scores).

    In float32 where X and the coefficients are, else in float64: then X is copied, some rows at a time.
    """
    import torch

    X = checked_tensor(estimator, X, reset=False)
    single = X.dtype == torch.float32 and coefficients.dtype == np.float32
    dtype = torch.float32 if single else torch.float64
    w, b = (like(part, X, dtype=dtype) for part in (coefficients, np.asarray(intercept)))
    scores = X.new_empty((len(X), *w.shape[1:]), dtype=dtype)

    def work(rows: slice) -> None:
        scores[rows] = X[rows].to(dtype) @ w + b

    in_chunks(len(X), tile_size(X) // X.shape[1], work, "rows in the precision of the coefficients")
    if not bool(scores.isfinite().all()):
        refuse_not_finite(estimator, X)
    return scores


def two_columns(scores: Any) -> Any:
    """Scores of all classes: those of the first of two are 0."""
    import torch

    return torch.stack([torch.zeros_like(scores), scores], dim=1) if scores.ndim == 1 else scores


def accuracy(estimator: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """The share of rows whose label is predicted: predicted where X is, and compared in main memory."""
    predicted = estimator.predict(X)
    return float(accuracy_score(in_memory(y), in_memory(predicted), sample_weight=in_memory(sample_weight)))


def r_squared(estimator: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """R² of predictions: predicted where X is, and compared in main memory."""
    predicted = estimator.predict(X)
    return float(r2_score(in_memory(y), in_memory(predicted), sample_weight=in_memory(sample_weight)))
