"""Errors on rows that were left out, along paths of penalties."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer._errors import DataError
from mercer._threads import row_blocks
from mercer._typing import Array
from mercer.data.blocks import rows_per_block
from mercer.models._folds import weight_in_fold
from mercer.models.linear._coordinate_points import Point, Task, Terms, points, warn_of

#: rows to learn from, and rows to be judged by
Split = tuple[Array, Array]


def mean_squared_errors(
    X: Any,
    y: Array,
    weight: Array | None,
    splits: Sequence[Split],
    alphas: Sequence[Array],
    ratios: Sequence[Terms],
    *,
    told: Callable[[], None] = lambda: None,
) -> Array:
    """Of the rows left out: (kinds of penalty, folds, alphas); `told` is called after each path."""
    by_row = X.tocsr() if hasattr(X, "indptr") else X
    errors = []
    for grid, terms in zip(alphas, ratios, strict=True):
        for train, test in splits:
            task = Task.of(X, y, weight_in_fold(train, len(y), weight))
            errors.append(_errors(task, by_row, test, weight, grid, terms))
            told()
    return np.reshape(errors, (len(ratios), len(splits), -1))


def best(errors: Array, alphas: Sequence[Array], l1_ratios: Sequence[Any]) -> tuple[Any, Any]:
    """The alpha and the l1_ratio of the first of the smallest mean errors over folds."""
    means = errors.mean(axis=1)
    kind = int(np.argmin(means.min(axis=1)))
    return alphas[kind][np.argmin(means[kind])], l1_ratios[kind]


def _errors(task: Task, X: Any, test: Array, weight: Array | None, alphas: Array, terms: Terms) -> Array:
    found = points(task, alphas, terms)
    warn_of(found, alphas, task.total)
    rows = np.arange(len(task.y))[test]
    judged = np.ones(len(rows)) if weight is None else weight[rows]
    if not judged.any():
        raise DataError("the rows that a fold leaves out all have the weight zero; use fewer folds, or shuffle them.")
    return np.asarray(_squares(found, X, task.y, rows, judged) / judged.sum())


def _squares(found: list[Point], X: Any, y: Array, rows: Array, weight: Array) -> Array:
    """Σ weight (y − X w − b)² over some rows, for each model; a few rows are copied at a time."""
    W = np.column_stack([point.coefficients for point in found])
    intercepts = np.array([point.intercept for point in found])
    total = np.zeros(len(found))
    for block in row_blocks(len(rows), rows_per_block(X.shape[1])):
        few = rows[block]
        total += weight[block] @ np.square(X[few] @ W + intercepts - y[few, None])
    return total
