"""How large a fitted model is."""

from __future__ import annotations

import math
import pickle
from typing import Any


class _Counter:
    """A file that keeps nothing but its length."""

    length = 0

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        self.length += size
        return size


def size_of(model: Any) -> float:
    """Bytes of a model, counted as it would be pickled; NaN where it cannot be.

    Examples
    --------
    >>> import numpy as np
    >>> size_of(np.zeros(1000)) > 8000
    True
    """
    counter = _Counter()
    try:
        pickle.Pickler(counter, protocol=5).dump(model)
    except Exception:
        return math.nan
    return float(counter.length)
