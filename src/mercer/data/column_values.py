"""Mergeable statistics of the values of a column, from which its kind is inferred in bounded memory."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from mercer._stored import stored
from mercer._typing import Array
from mercer.data.coding import label_array
from mercer.data.dates import days
from mercer.data.formats import Format
from mercer.data.kinds import Kind
from mercer.data.levels import Occurrences
from mercer.data.table import Table, blocks_of_columns

#: largest number of distinct values of a column that are kept while blocks are merged
MOST_LABELS = 1 << 17


@stored(tag="SeenValues")
@dataclass(frozen=True, eq=False)
class ColumnValues:
    """Summary of the values of one column: their number, the distinct ones with their counts, and the extremes.

    If a column has too many distinct values, a random half of them is dropped as often as necessary: those whose hash
    ends in enough zeros are kept. This depends on the values alone, so blocks may have any order and size.
    """

    #: the kind by the type of the column
    kind: Kind
    rows: int
    missing: int
    #: distinct values with their counts; None for fractions, days, and columns of a sparse matrix
    labels: Occurrences | None
    #: number of times that half of the labels were dropped
    halvings: int = 0
    #: extremes of numbers and days; NaN without a value
    lowest: float = np.nan
    highest: float = np.nan
    #: the first and the last of whole numbers, and the number of those that are not above their predecessor
    first: float = np.nan
    last: float = np.nan
    falls: int = 0
    #: whether a day occurs twice, or may do so because the days of two blocks overlap
    repeats: bool = True

    @classmethod
    def of(cls, table: Table, position: int) -> Self:
        """Return the statistics of a block."""
        kind = table.kinds[position]
        if kind is Kind.COUNTS:
            return cls(kind, table.n_rows, 0, None)
        if kind in (Kind.DATE, Kind.NUMBER):
            values = table.numbers([position])[:, 0]
            present = values[~np.isnan(values)]
            ends = (float(present.min()), float(present.max())) if present.size else (np.nan, np.nan)
            if kind is Kind.DATE or not _all_whole(present):
                repeats = kind is not Kind.DATE or len(np.unique(present)) < present.size
                return cls(kind, table.n_rows, values.size - present.size, None, 0, *ends, repeats=repeats)
        coded = table.coded(position)
        labels = Occurrences.zero().update(coded, table.declared_levels(position))
        numeric = kind.numeric and labels.labels.size and labels.labels.dtype.kind in "iuf"
        if not numeric:
            return cls(kind, table.n_rows, labels.missing, labels)
        ends = float(labels.labels.min()), float(labels.labels.max())
        values = coded.labels[coded.codes[coded.codes >= 0]]
        falls = int(np.count_nonzero(values[1:] <= values[:-1]))
        return cls(kind, table.n_rows, labels.missing, labels, 0, *ends, float(values[0]), float(values[-1]), falls)

    @classmethod
    def of_columns(cls, table: Table) -> list[Self]:
        """Return the statistics of all columns of a block, with the results of `of`."""
        by_column: dict[int, Self] = {}
        for columns in blocks_of_columns(table, {Kind.NUMBER}):
            values = table.numbers(columns)
            with np.errstate(invalid="ignore"):
                fractions = ((values != np.floor(values)).any(axis=0) & np.isfinite(values).all(axis=0)).tolist()
                ends = zip(values.min(axis=0).tolist(), values.max(axis=0).tolist(), strict=True)
            by_column |= {
                j: cls(Kind.NUMBER, table.n_rows, 0, None, 0, *lowest_and_highest)
                for j, is_fraction, lowest_and_highest in zip(columns, fractions, ends, strict=True)
                if is_fraction
            }
        return [by_column[j] if j in by_column else cls.of(table, j) for j in range(table.n_columns)]

    def read_as(self, form: Format) -> Self:
        """Return the statistics of the numbers or dates that the strings spell."""
        assert self.labels is not None
        values = form.array(
            [form.missing if (read := form.read(each)) is None else read for each in self.labels.labels]
        )
        numbers = days(values) if values.dtype.kind == "M" else values
        known = ~np.isnan(numbers)
        counts, present = self.labels.counts[known], numbers[known]
        missing = self.missing + int(self.labels.counts[~known].sum())
        ends = (float(present.min()), float(present.max())) if present.size else (np.nan, np.nan)
        kind = Kind.DATE if values.dtype.kind == "M" else Kind.NUMBER
        if kind is Kind.DATE or not _all_whole(present):
            repeats = bool(self.halvings or len(np.unique(present)) < counts.sum())
            return type(self)(kind, self.rows, missing, None, 0, *ends, repeats=repeats)
        distinct, places = np.unique(present, return_inverse=True)
        labels = Occurrences(
            label_array([int(each) for each in distinct]), np.bincount(places, counts).astype(np.int64), missing, None
        )
        return type(self)(kind, self.rows, missing, labels, self.halvings, *ends, falls=self.rows)

    @property
    def present(self) -> int:
        return self.rows - self.missing

    @property
    def fractional(self) -> bool:
        """True if the values are numbers that are not all whole, or days."""
        return self.labels is None or (self.kind is Kind.NUMBER and not self.present)

    @property
    def distinct(self) -> int:
        """Number of distinct values, estimated if some were dropped; at most two for fractions."""
        if self.labels is None:
            return 2 if self.lowest < self.highest else min(1, self.present)
        if self.halvings and (self.labels.counts == 1).all():
            return self.present
        return len(self.labels.labels) << self.halvings

    def merge(self, other: Self) -> Self:
        """Return the statistics of the rows of both."""
        is_whole = self._may_be_whole and other._may_be_whole
        labels = None
        if is_whole and (self.labels is not None or other.labels is not None):
            none = Occurrences.zero()
            labels = (self.labels or none).merge(other.labels or none)
        both = replace(
            self,
            rows=self.rows + other.rows,
            missing=self.missing + other.missing,
            labels=labels,
            halvings=max(self.halvings, other.halvings),
            lowest=float(np.fmin(self.lowest, other.lowest)),
            highest=float(np.fmax(self.highest, other.highest)),
            first=other.first if np.isnan(self.first) else self.first,
            last=self.last if np.isnan(other.last) else other.last,
            falls=self.falls + other.falls + bool(other.first <= self.last),
            repeats=self._shares_days(other),
        )
        return both._bounded(self.halvings != other.halvings)

    def _shares_days(self, other: Self) -> bool:
        """Return whether days occur twice, or may do so since the days of both overlap."""
        if not self.present or not other.present:
            return other.repeats if other.present else self.repeats
        apart = self.highest < other.lowest or other.highest < self.lowest
        return self.repeats or other.repeats or not apart

    @property
    def _may_be_whole(self) -> bool:
        """True if labels are possible; a block without a value does not exclude them."""
        return self.labels is not None or (self.kind is Kind.NUMBER and not self.present)

    def bounded(self) -> Self:
        """Return the statistics with at most `MOST_LABELS` labels."""
        return self._bounded(False)

    def _bounded(self, uneven: bool) -> Self:
        if self.labels is None or (not uneven and len(self.labels.labels) <= MOST_LABELS):
            return self
        zeros, halvings = _zeros(self.labels.labels), self.halvings
        while np.count_nonzero(zeros >= halvings) > MOST_LABELS:
            halvings += 1
        kept = zeros >= halvings
        labels = replace(self.labels, labels=self.labels.labels[kept], counts=self.labels.counts[kept])
        return replace(self, labels=labels, halvings=halvings)


def _all_whole(present: Array) -> bool:
    """Return whether all values are finite whole numbers."""
    return bool((present == np.floor(present)).all() and np.isfinite(present).all())


def _zeros(labels: Array) -> Array:
    """Return the number of zeros at the end of the hash of each label."""
    hashes = (hashlib.blake2b(repr(label).encode("utf-8", "surrogatepass"), digest_size=8) for label in labels.tolist())
    bits = np.array([int.from_bytes(each.digest(), "little") for each in hashes], dtype=np.uint64)
    last = bits & (~bits + np.uint64(1))  # only the lowest bit
    return np.where(bits == 0, 64, np.log2(np.maximum(last, np.uint64(1)).astype(float))).astype(np.intp)
