"""Where numbers lie outside of the supports that several families have."""

from __future__ import annotations

import numpy as np

from mercer._typing import Array

#: draws that would underflow to 0, where a density has no logarithm, are this instead
SMALLEST = float(np.finfo(float).tiny)


def not_positive(x: Array) -> Array:
    """Where a number is not above 0, or infinite."""
    return np.asarray((np.asarray(x) <= 0) | np.isinf(x))


def negative(x: Array) -> Array:
    """Where a number is negative or infinite."""
    return np.asarray((np.asarray(x) < 0) | np.isinf(x))


def not_a_count(x: Array) -> Array:
    """Where a number is not one of 0, 1, 2, …"""
    x = np.asarray(x, dtype=float)
    return np.asarray(negative(x) | (np.floor(x) < x))
