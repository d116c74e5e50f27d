"""What is given for every column, or by column: edges of buckets, knots of splines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.models._named_columns import position_of


def by_column(parameter: str, given: Any, names: list[str], check: Callable[[Any, str], Array]) -> dict[int, Array]:
    """Positions of the columns for which numbers are given, and these; a word gives none."""
    if isinstance(given, str):
        return {}
    if isinstance(given, dict):
        return {position_of(key, names, parameter): check(numbers, repr(key)) for key, numbers in given.items()}
    return dict.fromkeys(range(len(names)), check(given, "every column"))


def increasing(numbers: Any) -> Array | None:
    """Two or more increasing numbers as a vector; None if they are not."""
    try:
        vector = np.asarray(numbers, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return vector if vector.ndim == 1 and len(vector) > 1 and (vector[1:] > vector[:-1]).all() else None
