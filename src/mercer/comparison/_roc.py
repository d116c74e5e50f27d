"""ROC and precision–recall points at every threshold of a score."""

from __future__ import annotations

import numpy as np

from mercer._typing import Array


def roc_points(score: Array, positive: Array) -> tuple[Array, Array]:
    """Return false and true positive rates at every distinct threshold, from (0, 0) to (1, 1).

    Examples
    --------
    >>> false, true = roc_points(np.array([0.9, 0.5, 0.5]), np.array([True, False, True]))
    >>> false.tolist(), true.tolist()
    ([0.0, 0.0, 1.0], [0.0, 0.5, 1.0])
    """
    true, false = _cumulative_counts(score, positive)
    return np.append(0, false) / max(1, false[-1]), np.append(0, true) / max(1, true[-1])


def precision_recall_points(score: Array, positive: Array) -> tuple[Array, Array, float]:
    """Return precision and recall at every distinct threshold, and the average precision (no interpolation)."""
    true, false = _cumulative_counts(score, positive)
    precision, recall = true / (true + false), true / max(1, true[-1])
    average = float(np.diff(np.append(0, recall)) @ precision)
    return precision, recall, average


def _cumulative_counts(score: Array, positive: Array) -> tuple[Array, Array]:
    """Return the numbers of positive and negative rows with at least each distinct score, from the highest down."""
    order = np.argsort(-score, kind="stable")
    last = np.append(np.flatnonzero(np.diff(score[order])), len(score) - 1)
    true = np.cumsum(positive[order])[last]
    return true.astype(float), (last + 1 - true).astype(float)
