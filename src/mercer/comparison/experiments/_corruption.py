"""Rows made worse on purpose: values removed at random, or noise added to numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._errors import DataError
from mercer._typing import Array
from mercer.data import Kind, Schema, Table
from mercer.using.shown import AMOUNTS

#: an entry of a column, or of all, that was decided to go
Gone = NDArray[np.bool_]
#: of a day
MICROSECONDS = 86_400_000_000


@dataclass(frozen=True, eq=False)
class Corruptible:
    """A table of which any rows can be had with values removed, or with noise."""

    table: Table

    @classmethod
    def of(cls, X: Any) -> Corruptible:
        table = X if isinstance(X, Table) else Table.of(X, dates=True)
        if table.library == "scipy":
            raise DataError(
                "A sparse matrix has no place for missing values, and noise would fill it; give an array or a frame."
            )
        return cls(table)

    @cached_property
    def measured(self) -> list[int]:
        """Columns of numbers that are amounts, not codes."""
        return [j for j, column in enumerate(Schema.infer(self.table)) if column.kind in AMOUNTS]

    def rows(self, rows: Array) -> Any:
        """Rows as they are."""
        return self.table.take(rows).native

    def damaged(self, damage: str, rows: Array, amount: float, scale: Array, rng: np.random.Generator) -> Any:
        """Rows with values removed ("missing") or with noise."""
        return self.removed(rows, amount, rng) if damage == "missing" else self.noisy(rows, amount, scale, rng)

    def removed(self, rows: Array, share: float, rng: np.random.Generator) -> Any:
        """Rows, each value of which is missing with this probability."""
        part = self.table.take(rows)
        gone = rng.random(part.shape) < share
        return _rebuilt(part, lambda j, column: _without(column, gone[:, j]))

    def noisy(self, rows: Array, amount: float, scale: Array, rng: np.random.Generator) -> Any:
        """Rows with normal noise of so many standard deviations (`scale`) on each measured column."""
        part = self.table.take(rows)
        noise = amount * scale * rng.standard_normal((part.n_rows, len(self.measured)))
        of_column = dict(zip(self.measured, noise.T, strict=True))
        return _rebuilt(part, lambda j, column: column + of_column[j] if j in of_column else column)

    def scale(self, rows: Array) -> Array:
        """Standard deviations of the measured columns over some rows."""
        if not self.measured:
            return np.zeros(0)
        return _deviations(np.asarray(self.table.take(rows).numbers(self.measured), dtype=float))


def _deviations(numbers: Array) -> Array:
    """Of each column's finite values, 0 where there is none; in units of the largest, whose square is a number."""
    seen = np.isfinite(numbers)
    count, known = np.maximum(seen.sum(axis=0), 1), np.where(seen, numbers, 0.0)
    largest = np.abs(known).max(axis=0, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)
    away = np.where(seen, known / unit - (known / unit).sum(axis=0) / count, 0.0)
    return np.asarray(unit * np.sqrt(np.square(away).sum(axis=0) / count))


def _rebuilt(part: Table, change: Callable[[int, Array], Array]) -> Any:
    """The same table with every column changed."""
    columns = [change(j, _values(part, j)) for j in range(part.n_columns)]
    return part.like(dict(zip(part.names, columns, strict=True)))


def _values(part: Table, column: int) -> Array:
    """A column as floats with NaN, as times with NaT, or as objects with None."""
    if part.kinds[column] is Kind.DATE:
        days = np.asarray(part.numbers([column])[:, 0], dtype=float)
        with np.errstate(invalid="ignore"):
            times = (days * MICROSECONDS).round().astype("datetime64[us]")
        return np.asarray(np.where(np.isnan(days), np.datetime64("NaT"), times))
    if part.kinds[column].numeric:
        return np.asarray(part.numbers([column])[:, 0], dtype=float)
    codes, labels = part.coded(column)
    values = np.array([*labels.tolist(), None], dtype=object)  # code −1, the last entry, is a missing value
    return np.asarray(values[codes])


def _without(column: Array, gone: Gone) -> Array:
    column = column.copy()
    column[gone] = {"O": None, "M": np.datetime64("NaT")}.get(column.dtype.kind, np.nan)
    return column
