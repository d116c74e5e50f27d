"""Mean, deviation and ends of numbers, and where days lie in week and year: added up block by block."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from mercer._stored import real, stored, whole
from mercer._typing import Array
from mercer.data.dates import Calendar

#: what a deviation is at least that no float is small enough for
SMALLEST = float(np.nextafter(0.0, 1.0))
#: a smaller mean is lost in the rounding of the largest floats, so that no difference from it can overflow
HUGE = 1e290


@stored()
class Scale(NamedTuple):
    """Mean and standard deviation of what is there of a column; of one value, only the mean."""

    mean: float
    deviation: float

    @property
    def plain(self) -> bool:
        """Whether no difference from the mean can overflow."""
        return abs(self.mean) <= HUGE

    def units(self, values: Array) -> Array:
        half = 1.0 if self.plain else 0.5  # the largest floats lie farther apart than a float can say
        with np.errstate(over="ignore"):  # a new value beside which the deviation is nothing: models refuse infinity
            return np.asarray((values * half - self.mean * half) / (self.deviation * half))


@stored(number=whole(0), size=real(SMALLEST))
class Spread(NamedTuple):
    """Numbers that are there: how many, in units of `size` their mean and Σ(x − mean)², and the ends.

    The unit is a power of two near the largest, so that no square leaves the range of floats and no digit is lost.
    """

    number: int
    size: float
    mean: float
    squares: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, values: Array) -> Self:
        there = values[~np.isnan(values)]
        if not there.size:
            return cls(0, 1.0, 0.0, 0.0, np.inf, -np.inf)
        size = float(np.ldexp(1.0, np.frexp(np.abs(there).max())[1] - 1))
        scaled = there / size
        mean = float(scaled.mean())
        squares = float(np.square(scaled - mean).sum())
        return cls(there.size, size, mean, squares, float(there.min()), float(there.max()))

    @classmethod
    def of_columns(cls, values: Array) -> list[Self | None]:
        """Return the spread of each column, rounded as `of` rounds it; None where a value is missing or infinite."""
        columns = np.ascontiguousarray(values.T)
        finite = np.isfinite(columns).all(axis=1)
        columns = columns[finite]
        lowest, highest = columns.min(axis=1), columns.max(axis=1)
        size = np.ldexp(1.0, np.frexp(np.maximum(highest, -lowest))[1] - 1)
        scaled = columns / size[:, None]
        mean = scaled.mean(axis=1)
        squares = np.square(scaled - mean[:, None]).sum(axis=1)
        numbers = zip(*(each.tolist() for each in (size, mean, squares, lowest, highest)), strict=True)
        found = iter([cls(len(values), *each) for each in numbers])
        return [next(found) if is_finite else None for is_finite in finite.tolist()]

    def merge(self, other: Self) -> Self:
        """The numbers of both (Chan's formula)."""
        if not (self.number and other.number):
            return other if other.number else self
        size, number = max(self.size, other.size), self.number + other.number
        mine, theirs = self.size / size, other.size / size
        apart = other.mean * theirs - self.mean * mine
        squares = self.squares * mine**2 + other.squares * theirs**2 + apart**2 * self.number * other.number / number
        ends = min(self.lowest, other.lowest), max(self.highest, other.highest)
        return type(self)(number, size, self.mean * mine + apart * other.number / number, squares, *ends)

    def scale(self) -> Scale:
        if self.lowest >= self.highest:  # which a deviation with its roundings need not show
            return Scale(self.lowest if self.number else 0.0, 1.0)
        deviation = self.size * float(np.sqrt(self.squares / self.number))
        return Scale(self.size * self.mean, max(deviation, SMALLEST))


@stored()
class DaysSeen(NamedTuple):
    """Which weekdays, months and hours occur, and by the clocks of which zones; of hours, up to two."""

    weekdays: tuple[int, ...]
    months: tuple[int, ...]
    hours: tuple[float, ...]
    #: "" for that of days without a zone
    zones: tuple[str, ...] = ()

    @classmethod
    def of(cls, days: Array, zone: str) -> Self:
        there = days[~np.isnan(days)]
        weekday, month, hour = Calendar.of(there)
        weekdays, months = (tuple(np.unique(part).astype(int).tolist()) for part in (weekday, month))
        return cls(weekdays, months, tuple(np.unique(hour).tolist()[:2]), (zone,) if there.size else ())

    def merge(self, other: Self) -> Self:
        return type(self)(
            tuple(sorted({*self.weekdays, *other.weekdays})),
            tuple(sorted({*self.months, *other.months})),
            tuple(sorted({*self.hours, *other.hours}))[:2],
            tuple(sorted({*self.zones, *other.zones})),
        )

    @property
    def hourly(self) -> bool:
        return len(self.hours) > 1
