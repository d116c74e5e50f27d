"""Penalties to try: from the smallest that leaves every coefficient at zero down to a portion of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._errors import PenaltyError
from mercer._typing import Array
from mercer.models.linear._coordinate_points import Task, naming_the_largest

#: below it a penalty is taken for none
SMALLEST = float(np.finfo(np.float64).resolution)


def steepest(task: Task, *, intercept: bool, positive: bool) -> float:
    """The largest slope of the mean loss at coefficients of zero, which is the penalty that keeps them there."""
    with naming_the_largest(task.X):
        regression = task.regression(intercept=intercept)
    slopes = regression.slopes(regression.target[None])[0] * regression.columns.scale * regression.unit
    slopes = slopes[regression.lengths > 0]
    pulls = np.maximum(slopes, 0.0) if positive else np.abs(slopes)
    return float(pulls.max(initial=0.0) / task.total)


def alpha_grid(largest: float, l1_ratio: float, eps: float, count: int) -> Array:
    """So many penalties, evenly spaced by their logarithms."""
    if l1_ratio == 0:
        raise PenaltyError(
            "Automatic alpha grid generation is not supported for l1_ratio=0. Please supply a grid by providing your "
            "estimator with the appropriate `alphas=` argument."
        )
    largest /= l1_ratio
    if largest <= SMALLEST:
        return np.full(count, SMALLEST)
    return np.asarray(np.geomspace(largest, largest * eps, num=count))


def descending(alphas: Any) -> Array:
    """Penalties that were given, the largest first."""
    values = np.sort(np.asarray(alphas, dtype=np.float64).ravel())[::-1]
    if len(values) and not values[-1] >= 0:
        raise PenaltyError(f"alphas must not be negative, but one is {values[-1]:g}; 0 penalises nothing.")
    return values
