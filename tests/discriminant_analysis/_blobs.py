"""Normal classes, and rows of them with gaps."""

from __future__ import annotations

from typing import Any

import numpy as np


def blobs(classes: int = 3, n: int = 400, d: int = 4) -> tuple[Any, Any]:
    """Each with a covariance of its own."""
    rng = np.random.default_rng(0)
    y = rng.integers(classes, size=n)
    mixing = np.eye(d) + 0.4 * rng.normal(size=(classes, d, d))
    return np.einsum("nj,njk->nk", rng.normal(size=(n, d)), mixing[y]) + rng.normal(size=(classes, d))[y] + 2.0, y


def with_gaps(X: Any, share: float = 0.15) -> Any:
    return np.where(np.random.default_rng(1).random(X.shape) < share, np.nan, X)
