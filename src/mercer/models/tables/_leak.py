"""Whether the target is among the features: a model would only repeat it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._errors import TargetLeakError, TargetLeakWarning
from mercer._typing import Array
from mercer._warn import warn
from mercer.data.coding import Coded, code_array
from mercer.data.table import Table

#: rows in which a column has to be the target itself, and those in which it has to be another name for it
ROWS_ALIKE, ROWS_RENAMED = 3, 20
#: rows that tell of most columns that they are not the target
SOME_ROWS = 1000
#: values that are read faster together than two rows by themselves
MOST_VALUES = 1 << 20


def guard_target(table: Table, positions: list[int], y: Any, on_leak: str) -> None:
    """Look for a column that is y, or y under other names."""
    labels = np.asarray(y)
    if on_leak == "ignore" or labels.shape != (table.n_rows,) or table.n_rows < ROWS_ALIKE:
        return
    try:
        target = code_array(labels)
    except TypeError:  # no labels
        return
    distinct = len(_occurring(target))
    if distinct < 2 or (target.codes < 0).any():
        return
    # where all values differ, each column names all others
    renamed = table.n_rows >= ROWS_RENAMED and 2 * distinct <= table.n_rows
    few, some = table, target
    if table.n_rows > SOME_ROWS:
        rows = np.unique(np.linspace(0, table.n_rows - 1, SOME_ROWS).astype(np.int64))
        few, some = table.take(rows), Coded(target.codes[rows], target.labels)
    for position in _as_constant(few, some.codes, positions):
        if _alike(some, few.coded(position), renamed) and (how := _alike(target, table.coded(position), renamed)):
            _tell(table.names[position], how, on_leak)


def _as_constant(table: Table, codes: Array, positions: list[int]) -> list[int]:
    """Leave out columns of numbers that differ in two rows in which the target does not: by far the most."""
    order = np.argsort(codes, kind="stable")
    alike = np.flatnonzero(np.diff(codes[order]) == 0)
    numeric = [position for position in positions if table.kinds[position].numeric]
    if not len(alike) or not numeric:
        return positions
    pair = order[alike[0] : alike[0] + 2]
    if table.n_rows * len(numeric) <= MOST_VALUES:
        first, second = table.numbers(numeric)[pair]
    else:
        first, second = (table.rows(slice(row, row + 1)).numbers(numeric)[0] for row in pair.tolist())
    differing = {position for position, differs in zip(numeric, first != second, strict=True) if differs}
    return [position for position in positions if position not in differing]


def _tell(column: str, how: str, on_leak: str) -> None:
    sentence = (
        f"Column {column!r} {how}, so that a model would learn nothing but to repeat it. Leave it out "
        f"(exclude=[{column!r}]), or allow it with on_leak='ignore'."
    )
    if on_leak == "error":
        raise TargetLeakError(sentence)
    warn(sentence, TargetLeakWarning)


def _alike(target: Coded, column: Coded, renamed: bool) -> str | None:
    """In which way a column is the target; "under other names" only where such may be."""
    if (column.codes < 0).any():
        return None
    here, there = _occurring(target), _occurring(column)
    if len(here) != len(there):
        return None
    if set(here) == set(there) and _equal(target, column):
        return "is the target"
    if not renamed:
        return None
    pairs = target.codes.astype(np.int64) * len(column.labels) + column.codes
    return "is the target under other names" if len(np.unique(pairs)) == len(here) else None


def _occurring(coded: Coded) -> list[Any]:
    counts = np.bincount(coded.codes + 1, minlength=len(coded.labels) + 1)[1:]
    return list(coded.labels[counts > 0].tolist())


def _equal(target: Coded, column: Coded) -> bool:
    return bool((target.labels[target.codes] == column.labels[column.codes]).all())
