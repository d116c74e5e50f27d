"""What a kernel model is fitted to: a kernel that is one, and rows that it can compare."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from mercer._errors import DataError, DeviceError, EmptyDataError
from mercer._gpu import is_tensor, to_numpy
from mercer._threads import thread_count
from mercer._typing import Array
from mercer.base.kernel_choice import SAMPLE, sample_of
from mercer.base.validation import Plan, check_rows, check_tensor, check_weight, fetch_rows, fetch_tensor, refuse_not_finite, refuse_other_device, tensor_plan
from mercer.kernels import FromFunction, Kernel, check_positive_definite
from mercer.kernels.inputs import count, is_table, take

# Kernel models of tensors: what their kernel is, and how rows and responses come in.


def check_tensor_rows(estimator: Any, kernel: Kernel, X: Any, *, reset: bool) -> Any:
    """Rows of a tensor, finite and of the columns of the fit, for a kernel that tensors have."""
    if not kernel.numeric or isinstance(kernel, FromFunction):
        raise DeviceError(
            f"{kernel!r} does not compare rows of a tensor; give a kernel of numbers such as RBF(), or arrays, "
            "X.cpu().numpy()."
        )
    X = check_tensor(estimator, X, reset=reset)
    refuse_not_finite(estimator, X)
    return X


def rows_for_gamma(X: Any, gamma: Any) -> Any:
    """What a rule for gamma has to see of a tensor, in main memory: two rows of its variance, or a sample."""
    if gamma == "scale":
        variance = float(X.double().var(correction=0))
        return np.array([[-1.0], [1.0]]) * np.sqrt(variance) * np.ones((1, X.shape[1]))
    return fetch_rows(X, sample_of(len(X), SAMPLE))


def fetch_row_values(values: Any, X: Any, name: str) -> Any:
    """Responses, weights or offsets in main memory, that are tensors beside the rows or none at all."""
    if is_tensor(X):
        refuse_other_device(values, X, name)
    return fetch_tensor(values)


def check_responses(y: Any, X: Any, *, several: bool = False) -> Array:
    """Responses of rows that scikit-learn does not look at, in main memory: one for each, or several."""
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
    """Which path the fit of a kernel model took, to rows of an array or a tensor."""
    return tensor_plan(path, X, exact=exact) if is_tensor(X) else Plan(path, "float64", 1, thread_count(), exact)


#: rows on which a kernel is tested that gives no reason why it is positive definite
CHECKED_ROWS = 500


def refuse_no_kernel(kernel: Kernel, X: Any) -> None:
    """`NotPositiveDefiniteError` if a kernel has no reason to be positive definite and some rows prove the contrary."""
    if kernel.reason is None:
        n = count(X)
        some = take(X, np.linspace(0, n - 1, min(n, CHECKED_ROWS)).astype(np.intp))
        check_positive_definite(kernel, to_numpy(some) if is_tensor(some) else some).require()


def check_kernel_rows(estimator: Any, kernel: Kernel, X: Any, y: Any = None, *, reset: bool, **options: Any) -> Any:
    """X as the kernel compares it, and y if it is given: a table of finite numbers, or a list of things.

    Rows of a tensor stay where they are; their responses come to main memory.
    """
    several = bool(options.get("multi_output", False))
    if is_tensor(X):
        rows = check_tensor_rows(estimator, kernel, X, reset=reset)
        return rows if y is None else (rows, check_responses(y, rows, several=several))
    if not kernel.numeric or (isinstance(kernel, FromFunction) and not is_table(X)):
        things = _things(X)
        return things if y is None else (things, check_responses(y, things, several=several))
    given = check_rows(estimator, X, y, reset=reset, dtype=[np.float64, np.float32], **options)
    refuse_not_finite(estimator, given if y is None else given[0])
    return given


def check_row_weight(sample_weight: Any, y: Array) -> Array | None:
    """Weights of the rows, one for each response and not all of them 0; None stays None."""
    return check_weight(fetch_tensor(sample_weight), y)


def _things(X: Any) -> list[Any]:
    things = list(X)
    if not things:
        raise EmptyDataError(
            "Found array with 0 sample(s) while a minimum of 1 is required. X holds nothing to compare."
        )
    return things
