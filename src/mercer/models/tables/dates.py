"""Dates as days since the first, and as weekday, month and hour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from mercer._errors import ColumnTypeError
from mercer._stored import stored
from mercer._suggest import listed
from mercer._typing import Array
from mercer.data.dates import Calendar
from mercer.data.table import Table
from mercer.designs.encoded import CodePart, NumberPart, Part
from mercer.models.tables._reading import days_of
from mercer.models.tables._spread import DaysSeen, Scale, Spread
from mercer.models.tables.numbers import Gaps, Number
from mercer.models.tables.treatment import LEVELS, NUMBERS, Slot, Treatment, Unseen

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


@stored()
@dataclass(frozen=True)
class Date(Treatment):
    """Days since the first; weekday and month as levels and the hour as a point on a circle, where they vary."""

    column: str
    first: float
    days: Number
    weekdays: tuple[int, ...]
    months: tuple[int, ...]
    hourly: bool
    #: by whose clock; "" for dates without a zone, None where that was not kept, in older files: by their own then
    zone: str | None = None

    @classmethod
    def learnt(cls, column: str, spread: Spread, seen: DaysSeen, gaps: Gaps, *, scaled: bool) -> Self:
        """From where the days lie."""
        first = spread.lowest if spread.number else 0.0
        mean, deviation = spread.scale()
        number = Number(f"{column}[days]", Scale(mean - first, deviation), scaled, gaps)
        zone = _only(column, seen.zones)
        return cls(column, first, number, _varying(seen.weekdays), _varying(seen.months), seen.hourly, zone)

    def described(self) -> str:
        varying = {"weekday": self.weekdays, "month": self.months, "hour": self.hourly}
        return ", ".join(["days since the first", *(name for name, there in varying.items() if there)]) + (
            self.days.gaps.described()
        )

    def slots(self) -> list[Slot]:
        hours = [f"{self.column}[hour sine]", f"{self.column}[hour cosine]"] if self.hourly else []
        numbers = [self.days.column, *self.days.gaps.names(self.column), *hours]
        levels = [
            Slot(LEVELS, [f"{self.column}[{names[code]}]" for code in codes])
            for codes, names in ((self.weekdays, WEEKDAYS), (self.months, MONTHS))
            if codes
        ]
        return [Slot(NUMBERS, numbers), *levels]

    def parts(self, table: Table, position: int, unseen: Unseen) -> list[Part]:
        days = days_of(table, position, self.zone)
        self.days.gaps.refuse(self.column, np.isnan(days))
        calendar = Calendar.of(days)
        numbers = [self.days.columns(days - self.first)]
        if self.hourly:
            angle = calendar.hour * (2 * np.pi / 24)
            kept = np.nan if self.days.gaps.missing == "keep" else 0.0
            numbers += [np.where(np.isnan(days), kept, wave(angle))[:, None] for wave in (np.sin, np.cos)]
        levels: list[Part] = [
            CodePart(_places(values, codes), len(codes))
            for values, codes in ((calendar.weekday, self.weekdays), (calendar.month, self.months))
            if codes
        ]
        return [NumberPart(np.hstack(numbers)), *levels]


def _only(column: str, zones: tuple[str, ...]) -> str | None:
    """The zone of all parts of a column; None without any dates."""
    if len(zones) > 1:
        raise ColumnTypeError(
            f"Column {column!r} has dates of several time zones, {listed([zone or 'none' for zone in zones])}. Convert "
            "them to one."
        )
    return zones[0] if zones else None


def _varying(values: tuple[int, ...]) -> tuple[int, ...]:
    """Different values, if there are two or more."""
    return values if len(values) > 1 else ()


def _places(values: Array, codes: tuple[int, ...]) -> Array:
    """Positions among the codes, −1 for others and for NaN."""
    table = np.full(14, -1, dtype=np.int32)
    table[list(codes)] = np.arange(len(codes), dtype=np.int32)
    return np.asarray(table[np.where(np.isnan(values), -1, values).astype(int)])
