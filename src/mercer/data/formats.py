"""Formats of numbers and dates that are written as strings.

A column of strings that all spell numbers (1.234,56 or $1,200 or 12.5%) or dates (31/12/2024 or 31 Dec 2024) has a
format. `detect_format` finds it, a model stores it, and new rows are read by it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import ColumnTypeError, DataError
from mercer._stored import one_of, stored
from mercer._suggest import listed, quoted
from mercer._typing import Array
from mercer.data.coding import MISSING_WORDS, Coded

#: words for missing values in columns of numbers and dates
MISSING_MARKS = frozenset(
    {*MISSING_WORDS, ".", "..", "...", "-", "--", "---", "–", "—", "*", "n.a.", "N.A.", "na", "#DIV/0!"}
)
#: separators of thousands, besides the comma or point that is not the decimal mark
THOUSANDS = "'’ \u00a0\u202f"
NUMBER_TEXT = re.compile(
    r"(?P<sign>[+\-−]?)\s*(?P<before>[^\d\s.,'’+\-−()%]*)\s*(?P<inner>[+\-−]?)"
    r"(?P<digits>\d[\d.,'’ \u00a0\u202f]*|[.,]\d+)"
    r"(?P<exponent>[eE][+-]?\d+)?\s*(?P<after>[^\d\s.,'’+\-−()]*)"
)
#: units of currency that consist of letters
CURRENCIES = frozenset({"USD", "EUR", "GBP", "CHF", "JPY", "US$", "R$", "C$", "A$", "kr", "Kr", "zł", "Ft", "Kč"})
#: units of currency with a decimal point
POINTED = frozenset({"$", "US$", "C$", "A$", "USD", "£", "GBP", "¥", "JPY"})
DECIMAL_MARKS = {",": "decimal comma", ".": "decimal point"}

DATE_ORDERS = {"dmy": "day/month/year", "mdy": "month/day/year", "ymd": "year/month/day"}
CLOCK = r"(?:[ T,]+(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d(?:\.\d{1,6})?))?\s*(?P<half>[AaPp][Mm])?)?"
DATES_OF_DIGITS = {
    "ymd": re.compile(r"(?P<y>\d{4})(?P<mark>[/.-])(?P<m>\d{1,2})(?P=mark)(?P<d>\d{1,2})\.?" + CLOCK),
    "dmy": re.compile(r"(?P<d>\d{1,2})(?P<mark>[/.-])(?P<m>\d{1,2})(?P=mark)(?P<y>\d{4}|\d\d)" + CLOCK),
    "mdy": re.compile(r"(?P<m>\d{1,2})(?P<mark>[/.-])(?P<d>\d{1,2})(?P=mark)(?P<y>\d{4}|\d\d)" + CLOCK),
}
DATES_WITH_MONTH_NAMES = (
    re.compile(r"(?P<d>\d{1,2})(?:st|nd|rd|th|\.)?[ -]?(?P<m>[A-Za-z]{3,9})\.?[ ,-]*(?P<y>\d{4}|\d\d)" + CLOCK),
    re.compile(r"(?P<m>[A-Za-z]{3,9})\.?[ -](?P<d>\d{1,2})(?:st|nd|rd|th)?[ ,-]+(?P<y>\d{4})" + CLOCK),
)
#: two-digit years from this one on are in the 20th century, as in POSIX
CENTURY = 69


@stored(decimal=one_of(",", "."))
@dataclass(frozen=True)
class NumberFormat:
    """The format of the numbers of a column.

    Examples
    --------
    >>> NumberFormat(",").read("1.234,56"), NumberFormat(".", "$").read("-$1,200"), NumberFormat(",").read("1,234.5")
    (1234.56, -1200.0, None)
    """

    #: "," or "."
    decimal: str = "."
    #: the symbol of a currency, or "%"; percentages are not divided by 100
    unit: str = ""
    #: a note for readers
    described: str = field(default="", compare=False)

    def read(self, label: Any) -> float | None:
        """Return a number, NaN for a missing value, or None if the label does not convert."""
        if not isinstance(label, str):
            return float(label) if isinstance(label, int | float) and not isinstance(label, bool) else None
        if (label := label.strip()) in MISSING_MARKS:
            return np.nan
        parts = _split_number(label)
        if parts is None or parts.unit not in ("", self.unit) or not _fits(parts.digits, self.decimal):
            return None
        digits = "".join(each for each in parts.digits if each.isdecimal() or each == self.decimal)
        return parts.sign * float(digits.replace(",", ".") + parts.exponent)

    def array(self, values: Sequence[Any]) -> Array:
        return np.array(values, dtype=np.float64)

    @property
    def missing(self) -> Any:
        return np.nan

    @property
    def named(self) -> str:
        unit = f" and {self.unit!r}" if self.unit else ""
        return f"numbers with a {DECIMAL_MARKS[self.decimal]}{unit}"


@stored(order=one_of("dmy", "mdy", "ymd"))
@dataclass(frozen=True)
class DateFormat:
    """The format of the dates of a column.

    Examples
    --------
    >>> DateFormat("dmy").read("31/12/2024"), DateFormat("mdy").read("31/12/2024")
    (np.datetime64('2024-12-31T00:00:00.000000'), None)
    """

    #: "dmy", "mdy" or "ymd"; dates with months in words are read in any order
    order: str
    #: a note for readers
    described: str = field(default="", compare=False)

    def read(self, label: Any) -> Any:
        """Return a point in time, NaT for a missing value, or None if the label does not convert."""
        if not isinstance(label, str):
            return None
        if (label := label.strip()) in MISSING_MARKS:
            return self.missing
        for pattern in (DATES_OF_DIGITS[self.order], DATES_OF_DIGITS["ymd"], *DATES_WITH_MONTH_NAMES):
            if (match := pattern.fullmatch(label)) is not None and (time := _time(match)) is not None:
                return time
        return None

    def array(self, values: Sequence[Any]) -> Array:
        return np.array(values, dtype="datetime64[us]")

    @property
    def missing(self) -> Any:
        return np.datetime64("NaT", "us")

    @property
    def named(self) -> str:
        return f"dates, {DATE_ORDERS[self.order]}"


Format = NumberFormat | DateFormat


class DetectedFormat(NamedTuple):
    """A format, and whether another one of the same kind could also read the column."""

    format: Format
    ambiguous: bool


class _NumberParts(NamedTuple):
    sign: float
    digits: str
    exponent: str
    unit: str


def read_labels(coded: Coded, form: Format, column: str) -> Array:
    """Return the values of a column of strings; one that does not convert raises an error that names it."""
    labels = coded.labels.tolist()
    values = [form.read(label) for label in labels]
    if any(value is None for value in values):
        occurring = set(coded.codes.tolist())
        wrong = next((j for j, value in enumerate(values) if value is None and j in occurring), None)
        if wrong is not None:
            row = int(np.argmax(coded.codes == wrong))
            raise ColumnTypeError(
                f"Column {column!r} was read as {form.named}, but is {quoted(labels[wrong])} in row {row}. Write it "
                "like the others, or leave it empty if it is missing."
            )
    filled = [form.missing if value is None else value for value in values]
    return np.asarray(form.array([*filled, form.missing])[coded.codes])


def detect_format(
    labels: Iterable[Any], *, decimal: str | None = None, dates: str | None = None, plain: bool = False
) -> DetectedFormat | None:
    """Find the format of the distinct labels of a column.

    Parameters
    ----------
    labels : iterable
        Distinct labels: strings, maybe with numbers among them.
    decimal : {",", "."}, default=None
        The decimal mark; inferred from the labels if None.
    dates : {"dmy", "mdy", "ymd"}, default=None
        The order of day, month and year; inferred from the labels if None.
    plain : bool, default=False
        Whether strings of digits alone are numbers; otherwise they are treated as codes, since they are not stored as
        numbers.

    Returns
    -------
    detected : DetectedFormat or None
        None if the labels are neither numbers nor dates, or are dates in ISO 8601, which need no format.
    """
    listed = list(labels)
    words = [label for label in listed if isinstance(label, str)]
    others = [label for label in listed if not isinstance(label, str)]
    spelled = [word for word in words if word.strip() not in MISSING_MARKS]
    marks = sorted({word.strip() for word in words if word.strip() in MISSING_MARKS} - {""})
    if not words or not all(isinstance(each, int | float) and not isinstance(each, bool) for each in others):
        return None
    if not spelled:
        return DetectedFormat(NumberFormat(".", "", _note([], marks)), False) if others else None
    detected = _detect_number(spelled, decimal, marks, plain=plain or bool(others) or bool(marks))
    return detected if detected is not None or others else _detect_dates(spelled, dates)


def may_have_format(labels: Iterable[Any]) -> bool:
    """Return whether all labels of a column may spell numbers, or dates, given some of them."""
    words = [label.strip() for label in labels if isinstance(label, str)]
    spelled = [word for word in words if word not in MISSING_MARKS]
    if all(_split_number(word) is not None for word in spelled):
        return True
    return any(all(DateFormat(order).read(word) is not None for word in spelled) for order in DATE_ORDERS)


def _detect_number(words: list[str], decimal: str | None, marks: list[str], *, plain: bool) -> DetectedFormat | None:
    fitting = []
    for word in words:
        if (parts := _split_number(word.strip())) is None:
            return None
        fitting.append(parts)
    units = {each.unit for each in fitting} - {""}
    if len(units) > 1:
        return None
    fits = [mark for mark in ".," if all(_fits(each.digits, mark) for each in fitting)]
    if decimal is not None:
        fits = [mark for mark in fits if mark == decimal]
    marked = any(not each.digits.isdecimal() for each in fitting)
    if not fits or not (marked or units or plain) or (not marked and any(_is_code(each.digits) for each in fitting)):
        return None
    mark, unit = fits[0], next(iter(units), "")
    if (
        len(fits) > 1
        and unit not in {"", "%"} | POINTED
        and any(re.match(r"\d{2,3}\.", each.digits) for each in fitting)
    ):
        mark = ","  # € 12.345: a price has no three decimals
    grouped = any(any(each in digits for each in _groups(mark)) for digits in (each.digits for each in fitting))
    # all have three digits after the mark; if some have no mark, or the unit is the dollar, these are thousands
    other = "." if mark == "," else ","
    ambiguous = len(fits) > 1 and unit not in POINTED and all(other in each.digits for each in fitting)
    remarks = [f"unit {unit}"] if unit else []
    if mark == "," and any("," in each.digits for each in fitting):
        remarks.append(DECIMAL_MARKS[","])
    if grouped:
        doubt = f" (--decimal {other} if they are {DECIMAL_MARKS[other]}s)" if ambiguous else ""
        remarks.append(f"separators between thousands{doubt}")
    return DetectedFormat(NumberFormat(mark, unit, _note(remarks, marks)), ambiguous)


def _note(remarks: list[str], marks: list[str]) -> str:
    missing = [f"{listed(marks)} {'is' if len(marks) == 1 else 'are'} missing"] if marks else []
    return ": ".join(["read as number", *[", ".join([*remarks, *missing])] * bool(remarks or missing)])


def _detect_dates(words: list[str], order: str | None) -> DetectedFormat | None:
    if order is not None and order not in DATE_ORDERS:
        raise DataError(f"The order of dates must be {listed(list(DATE_ORDERS))}, not {order!r}.")
    fits = [each for each in DATE_ORDERS if all(DateFormat(each).read(word) is not None for word in words)]
    if order is not None:
        fits = [each for each in fits if each == order]
    if not fits:
        return None
    if "ymd" in fits:  # the year comes first, or months are words
        return DetectedFormat(DateFormat("ymd", "read as dates"), False)
    ambiguous = len(fits) > 1
    slashes = any("/" in word for word in words)
    chosen = fits[0] if not ambiguous else "mdy" if slashes else "dmy"
    other = next((each for each in fits if each != chosen), "")
    doubt = f" by default: no day is above 12 (--dates {other} for {DATE_ORDERS[other]})" if ambiguous else ""
    return DetectedFormat(DateFormat(chosen, f"read as dates, {DATE_ORDERS[chosen]}{doubt}"), ambiguous)


def _split_number(word: str) -> _NumberParts | None:
    """Return sign, digits and unit of a number, or None; numbers in parentheses are negative."""
    negative = word.startswith("(") and word.endswith(")")
    match = NUMBER_TEXT.fullmatch(word[1:-1].strip() if negative else word)
    if match is None or (match["sign"] and match["inner"]) or (match["before"] and match["after"]):
        return None
    unit = match["before"] or match["after"]
    if unit and unit != "%" and unit not in CURRENCIES and not all(unicodedata.category(each) == "Sc" for each in unit):
        return None
    sign = -1.0 if negative or (match["sign"] or match["inner"]) in ("-", "−") else 1.0
    return _NumberParts(sign, match["digits"].strip(), match["exponent"] or "", unit)


def _groups(decimal: str) -> str:
    return ("." if decimal == "," else ",") + THOUSANDS


def _fits(digits: str, decimal: str) -> bool:
    """Return whether digits are a number with this decimal mark, with or without separators of thousands."""
    mark, groups = re.escape(decimal), re.escape(_groups(decimal))
    plain, grouped = rf"\d+(?:{mark}\d*)?|{mark}\d+", rf"[1-9]\d{{0,2}}([{groups}])\d{{3}}(?:\1\d{{3}})*(?:{mark}\d*)?"
    return re.fullmatch(f"{plain}|{grouped}", digits) is not None


def _is_code(digits: str) -> bool:
    """Return whether a number has leading zeros, as codes have."""
    return len(digits) > 1 and digits[0] == "0"


def _time(match: re.Match[str]) -> Any:
    """Return the point in time of a match; None if the day or hour does not exist."""
    parts = match.groupdict()
    month = parts["m"]
    number = int(month) if month.isdecimal() else _month(month)
    year = int(parts["y"])
    year += 0 if len(parts["y"]) > 2 else 1900 if year >= CENTURY else 2000
    hour = int(parts["hour"] or 0)
    if (half := (parts["half"] or "").lower()) and not 1 <= hour <= 12:
        return None
    hour = hour % 12 + 12 * (half == "pm") if half else hour
    try:
        day = np.datetime64(f"{year:04d}-{number:02d}-{int(parts['d']):02d}", "us")
        clock = f"{hour:02d}:{parts['minute'] or '00'}:{parts['second'] or '00'}"
        return np.datetime64(f"{day.astype('datetime64[D]')}T{clock}", "us")
    except ValueError:
        return None


def _month(word: str) -> int:
    """Return the number of a month by its name or the first letters; 0 if there is none."""
    full = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october")
    names = (*full, "november", "december")
    word = word.lower()
    exact = {**{name: j for j, name in enumerate(names, 1)}, **{name[:3]: j for j, name in enumerate(names, 1)}}
    return {**exact, "sept": 9}.get(word, 0)
