"""Validation for kernel models: the kernel, rows that it can compare, responses and weights; arrays and tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from mercer._errors import DataError, DeviceError, EmptyDataError
from mercer._gpu import is_tensor, to_numpy
from mercer._threads import thread_count
from mercer._typing import Array
from mercer.base.kernel_choice import ROWS_FOR_MEDIAN, sample_row_numbers
from mercer.base.validation import (
    Plan,
    check_finite,
    check_rows,
    check_same_device,
    check_tensor,
    check_weight,
    fetch_rows,
    fetch_tensor,
    tensor_plan,
)
from mercer.kernels import FromFunction, Kernel, check_positive_definite
from mercer.kernels.inputs import count, is_table, take

#: rows on which a kernel is tested that gives no reason why it is positive definite
ROWS_OF_KERNEL_TEST = 500


def check_tensor_rows(estimator: Any, kernel: Kernel, X: Any, *, reset: bool) -> Any:
    """Validate the rows of a tensor for a kernel that tensors have; they are finite and have the columns of the fit."""
    if not kernel.numeric or isinstance(kernel, FromFunction):
        raise DeviceError(
            f"{kernel!r} does not compare rows of a tensor; give a kernel of numbers such as RBF(), or arrays, "
            "X.cpu().numpy()."
        )
    X = check_tensor(estimator, X, reset=reset)
    check_finite(estimator, X)
    return X


def rows_for_gamma(X: Any, gamma: Any) -> Any:
    """Return rows in main memory from which a rule for gamma gives its result for a tensor.

    These are two rows with the variance of the tensor for "scale", else a sample.
    """
    if gamma == "scale":
        variance = float(X.double().var(correction=0))
        return np.array([[-1.0], [1.0]]) * np.sqrt(variance) * np.ones((1, X.shape[1]))
    return fetch_rows(X, sample_row_numbers(len(X), ROWS_FOR_MEDIAN))


def fetch_row_values(values: Any, X: Any, name: str) -> Any:
    """Return responses, weights or offsets in main memory; raise if they are a tensor on another device than X."""
    if is_tensor(X):
        check_same_device(values, X, name)
    return fetch_tensor(values)


def check_responses(y: Any, X: Any, *, several: bool = False) -> Array:
    """Validate the responses, one for each row or `several`, of rows that scikit-learn does not validate.

    They are returned in main memory.
    """
    values = np.asarray(fetch_row_values(y, X, "y"))
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
    """Return the plan of the fit of a kernel model to an array or a tensor."""
    return tensor_plan(path, X, exact=exact) if is_tensor(X) else Plan(path, "float64", 1, thread_count(), exact)


def check_semidefinite(kernel: Kernel, X: Any) -> None:
    """Raise if a kernel gives no reason why it is positive definite, and some rows prove the contrary."""
    if kernel.reason is None:
        n = count(X)
        some = take(X, np.linspace(0, n - 1, min(n, ROWS_OF_KERNEL_TEST)).astype(np.intp))
        check_positive_definite(kernel, to_numpy(some) if is_tensor(some) else some).require()


def check_kernel_rows(estimator: Any, kernel: Kernel, X: Any, y: Any = None, *, reset: bool, **options: Any) -> Any:
    """Return X, and y if it is given, as the kernel takes it: a matrix of finite numbers, or a list of objects.

    Rows of a tensor stay on their device; their responses are moved to main memory.
    """
    several = bool(options.get("multi_output", False))
    if is_tensor(X):
        rows = check_tensor_rows(estimator, kernel, X, reset=reset)
        return rows if y is None else (rows, check_responses(y, rows, several=several))
    if not kernel.numeric or (isinstance(kernel, FromFunction) and not is_table(X)):
        things = list(X)
        if not things:
            raise EmptyDataError(
                "Found array with 0 sample(s) while a minimum of 1 is required. X has no rows to compare."
            )
        return things if y is None else (things, check_responses(y, things, several=several))
    checked = check_rows(estimator, X, y, reset=reset, dtype=[np.float64, np.float32], **options)
    check_finite(estimator, checked if y is None else checked[0])
    return checked


def check_row_weight(sample_weight: Any, y: Array) -> Array | None:
    """Return the weights of the rows, one for each response and not all 0; None stays None."""
    return check_weight(fetch_tensor(sample_weight), y)
