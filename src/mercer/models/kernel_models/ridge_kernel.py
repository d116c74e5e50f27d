"""The kernel that the parameters of `KernelRidge` stand for, and the widths it may be tuned over."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._errors import DataError, KernelError
from mercer._typing import Array
from mercer.kernels import Kernel
from mercer.models._kernel_choice import kernel_of_function, named_kernel, width_of

#: widths to try beside the one that the median distance suggests: so many, each so many times the last
WIDTHS, FACTOR = 7, 4.0


def ridge_kernel(model: Any, X: Any, gamma: Any) -> Kernel:
    """The kernel of a model with another gamma: a number, None, or a rule that looks at X."""
    kernel = model.kernel
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return kernel_of_function(kernel, model.kernel_params)
    width = gamma if gamma is None else width_of(gamma, X)
    return named_kernel(kernel, X, gamma=width, degree=model.degree, coef0=model.coef0)


def is_several(gamma: Any) -> bool:
    """Whether gamma is to be chosen: "loo", or several."""
    return gamma == "loo" if isinstance(gamma, str) else gamma is not None and np.ndim(gamma) > 0


def widths(model: Any, X: Any) -> Array:
    """The widths to try."""
    if isinstance(model.gamma, str):
        middle = width_of("median", X)
        return np.asarray(middle * FACTOR ** np.arange(-(WIDTHS // 2), WIDTHS // 2 + 1))
    tried = np.asarray(model.gamma)
    if (
        tried.ndim != 1
        or not len(tried)
        or tried.dtype.kind not in "uif"
        or not (np.isfinite(tried) & (tried >= 0)).all()
    ):
        raise DataError(f"gamma must be a number, or several in one dimension, none negative; got {model.gamma!r}.")
    return np.asarray(tried, dtype=float)


def with_width(model: Any, X: Any, gamma: float) -> Kernel:
    """The kernel with one of the widths."""
    kernel = None if model.kernel_ is None else ridge_kernel(model, X, gamma)
    if kernel is None or "gamma" not in kernel.get_params(deep=False):
        name = "a precomputed matrix" if kernel is None else repr(kernel)
        raise KernelError(
            f"{name} has no gamma that could be chosen by leaving rows out; leave gamma out, or search over kernels "
            "with GridSearchCV."
        )
    return kernel.replaced(gamma=gamma)
