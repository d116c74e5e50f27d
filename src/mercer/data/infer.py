"""What a column is, judged by all of its values."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.data.dates import are_dates
from mercer.data.kinds import Kind
from mercer.data.levels import Occurrences
from mercer.data.resembling import resembles
from mercer.data.seen_values import Seen
from mercer.data.table import Table
from mercer.data.told_kinds import kind_told

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


def look_at(table: Table, position: int, max_codes: int) -> Finding:
    """Judge one column: by what somebody said of it, or by a look at it."""
    return judged(Seen.of(table, position), Naming.of(table, position), max_codes)


class Naming(NamedTuple):
    """What a column is called, whether somebody has called it so, and what somebody said that it is."""

    name: str
    given: bool
    told: Kind | None

    @classmethod
    def of(cls, table: Table, position: int) -> Naming:
        return cls(table.names[position], table.named, kind_told(table, position))


def judged(seen: Seen, naming: Naming, max_codes: int = MAX_CODES) -> Finding:
    """What a column is of which that was seen."""
    found = _judged(seen, naming, max_codes)
    if naming.told not in (None, found.kind):
        return _as_told(found, naming.told)
    return found if naming.told is not None else _with_resemblance(found, seen)


def _with_resemblance(found: Finding, seen: Seen) -> Finding:
    """Strings that may be meant to be something else, with a note of that instead of one about how they differ."""
    strings = found.kind in (Kind.CATEGORY, Kind.IDENTIFIER) and found.stored is Kind.CATEGORY
    if not strings or seen.labels is None or seen.labels.declared is not None:
        return found
    if not all(isinstance(label, str) for label in seen.labels.labels) or (remark := resembles(seen)) is None:
        return found
    return found._replace(notes=(remark, *_about_gaps(seen)))


def _as_told(found: Finding, kind: Kind) -> Finding:
    named = kind in (Kind.CATEGORY, Kind.CODE, Kind.BINARY, Kind.BOOLEAN)
    stored = found.stored if kind in (Kind.TEXT, Kind.IDENTIFIER, Kind.CONSTANT) else kind
    notes = tuple(note for note in found.notes if note not in (ALL_DIFFERENT, MOST_DIFFERENT))
    return Finding(kind, found.levels if named else None, (*notes, "as told"), stored)


def _judged(seen: Seen, naming: Naming, max_codes: int) -> Finding:
    """By its type, its values and, where these number the rows, its name."""
    found = _of_values(seen, max_codes)
    if seen.distinct < 2 <= seen.rows and found.stored is not Kind.COUNTS:
        return found._replace(kind=Kind.CONSTANT)
    if found.kind is Kind.CATEGORY and (seen.labels is None or seen.labels.declared is None):
        return _of_labels(found, seen)
    named = naming.given and NAMED_ID.fullmatch(naming.name.strip()) is not None
    if named and found.kind in (Kind.COUNT, Kind.INTEGER) and ALL_DIFFERENT in found.notes:
        return found._replace(kind=Kind.IDENTIFIER)
    return found


def _of_labels(found: Finding, seen: Seen) -> Finding:
    """Dates, text, names of the rows, or what it was taken for: a category."""
    labels = found.levels or ()
    if len(types := set(map(type, labels))) > 1:
        named = ", ".join(sorted(each.__name__ for each in types))
        return found._replace(notes=(*found.notes, f"values of several types: {named}"))
    if types != {str}:
        return found
    if are_dates(list(labels)):
        return found._replace(kind=Kind.DATE, levels=None, notes=_about_gaps(seen))
    if _is_text(labels, seen):
        return found._replace(kind=Kind.TEXT, levels=None, notes=_about_gaps(seen))
    if ALL_DIFFERENT in found.notes:
        return found._replace(kind=Kind.IDENTIFIER, levels=None)
    return found


def _is_text(labels: tuple[str, ...], seen: Seen) -> bool:
    counted = labels[:: max(1, len(labels) // COUNTED)]
    words = sum(len(label.split()) for label in counted) / len(counted)
    if 2 * seen.distinct > seen.present:
        return words >= (WORDS if seen.present >= ENOUGH_ROWS else WORDS_OF_FEW)
    return words >= WORDS_OF_RECURRING and seen.distinct > MANY_TEXTS


def _of_values(seen: Seen, max_codes: int) -> Finding:
    """Numbers, counts, codes or categories."""
    kind = seen.kind
    if kind is Kind.COUNTS:
        return Finding(kind, None, (), kind)
    if seen.labels is None or seen.fractional:
        return Finding(kind, None, _notes(seen, Kind.NUMBER), kind)
    notes = _notes(seen, kind)
    if kind in (Kind.CATEGORY, Kind.BOOLEAN):
        return Finding(kind, _levels(seen.labels), notes, kind)
    kind, levels = _whole_number(seen, seen.labels.labels, max_codes)
    return Finding(kind, levels, notes, kind)


def _whole_number(seen: Seen, labels: Array, max_codes: int) -> tuple[Kind, tuple[Any, ...] | None]:
    if seen.distinct == 2:
        return Kind.BINARY, tuple(np.sort(labels).tolist())
    if seen.distinct <= max_codes and ROWS_PER_CODE * seen.distinct <= seen.present:
        return Kind.CODE, tuple(np.sort(labels).tolist())
    return Kind.COUNT if seen.lowest in (0, 1) else Kind.INTEGER, None


def _levels(seen: Occurrences) -> tuple[Any, ...]:
    """Declared levels, or those that occur; in order."""
    return tuple(seen.ordered()[0]) if seen.declared is None else seen.declared


def _notes(seen: Seen, kind: Kind) -> tuple[str, ...]:
    notes = []
    if seen.distinct <= 1:
        notes.append("constant" if seen.distinct else "no values")
    if kind is not Kind.NUMBER and seen.distinct == seen.present >= ENOUGH_ROWS:
        notes.append(ALL_DIFFERENT)
    elif kind is Kind.CATEGORY and seen.present >= ENOUGH_ROWS and 2 * seen.distinct > seen.present:
        notes.append(MOST_DIFFERENT)
    return (*notes, *_about_gaps(seen))


def _about_gaps(seen: Seen) -> tuple[str, ...]:
    if not seen.missing or not seen.present:
        return ()
    return (f"{seen.missing / seen.rows:.0%} missing" if seen.missing * 100 >= seen.rows else "<1% missing",)
