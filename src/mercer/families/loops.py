"""Arrays in the one form that loops are compiled for."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._typing import Array

#: what compiled loops take for "every row weighs 1"
ALL_ONES = np.zeros(0)


def as_vector(values: Array, dtype: Any = np.float64) -> Array:
    """Contiguous and writable; a copy only where it is neither."""
    return np.require(values, dtype, ["C", "W"])


def as_weight(weight: Array | None) -> Array:
    """Weights as a vector, and nothing at all where all are 1."""
    return ALL_ONES if weight is None else as_vector(weight)
