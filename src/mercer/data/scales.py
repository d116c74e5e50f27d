"""Whole numbers that are levels and a scale at the same time, such as grades from 1 to 5."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.data.infer import MAX_CODES, Naming

#: fewest consecutive numbers that are taken for a scale
FEWEST_ORDERED = 3


def ends_of_scale(column: str, levels: Collection[Any]) -> tuple[int, int] | None:
    """Return the lowest and the highest of levels that are a scale: few consecutive whole numbers; None of others.

    A number beyond them counts as the nearest level: 6 of a scale from 1 to 5 as 5. Columns that are named like
    identifiers (store_id) are not scales.

    Examples
    --------
    >>> ends_of_scale("grade", [1, 2, 3, 4, 5]), ends_of_scale("grade", [1, 2, 5]), ends_of_scale("store_id", [1, 2, 3])
    ((1, 5), None, None)
    """
    if not FEWEST_ORDERED <= len(levels) <= MAX_CODES or not all(type(each) is int for each in levels):
        return None
    if Naming(column, True, None).is_entity:
        return None
    low, high = min(levels), max(levels)
    return (low, high) if high - low + 1 == len(levels) else None


def nearest_levels(labels: Array, ends: tuple[int, int] | None) -> Array:
    """Return labels in which numbers beyond the ends of a scale are the nearest end."""
    return labels if ends is None or labels.dtype.kind not in "iuf" else np.clip(labels, *ends)
