"""Whole numbers that are levels and an ordered scale at the same time, such as grades from 1 to 5."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.data.infer import MAX_CODES, Naming

#: smallest number of consecutive numbers that form a scale
MIN_SCALE_LEVELS = 3


def scale_limits(column: str, levels: Collection[Any]) -> tuple[int, int] | None:
    """Return the lowest and the highest level of a scale of few consecutive whole numbers; None for other levels.

    A number beyond them counts as the nearest level: 6 on a scale from 1 to 5 as 5. Columns with names of identifiers
    (store_id) are not scales.

    Examples
    --------
    >>> scale_limits("grade", [1, 2, 3, 4, 5]), scale_limits("grade", [1, 2, 5]), scale_limits("store_id", [1, 2, 3])
    ((1, 5), None, None)
    """
    if not MIN_SCALE_LEVELS <= len(levels) <= MAX_CODES or not all(type(each) is int for each in levels):
        return None
    if Naming(column, True, None).is_entity:
        return None
    low, high = min(levels), max(levels)
    return (low, high) if high - low + 1 == len(levels) else None


def clip_to_scale(labels: Array, ends: tuple[int, int] | None) -> Array:
    """Return labels in which numbers beyond the limits of a scale are the nearest limit."""
    return labels if ends is None or labels.dtype.kind not in "iuf" else np.clip(labels, *ends)
