"""Text as counts or weights of its words."""

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
from mercer.data.scales import ends_of_scale, nearest_levels
from mercer.data.table import Table
from mercer.matrices.encoded import CodePart, NumberPart, Part, SparsePart
from mercer.preprocessing._reading import days_of, labels_of, numbers_of, refuse_gaps, texts_of
from mercer.report.wording import counted
from mercer.text.vectorizer import TextVectorizer

# What becomes of a column: an order for the features of all columns, and who is told of levels never seen.

#: features come in this order, so that numbers are one block
NUMBERS, LEVELS, WORDS = 0, 1, 2


@stored()
class Slot(NamedTuple):
    """A run of features of one column."""

    order: int
    names: Sequence[str]


@dataclass
class Unseen:
    """What happens when values turn up that no row of the fit had: "warn", "error" or "ignore"."""

    policy: str
    found: list[str] = field(default_factory=list)

    def tell(self, column: str, value: Any, row: int, known: Sequence[Any]) -> None:
        if self.policy == "ignore":
            return
        what = f"Column {column!r} is {quoted(value)} in row {row}, which was never seen when this was fitted."
        if self.policy == "error":
            guess = did_you_mean(str(value), [str(label) for label in known])
            raise UnseenCategoryError(
                f"{what} {guess} Correct it, fit again on rows that show it, or use unseen='ignore'."
            )
        self.found.append(what)

    def tell_levels(self, levels: str) -> None:
        """The same of levels in the words of somebody else."""
        what = f"A column holds {levels}, never seen when this was fitted, which counts as its first level."
        if self.policy == "error":
            raise UnseenCategoryError(f"{what} Fit again on rows that show it, or use unseen='ignore'.")
        self.found += [what] * (self.policy == "warn")

    def warn(self) -> None:
        """Say once what was found in all columns."""
        if self.found:
            more = f" Nor were values of {counted(len(self.found) - 1, 'more column')}." if len(self.found) > 1 else ""
            warn(
                f"{self.found[0]}{more} Such values say nothing to the model; fit again on rows that show them, or "
                "silence this with unseen='ignore'.",
                UnseenCategoryWarning,
            )


class Treatment(ABC):
    """A column as it was learnt. `slots` and `parts` go together, one part for each slot."""

    column: str

    @abstractmethod
    def described(self) -> str:
        """What is done, in a few words."""

    @abstractmethod
    def slots(self) -> list[Slot]: ...

    @abstractmethod
    def parts(self, table: Table, position: int, unseen: Unseen) -> list[Part]: ...


@stored()
@dataclass(frozen=True)
class LeftOutTreatment(Treatment):
    """Nothing of it is used."""

    column: str
    reason: str

    def described(self) -> str:
        return f"left out: {self.reason}"

    def slots(self) -> list[Slot]:
        return []

    def parts(self, table: Table, position: int, unseen: Unseen) -> list[Part]:
        return []


def side_by_side(parts: list[tuple[int, Part]]) -> list[Part]:
    """Parts by the order of their slots, those of numbers next to each other as one."""
    ordered = [part for _, part in sorted(parts, key=lambda pair: pair[0])]
    blocks = [list(group) for _, group in groupby(ordered, key=lambda part: isinstance(part, NumberPart))]
    joined: list[Part] = []
    for block in blocks:
        numbers = [part.X for part in block if isinstance(part, NumberPart)]
        joined += [NumberPart(np.hstack(numbers))] if len(numbers) > 1 else block
    return joined


def distinct(names: list[str]) -> list[str]:
    """Names with a number behind those that occur a second time: a word may be "missing"."""
    times: Counter[str] = Counter()
    for j, name in enumerate(names):
        times[name] += 1
        if times[name] > 1:
            names[j] = f"{name} ({times[name]})"
    return names


# Mean, deviation and ends of numbers, and where days lie in week and year: added up block by block.

#: what a deviation is at least that no float is small enough for
SMALLEST = float(np.nextafter(0.0, 1.0))
#: a smaller mean is lost in the rounding of the largest floats, so that no difference from it can overflow
HUGE = 1e290


@stored()
class NumberScale(NamedTuple):
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
class NumberSpread(NamedTuple):
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

    def scale(self) -> NumberScale:
        if self.lowest >= self.highest:  # which a deviation with its roundings need not show
            return NumberScale(self.lowest if self.number else 0.0, 1.0)
        deviation = self.size * float(np.sqrt(self.squares / self.number))
        return NumberScale(self.size * self.mean, max(deviation, SMALLEST))


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


# Numbers in standard units, two values as 0 and 1, and where values are missing.

#: columns from which numbers are read and computed together
FEWEST_AT_ONCE = 50


@stored()
class Gaps(NamedTuple):
    """What is done about missing values, and whether rows of the fit have some."""

    missing: str
    seen: bool

    @classmethod
    def of(cls, column: str, gaps: Array, missing: str) -> Self:
        """Those of the rows of a fit, which may not be allowed to have any."""
        found = cls(missing, bool(gaps.any()))
        found.refuse(column, gaps)
        return found

    def refuse(self, column: str, gaps: Array) -> None:
        """Name the first row that has none, where that is an error."""
        if self.missing == "error":
            refuse_gaps(column, gaps)

    @property
    def told(self) -> bool:
        """Whether there is a feature that says where they are."""
        return self.missing == "indicator" and self.seen

    def names(self, column: str) -> list[str]:
        return [f"{column}[missing]"] if self.told else []

    def filled(self, values: Array, gaps: Array, mean: float) -> Array:
        """Values of a column with what stands for those that are missing, and beside them where they are."""
        whole = np.where(gaps, np.nan if self.missing == "keep" else mean, values)
        return np.column_stack([whole, gaps]) if self.told else whole[:, None]

    def described(self) -> str:
        return ", and whether it is missing" if self.told else ""


@stored()
@dataclass(frozen=True)
class NumberTreatment(Treatment):
    """(x − mean)/deviation, or x itself if nothing is to be scaled; gaps get the mean."""

    column: str
    scale: NumberScale
    scaled: bool
    gaps: Gaps

    def described(self) -> str:
        return ("standardised" if self.scaled else "as it is") + self.gaps.described()

    def slots(self) -> list[Slot]:
        return [Slot(NUMBERS, [self.column, *self.gaps.names(self.column)])]

    def parts(self, table: Table, position: int, unseen: Unseen) -> list[Part]:
        return [NumberPart(self.columns(numbers_of(table, position)))]

    def columns(self, values: Array) -> Array:
        """Features of values, NaN where they are missing."""
        gaps = np.isnan(values)
        self.gaps.refuse(self.column, gaps)
        units, mean = (self.scale.units(values), 0.0) if self.scaled else (values, self.scale.mean)
        return self.gaps.filled(units, gaps, mean)


def numbers_at_once(numbers: Sequence[NumberTreatment], table: Table) -> tuple[dict[str, int], Array]:
    """Return columns of numbers in standard units, read and computed together: of thousands, one by one takes a while.

    Left out are columns that have to be read by themselves: what is not a number here, infinite or huge values, gaps.

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
        if each.scaled and not each.gaps.told and each.scale.plain and table.kinds[table.positions[each.column]].numeric
    ]
    if len(plain) < FEWEST_AT_ONCE:
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
    """Of a column with a single value: 1 where it is missing."""

    column: str

    def described(self) -> str:
        return "whether it is missing"

    def slots(self) -> list[Slot]:
        return [Slot(NUMBERS, Gaps("indicator", True).names(self.column))]

    def parts(self, table: Table, position: int, unseen: Unseen) -> list[Part]:
        return [NumberPart((table.coded(position).codes < 0)[:, None].astype(np.float64))]


@stored()
@dataclass(frozen=True)
class BinaryTreatment(Treatment):
    """1 where it is the second of two values, 0 where the first; gaps, and other values, get the share of ones."""

    column: str
    levels: tuple[Any, Any]
    share: float
    gaps: Gaps

    @classmethod
    def learnt(cls, column: str, seen: Occurrences, levels: tuple[Any, Any], gaps: Gaps) -> Self:
        """From what was counted of the two levels."""
        ones = seen.counts[seen.labels.tolist().index(levels[1])]
        return cls(column, levels, float(ones / seen.counts.sum()), gaps)

    def described(self) -> str:
        return f"1 where it is {self.levels[1]}{self.gaps.described()}"

    def slots(self) -> list[Slot]:
        return [Slot(NUMBERS, [self.column, *self.gaps.names(self.column)])]

    def parts(self, table: Table, position: int, unseen: Unseen) -> list[Part]:
        coded = drop_missing_words(labels_of(table, position, text=isinstance(self.levels[1], str)), self.levels)
        self.gaps.refuse(self.column, coded.codes < 0)
        places = [self.levels.index(label) if label in self.levels else np.nan for label in coded.labels.tolist()]
        found = np.asarray([*places, np.nan], dtype=float)[coded.codes]
        strange = np.isnan(found) & (coded.codes >= 0)
        if strange.any():
            row = int(np.argmax(strange))
            unseen.tell(self.column, coded.labels.tolist()[coded.codes[row]], row, self.levels)
        return [NumberPart(self.gaps.filled(found, np.isnan(found), self.share))]


# Categories as codes of their levels.

#: characters of a level in the name of its feature
LONGEST_NAME = 60


@stored(tag="TableCategory")
@dataclass(frozen=True)
class CategoryTreatment(Treatment):
    """A feature for each level that was seen, one for all that are rare, and one for missing values."""

    column: str
    levels: Levels
    missing: str
    #: whether levels are strings; None if some are
    text: bool | None

    @property
    def ends(self) -> tuple[int, int] | None:
        """The lowest and the highest of levels that are a scale: numbers beyond them count as these; None of others."""
        levels = [*self.levels.kept, *self.levels.rare]
        return ends_of_scale(self.column, levels) if self.text is False else None

    @classmethod
    def learnt(cls, column: str, seen: Occurrences, gaps: Gaps, **options: Any) -> Self:
        """From what was counted."""
        levels = Levels.of(seen, missing="level" if gaps.missing == "indicator" else "zeros", **options)
        return cls(column, levels, gaps.missing, _are_strings(seen.labels))

    def described(self) -> str:
        rare = f", {len(self.levels.rare)} rare ones as one" if self.levels.rare else ""
        gaps = ", and whether it is missing" if self.levels.own_missing else ""
        return f"a feature for each level{rare}{gaps}"

    def slots(self) -> list[Slot]:
        extra = ["missing"] * self.levels.own_missing + ["infrequent"] * self.levels.pooled
        return [Slot(LEVELS, [f"{self.column}[{_shortened(str(level))}]" for level in (*self.levels.kept, *extra)])]

    def parts(self, table: Table, position: int, unseen: Unseen) -> list[Part]:
        coded = drop_missing_words(labels_of(table, position, text=self.text), {*self.levels.kept, *self.levels.rare})
        gaps = coded.codes < 0
        if self.missing == "error":
            refuse_gaps(self.column, gaps)
        self._tell(coded, unseen)
        coded = coded._replace(labels=nearest_levels(coded.labels, self.ends))
        codes = CodePart(self.levels.codes(self.column, coded), self.levels.n_columns)
        if self.missing != "keep" or not gaps.any():
            return [codes]
        numbers = np.zeros((table.n_rows, codes.n_columns))
        codes.fill(numbers)
        numbers[gaps] = np.nan
        return [NumberPart(numbers)]

    def _tell(self, coded: Coded, unseen: Unseen) -> None:
        known = {*self.levels.kept, *self.levels.rare}
        strange = [code for code, label in enumerate(coded.labels.tolist()) if label not in known]
        there = np.isin(coded.codes, strange)
        if there.any():
            row = int(np.argmax(there))
            unseen.tell(self.column, coded.labels.tolist()[coded.codes[row]], row, self.levels.kept)


def _shortened(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _are_strings(labels: Array) -> bool | None:
    if labels.dtype.kind != "O":
        return False
    return True if all(isinstance(label, str) for label in labels.tolist()) else None


# Dates as days since the first, and as weekday, month and hour.

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
class DateTreatment(Treatment):
    """Days since the first; weekday and month as levels and the hour as a point on a circle, where they vary."""

    column: str
    first: float
    days: NumberTreatment
    weekdays: tuple[int, ...]
    months: tuple[int, ...]
    hourly: bool
    #: by whose clock; "" for dates without a zone, None where that was not kept, in older files: by their own then
    zone: str | None = None

    @classmethod
    def learnt(cls, column: str, spread: NumberSpread, seen: DaysSeen, gaps: Gaps, *, scaled: bool) -> Self:
        """From where the days lie."""
        first = spread.lowest if spread.number else 0.0
        mean, deviation = spread.scale()
        number = NumberTreatment(f"{column}[days]", NumberScale(mean - first, deviation), scaled, gaps)
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


@stored(vectorizer=part_of())
@dataclass(frozen=True)
class TextTreatment(Treatment):
    """What a vectoriser makes of the documents; a missing one has no words."""

    column: str
    vectorizer: Any
    gaps: Gaps

    @classmethod
    def of(cls, table: Table, position: int, vectorizer: Any, y: Any, missing: str) -> tuple[Self, list[Part]]:
        """What was learnt, and the features of the same rows, which a vectoriser finds on the way."""
        documents, gaps = texts_of(table, position)
        column, fitted = table.names[position], clone(vectorizer)
        with naming(column):
            words = fitted.fit_transform(_readable(documents, fitted), y)
        text = cls(column, fitted, Gaps.of(column, gaps, missing))
        return text, text._side_by_side(words, gaps)

    def described(self) -> str:
        return f"{type(self.vectorizer).__name__}{self.gaps.described()}"

    def slots(self) -> list[Slot]:
        words = [f"{self.column}[{word}]" for word in self.vectorizer.get_feature_names_out()]
        beside = [Slot(NUMBERS, self.gaps.names(self.column))] if self.gaps.told else []
        return [*beside, Slot(WORDS, words)]

    def parts(self, table: Table, position: int, unseen: Unseen) -> list[Part]:
        documents, gaps = texts_of(table, position)
        self.gaps.refuse(self.column, gaps)
        return self._side_by_side(self.vectorizer.transform(_readable(documents, self.vectorizer)), gaps)

    def _side_by_side(self, words: Any, gaps: Array) -> list[Part]:
        beside: list[Part] = [NumberPart(gaps[:, None].astype(np.float64))] if self.gaps.told else []
        return [*beside, SparsePart(words)]


@contextmanager
def naming(column: str) -> Iterator[None]:
    """An error about a vocabulary names the column."""
    try:
        yield
    except VocabularyError as empty:
        raise VocabularyError(
            f"Column {column!r} as text: {empty} Leave it out with `exclude`, or say what it is with `kinds`."
        ) from None


def _readable(documents: Any, vectorizer: Any) -> Any:
    """Python strings for vectorisers other than ours, which read columns of pyarrow."""
    return documents if isinstance(vectorizer, TextVectorizer) else np.asarray(documents, dtype=object)
