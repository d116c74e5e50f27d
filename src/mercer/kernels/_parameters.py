"""Parameters of kernels as the numbers they have to be; a typed error says where one would not be a kernel."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from mercer._errors import KernelError, NotPositiveDefiniteError


def number(value: Any, name: str, kernel: str, *, least: float = 0.0, above: bool = False) -> float:
    """A parameter as a finite float, `least` or more; a typed error otherwise."""
    if not _is_number(value):
        raise KernelError(f"{name} of {kernel} must be a number, got {value!r}.")
    result = float(value)
    if least == -np.inf and not np.isfinite(result):
        raise KernelError(f"{name} of {kernel} must be finite, got {value!r}.")
    if not (np.isfinite(result) and (result > least if above else result >= least)):
        wanted = f"above {least:g}" if above else f"{least:g} or more"
        raise NotPositiveDefiniteError(
            f"{name} of {kernel} must be finite and {wanted}, got {value!r}: else it need not be positive definite."
        )
    return result


def whole(value: Any, name: str, kernel: str, *, least: int = 0) -> int:
    """A parameter as an int, `least` or more; a typed error otherwise."""
    if not _is_number(value) or not float(value).is_integer() or value < least:
        raise KernelError(f"{name} of {kernel} must be a whole number, {least} or more, got {value!r}.")
    return int(float(value))


def exponent(value: Any, name: str, kernel: str) -> int:
    """A power as an int, 0 or more: others need not be positive definite."""
    if _is_number(value) and (not float(value).is_integer() or value < 0):
        raise NotPositiveDefiniteError(
            f"{name} of {kernel} must be a whole number, 0 or more, got {value!r}: only such powers of a kernel are "
            "sums of products of kernels."
        )
    return whole(value, name, kernel)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
