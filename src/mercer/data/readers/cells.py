"""Conversion of a column of Python values of different types to a pyarrow array of one type."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Collection, Sequence
from typing import Any

#: a whole number as written; digits with a leading zero are a code
WHOLE_NUMBER = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,17})")
DECIMAL_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
#: bound of whole numbers that are exact as floats, in which Excel stores them
EXACT_WHOLE_BOUND = 2**53


def is_blank(cell: Any) -> bool:
    """Return whether a cell is empty or has only white space."""
    return cell is None or (isinstance(cell, str) and not cell.strip())


def text_of(cell: Any) -> str:
    """Return the text of a cell as in a CSV file: 3, not 3.0; TRUE; 2024-01-31."""
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < EXACT_WHOLE_BOUND else repr(cell)
    return cell.isoformat() if isinstance(cell, dt.date | dt.time) else str(cell)


def number_of(text: str) -> int | float | None:
    """Return the number that a text spells, as a CSV file would have it; None for codes such as 00501.

    >>> [number_of(text) for text in ("12", " -1.50 ", "1e3", "00501", "1,5", "nan")]
    [12, -1.5, 1000.0, None, None, None]
    """
    text = text.strip()
    if WHOLE_NUMBER.fullmatch(text):
        return int(text)
    return float(text) if DECIMAL_NUMBER.fullmatch(text) else None


def column_of(values: Sequence[Any], markers: Collection[str], *, text: bool = False) -> Any:
    """Return the values as an array of the narrowest type that holds all of them; `markers` are missing.

    Numbers that are stored as text are numbers if all texts are numbers, unless `text` is true. Numbers are whole if
    all are, and dates have a time of day if one has it; values of incompatible types all become text.
    """
    import pyarrow as pa

    kept = [None if _is_missing(value, markers) else value for value in values]
    if not text:
        spelled = [number_of(value) for value in kept if isinstance(value, str)]
        if spelled and None not in spelled:
            kept = [number_of(value) if isinstance(value, str) else value for value in kept]
    present = [value for value in kept if value is not None]
    types = {type(value) for value in present}
    if not types:
        return pa.nulls(len(kept), pa.float64())
    if types == {bool}:
        return pa.array(kept, pa.bool_())
    if types <= {bool, int, float}:
        if all(float(value).is_integer() and abs(value) < EXACT_WHOLE_BOUND for value in present):
            return pa.array([None if value is None else int(value) for value in kept], pa.int64())
        return pa.array([None if value is None else float(value) for value in kept], pa.float64())
    if types <= {dt.date, dt.datetime}:
        times = [_with_time(value) for value in kept]
        is_day = all(time is None or time.time() == dt.time() for time in times)
        return pa.array(times, pa.timestamp("us")).cast(pa.date32() if is_day else pa.timestamp("us"))
    if types == {dt.time}:
        return pa.array(kept, pa.time64("us"))
    if types == {dt.timedelta}:
        return pa.array([None if value is None else value.total_seconds() for value in kept], pa.float64())
    return pa.array([None if value is None else text_of(value).strip() for value in kept], pa.string())


def _is_missing(value: Any, markers: Collection[str]) -> bool:
    if isinstance(value, str):
        return not value.strip() or value.strip() in markers
    return value is None or (isinstance(value, float) and math.isnan(value))


def _with_time(value: Any) -> Any:
    return dt.datetime.combine(value, dt.time()) if type(value) is dt.date else value
