"""Dates as numbers: days since 1970, weekday, month and hour."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.data.coding import Coded

MICROSECONDS_PER_DAY = 86_400_000_000
#: a date with an optional time and time zone in ISO 8601
ISO = re.compile(r"(\d{4}-\d\d-\d\d)(?:([ T]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(?:Z|[+-]\d\d:?\d\d)?)?")


class Calendar(NamedTuple):
    """Weekday (0 is Monday), month (0 is January) and hour with fractions; NaN if the day is unknown."""

    weekday: Array
    month: Array
    hour: Array

    @classmethod
    def of(cls, days: Array) -> Calendar:
        """Compute from days since 1970, which began on a Thursday.

        Examples
        --------
        >>> [float(part) for part in Calendar.of(np.array(19000.25))]
        [5.0, 0.0, 6.0]
        """
        known = np.isfinite(days)
        filled = np.where(known, days, 0.0)
        full_days = np.floor(filled)
        months = full_days.astype(np.int64).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12
        hours = np.round((filled - full_days) * 24, 6)  # the precision of days as floats
        return cls(*(np.where(known, part, np.nan) for part in ((full_days + 3) % 7, months, hours)))


def days(times: Array) -> Array:
    """Return NumPy's dates as days since 1970, and durations as days; NaN for NaT."""
    microseconds = times.astype(f"{times.dtype.kind}8[us]")
    return np.where(np.isnat(microseconds), np.nan, microseconds.astype(np.int64) / MICROSECONDS_PER_DAY)


def are_dates(labels: list[Any]) -> bool:
    """Return whether all labels are strings that spell a date."""
    if not labels or not all(isinstance(label, str) and ISO.fullmatch(label) for label in labels):
        return False
    try:
        _read(labels)
    except ValueError:  # e.g. the 30th of February
        return False
    return True


def days_of_labels(coded: Coded) -> Array:
    """Return days since 1970 in the own time zone, for a column of strings that spell dates; NaN where missing."""
    return np.asarray(np.append(days(_read(coded.labels.tolist())), np.nan)[coded.codes])


def _read(spelled: list[str]) -> Array:
    return np.array([ISO.sub(r"\1\2", label) for label in spelled], dtype="datetime64[us]")
