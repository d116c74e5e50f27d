"""Fewer of many: as many as can be told apart, or as a page can hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def evenly(length: int, most: int) -> NDArray[Any]:
    """At most so many places in a sequence, evenly spaced, the first and the last among them.

    Examples
    --------
    >>> evenly(9, 3).tolist(), evenly(2, 3).tolist()
    ([0, 4, 8], [0, 1])
    """
    if length <= most:
        return np.arange(length)
    return np.unique(np.linspace(0, length - 1, most).round().astype(int))


def chosen(values: Any, places: NDArray[Any]) -> list[Any]:
    """The values at these places of any sequence."""
    return [values[place] for place in places]
