"""Columns that somebody names, or counts."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from mercer._errors import ColumnMismatchError
from mercer._suggest import did_you_mean


def position_of(key: Any, names: Sequence[str], parameter: str) -> int:
    """Where the column is that a parameter has by its name or number; negative numbers count from the end."""
    no_column = f"{parameter} names column {key!r}, but there is no such column"
    if isinstance(key, str):
        if key not in names:
            raise ColumnMismatchError(f"{no_column}. {did_you_mean(key, names)}")
        return names.index(key)
    try:
        return range(len(names))[operator.index(key)]
    except (IndexError, TypeError):
        raise ColumnMismatchError(f"{no_column}: there are {len(names)} columns, counted from 0.") from None
