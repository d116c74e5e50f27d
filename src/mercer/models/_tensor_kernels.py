"""Kernel models of tensors: what their kernel is, and how rows and responses come in."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from mercer._errors import DataError, DeviceError
from mercer._gpu import is_tensor
from mercer._threads import thread_count
from mercer._typing import Array
from mercer.kernels import FromFunction, Kernel
from mercer.models._finite import refuse_not_finite
from mercer.models._kernel_choice import SAMPLE, sample_of
from mercer.models._tensors import checked_tensor, fetched, in_memory, refuse_other_device, tensor_plan
from mercer.models.base import Plan
from mercer.models.comparisons import count


def kernel_rows(estimator: Any, kernel: Kernel, X: Any, *, reset: bool) -> Any:
    """Rows of a tensor, finite and of the columns of the fit, for a kernel that tensors have."""
    if not kernel.numeric or isinstance(kernel, FromFunction):
        raise DeviceError(
            f"{kernel!r} does not compare rows of a tensor; give a kernel of numbers such as RBF(), or arrays, "
            "X.cpu().numpy()."
        )
    X = checked_tensor(estimator, X, reset=reset)
    refuse_not_finite(estimator, X)
    return X


def rows_to_look_at(X: Any, gamma: Any) -> Any:
    """What a rule for gamma has to see of a tensor, in main memory: two rows of its variance, or a sample."""
    if gamma == "scale":
        variance = float(X.double().var(correction=0))
        return np.array([[-1.0], [1.0]]) * np.sqrt(variance) * np.ones((1, X.shape[1]))
    return fetched(X, sample_of(len(X), SAMPLE))


def of_rows(values: Any, X: Any, name: str) -> Any:
    """Responses, weights or offsets in main memory, that are tensors beside the rows or none at all."""
    if is_tensor(X):
        refuse_other_device(values, X, name)
    return in_memory(values)


def responses(y: Any, X: Any, *, several: bool = False) -> Array:
    """Responses of rows that scikit-learn does not look at, in main memory: one for each, or several."""
    values = np.asarray(of_rows(y, X, "y"))
    if values.ndim == 0 or len(values) != count(X):
        raise DataError(
            f"Found input variables with inconsistent numbers of samples: {[count(X), values.size]}. Give one response "
            "for each row of X."
        )
    if values.ndim > 2 or (values.ndim == 2 and values.shape[1] != 1 and not several):
        raise DataError(
            f"y should be a {'2d' if several else '1d'} array, got an array of shape {values.shape} instead. Give one "
            f"{'row of targets' if several else 'response'} for each row of X."
        )
    return values if several else column_or_1d(values, warn=True)


def kernel_plan(path: str, X: Any, *, exact: bool) -> Plan:
    """Which path the fit of a kernel model took, to rows of an array or a tensor."""
    return tensor_plan(path, X, exact=exact) if is_tensor(X) else Plan(path, "float64", 1, thread_count(), exact)
