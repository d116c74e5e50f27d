"""How frozen records keep what they are given: as tuples of text and numbers that fit together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._errors import RecordError

#: numbers in a row, and numbers in rows; kept as tuples of floats, with NaN where there is nothing
Numbers = Sequence[float] | NDArray[Any]
Table = Sequence[Numbers] | NDArray[Any]
Words = Sequence[str]


def check(fits: bool, sentence: str) -> None:
    """Refuse a record whose parts do not fit together."""
    if not fits:
        raise RecordError(f"{sentence}.")


def are_names(side: Words | Numbers) -> bool:
    """Whether a side of a table of cells has names, rather than edges."""
    return len(side) == 0 or isinstance(side[0], str)


def keep(record: object, name: str, value: object) -> None:
    """In `__post_init__`, where a frozen record may still be changed."""
    object.__setattr__(record, name, value)


def keep_words(record: object, name: str) -> None:
    if (given := getattr(record, name)) is not None:
        keep(record, name, tuple(map(str, given)))


def keep_numbers(record: object, *names: str) -> None:
    for name in names:
        if (given := getattr(record, name)) is not None:
            keep(record, name, tuple(np.asarray(given, dtype=float).ravel().tolist()))


def keep_table(record: object, name: str, rows: int, columns: int | None) -> None:
    if (given := getattr(record, name)) is not None:
        keep(record, name, table_of(given, name, rows, columns))


def table_of(given: Table, name: str, rows: int, columns: int | None) -> tuple[tuple[float, ...], ...]:
    kept = tuple(tuple(np.asarray(row, dtype=float).tolist()) for row in given)
    check(len(kept) == rows, f"{name!r} has {len(kept)} rows where there are {rows}")
    for row in kept:
        check(columns is None or len(row) == columns, f"{name!r} has {len(row)} columns where there are {columns}")
    return kept


def same_lengths(record: object, *names: str) -> None:
    lengths = {name: len(given) for name in names if (given := getattr(record, name)) is not None}
    told = ", ".join(f"{name} {length}" for name, length in lengths.items())
    check(len(set(lengths.values())) == 1, f"A {type(record).__name__.lower()} has parts of unequal length: {told}")
