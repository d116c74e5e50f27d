"""Folds of a cross-validation."""

from __future__ import annotations

import numpy as np

from mercer._errors import DataError
from mercer._typing import Array


def weight_in_fold(train: Array, n: int, weight: Array | None) -> Array:
    """Weights of n rows to learn a fold from: rows outside of it have none, so that nothing is copied."""
    chosen = np.bincount(np.arange(n)[train], minlength=n).astype(np.float64)
    chosen = chosen if weight is None else chosen * weight
    if not chosen.any():
        raise DataError(
            "the rows of a fold are none, or all have the weight zero, so that there is nothing to learn from; use "
            "fewer folds, or shuffle them."
        )
    return chosen
