"""Treatments: how the columns of a table become features, one class for each kind of column."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone

from mercer._errors import ColumnTypeError, UnseenCategoryError, UnseenCategoryWarning, VocabularyError
from mercer._stored import part_of, real, stored, whole
from mercer._suggest import did_you_mean, listed, quoted
from mercer._typing import Array
from mercer._warn import warn
from mercer.data.coding import Coded, drop_missing_words
from mercer.data.dates import Calendar
from mercer.data.levels import Levels, Occurrences
from mercer.data.scales import clip_to_scale, scale_limits
from mercer.data.table import Table
from mercer.matrices.encoded import CodePart, NumberPart, Part, SparsePart
from mercer.preprocessing._reading import check_no_gaps, days_of, labels_of, numbers_of, texts_of
from mercer.report.wording import format_count
from mercer.text.vectorizer import TextVectorizer

#: order of features that are numbers: they come first, and so form one block
NUMBER_SLOT = 0
#: order of features of levels
LEVEL_SLOT = 1
#: order of features of words
WORD_SLOT = 2


@stored()
class Slot(NamedTuple):
    """A run of features of one column."""

    order: int
    names: Sequence[str]


@dataclass
class UnseenValues:
    """Collects values that no row of the fit had; `policy` is "warn", "error" or "ignore"."""

    policy: str
    found: list[str] = field(default_factory=list)

    def report(self, column: str, value: Any, row: int, known: Sequence[Any]) -> None:
        """Store a message for one value of a column, or raise the error."""
        if self.policy == "ignore":
            return
        message = f"Column {column!r} is {quoted(value)} in row {row}, which did not occur in the fit."
        if self.policy == "error":
            guess = did_you_mean(str(value), [str(label) for label in known])
            raise UnseenCategoryError(
                f"{message} {guess} Correct it, fit again on rows that contain it, or use unseen='ignore'."
            )
        self.found.append(message)

    def report_levels(self, levels: str) -> None:
        """Store a message for levels of an unknown column, or raise the error."""
        message = f"A column holds {levels}, which did not occur in the fit and counts as its first level."
        if self.policy == "error":
            raise UnseenCategoryError(f"{message} Fit again on rows that contain it, or use unseen='ignore'.")
        self.found += [message] * (self.policy == "warn")

    def warn(self) -> None:
        """Warn once about the values of all columns."""
        if self.found:
            more = (
                f" Nor were values of {format_count(len(self.found) - 1, 'more column')}."
                if len(self.found) > 1
                else ""
            )
            warn(
                f"{self.found[0]}{more} Such values carry no information for the model; fit again on rows that contain "
                "them, or silence this with unseen='ignore'.",
                UnseenCategoryWarning,
            )


class Treatment(ABC):
    """Conversion of a column to features, as learned in a fit; `slots` and `parts` correspond one to one."""

    column: str

    @abstractmethod
    def described(self) -> str:
        """Return a short description."""

    @abstractmethod
    def slots(self) -> list[Slot]: ...

    @abstractmethod
    def parts(self, table: Table, position: int, unseen: UnseenValues) -> list[Part]: ...


@stored()
@dataclass(frozen=True)
class LeftOutTreatment(Treatment):
    """The column is not used."""

    column: str
    reason: str

    def described(self) -> str:
        return f"left out: {self.reason}"

    def slots(self) -> list[Slot]:
        return []

    def parts(self, table: Table, position: int, unseen: UnseenValues) -> list[Part]:
        return []


def join_parts(parts: list[tuple[int, Part]]) -> list[Part]:
    """Sort parts by the order of their slots, and join neighbouring parts of numbers."""
    ordered = [part for _, part in sorted(parts, key=lambda pair: pair[0])]
    blocks = [list(group) for _, group in groupby(ordered, key=lambda part: isinstance(part, NumberPart))]
    joined: list[Part] = []
    for block in blocks:
        numbers = [part.X for part in block if isinstance(part, NumberPart)]
        joined += [NumberPart(np.hstack(numbers))] if len(numbers) > 1 else block
    return joined


def number_duplicates(names: list[str]) -> list[str]:
    """Append a number to names that occur again: a word may be "missing"."""
    times: Counter[str] = Counter()
    for j, name in enumerate(names):
        times[name] += 1
        if times[name] > 1:
            names[j] = f"{name} ({times[name]})"
    return names


# Mergeable statistics: mean, deviation and extremes of numbers, and weekdays, months and hours of dates.

#: lower bound of a deviation that is not representable
MIN_DEVIATION = float(np.nextafter(0.0, 1.0))
#: differences from a mean up to this size cannot overflow, since it is lost in the rounding of the largest floats
MAX_PLAIN_MEAN = 1e290


@stored()
class NumberScale(NamedTuple):
    """Mean and standard deviation of the values of a column; the deviation of a single value is 1."""

    mean: float
    deviation: float

    @property
    def plain(self) -> bool:
        """True if no difference from the mean can overflow."""
        return abs(self.mean) <= MAX_PLAIN_MEAN

    def units(self, values: Array) -> Array:
        half = 1.0 if self.plain else 0.5  # differences of the largest floats overflow
        with np.errstate(over="ignore"):  # a huge new value: models raise an error for infinity
            return np.asarray((values * half - self.mean * half) / (self.deviation * half))


@stored(number=whole(0), size=real(MIN_DEVIATION))
class NumberSpread(NamedTuple):
    """Number of values, mean and Σ(x − mean)² in units of `size`, and the extremes.

    The unit is a power of two near the largest value, so that squares neither overflow nor lose digits.
    """

    number: int
    size: float
    mean: float
    squares: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, values: Array) -> Self:
        present = values[~np.isnan(values)]
        if not present.size:
            return cls(0, 1.0, 0.0, 0.0, np.inf, -np.inf)
        size = float(np.ldexp(1.0, np.frexp(np.abs(present).max())[1] - 1))
        scaled = present / size
        mean = float(scaled.mean())
        squares = float(np.square(scaled - mean).sum())
        return cls(present.size, size, mean, squares, float(present.min()), float(present.max()))

    @classmethod
    def of_columns(cls, values: Array) -> list[Self | None]:
        """Return the spread of each column with the rounding of `of`; None if a value is missing or infinite."""
        columns = np.ascontiguousarray(values.T)
        finite = np.isfinite(columns).all(axis=1)
        columns = columns[finite]
        lowest, highest = columns.min(axis=1), columns.max(axis=1)
        size = np.ldexp(1.0, np.frexp(np.maximum(highest, -lowest))[1] - 1)
        scaled = columns / size[:, None]
        mean = scaled.mean(axis=1)
        squares = np.square(scaled - mean[:, None]).sum(axis=1)
        numbers = zip(*(each.tolist() for each in (size, mean, squares, lowest, highest)), strict=True)
        spreads = iter([cls(len(values), *each) for each in numbers])
        return [next(spreads) if is_finite else None for is_finite in finite.tolist()]

    def merge(self, other: Self) -> Self:
        """Return the spread of the values of both (Chan's formula)."""
        if not (self.number and other.number):
            return other if other.number else self
        size, number = max(self.size, other.size), self.number + other.number
        mine, theirs = self.size / size, other.size / size
        delta = other.mean * theirs - self.mean * mine
        squares = self.squares * mine**2 + other.squares * theirs**2 + delta**2 * self.number * other.number / number
        ends = min(self.lowest, other.lowest), max(self.highest, other.highest)
        return type(self)(number, size, self.mean * mine + delta * other.number / number, squares, *ends)

    def scale(self) -> NumberScale:
        if self.lowest >= self.highest:  # one value; its computed deviation may differ from 0 by rounding
            return NumberScale(self.lowest if self.number else 0.0, 1.0)
        deviation = self.size * float(np.sqrt(self.squares / self.number))
        return NumberScale(self.size * self.mean, max(deviation, MIN_DEVIATION))


@stored()
class CalendarParts(NamedTuple):
    """The weekdays, months and hours (at most two) of dates, and their time zones."""

    weekdays: tuple[int, ...]
    months: tuple[int, ...]
    hours: tuple[float, ...]
    #: "" for dates without a zone
    zones: tuple[str, ...] = ()

    @classmethod
    def of(cls, days: Array, zone: str) -> Self:
        present = days[~np.isnan(days)]
        weekday, month, hour = Calendar.of(present)
        weekdays, months = (tuple(np.unique(part).astype(int).tolist()) for part in (weekday, month))
        return cls(weekdays, months, tuple(np.unique(hour).tolist()[:2]), (zone,) if present.size else ())

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


#: number of columns from which on they are read and standardized together
MIN_COLUMNS_TOGETHER = 50


@stored()
class Gaps(NamedTuple):
    """The policy for missing values, and whether rows of the fit had any."""

    missing: str
    in_fit: bool

    @classmethod
    def of(cls, column: str, gaps: Array, missing: str) -> Self:
        """Create from the rows of a fit; raise an error if missing values are not allowed."""
        result = cls(missing, bool(gaps.any()))
        result.check(column, gaps)
        return result

    def check(self, column: str, gaps: Array) -> None:
        """Raise an error that names the first missing value, if missing values are not allowed."""
        if self.missing == "error":
            check_no_gaps(column, gaps)

    @property
    def has_indicator(self) -> bool:
        """True if a feature indicates missing values."""
        return self.missing == "indicator" and self.in_fit

    def names(self, column: str) -> list[str]:
        return [f"{column}[missing]"] if self.has_indicator else []

    def fill(self, values: Array, gaps: Array, mean: float) -> Array:
        """Return values with missing ones replaced, and the indicator of these if there is one."""
        filled = np.where(gaps, np.nan if self.missing == "keep" else mean, values)
        return np.column_stack([filled, gaps]) if self.has_indicator else filled[:, None]

    def described(self) -> str:
        return ", and whether it is missing" if self.has_indicator else ""


@stored()
@dataclass(frozen=True)
class NumberTreatment(Treatment):
    """(x − mean)/deviation, or x itself if numbers are not scaled; missing values become the mean."""

    column: str
    scale: NumberScale
    scaled: bool
    gaps: Gaps

    def described(self) -> str:
        return ("standardised" if self.scaled else "as it is") + self.gaps.described()

    def slots(self) -> list[Slot]:
        return [Slot(NUMBER_SLOT, [self.column, *self.gaps.names(self.column)])]

    def parts(self, table: Table, position: int, unseen: UnseenValues) -> list[Part]:
        return [NumberPart(self.columns(numbers_of(table, position)))]

    def columns(self, values: Array) -> Array:
        """Return the features of values, NaN where they are missing."""
        gaps = np.isnan(values)
        self.gaps.check(self.column, gaps)
        units, mean = (self.scale.units(values), 0.0) if self.scaled else (values, self.scale.mean)
        return self.gaps.fill(units, gaps, mean)


def standardize_together(numbers: Sequence[NumberTreatment], table: Table) -> tuple[dict[str, int], Array]:
    """Standardize many columns of numbers at once, which is faster for thousands of columns.

    Columns that must be read separately are left out: those with other values than numbers, infinite or huge values, or
    missing values.

    Returns
    -------
    places : dict from str to int
        Columns of `units` by the names of the columns, in their order.
    units : array of shape (n_rows, n_columns)
        The features.
    """
    plain = [
        each
        for each in numbers
        if each.scaled
        and not each.gaps.has_indicator
        and each.scale.plain
        and table.kinds[table.positions[each.column]].numeric
    ]
    if len(plain) < MIN_COLUMNS_TOGETHER:
        return {}, np.empty((table.n_rows, 0))
    values = np.asarray(table.numbers([table.positions[each.column] for each in plain]), dtype=np.float64)
    mean, deviation = np.array([each.scale for each in plain]).T
    with np.errstate(over="ignore"):
        units = (values - mean) / deviation
    finite = np.atleast_1d(np.isfinite(values).all(axis=0))
    return {each.column: j for j, each in enumerate(plain) if finite[j]}, units


@stored()
@dataclass(frozen=True)
class MissingOnlyTreatment(Treatment):
    """For a column with a single value: 1 where it is missing."""

    column: str

    def described(self) -> str:
        return "whether it is missing"

    def slots(self) -> list[Slot]:
        return [Slot(NUMBER_SLOT, Gaps("indicator", True).names(self.column))]

    def parts(self, table: Table, position: int, unseen: UnseenValues) -> list[Part]:
        return [NumberPart((table.coded(position).codes < 0)[:, None].astype(np.float64))]


@stored()
@dataclass(frozen=True)
class BinaryTreatment(Treatment):
    """1 for the second of two values, 0 for the first; missing and other values get the share of ones."""

    column: str
    levels: tuple[Any, Any]
    share: float
    gaps: Gaps

    @classmethod
    def learn(cls, column: str, labels: Occurrences, levels: tuple[Any, Any], gaps: Gaps) -> Self:
        """Create from the numbers of occurrences of the two levels."""
        ones = labels.counts[labels.labels.tolist().index(levels[1])]
        return cls(column, levels, float(ones / labels.counts.sum()), gaps)

    def described(self) -> str:
        return f"1 where it is {self.levels[1]}{self.gaps.described()}"

    def slots(self) -> list[Slot]:
        return [Slot(NUMBER_SLOT, [self.column, *self.gaps.names(self.column)])]

    def parts(self, table: Table, position: int, unseen: UnseenValues) -> list[Part]:
        coded = drop_missing_words(labels_of(table, position, text=isinstance(self.levels[1], str)), self.levels)
        self.gaps.check(self.column, coded.codes < 0)
        places = [self.levels.index(label) if label in self.levels else np.nan for label in coded.labels.tolist()]
        found = np.asarray([*places, np.nan], dtype=float)[coded.codes]
        is_unseen = np.isnan(found) & (coded.codes >= 0)
        if is_unseen.any():
            row = int(np.argmax(is_unseen))
            unseen.report(self.column, coded.labels.tolist()[coded.codes[row]], row, self.levels)
        return [NumberPart(self.gaps.fill(found, np.isnan(found), self.share))]


#: longest text of a level in the name of its feature, in characters
MAX_LEVEL_NAME_LENGTH = 60


@stored(tag="TableCategory")
@dataclass(frozen=True)
class CategoryTreatment(Treatment):
    """A feature for each level, one for all rare levels, and one for missing values."""

    column: str
    levels: Levels
    missing: str
    #: whether all levels are strings (True), none is (False), or some are (None)
    text: bool | None

    @property
    def ends(self) -> tuple[int, int] | None:
        """The extremes of levels that form a scale, to which numbers beyond them are moved; None for other levels."""
        levels = [*self.levels.kept, *self.levels.rare]
        return scale_limits(self.column, levels) if self.text is False else None

    @classmethod
    def learn(cls, column: str, labels: Occurrences, gaps: Gaps, **options: Any) -> Self:
        """Create from the numbers of occurrences of the labels."""
        levels = Levels.of(labels, missing="level" if gaps.missing == "indicator" else "zeros", **options)
        return cls(column, levels, gaps.missing, _are_strings(labels.labels))

    def described(self) -> str:
        rare = f", {len(self.levels.rare)} rare ones as one" if self.levels.rare else ""
        gaps = ", and whether it is missing" if self.levels.own_missing else ""
        return f"a feature for each level{rare}{gaps}"

    def slots(self) -> list[Slot]:
        extra = ["missing"] * self.levels.own_missing + ["infrequent"] * self.levels.pooled
        return [Slot(LEVEL_SLOT, [f"{self.column}[{_shorten(str(level))}]" for level in (*self.levels.kept, *extra)])]

    def parts(self, table: Table, position: int, unseen: UnseenValues) -> list[Part]:
        coded = drop_missing_words(labels_of(table, position, text=self.text), {*self.levels.kept, *self.levels.rare})
        gaps = coded.codes < 0
        if self.missing == "error":
            check_no_gaps(self.column, gaps)
        self._report_unseen(coded, unseen)
        coded = coded._replace(labels=clip_to_scale(coded.labels, self.ends))
        codes = CodePart(self.levels.codes(self.column, coded), self.levels.n_columns)
        if self.missing != "keep" or not gaps.any():
            return [codes]
        numbers = np.zeros((table.n_rows, codes.n_columns))
        codes.fill(numbers)
        numbers[gaps] = np.nan
        return [NumberPart(numbers)]

    def _report_unseen(self, coded: Coded, unseen: UnseenValues) -> None:
        known = {*self.levels.kept, *self.levels.rare}
        new_codes = [code for code, label in enumerate(coded.labels.tolist()) if label not in known]
        is_unseen = np.isin(coded.codes, new_codes)
        if is_unseen.any():
            row = int(np.argmax(is_unseen))
            unseen.report(self.column, coded.labels.tolist()[coded.codes[row]], row, self.levels.kept)


def _shorten(name: str) -> str:
    return name if len(name) <= MAX_LEVEL_NAME_LENGTH else f"{name[: MAX_LEVEL_NAME_LENGTH - 1]}…"


def _are_strings(labels: Array) -> bool | None:
    if labels.dtype.kind != "O":
        return False
    return True if all(isinstance(label, str) for label in labels.tolist()) else None


#: names of weekdays by the codes of `Calendar`
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
#: names of months by the codes of `Calendar`
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
class DateTreatment(Treatment):
    """Days since the first; weekday and month as levels and the hour as a point on a circle, if they vary."""

    column: str
    first: float
    days: NumberTreatment
    weekdays: tuple[int, ...]
    months: tuple[int, ...]
    hourly: bool
    #: the time zone of the clock; "" for dates without a zone; None if no row of the fit has a date
    zone: str | None = None

    @classmethod
    def learn(cls, column: str, spread: NumberSpread, parts: CalendarParts, gaps: Gaps, *, scaled: bool) -> Self:
        """Create from the distribution of the days."""
        first = spread.lowest if spread.number else 0.0
        mean, deviation = spread.scale()
        number = NumberTreatment(f"{column}[days]", NumberScale(mean - first, deviation), scaled, gaps)
        zone = _only_zone(column, parts.zones)
        return cls(column, first, number, _if_varying(parts.weekdays), _if_varying(parts.months), parts.hourly, zone)

    def described(self) -> str:
        varying = {"weekday": self.weekdays, "month": self.months, "hour": self.hourly}
        return ", ".join(["days since the first", *(name for name, varies in varying.items() if varies)]) + (
            self.days.gaps.described()
        )

    def slots(self) -> list[Slot]:
        hours = [f"{self.column}[hour sine]", f"{self.column}[hour cosine]"] if self.hourly else []
        numbers = [self.days.column, *self.days.gaps.names(self.column), *hours]
        levels = [
            Slot(LEVEL_SLOT, [f"{self.column}[{names[code]}]" for code in codes])
            for codes, names in ((self.weekdays, WEEKDAYS), (self.months, MONTHS))
            if codes
        ]
        return [Slot(NUMBER_SLOT, numbers), *levels]

    def parts(self, table: Table, position: int, unseen: UnseenValues) -> list[Part]:
        days = days_of(table, position, self.zone)
        self.days.gaps.check(self.column, np.isnan(days))
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


def _only_zone(column: str, zones: tuple[str, ...]) -> str | None:
    """Return the time zone of all parts of a column; None if it has no dates."""
    if len(zones) > 1:
        raise ColumnTypeError(
            f"Column {column!r} has dates of several time zones, {listed([zone or 'none' for zone in zones])}. Convert "
            "them to one."
        )
    return zones[0] if zones else None


def _if_varying(values: tuple[int, ...]) -> tuple[int, ...]:
    """Return distinct values if there are two or more, else an empty tuple."""
    return values if len(values) > 1 else ()


def _places(values: Array, codes: tuple[int, ...]) -> Array:
    """Return positions among the codes, −1 for other values and for NaN."""
    table = np.full(14, -1, dtype=np.int32)
    table[list(codes)] = np.arange(len(codes), dtype=np.int32)
    return np.asarray(table[np.where(np.isnan(values), -1, values).astype(int)])


@stored(vectorizer=part_of())
@dataclass(frozen=True)
class TextTreatment(Treatment):
    """The features of a vectorizer; a missing document has no words."""

    column: str
    vectorizer: Any
    gaps: Gaps

    @classmethod
    def of(cls, table: Table, position: int, vectorizer: Any, y: Any, missing: str) -> tuple[Self, list[Part]]:
        """Fit a vectorizer, and return the treatment with the features of the same rows."""
        documents, gaps = texts_of(table, position)
        column, fitted = table.names[position], clone(vectorizer)
        with naming_column(column):
            words = fitted.fit_transform(_readable(documents, fitted), y)
        text = cls(column, fitted, Gaps.of(column, gaps, missing))
        return text, text._with_indicator(words, gaps)

    def described(self) -> str:
        return f"{type(self.vectorizer).__name__}{self.gaps.described()}"

    def slots(self) -> list[Slot]:
        words = [f"{self.column}[{word}]" for word in self.vectorizer.get_feature_names_out()]
        indicator = [Slot(NUMBER_SLOT, self.gaps.names(self.column))] if self.gaps.has_indicator else []
        return [*indicator, Slot(WORD_SLOT, words)]

    def parts(self, table: Table, position: int, unseen: UnseenValues) -> list[Part]:
        documents, gaps = texts_of(table, position)
        self.gaps.check(self.column, gaps)
        return self._with_indicator(self.vectorizer.transform(_readable(documents, self.vectorizer)), gaps)

    def _with_indicator(self, words: Any, gaps: Array) -> list[Part]:
        indicator: list[Part] = [NumberPart(gaps[:, None].astype(np.float64))] if self.gaps.has_indicator else []
        return [*indicator, SparsePart(words)]


@contextmanager
def naming_column(column: str) -> Iterator[None]:
    """Add the name of the column to errors about a vocabulary."""
    try:
        yield
    except VocabularyError as empty:
        raise VocabularyError(
            f"Column {column!r} as text: {empty} Leave it out with `exclude`, or give its kind by `kinds`."
        ) from None


def _readable(documents: Any, vectorizer: Any) -> Any:
    """Return Python strings for vectorizers other than ours, which do not read pyarrow arrays."""
    return documents if isinstance(vectorizer, TextVectorizer) else np.asarray(documents, dtype=object)
