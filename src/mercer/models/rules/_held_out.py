"""Rows held out of learning, to judge when to stop: chosen and used as scikit-learn does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from mercer._errors import DataError
from mercer._typing import Array


def held_out_rows(y: Array, weight: Array | None, fraction: float, random_state: Any) -> Array:
    """A stratified part of the rows, as a mask."""
    split = StratifiedShuffleSplit(test_size=fraction, random_state=random_state)
    _, chosen = next(split.split(np.zeros((len(y), 1)), y))
    if weight is not None and not weight[chosen].any():
        raise DataError("The sample weights for validation set are all zero, consider using a different random state.")
    mask = np.zeros(len(y), dtype=bool)
    mask[chosen] = True
    return mask


@dataclass(frozen=True, eq=False)
class Judge:
    """The accuracy of weights on rows held out."""

    X: Any
    y: Array
    weight: Array | None

    @classmethod
    def of(cls, X: Any, y: Array, weight: Array | None, held_out: Array) -> Self:
        return cls(X[held_out], y[held_out], None if weight is None else weight[held_out])

    def __call__(self, w: Array, intercept: float) -> float:
        right = (np.asarray(self.X @ w) + intercept > 0) == (self.y > 0)
        return float(np.average(right, weights=self.weight))
