"""What a column is, judged by all of its values."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.data.coding import Coded
from mercer.data.dates import are_dates
from mercer.data.kinds import Kind
from mercer.data.table import Table
from mercer.data.told import kind_told

Array = NDArray[Any]

#: whole numbers with at most so many different values are taken for codes
MAX_CODES = 10
#: … if each value occurs so often on average; a handful of rows says nothing about how many values there are
ROWS_PER_CODE = 5
#: rows from which on "every value is different" means something
ENOUGH_ROWS = 20
#: words that the values of a text have on average: a name has two; a few rows, or values that recur, have to have more
WORDS, WORDS_OF_FEW, WORDS_OF_RECURRING = 3, 5, 6
#: different values of that length that are no list of names
MANY_TEXTS = 100
#: labels whose words are counted
COUNTED = 2000
#: columns that number the rows: id, user_id, userID, key, uuid, index, "Unnamed: 0", …
NAMED_ID = re.compile(r"(?i:(.*[ _.-])?(id|key|uuid|guid|index|rowid|row)|unnamed: \d+|)|.*[a-z](Id|ID)")

ALL_DIFFERENT, MOST_DIFFERENT = "every value is different: an identifier?", "most values are different: free text?"


class Finding(NamedTuple):
    """What was found about one column."""

    kind: Kind
    levels: tuple[Any, ...] | None
    notes: tuple[str, ...]
    #: what the values are, whatever they are good for
    stored: Kind


class Facts(NamedTuple):
    """How many rows have a value, and how many different ones there are (of fractions: whether there are two)."""

    rows: int
    missing: int
    distinct: int

    @property
    def present(self) -> int:
        return self.rows - self.missing


def look_at(table: Table, position: int, max_codes: int) -> Finding:
    """Judge one column: by what somebody said of it, or by a look at it."""
    found = _seen(table, position, max_codes)
    told = kind_told(table, position)
    return found if told in (None, found.kind) else _as_told(found, told)


def _as_told(found: Finding, kind: Kind) -> Finding:
    named = kind in (Kind.CATEGORY, Kind.CODE, Kind.BINARY, Kind.BOOLEAN)
    stored = found.stored if kind in (Kind.TEXT, Kind.IDENTIFIER, Kind.CONSTANT) else kind
    notes = tuple(note for note in found.notes if note not in (ALL_DIFFERENT, MOST_DIFFERENT))
    return Finding(kind, found.levels if named else None, (*notes, "as told"), stored)


def _seen(table: Table, position: int, max_codes: int) -> Finding:
    """Judge one column by its type, its values and, where these number the rows, its name."""
    found, facts = _of_values(table, position, max_codes)
    if facts.distinct < 2 <= facts.rows and found.stored is not Kind.COUNTS:
        return found._replace(kind=Kind.CONSTANT)
    if found.kind is Kind.CATEGORY and table.declared_levels(position) is None:
        return _of_labels(found, facts)
    named = table.named and NAMED_ID.fullmatch(table.names[position].strip()) is not None
    if named and found.kind in (Kind.COUNT, Kind.INTEGER) and ALL_DIFFERENT in found.notes:
        return found._replace(kind=Kind.IDENTIFIER)
    return found


def _of_labels(found: Finding, facts: Facts) -> Finding:
    """Dates, text, names of the rows, or what it was taken for: a category."""
    labels = found.levels or ()
    if len(types := set(map(type, labels))) > 1:
        named = ", ".join(sorted(each.__name__ for each in types))
        return found._replace(notes=(*found.notes, f"values of several types: {named}"))
    if types != {str}:
        return found
    if are_dates(list(labels)):
        return found._replace(kind=Kind.DATE, levels=None, notes=_about_gaps(facts))
    if _is_text(labels, facts):
        return found._replace(kind=Kind.TEXT, levels=None, notes=_about_gaps(facts))
    if ALL_DIFFERENT in found.notes:
        return found._replace(kind=Kind.IDENTIFIER, levels=None)
    return found


def _is_text(labels: tuple[str, ...], facts: Facts) -> bool:
    counted = labels[:: max(1, len(labels) // COUNTED)]
    words = sum(len(label.split()) for label in counted) / len(counted)
    if 2 * facts.distinct > facts.present:
        return words >= (WORDS if facts.present >= ENOUGH_ROWS else WORDS_OF_FEW)
    return words >= WORDS_OF_RECURRING and facts.distinct > MANY_TEXTS


def _of_values(table: Table, position: int, max_codes: int) -> tuple[Finding, Facts]:
    """Numbers, counts, codes or categories."""
    kind = table.kinds[position]
    if kind is Kind.COUNTS:
        return Finding(kind, None, (), kind), Facts(table.n_rows, 0, 0)
    if kind in (Kind.DATE, Kind.NUMBER) and not _all_whole(values := table.numbers([position])[:, 0], kind):
        facts = _facts_of_numbers(values)
        return Finding(kind, None, _notes(facts, Kind.NUMBER), kind), facts
    coded = table.coded(position)
    counts = np.bincount(coded.codes + 1, minlength=coded.labels.size + 1)
    facts, counts = Facts(table.n_rows, int(counts[0]), int(np.count_nonzero(counts[1:]))), counts[1:]
    notes = _notes(facts, kind)
    if kind in (Kind.CATEGORY, Kind.BOOLEAN):
        return Finding(kind, _levels(coded, counts, table.declared_levels(position)), notes, kind), facts
    kind, levels = _whole_number(np.sort(coded.labels), facts.present, max_codes)
    return Finding(kind, levels, notes, kind), facts


def _all_whole(values: Array, kind: Kind) -> bool:
    """Whether they are to be read as whole numbers, which days are not."""
    if kind is Kind.DATE:
        return False
    present = values[~np.isnan(values)]
    return present.size > 0 and bool((present == np.floor(present)).all() and np.isfinite(present).all())


def _facts_of_numbers(values: Array) -> Facts:
    present = values[~np.isnan(values)]
    distinct = 2 if present.size and present.min() < present.max() else min(1, present.size)
    return Facts(values.size, values.size - present.size, distinct)


def _whole_number(labels: Array, present: int, max_codes: int) -> tuple[Kind, tuple[Any, ...] | None]:
    levels = tuple(labels.tolist())
    if len(levels) == 2:
        return Kind.BINARY, levels
    if len(levels) <= max_codes and ROWS_PER_CODE * len(levels) <= present:
        return Kind.CODE, levels
    return Kind.COUNT if labels.size and labels[0] in (0, 1) else Kind.INTEGER, None


def _levels(coded: Coded, counts: Array, declared: Array | None) -> tuple[Any, ...]:
    """Declared levels in their order, or those that occur in ascending order (mixed types: as they print)."""
    if declared is not None:
        return tuple(declared.tolist())
    occurring = coded.labels[counts > 0].tolist()
    try:
        return tuple(sorted(occurring))
    except TypeError:
        return tuple(sorted(occurring, key=str))


def _notes(facts: Facts, kind: Kind) -> tuple[str, ...]:
    notes = []
    if facts.distinct <= 1:
        notes.append("constant" if facts.distinct else "no values")
    if kind is not Kind.NUMBER and facts.distinct == facts.present >= ENOUGH_ROWS:
        notes.append(ALL_DIFFERENT)
    elif kind is Kind.CATEGORY and facts.present >= ENOUGH_ROWS and 2 * facts.distinct > facts.present:
        notes.append(MOST_DIFFERENT)
    return (*notes, *_about_gaps(facts))


def _about_gaps(facts: Facts) -> tuple[str, ...]:
    if not facts.missing or not facts.present:
        return ()
    return (f"{facts.missing / facts.rows:.0%} missing" if facts.missing * 100 >= facts.rows else "<1% missing",)
