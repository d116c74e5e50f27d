"""Inference of the kinds of columns from all of their values, their names, and the order of the rows."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mercer._suggest import listed, quoted
from mercer.data.coding import code_array, code_uniform_objects, trim_labels
from mercer.data.column_values import ColumnValues
from mercer.data.dates import are_dates
from mercer.data.declared_kinds import declarations_of
from mercer.data.formats import (
    DateFormat,
    DetectedFormat,
    Format,
    NumberFormat,
    detect_format,
    may_have_format,
    read_labels,
)
from mercer.data.kinds import Kind
from mercer.data.levels import Occurrences
from mercer.data.table import Table

#: largest number of distinct whole numbers that are treated as codes
MAX_CODES = 10
#: smallest mean number of rows per code: with fewer rows, the number of distinct values is not known
MIN_ROWS_PER_CODE = 5
#: smallest number of distinct whole numbers from 0 on that are counts if their frequencies decrease
MIN_COUNTS_FROM_0 = 4
#: the same for whole numbers from 1 on, where codes often begin
MIN_COUNTS_FROM_1 = 6
#: largest frequency of the largest of such counts, relative to the most frequent one
MAX_TAIL_FREQUENCY = 0.1
#: smallest number of rows for which it is informative that every value is different
MIN_ROWS_ALL_DIFFERENT = 20
#: smallest mean number of words of a text; a name has two
MIN_TEXT_WORDS = 3
#: the same in a table of few rows
MIN_TEXT_WORDS_FEW_ROWS = 5
#: the same for texts that recur
MIN_TEXT_WORDS_RECURRING = 6
#: number of distinct values above which such texts are not a list of names
MIN_TEXTS = 100
#: number of distinct values above which labels with words in common are text, whatever the number of rows
MAX_LEVELS_OF_NAMES = 1000
#: number of rows that suffice to exclude that a column spells numbers or dates
FORMAT_SAMPLE_ROWS = 100
#: largest number of labels whose words are counted
WORD_SAMPLE_LABELS = 2000
#: smallest mean number of words per value for which texts are recognised by the words that they share
MIN_SHARED_WORDS = 1.5
#: smallest share of such texts that have a word in common with others
MIN_SHARE_OF_SHARING = 0.5
#: smallest number of labels per word if they combine a few words: genres, tags
MIN_LABELS_PER_WORD = 5
#: largest number of levels of a code that is named like an identifier
MAX_ID_LEVELS = 100
#: smallest mean number of rows of such a level
MIN_ROWS_PER_ID_LEVEL = 20
#: a column that is named as a number is an identifier if its range exceeds its number of distinct values by this factor
SPARSE_RANGE_FACTOR = 10
#: smallest number of groups of consecutive rows that are numbered from 1 on without gaps
MIN_GROUPS = 200
#: smallest share of the numbers from 1 to the largest that occur in a column that numbers the rows
MIN_COMPLETE_SHARE = 0.5
#: smallest number of rows that are numbered at equal steps from any start; fewer may be the design of an experiment
MIN_EQUAL_STEPS = 100

ALL_DIFFERENT = "every value is different: an identifier?"
MOST_DIFFERENT = "most values are different: free text?"
#: prefix of notes on identifiers
IDENTIFIER = "identifier: "
IN_FILE_ORDER = f"{IDENTIFIER}numbers the rows in file order"

#: a number without a unit or separators
PLAIN_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
#: number of words among numbers that are listed
MAX_WORDS_LISTED = 3


class ColumnFinding(NamedTuple):
    """The kind of a column, its levels, notes, and the kind of the values as they are stored."""

    kind: Kind
    levels: tuple[Any, ...] | None
    notes: tuple[str, ...]
    #: the kind of the values as they are stored
    stored: Kind
    #: the format of the values if they are strings
    format: Format | None = None


def infer_single(table: Table, position: int, max_codes: int) -> ColumnFinding:
    """Infer one column without the others."""
    return infer_column(ColumnValues.of(table, position), Naming.of(table, position), max_codes)


def infer_columns(
    columns: Sequence[ColumnValues], names: Sequence[Naming], max_codes: int = MAX_CODES
) -> list[ColumnFinding]:
    """Infer all columns of a table.

    Columns of strings that spell numbers or dates are read by their format; if two formats fit, by that of the other
    columns. A column whose name is not that of an identifier but that numbers the rows is an identifier only if another
    column is left to learn from.
    """
    names = [
        replace(naming, format=form) if form is not None else naming
        for naming, form in zip(names, detect_formats(columns, names), strict=True)
    ]
    findings = [infer_column(*each, max_codes) for each in zip(columns, names, strict=True)]
    if all(each.kind in (Kind.IDENTIFIER, Kind.CONSTANT) for each in findings):
        return [
            infer_column(values, naming, max_codes, by_order=False) if IN_FILE_ORDER in each.notes else each
            for values, naming, each in zip(columns, names, findings, strict=True)
        ]
    return findings


def infer_formats(table: Table, kinds: Mapping[str, Kind] | None = None) -> dict[str, Format]:
    """Find the formats of columns of a frame whose strings spell numbers or dates; `kinds` are declared by the
    caller.
    """
    if table.library in ("numpy", "scipy"):
        return {}
    few = table.rows(slice(0, FORMAT_SAMPLE_ROWS))
    strings = [
        j
        for j in range(table.n_columns)
        if table.kinds[j] is Kind.CATEGORY and may_have_format(few.coded(j).labels.tolist()[:FORMAT_SAMPLE_ROWS])
    ]
    names = [Naming.of(table, j) for j in strings]
    declared = [replace(each, declared=(kinds or {}).get(each.name, each.declared)) for each in names]
    formats = detect_formats([ColumnValues.of(table, j) for j in strings], declared)
    return {each.name: form for each, form in zip(names, formats, strict=True) if form is not None}


def read_formats(table: Table) -> Table:
    """Return the table with strings that spell numbers or dates converted to these."""
    return table.with_formats(infer_formats(table))


def read_numbers(y: Any) -> Any:
    """Return a vector of strings that spell numbers as numbers; anything else unchanged."""
    form = number_format(y)
    return y if form is None else read_labels(trim_labels(code_array(np.asarray(y))), form, "y")


def number_format(y: Any) -> NumberFormat | None:
    """Return the format of numbers that a vector of strings without missing values spells; None if it does not."""
    values = np.asarray(y)
    if values.ndim != 1 or values.dtype.kind not in "UO" or not len(values):
        return None
    coded = code_uniform_objects(values.astype(object))
    if coded is None or coded.labels.dtype != object:
        return None
    labels = trim_labels(coded).labels.tolist()
    detected = detect_format(labels)
    if (coded.codes < 0).any() or detected is None or not isinstance(detected.format, NumberFormat):
        return None
    return None if any(np.isnan(detected.format.read(label) or 0.0) for label in labels) else detected.format


def detect_formats(columns: Sequence[ColumnValues], names: Sequence[Naming]) -> list[Format | None]:
    """Find the formats of columns of strings; None for a column without one."""
    detected = [_detect(*each) for each in zip(columns, names, strict=True)]
    sure = [each.format for each in detected if each is not None and not each.ambiguous]
    marks = {each.decimal for each in sure if isinstance(each, NumberFormat) and "decimal" in each.described}
    orders = {each.order for each in sure if isinstance(each, DateFormat)} - {"ymd"}
    decimal, dates = (choices.pop() if len(choices) == 1 else None for choices in (marks, orders))
    again = [
        _detect(
            values,
            replace(
                naming, decimal=naming.decimal or decimal or naming.likely, dates=naming.dates or dates, likely=None
            ),
        )
        or first
        if first is not None and first.ambiguous
        else first
        for values, naming, first in zip(columns, names, detected, strict=True)
    ]
    return [None if each is None else each.format for each in again]


#: kinds that exclude that the strings of a column are read as numbers or dates
OF_STRINGS = frozenset({Kind.CATEGORY, Kind.TEXT, Kind.IDENTIFIER, Kind.CONSTANT, Kind.CODE, Kind.BOOLEAN})


def _detect(values: ColumnValues, naming: Naming) -> DetectedFormat | None:
    """Return the format of a column of strings, unless the caller or its type declares that they are levels."""
    if naming.format is not None:
        return DetectedFormat(naming.format, False)
    if (
        values.kind is not Kind.CATEGORY
        or values.labels is None
        or values.labels.declared is not None
        or not values.present
    ):
        return None
    if naming.declared in OF_STRINGS:
        return None
    labels = values.labels.labels.tolist()
    if are_dates(labels):
        return None
    detected = detect_format(labels, decimal=naming.decimal, dates=naming.dates, plain=naming.declared is not None)
    dated = detected is not None and isinstance(detected.format, DateFormat)
    return None if naming.declared is not None and dated != (naming.declared is Kind.DATE) else detected


@dataclass(frozen=True)
class Naming:
    """The name of a column, whether the data contain it, and the declarations of the caller about the column."""

    name: str
    given: bool
    declared: Kind | None
    #: the format of its values, if they are or were strings
    format: Format | None = None
    decimal: str | None = None
    dates: str | None = None
    #: the likely decimal mark of numbers that can be read in two ways
    likely: str | None = None

    @classmethod
    def of(cls, table: Table, position: int) -> Naming:
        name = table.names[position]
        kind, *marks = declarations_of(table, position)
        return cls(name, table.named, kind, table.formats.get(name), *marks)

    @cached_property
    def words(self) -> list[str]:
        """The words of the name in lower case: userId gives user, id."""
        return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", self.name)]

    @property
    def is_entity(self) -> bool:
        """True if the name is one of identifiers that may occur in several rows: user_id, movieId, PID."""
        if not self.given or not self.words:
            return False
        last = self.words[-1]
        return last in ID_WORDS or (last.endswith("id") and last[:-2] in ENTITIES) or self.words in ENTITY_NAMES

    @property
    def is_number(self) -> bool:
        """True if the name is one of numbers that represent something (provnum, acct_nbr) or of counts (kidsnum)."""
        return self.given and bool(self.words) and self.words[-1].endswith(("num", "nbr"))

    @property
    def is_row_number(self) -> bool:
        """True if the name is one of row numbers, if all values are different: case, obs, nr, Unnamed: 0."""
        if not self.given or self.is_time:
            return False
        return not self.name.strip() or (
            bool(self.words) and (self.words[-1] in KEY_WORDS or all(word in ROW_WORDS for word in self.words))
        )

    @property
    def is_name(self) -> bool:
        """True if the name is one of names: fake_first_name, surname, rownames."""
        return bool(self.words) and self.words[-1].endswith(("name", "names"))

    @property
    def is_axis(self) -> bool:
        """True if the name is one of quantities measured at equal steps by design: wavelength, temperature_c, depth."""
        return any(word.rstrip("s") in AXIS_WORDS for word in self.words)

    @property
    def is_time(self) -> bool:
        """True if the name is one of time or another meaningful sequence."""
        return any(word.rstrip("s") in TIME_WORDS for word in self.words) or self.words == ["t"]


def _words(spelled: str) -> frozenset[str]:
    return frozenset(spelled.split())


ID_WORDS = frozenset({"id", "ids", "identifier", "uuid", "guid", "pid", "uid", "sid", "cid", "mrn"})
ENTITIES = _words(
    "user patient customer subject client member person movie product item order store account case record row "
    "student employee household respondent participant player team device session visit test sample loan "
    "policy claim transaction object event job school"
)
ENTITY_NAMES = [["subject"], ["patient"], ["participant"], ["respondent"]]
ROW_WORDS = _words(
    "row rows rowname rownames rowid rownum rownumber rowno name names number num no nr nummer numero obs "
    "obsno observation case caseno casenum record recno recordno index idx key seq sequence serial sno s lfd "
    "line entry unnamed"
)
KEY_WORDS = frozenset({"key", "no", "nr", "row"})
TIME_WORDS = _words(
    "year yr date time day week month quarter qtr period hour minute second season decade timestamp epoch tick "
    "trend step round iteration cycle wave age rank dose"
)

AXIS_WORDS = _words(
    "wavelength wavenumber frequency freq hz energy temperature temp voltage pressure concentration "
    "distance depth height altitude elevation length position angle latitude longitude lat lon lng"
)


def infer_column(
    values: ColumnValues, naming: Naming, max_codes: int = MAX_CODES, *, by_order: bool = True
) -> ColumnFinding:
    """Infer a column; the kind that the caller has declared wins.

    Parameters
    ----------
    values : ColumnValues
        The values.
    naming : Naming
        The name.
    max_codes : int, default=10
        Largest number of distinct whole numbers that are treated as codes.
    by_order : bool, default=True
        Whether whole numbers that count the rows in file order, or ascend by equal steps, are an identifier under any
        name.

    Returns
    -------
    ColumnFinding
    """
    if naming.format is not None and values.kind is Kind.CATEGORY:
        values = values.read_as(naming.format)
    finding = _infer(values, naming, max_codes, by_order)
    if naming.format is not None:
        finding = finding._replace(notes=(naming.format.described, *finding.notes), format=naming.format)
    if naming.declared not in (None, finding.kind):
        return _as_declared(finding, naming.declared)
    return finding if naming.declared is not None else _with_resemblance(finding, values)


def _with_resemblance(finding: ColumnFinding, values: ColumnValues) -> ColumnFinding:
    """Replace the notes on strings that may be meant to be numbers by a remark about that."""
    strings = finding.kind in (Kind.CATEGORY, Kind.IDENTIFIER) and finding.stored is Kind.CATEGORY
    if not strings or values.labels is None or values.labels.declared is not None:
        return finding
    if (
        not all(isinstance(label, str) for label in values.labels.labels)
        or (remark := _describe_resemblance(values)) is None
    ):
        return finding
    return finding._replace(notes=(remark, *_notes_on_missing(values)))


def _as_declared(finding: ColumnFinding, kind: Kind) -> ColumnFinding:
    named = kind in (Kind.CATEGORY, Kind.CODE, Kind.BINARY, Kind.BOOLEAN)
    stored = finding.stored if kind in (Kind.TEXT, Kind.IDENTIFIER, Kind.CONSTANT) else kind
    notes = tuple(note for note in finding.notes if not _is_guess(note))
    return ColumnFinding(kind, finding.levels if named else None, (*notes, "as given"), stored, finding.format)


def _is_guess(note: str) -> bool:
    return note in (ALL_DIFFERENT, MOST_DIFFERENT) or note.startswith(IDENTIFIER)


def _infer(values: ColumnValues, naming: Naming, max_codes: int, by_order: bool) -> ColumnFinding:
    finding = _infer_values(values, max_codes)
    if values.distinct < 2 <= values.rows and finding.stored is not Kind.COUNTS:
        return finding._replace(kind=Kind.CONSTANT)
    if finding.kind is Kind.CATEGORY and (values.labels is None or values.labels.declared is None):
        return _infer_labels(finding, values, naming)
    if finding.kind in (Kind.COUNT, Kind.INTEGER):
        return _infer_whole_numbers(finding, values, naming, by_order)
    if finding.kind is Kind.DATE and not values.repeats and values.present >= MIN_ROWS_ALL_DIFFERENT:
        return finding._replace(notes=(_note_on_dates(naming), *finding.notes))
    return finding


def _infer_whole_numbers(finding: ColumnFinding, values: ColumnValues, naming: Naming, by_order: bool) -> ColumnFinding:
    """Infer the kind of a column of whole numbers: an identifier, a code that is named like one, or a number."""
    # not by the notes, which whole floats do not have
    different = values.distinct == values.present >= MIN_ROWS_ALL_DIFFERENT
    counts_rows = _counts_rows(values) or (_has_equal_steps(values) and not naming.is_axis)
    if different and naming.given and by_order and counts_rows and not naming.is_time:
        return _identifier(finding, IN_FILE_ORDER, values)
    if different and (naming.is_entity or naming.is_row_number):
        return _identifier(finding, f"{IDENTIFIER}every value is different", values)
    if different or values.present < MIN_ROWS_ALL_DIFFERENT:
        return finding
    sparse = values.highest - values.lowest >= SPARSE_RANGE_FACTOR * values.distinct
    if naming.given and by_order and _counts_groups(values) and not naming.is_time:
        return _identifier(finding, _note_on_recurring(values, naming), values)
    if naming.is_entity or (naming.is_number and sparse):
        if (
            values.labels is not None
            and values.distinct <= MAX_ID_LEVELS
            and MIN_ROWS_PER_ID_LEVEL * values.distinct <= values.present
        ):
            return finding._replace(
                kind=Kind.CODE, levels=tuple(np.sort(values.labels.labels).tolist()), stored=Kind.CODE
            )
        return _identifier(finding, _note_on_recurring(values, naming), values)
    return finding


def _describe_resemblance(values: ColumnValues) -> str | None:
    """Return a remark on a column of strings half or more of which are numbers; None for others."""
    if values.labels is None or values.halvings or not values.present:
        return None
    words = values.labels.labels.tolist()
    numbers = np.array([PLAIN_NUMBER.fullmatch(word) is not None for word in words])
    n_numbers = int(values.labels.counts[numbers].sum())
    if not values.present <= 2 * n_numbers < 2 * values.present:
        return None
    others = [word for word, number in zip(words, numbers, strict=True) if not number]
    start = f"{n_numbers} of {values.present} values are numbers"
    if len(others) > 1:
        return f"{start}; {listed(others[:MAX_WORDS_LISTED])}{', …' if len(others) > MAX_WORDS_LISTED else ''} are not"
    if n_numbers + 1 == values.present:
        return f"{start}; {quoted(others[0])} is not"
    return f"{start}, the others are {quoted(others[0])}: a missing value?"


def _counts_rows(values: ColumnValues) -> bool:
    """Return whether distinct whole numbers number the rows in file order: from 0 or 1 on, with few gaps, and
    ascending.

    Rows may be missing, and the file may consist of a few parts, each of which is in order. Numbers that descend to 0
    or 1 must be complete.
    """
    if not (
        0 <= values.lowest <= max(1, 0.1 * values.present) and values.highest * MIN_COMPLETE_SHARE <= values.present
    ):
        return False
    complete = values.highest - values.lowest + 1 <= 1.1 * values.present
    downwards = values.lowest in (0, 1) and values.highest - values.lowest == values.falls == values.present - 1
    return values.falls == 0 or downwards or (complete and values.falls <= values.present // 50)


def _has_equal_steps(values: ColumnValues) -> bool:
    """Return whether whole numbers ascend by the same step from each row to the next: 1001, 1002, … or 10, 20, 30, …

    They may begin anywhere, but must be complete: no row has another step, and none is missing.
    """
    if values.falls or values.missing or values.present < MIN_EQUAL_STEPS or values.labels is None:
        return False
    step, rest = divmod(int(values.highest) - int(values.lowest), values.present - 1)
    # this many distinct multiples of the step are all of them; some labels may have been dropped
    return rest == 0 and bool(((values.labels.labels - values.labels.labels.min()) % step == 0).all())


def _counts_groups(values: ColumnValues) -> bool:
    """Return whether whole numbers number many groups of rows in file order: from 0 or 1, without gaps, never
    falling.
    """
    rises = values.present - 1 - values.falls
    return (
        values.lowest in (0, 1)
        and values.highest - values.lowest + 1 == values.distinct == rises + 1
        and MIN_GROUPS <= values.distinct <= values.present // 2
    )


def _note_on_dates(naming: Naming) -> str:
    return f"a different date in each row: --time {shlex.quote(str(naming.name))} scores models on later rows"


def _note_on_recurring(values: ColumnValues, naming: Naming) -> str:
    if naming.is_name and not naming.is_entity:
        return f"{IDENTIFIER}{values.distinct} names in {values.present} rows"
    again = f"--group {shlex.quote(str(naming.name))} keeps rows of the same value together"
    return f"{IDENTIFIER}{values.distinct} values that recur in {values.present} rows; {again}"


def _identifier(finding: ColumnFinding, note: str, values: ColumnValues) -> ColumnFinding:
    return finding._replace(kind=Kind.IDENTIFIER, levels=None, notes=(note, *_notes_on_missing(values)))


def _infer_labels(finding: ColumnFinding, values: ColumnValues, naming: Naming) -> ColumnFinding:
    """Infer the kind of a column of labels: dates, text, identifiers of the rows, or a category."""
    labels = finding.levels or ()
    if len(types := set(map(type, labels))) > 1:
        named = ", ".join(sorted(each.__name__ for each in types))
        return finding._replace(notes=(*finding.notes, f"values of several types: {named}"))
    if types != {str}:
        return finding
    if are_dates(list(labels)):
        unique = (_note_on_dates(naming),) if MIN_ROWS_ALL_DIFFERENT <= values.present == values.distinct else ()
        return finding._replace(kind=Kind.DATE, levels=None, notes=(*unique, *_notes_on_missing(values)))
    different = ALL_DIFFERENT in finding.notes
    if _is_text(labels, values, names=different and naming.is_name):
        return finding._replace(kind=Kind.TEXT, levels=None, notes=_notes_on_missing(values))
    if different:
        return _identifier(finding, f"{IDENTIFIER}every value is different", values)
    by_name = naming.is_entity or naming.is_name
    if by_name and values.distinct > MAX_ID_LEVELS and values.present < MIN_ROWS_PER_ID_LEVEL * values.distinct:
        return _identifier(finding, _note_on_recurring(values, naming), values)
    if 2 * values.distinct > values.present >= MIN_TEXTS:
        return _identifier(finding, f"{IDENTIFIER}most values are different, and have no words in common", values)
    return finding


def _is_text(labels: tuple[str, ...], values: ColumnValues, *, names: bool) -> bool:
    """Return whether strings are text: several words each, or too many values for levels that have words in common.

    Values of a column of `names` are text only if they have several words each.
    """
    counted = labels[:: max(1, len(labels) // WORD_SAMPLE_LABELS)]
    words = sum(len(label.split()) for label in counted) / len(counted)
    most = 2 * values.distinct > values.present
    if most and words >= (MIN_TEXT_WORDS if values.present >= MIN_ROWS_ALL_DIFFERENT else MIN_TEXT_WORDS_FEW_ROWS):
        return True
    if not most and words >= MIN_TEXT_WORDS_RECURRING and values.distinct > MIN_TEXTS:
        return True
    return values.distinct > MIN_TEXTS and not names and _share_words(counted, values)


def _share_words(labels: Sequence[str], values: ColumnValues) -> bool:
    """Return whether labels combine a few words, or are many of which most have a word in common with others."""
    words = [set(re.findall(r"[^\W\d_]{2,}", label.lower())) for label in labels]
    if sum(map(len, words)) < MIN_SHARED_WORDS * len(labels):
        return False
    times = Counter(word for each in words for word in each)
    if len(times) * MIN_LABELS_PER_WORD <= len(labels):
        return True
    fewest = max(3, len(labels) // 200)
    sharing = sum(any(times[word] >= fewest for word in each) for each in words) >= MIN_SHARE_OF_SHARING * len(labels)
    return sharing and (10 * values.distinct > values.present or values.distinct > MAX_LEVELS_OF_NAMES)


def _infer_values(values: ColumnValues, max_codes: int) -> ColumnFinding:
    """Infer the kind of a column by its values: number, count, code or category."""
    kind = values.kind
    if kind is Kind.COUNTS:
        return ColumnFinding(kind, None, (), kind)
    if values.labels is None or values.fractional:
        return ColumnFinding(kind, None, _notes(values, Kind.NUMBER), kind)
    notes = _notes(values, kind)
    if kind in (Kind.CATEGORY, Kind.BOOLEAN):
        return ColumnFinding(kind, _levels(values.labels), notes, kind)
    kind, levels = _whole_number(values, values.labels, max_codes)
    return ColumnFinding(kind, levels, notes, kind)


def _whole_number(values: ColumnValues, labels: Occurrences, max_codes: int) -> tuple[Kind, tuple[Any, ...] | None]:
    if values.distinct == 2:
        return Kind.BINARY, tuple(np.sort(labels.labels).tolist())
    few = values.distinct <= max_codes and MIN_ROWS_PER_CODE * values.distinct <= values.present
    if few and not _thins_out(labels):
        return Kind.CODE, tuple(np.sort(labels.labels).tolist())
    return Kind.COUNT if values.lowest in (0, 1) else Kind.INTEGER, None


def _thins_out(labels: Occurrences) -> bool:
    """Return whether whole numbers are distributed like counts, so that a larger one may follow.

    They begin at 0 or 1, are consecutive except for the largest, rise to a mode in the lower half if at all, and fall
    from there to a thin tail. Codes of categories have frequencies in any order; those that are numbered by frequency
    begin at 1.
    """
    order = np.argsort(labels.labels)
    values, counts = labels.labels[order].astype(float), labels.counts[order]
    fewest = MIN_COUNTS_FROM_0 if values[0] == 0 else MIN_COUNTS_FROM_1
    if values[0] not in (0, 1) or len(values) < fewest or counts[-1] > MAX_TAIL_FREQUENCY * counts.max():
        return False
    consecutive = (np.diff(values)[: len(values) // 2 + 1] == 1).all()
    mode = int(np.argmax(counts))
    rising, falling = np.diff(counts[: mode + 1]), np.diff(counts[mode:])
    slack = 0.05 * counts.max()  # rare values are not in order
    early = mode <= (len(values) - 1) / 2
    return bool(consecutive and early and (rising >= 0).all() and (falling <= slack).all())


def _levels(labels: Occurrences) -> tuple[Any, ...]:
    """Return the declared levels, or those that occur, in order."""
    return tuple(labels.ordered()[0]) if labels.declared is None else labels.declared


def _notes(values: ColumnValues, kind: Kind) -> tuple[str, ...]:
    notes = []
    if values.distinct <= 1:
        notes.append("constant" if values.distinct else "no values")
    if kind is not Kind.NUMBER and values.distinct == values.present >= MIN_ROWS_ALL_DIFFERENT:
        notes.append(ALL_DIFFERENT)
    elif kind is Kind.CATEGORY and values.present >= MIN_ROWS_ALL_DIFFERENT and 2 * values.distinct > values.present:
        notes.append(MOST_DIFFERENT)
    return (*notes, *_notes_on_missing(values))


def _notes_on_missing(values: ColumnValues) -> tuple[str, ...]:
    if not values.missing or not values.present:
        return ()
    return (f"{values.missing / values.rows:.0%} missing" if values.missing * 100 >= values.rows else "<1% missing",)
