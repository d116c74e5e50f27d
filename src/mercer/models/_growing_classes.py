"""Units of classes while classes come to light: what was learnt for some is kept when there are more."""

from __future__ import annotations

import numpy as np

from mercer._typing import Array


def regrown(weights: Array, known: Array, classes: Array) -> Array:
    """Weights (units, columns) of units for the `known` classes, as those of units for `classes`, which are more.

    Of two classes there is one unit, that of the second; minus its weights are those of a unit for the first, since
    every rule treats both sides alike. A class that is new starts with weights of zero.
    """
    by_class = dict(zip(known.tolist(), _one_each(weights, len(known)), strict=True))
    blank = np.zeros(weights.shape[1])
    if len(classes) > 2:
        return np.array([by_class.get(label, blank) for label in classes.tolist()])
    first, last = classes[0], classes[-1]
    return np.array([by_class[last] if last in by_class else -by_class.get(first, blank)])


def _one_each(weights: Array, classes: int) -> Array:
    return np.concatenate([-weights, weights]) if classes == 2 else weights
