"""Which task a target asks for, where nobody says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._errors import DataError, EmptyDataError
from mercer.data.labels import encode_labels
from mercer.using.tasks import MANY_CLASSES, MOST_CLASSES, Classification, Counts, Regression, Task

Array = NDArray[Any]
TASKS = (Classification.name, Regression.name, Counts.name)


def task_for(y: Any, n_rows: int, name: str = "auto") -> Task:
    """The task by its name; or decided by the target: text and few whole numbers are classes, many are counts.

    Examples
    --------
    >>> task_for([0.5, 1.5], 2).name, task_for(["a", "b"], 2).name, task_for(range(40), 40).name
    ('regression', 'classification', 'counts')
    """
    if n_rows == 0:
        raise EmptyDataError("There are no rows to compare models on.")
    values = np.asarray(y)
    if values.ndim == 1 and len(values) != n_rows:
        raise DataError(f"X has {n_rows} rows, but y has {len(values)} labels. Give one label per row.")
    match _decided(values) if name == "auto" else name:
        case "classification":
            return Classification(*encode_labels(y))
        case "regression":
            return Regression(_amounts(values))
        case "counts":
            return Counts(_whole(_amounts(values)))
    raise DataError(f"There is no task {name!r}; it is one of {', '.join(TASKS)} or auto.")


def _amounts(y: Array) -> Array:
    if y.ndim != 1:
        raise DataError(f"y should be a 1d array, got an array of shape {y.shape} instead. Give one target at a time.")
    numbers = np.array([_is_number(each) for each in y.tolist()]) if y.dtype.kind not in "iufb" else np.isfinite(y)
    if not numbers.all():
        raise DataError(
            f"The target has to be a number in each row, but it is {_first(y, ~numbers)}; drop such rows, or use the "
            "task classification."
        )
    return y.astype(float)


def _whole(y: Array) -> Array:
    odd = (y < 0) | (y != np.floor(y))
    if odd.any():
        raise DataError(f"Counts are 0, 1, 2, …, but the target is {_first(y, odd)}; use the task regression.")
    return y


def _first(y: Array, where: Any) -> str:
    row = int(np.argmax(where))
    return f"{y.tolist()[row]!r} in row {row}"


def _is_number(value: Any) -> bool:
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError):
        return False


def _decided(y: Array) -> str:
    if y.dtype.kind not in "iuf" or y.ndim != 1 or not np.isfinite(y).all():
        return "classification"  # which complains of what cannot be a label
    if (y != np.floor(y)).any():
        return "regression"
    values, counts = np.unique(y[:: max(1, len(y) // 100_000)], return_counts=True)
    if len(values) <= MOST_CLASSES and not _thins_out(values, counts):
        return "classification"
    return "counts" if y.min() >= 0 else "regression"


def _thins_out(values: Array, counts: Array) -> bool:
    """Whether whole numbers look like amounts: many, close to each other, and rare where they are large.

    Codes of classes are as close; but which of them is rare has nothing to do with its size.
    """
    close = len(values) > (values[-1] - values[0]) / 2
    return len(values) > MANY_CLASSES and bool(close) and counts[-1] * 10 <= counts.max()
