"""What a kernel model is fitted to: a kernel that is one, and rows that it can compare."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._errors import EmptyDataError
from mercer._gpu import is_tensor, to_numpy
from mercer._typing import Array
from mercer.kernels import FromFunction, Kernel, check_positive_definite
from mercer.kernels.inputs import is_table
from mercer.models._finite import refuse_not_finite
from mercer.models._tensor_kernels import kernel_rows, responses
from mercer.models._tensors import in_memory
from mercer.models.base import checked, checked_weight
from mercer.models.comparisons import count, take

#: rows on which a kernel is tested that gives no reason why it is positive definite
SAMPLE = 500


def refuse_no_kernel(kernel: Kernel, X: Any) -> None:
    """`NotPositiveDefiniteError` if a kernel has no reason to be positive definite and some rows prove the contrary."""
    if kernel.reason is None:
        n = count(X)
        some = take(X, np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.intp))
        check_positive_definite(kernel, to_numpy(some) if is_tensor(some) else some).require()


def checked_rows(estimator: Any, kernel: Kernel, X: Any, y: Any = None, *, reset: bool, **options: Any) -> Any:
    """X as the kernel compares it, and y if it is given: a table of finite numbers, or a list of things.

    Rows of a tensor stay where they are; their responses come to main memory.
    """
    several = bool(options.get("multi_output", False))
    if is_tensor(X):
        rows = kernel_rows(estimator, kernel, X, reset=reset)
        return rows if y is None else (rows, responses(y, rows, several=several))
    if not kernel.numeric or (isinstance(kernel, FromFunction) and not is_table(X)):
        things = _things(X)
        return things if y is None else (things, responses(y, things, several=several))
    given = checked(estimator, X, y, reset=reset, dtype=[np.float64, np.float32], **options)
    refuse_not_finite(estimator, given if y is None else given[0])
    return given


def row_weight(sample_weight: Any, y: Array) -> Array | None:
    """Weights of the rows, one for each response and not all of them 0; None stays None."""
    return checked_weight(in_memory(sample_weight), y)


def _things(X: Any) -> list[Any]:
    things = list(X)
    if not things:
        raise EmptyDataError(
            "Found array with 0 sample(s) while a minimum of 1 is required. X holds nothing to compare."
        )
    return things
