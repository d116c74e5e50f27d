"""Rows for several workloads, drawn at random, always the same ones."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[Any]


class Rows(NamedTuple):
    X: Array


class Responses(NamedTuple):
    """Rows, and what is to be learnt of each."""

    X: Any
    y: Array


def normal_rows(rows: int, *, columns: int) -> Rows:
    return Rows(np.random.default_rng(0).standard_normal((rows, columns)))


def correlated(rng: np.random.Generator, rows: int, columns: int) -> Array:
    """Normal columns that are correlated a little."""
    mixing = np.eye(columns) + 0.3 * rng.standard_normal((columns, columns)) / np.sqrt(columns)
    return np.asarray(rng.standard_normal((rows, columns)) @ mixing)


def tossed(rng: np.random.Generator, eta: Array) -> Array:
    """0 or 1, with the log odds η."""
    return (rng.random(len(eta)) < 1 / (1 + np.exp(-eta))).astype(np.int64)


def hashed_words(rows: int, *, columns: int, words: int) -> Responses:
    """`words` nonzeros per row, frequent columns first, labels from a sparse linear truth."""
    rng = np.random.default_rng(0)
    # squared uniforms: some columns are frequent, most are rare
    indices = (columns * np.square(rng.random((rows, words), dtype=np.float32))).astype(np.int32)
    indices.sort(axis=1)
    values: Any = rng.random((rows, words), dtype=np.float32).astype(np.float64)
    X = sparse.csr_matrix((values.ravel(), indices.ravel(), words * np.arange(rows + 1)), (rows, columns))
    X.sum_duplicates()
    truth = rng.standard_normal(columns) * (rng.random(columns) < 0.3)
    eta = X @ truth
    return Responses(X, tossed(rng, 2 * eta / eta.std()))
