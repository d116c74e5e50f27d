"""What is given for every column, or by column: edges of buckets, knots of splines."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np

from mercer._errors import ColumnMismatchError
from mercer.models._base import Array


def by_column(given: Any, names: list[str], check: Callable[[Any, str], Array]) -> dict[int, Array]:
    """Positions of the columns for which numbers are given, and these; a word gives none."""
    if isinstance(given, str):
        return {}
    if isinstance(given, dict):
        return {_position(key, names): check(numbers, repr(key)) for key, numbers in given.items()}
    return dict.fromkeys(range(len(names)), check(given, "every column"))


def _position(key: Any, names: list[str]) -> int:
    """Of the column that has this name or number."""
    if isinstance(key, str) and key in names:
        return names.index(key)
    if isinstance(key, Integral) and -len(names) <= int(key) < len(names):
        return int(key) % len(names)
    raise ColumnMismatchError(f"something is given for {key!r}, but there is no such column; there are {names}.")


def increasing(numbers: Any) -> Array | None:
    """Two or more increasing numbers as a vector; None if they are not."""
    try:
        vector = np.asarray(numbers, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return vector if vector.ndim == 1 and len(vector) > 1 and (vector[1:] > vector[:-1]).all() else None
