"""What a column is, judged by all of its values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.data.coding import Coded
from mercer.data.kinds import Kind
from mercer.data.table import Table

Array = NDArray[Any]

#: whole numbers with at most so many different values are taken for codes
MAX_CODES = 10
#: … if each value occurs so often on average; a handful of rows says nothing about how many values there are
ROWS_PER_CODE = 5
#: rows from which on "every value is different" means something
ENOUGH_ROWS = 20


class Finding(NamedTuple):
    """What was found about one column."""

    kind: Kind
    levels: tuple[Any, ...] | None
    notes: tuple[str, ...]


def look_at(table: Table, position: int, max_codes: int) -> Finding:
    """Judge one column by its type and its values."""
    kind = table.kinds[position]
    if kind is Kind.COUNTS:
        return Finding(kind, None, ())
    if kind is Kind.NUMBER and not _all_whole(values := table.numbers([position])[:, 0]):
        return _number(values)
    coded = table.coded(position)
    counts = np.bincount(coded.codes + 1, minlength=coded.labels.size + 1)
    missing, counts = int(counts[0]), counts[1:]
    notes = _notes(table.n_rows, missing, int(np.count_nonzero(counts)), kind)
    if kind in (Kind.CATEGORY, Kind.BOOLEAN):
        return Finding(kind, _levels(coded, counts, table.declared_levels(position)), notes)
    return _whole_number(np.sort(coded.labels), table.n_rows - missing, max_codes, notes)


def _all_whole(values: Array) -> bool:
    present = values[~np.isnan(values)]
    return present.size > 0 and bool((present == np.floor(present)).all() and np.isfinite(present).all())


def _number(values: Array) -> Finding:
    present = values[~np.isnan(values)]
    distinct = 2 if present.size and present.min() < present.max() else min(1, present.size)
    return Finding(Kind.NUMBER, None, _notes(values.size, values.size - present.size, distinct, Kind.NUMBER))


def _whole_number(labels: Array, present: int, max_codes: int, notes: tuple[str, ...]) -> Finding:
    levels = tuple(labels.tolist())
    if len(levels) == 2:
        return Finding(Kind.BINARY, levels, notes)
    if len(levels) <= max_codes and ROWS_PER_CODE * len(levels) <= present:
        return Finding(Kind.CODE, levels, notes)
    return Finding(Kind.COUNT if labels.size and labels[0] in (0, 1) else Kind.INTEGER, None, notes)


def _levels(coded: Coded, counts: Array, declared: Array | None) -> tuple[Any, ...]:
    """Declared levels in their order, or those that occur in ascending order (mixed types: as they print)."""
    if declared is not None:
        return tuple(declared.tolist())
    occurring = coded.labels[counts > 0].tolist()
    try:
        return tuple(sorted(occurring))
    except TypeError:
        return tuple(sorted(occurring, key=str))


def _notes(rows: int, missing: int, distinct: int, kind: Kind) -> tuple[str, ...]:
    notes = []
    present = rows - missing
    if distinct <= 1:
        notes.append("constant" if distinct else "no values")
    if kind is not Kind.NUMBER and distinct == present >= ENOUGH_ROWS:
        notes.append("every value is different: an identifier?")
    elif kind is Kind.CATEGORY and present >= ENOUGH_ROWS and 2 * distinct > present:
        notes.append("most values are different: free text?")
    if missing and present:
        notes.append(f"{missing / rows:.0%} missing" if missing * 100 >= rows else "<1% missing")
    return tuple(notes)
