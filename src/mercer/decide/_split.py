"""Rows of a fit in two parts: some to learn from, and some that others are compared with."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing

from mercer._stored import any_rows, integers, optional, stored
from mercer._typing import Array
from mercer.models.base import is_sparse


@stored(rows=integers("n"), X=any_rows("n"), y=optional(any_rows("n")))
class Part(NamedTuple):
    """Some of the rows of a fit: where they were, what they are, and their labels."""

    rows: Array
    X: Any
    y: Any


def split(X: Any, y: Any, n: int, *, held_out: float, rng: np.random.Generator) -> tuple[Part, Part]:
    """Rows to learn from and the share `held_out` of all, at least one of each."""
    X = with_rows(X)
    learnt, compared = (_part(rows, X, y) for rows in split_rows(n, held_out=held_out, rng=rng))
    return learnt, compared


def split_rows(n: int, *, held_out: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Which rows these are, in their order."""
    held = min(max(1, round(held_out * n)), n - 1)
    learnt, compared = map(np.sort, np.split(rng.permutation(n), [n - held]))
    return learnt, compared


def with_rows(X: Any) -> Any:
    """X in a form of which rows can be taken; a frame stays one."""
    if is_sparse(X):
        return X.tocsr()
    return X if hasattr(X, "__getitem__") else np.asarray(X)


def _part(rows: Array, X: Any, y: Any) -> Part:
    return Part(rows, _safe_indexing(X, rows), None if y is None else _safe_indexing(y, rows))
