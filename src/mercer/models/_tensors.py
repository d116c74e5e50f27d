"""Tensors of torch at the door of an estimator: what scikit-learn's validation does for arrays.

A model fitted to tensors is the same model: its attributes are small arrays in main memory, so that it predicts arrays
and tensors alike, on whatever device, and is saved like any other. What it computes with rows stays where the rows are,
and what it says about rows is a tensor there.
"""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from mercer._errors import ColumnMismatchError, DataError, DeviceError, EmptyDataError, NonFiniteError
from mercer._gpu import is_tensor, like, to_numpy
from mercer._typing import Array
from mercer.data.labels import encode_labels
from mercer.kernels.inputs import take
from mercer.models.base import Plan, checked_weight


def checked_tensor(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Rows as a matrix of float32 or float64 on their device; `reset` in a fit, which says how many columns there are.

    Whether all numbers are finite is left to whatever reads them anyway; see `_finite.refuse_not_finite`.
    """
    import torch

    name = type(estimator).__name__
    if X.layout != torch.strided or X.is_complex():
        raise DeviceError(f"{name} takes dense tensors of real numbers; give X.to_dense(), or an array.")
    if X.ndim != 2:
        raise DataError(
            f"Expected 2D array, got {X.ndim}D array instead: X has the shape {tuple(X.shape)}. Give X.reshape(-1, 1) "
            "if there is one column, and X.reshape(1, -1) if there is one row."
        )
    for size, what in zip(X.shape, ("sample(s)", "feature(s)"), strict=True):
        if not size:
            raise EmptyDataError(
                f"Found array with 0 {what} (shape={tuple(X.shape)}) while a minimum of 1 is required by {name}. Look "
                "at how X was selected or read."
            )
    if reset:
        estimator.n_features_in_ = int(X.shape[1])
        estimator.__dict__.pop("feature_names_in_", None)
    elif X.shape[1] != estimator.n_features_in_:
        raise ColumnMismatchError(
            f"X has {X.shape[1]} features, but {name} is expecting {estimator.n_features_in_} features as input. Give "
            "the columns of the fit, in the same order."
        )
    return X.detach() if X.dtype in (torch.float32, torch.float64) else X.detach().to(working_dtype(X))


def working_dtype(X: Any) -> Any:
    """float64 for whole numbers, float32 for halves of it."""
    import torch

    return torch.float32 if X.dtype.is_floating_point else torch.float64


def refuse_other_device(values: Any, X: Any, name: str) -> None:
    """Tensors that belong together lie together; arrays and lists are moved, since they lie nowhere in particular."""
    if is_tensor(values) and values.device != X.device:
        raise DeviceError(
            f"X is on {X.device}, but {name} is on {values.device}: models do not move tensors by themselves; give "
            f"{name}.to(X.device)."
        )


def beside(values: Any, X: Any, name: str, *, dtype: Any = None) -> Any:
    """Targets or weights of rows, one for each, as numbers of the type of X (or the one given) and on its device."""
    refuse_other_device(values, X, name)
    numbers = like(values.detach() if is_tensor(values) else _numbers(values, name), X, dtype=dtype)
    if numbers.ndim == 0 or len(numbers) != len(X):
        raise DataError(
            f"Found input variables with inconsistent numbers of samples: {[len(X), numbers.numel()]}. Give one entry "
            f"of {name} for each row of X."
        )
    return numbers


def _numbers(values: Any, name: str) -> Array:
    array = np.asarray(values)
    try:
        return array if array.dtype.kind in "biuf" else array.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name} holds {array.dtype} where numbers are needed; convert it to float.") from None


def checked_tensor_weight(sample_weight: Any, X: Any) -> Any:
    """`checked_weight` for tensors: float64 on the device of X; None stays None."""
    import torch

    if sample_weight is None:
        return None
    if isinstance(sample_weight, Number):
        sample_weight = np.full(len(X), sample_weight)
    weight = beside(sample_weight, X, "sample_weight", dtype=torch.float64)
    if weight.ndim != 1 or not bool(((weight >= 0) & weight.isfinite()).all() & weight.any()):
        checked_weight(to_numpy(weight), range(len(X)))  # finds out what is wrong, and says it
    return weight


def coded(y: Any, X: Any) -> tuple[Array, Any]:
    """The classes, sorted, in main memory, and the number of each row's class on the device of X."""
    import torch

    refuse_other_device(y, X, "y")
    if is_tensor(y):
        found, codes = _distinct(y)
        classes = encode_labels(to_numpy(found))[0]  # which refuses what is no class
    else:
        classes, places = encode_labels(column_or_1d(y, warn=True))
        codes = like(places, X, dtype=torch.int64)
    if len(codes) != len(X):
        raise DataError(
            f"Found input variables with inconsistent numbers of samples: {[len(X), len(codes)]}. Give one label for "
            "each row of X."
        )
    return classes, codes


def _distinct(y: Any) -> tuple[Any, Any]:
    """The labels in ascending order, and the place of each row's among them."""
    import torch

    if y.ndim != 1 and tuple(y.shape[1:]) != (1,):
        raise DataError(
            f"y should be a 1d array, got an array of shape {tuple(y.shape)} instead. Give one label per row."
        )
    if y.is_complex():
        raise DataError(f"Unknown label type: {y.dtype}. Give every row one of a few whole numbers.")
    if y.is_floating_point():
        if not bool(y.isfinite().all()):
            raise NonFiniteError("Input y contains NaN or infinity; drop the rows without a label.")
        y = y if y.dtype == torch.float64 else y.float()  # NumPy has fewer types of halves
    y = y.detach().reshape(-1)
    if len(y) and bool(((y == (low := y.min())) | (second := y == (high := y.max()))).all()) and bool(low != high):
        return torch.stack([low, high]), second.long()  # nothing has to be sorted for two
    found, codes = torch.unique(y, return_inverse=True)
    return found, codes


def in_memory(values: Any) -> Any:
    """Targets or weights that are a tensor as an array; anything else as it is."""
    return to_numpy(values) if is_tensor(values) else values


def fetched(rows: Any, numbers: Array) -> Any:
    """Some rows, by their numbers, in main memory: those of a tensor come from its device."""
    some = take(rows, numbers)
    return to_numpy(some) if is_tensor(some) else some


def labelled(classes: Array, codes: Any) -> Any:
    """Labels by their numbers: a tensor, or an array where labels are no numbers, which no tensor holds."""
    import torch

    if classes.dtype.kind in "biuf":
        return torch.as_tensor(np.array(classes), device=codes.device)[codes]
    return classes[to_numpy(codes)]


def best_class(scores: Any, classes: Array) -> Any:
    """The label of the highest score, or the second of two where it is above 0; of tensors and of arrays."""
    if is_tensor(scores):
        return labelled(classes, scores.argmax(dim=1) if scores.ndim == 2 else (scores > 0).long())
    return np.asarray(classes[scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)])


def tensor_plan(path: str, X: Any, *, exact: bool = True, blocks: int = 1) -> Plan:
    """Which path a fit of tensors took."""
    return Plan(path, str(X.dtype).removeprefix("torch."), blocks, 1, exact, str(X.device))
