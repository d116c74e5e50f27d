"""Rows that occur several times: a model that is scored on a copy of a row it has seen looks better than it is."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.data import Table


def row_numbers(table: Table) -> Array:
    """A number for each row, equal for equal rows (missing values are equal) and for no others.

    Examples
    --------
    >>> row_numbers(Table.of(np.array([[1.0, np.nan], [2.0, 0.0], [1.0, np.nan]]))).tolist()
    [0, 1, 0]
    """
    if table.library == "scipy":
        return _of_sparse(table.native)
    number = np.zeros(table.n_rows, dtype=np.int64)
    for column in range(table.n_columns):
        # pairs of (rows alike so far, value here), numbered anew, so that numbers stay below the number of rows
        codes = _codes(table, column)
        number = np.unique(number * (codes.max() + 1) + codes, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return number


def duplicates_note(table: Table, splits: Sequence[tuple[Array, Array]]) -> list[str]:
    """How many rows have a copy on the other side of a split, and what to do about it."""
    if not table.n_columns:
        return []
    numbers = row_numbers(table)
    straddling = np.zeros(len(numbers), dtype=bool)
    for train, test in splits:
        straddling[test] |= np.isin(numbers[test], numbers[train])
    count = int(straddling.sum())
    if not count:
        return []
    note = (
        f"Rows that are equal, but for the target, to a row on the other side of a split: {count:,}. A model may know "
        "their answer by heart: if they are copies of one case, give each case a group (groups=, on the command line "
        "--group), or drop the copies."
    )
    return [note]


def _codes(table: Table, column: int) -> Array:
    if table.kinds[column].numeric:
        values = table.numbers([column])[:, 0]
        return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return np.asarray(table.coded(column).codes, dtype=np.int64) + 1  # −1 is missing


def _of_sparse(matrix: Any) -> Array:
    matrix = matrix.tocsr().copy()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    rows = [
        (matrix.indices[start:stop].tobytes(), matrix.data[start:stop].tobytes())
        for start, stop in pairwise(matrix.indptr)
    ]
    numbers: dict[tuple[bytes, bytes], int] = {}
    return np.array([numbers.setdefault(row, len(numbers)) for row in rows])
