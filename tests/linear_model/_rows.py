"""Rows that tests of logistic regression share."""

from __future__ import annotations

from typing import Any

import numpy as np


def rows(classes: int = 2, n: int = 200, d: int = 4, seed: int = 0) -> tuple[Any, Any]:
    """X, and classes that are drawn by a softmax of its columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    eta = X @ rng.normal(size=(d, classes))
    return X, np.argmax(eta + rng.gumbel(size=eta.shape), axis=1)
