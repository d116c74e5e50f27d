"""A Gram matrix that the user has computed: whether it is one of these data, and can be used."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._errors import DataError
from mercer._typing import Array
from mercer._warn import warn
from mercer.models.base import is_sparse
from mercer.models.linear._coordinate_points import Task


def usable_gram(precompute: Any, task: Task, *, intercept: bool) -> Array | None:
    """The matrix, unless there is none to be used.

    True, False and "auto" are no matrix: the solver keeps the products it needs. One in single precision has fewer
    digits than the fit.
    """
    if isinstance(precompute, bool | np.bool_ | str) or is_sparse(task.X):
        return None
    gram = np.asarray(precompute)
    columns = task.X.shape[1]
    if gram.shape != (columns, columns):
        raise DataError(
            f"The Gram matrix given as `precompute` has shape {gram.shape}, but X has {columns} columns; give X.T @ X, "
            "or precompute=False."
        )
    centre = np.average(task.X, axis=0, weights=task.weight)
    if intercept and not np.allclose(centre, 0.0):
        warn(
            "Gram matrix was provided but X was centered to fit intercept: recomputing Gram matrix.",
            UserWarning,
        )
        return None
    _refuse_another(gram, task, centre if intercept else np.zeros(columns))
    return gram if gram.dtype == np.float64 else None


def _refuse_another(gram: Array, task: Task, centre: Array) -> None:
    """Raise if an element is not what it should be."""
    first = task.X.shape[1] // 2
    second = min(first + 1, task.X.shape[1] - 1)
    left, right = (task.X[:, j].astype(np.float64) - centre[j] for j in (first, second))
    expected = left @ right if task.weight is None else (task.weight * left) @ right
    precise = gram.dtype == task.X.dtype == np.float64
    if not np.isclose(expected, gram[first, second], rtol=1e-7 if precise else 1e-4, atol=1e-5):
        raise DataError(
            "Gram matrix passed in via 'precompute' parameter did not pass validation when a single element was "
            f"checked - please check that it was computed properly. For element ({first},{second}) we computed "
            f"{expected} but the user-supplied value was {gram[first, second]}. It is to be the sum over rows of "
            "weight times x times x, where the weights sum to the number of rows."
        )
