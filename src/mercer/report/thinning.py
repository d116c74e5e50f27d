"""Evenly spaced selections from long sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def even_indices(length: int, most: int) -> NDArray[Any]:
    """Return at most `most` indices of a sequence, evenly spaced, including the first and the last.

    Examples
    --------
    >>> even_indices(9, 3).tolist(), even_indices(2, 3).tolist()
    ([0, 4, 8], [0, 1])
    """
    if length <= most:
        return np.arange(length)
    return np.unique(np.linspace(0, length - 1, most).round().astype(int))


def select_items(values: Any, indices: NDArray[Any]) -> list[Any]:
    """Return the values at these indices of any sequence."""
    return [values[index] for index in indices]
