"""Sparse rows with labels, like hashed words."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from bench.objectives import Responses


def hashed_words(rows: int, *, columns: int, words: int, dtype: type = np.float64) -> Responses:
    """`words` nonzeros per row, frequent columns first, labels from a sparse linear truth."""
    rng = np.random.default_rng(0)
    # squared uniforms: some columns are frequent, most are rare
    indices = (columns * np.square(rng.random((rows, words), dtype=np.float32))).astype(np.int32)
    indices.sort(axis=1)
    values: Any = rng.random((rows, words), dtype=np.float32).astype(dtype)
    X = sparse.csr_matrix((values.ravel(), indices.ravel(), words * np.arange(rows + 1)), (rows, columns))
    X.sum_duplicates()
    truth = rng.standard_normal(columns) * (rng.random(columns) < 0.3)
    eta = X @ truth
    return Responses(X, (rng.random(rows) < 1 / (1 + np.exp(-2 * eta / eta.std()))).astype(np.int64))
