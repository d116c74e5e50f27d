"""Which kernel densities can be merged: those that would have been fitted alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer._errors import MergeError
from mercer.models._base import column_names
from mercer.smoothing.bandwidth import Bandwidth


def refuse_stranger(model: BaseEstimator, other: Any) -> None:
    """Raise an error unless `other` is fitted and of the same kind, with the same parameters and columns."""
    if type(other) is not type(model):
        raise MergeError(f"a {type(model).__name__} merges with another one, not with {type(other).__name__}.")
    check_is_fitted(other)
    mine, theirs = model.get_params(deep=False), other.get_params(deep=False)
    for name in mine:
        if not same_value(mine[name], theirs[name]):
            raise MergeError(f"the models differ in {name}: {mine[name]!r} and {theirs[name]!r}; fit both alike.")
    if column_names(model) != column_names(other):
        raise MergeError(
            f"the models have other columns: {', '.join(column_names(model))} and {', '.join(column_names(other))}."
        )


def same_value(a: Any, b: Any) -> bool:
    """Whether two parameters of an estimator mean the same."""
    a, b = (x.item() if isinstance(x, np.ndarray) and x.ndim == 0 else x for x in (a, b))
    if isinstance(a, Bandwidth) and isinstance(b, Bandwidth):
        return a.sensitivity == b.sensitivity and np.array_equal(a.value, b.value)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same_value(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple | np.ndarray) and isinstance(b, list | tuple | np.ndarray):
        return len(a) == len(b) and all(map(same_value, a, b))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return False
    return bool(a == b)
