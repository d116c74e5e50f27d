"""Features of dates, computed from the days since 1970: days since the first date, weekday, month and hour."""

from __future__ import annotations

import math
from collections.abc import Iterator

from mercer.export.expression import (
    UNKNOWN,
    ZERO_VALUE,
    Expression,
    Floor,
    Lookup,
    Sine,
    SumOf,
    fill_gap,
    name_value,
    subtract,
)
from mercer.preprocessing.treatments import DateTreatment

#: years begin in March, so that leap days are last: day 0 is the 1st of March of the year 0
DAYS_TO_MARCH_0 = 719_468


def hour_waves(treatment: DateTreatment, days: Expression) -> Iterator[Expression]:
    """Yield sine and cosine of the hour, rounded to six digits as in the model; 0 for a missing date."""
    if not treatment.hourly:
        return
    of_day = SumOf(((24.0, days), (-24.0, name_value(Floor(days)))))
    hour = SumOf(((1e-6, Floor(SumOf(((1e6, of_day),), 0.5))),))
    gap = UNKNOWN if treatment.days.gaps.missing == "keep" else ZERO_VALUE
    for phase in (0.0, math.pi / 2):
        yield name_value(fill_gap(days, gap, Sine(SumOf(((math.tau / 24, hour),), phase))))


def calendar_levels(treatment: DateTreatment, days: Expression) -> Iterator[list[Expression]]:
    """Yield the features of weekdays, then those of months, if they vary; all are 0 for a missing date."""
    for codes, number in ((treatment.weekdays, _weekday), (treatment.months, _month)):
        if codes:
            place = name_value(number(days))
            yield [Lookup(place, ((float(code), 1.0),), 0.0, 0.0) for code in codes]


def _weekday(days: Expression) -> Expression:
    """Return the weekday, 0 for Monday; 1970 began on a Thursday."""
    return _remainder(subtract(name_value(Floor(days)), -3.0), 7.0)


def _month(days: Expression) -> Expression:
    """Return the month, 0 for January, of the Gregorian calendar (Neri and Schneider, 2023): century, year, month."""
    day = subtract(Floor(days), -float(DAYS_TO_MARCH_0))
    of_century = name_value(SumOf(((4.0, day),), 3.0))
    century_day = _whole(_remainder(of_century, 146_097.0), 4.0)
    of_year = name_value(SumOf(((4.0, century_day),), 3.0))
    year_day = _whole(_remainder(of_year, 1_461.0), 4.0)
    since_january = _whole(SumOf(((2_141.0, year_day),), 197_913.0), 65_536.0)  # 3 for March to 14 for February
    return _remainder(subtract(since_january, 1.0), 12.0)


def _whole(value: Expression, divisor: float) -> Expression:
    """Return the integer quotient; half a step is added, so that rounding never gives a smaller integer."""
    return Floor(SumOf(((1 / divisor, value),), 0.5 / divisor))


def _remainder(value: Expression, divisor: float) -> Expression:
    value = name_value(value)
    return name_value(SumOf(((1.0, value), (-divisor, _whole(value, divisor)))))
