"""`TableFeatures` fitted to a source: one pass over all columns, and one more for each column of text."""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

from sklearn.base import clone

from mercer._stored import stored
from mercer.data.column_values import ColumnValues
from mercer.data.dates import are_dates
from mercer.data.formats import Format
from mercer.data.infer import Naming, detect_formats, infer_columns
from mercer.data.kinds import Kind
from mercer.data.levels import Occurrences
from mercer.data.schema import Column, Schema
from mercer.data.sources.base import Chunk, Source
from mercer.data.table import Table
from mercer.engines.folding import fold
from mercer.preprocessing._column_choice import TableColumnReader, TreatmentOptions, requested_kinds, set_kind
from mercer.preprocessing._reading import check_no_gaps, days_of, numbers_of, texts_of
from mercer.preprocessing.treatments import CalendarParts, Gaps, NumberSpread, TextTreatment, naming_column

ColumnScans = list["ColumnScan"]


@stored()
class ColumnScan(NamedTuple):
    """The statistics of a column that suffice for any kind it may turn out to have."""

    values: ColumnValues
    #: the distribution of numbers, or of days
    spread: NumberSpread | None
    days: CalendarParts | None

    @classmethod
    def of(cls, table: Table, position: int, missing: str) -> Self:
        values, spread, days = ColumnValues.of(table, position), None, None
        if missing == "error" and values.missing:
            check_no_gaps(table.names[position], table.coded(position).codes < 0)
        spelled = (
            values.kind is Kind.CATEGORY and values.labels is not None and are_dates(values.labels.labels.tolist())
        )
        if values.kind is Kind.DATE or spelled:
            times = days_of(table, position)
            spread, days = NumberSpread.of(times), CalendarParts.of(times, table.zone(position))
        elif values.kind.numeric:
            spread = NumberSpread.of(numbers_of(table, position))
        return cls(values.bounded(), spread, days)

    def merge(self, other: Self) -> Self:
        mine, theirs = (self, other) if self.values.present else (other, self)
        alike = theirs.spread is not None and (mine.days is None) == (theirs.days is None)
        spread = mine.spread.merge(theirs.spread) if mine.spread and theirs.spread and alike else None
        days = mine.days.merge(theirs.days) if mine.days and theirs.days else None
        if not theirs.values.present:  # a part without values changes nothing
            spread, days = mine.spread, mine.days
        return type(self)(self.values.merge(other.values), spread, days)


def learn_source(features: Any, source: Source) -> None:
    """Learn the schema and the treatments of all columns, with the same result as if all rows were in one table."""
    table = features._open(source.head().X)
    kinds = requested_kinds(table, features.kinds or {})
    features.formats_ = dict(features.formats or {})
    names = [Naming.of(table.with_formats(features.formats_), j) for j in range(table.n_columns)]
    scans = fold(functools.partial(_summarize, copy.copy(features)), source, _merge_all)
    values = [scan.values for scan in scans]
    declared = [replace(each, declared=kinds.get(each.name, each.declared)) for each in names]
    formats = features.formats_ or {
        each.name: form for each, form in zip(names, detect_formats(values, declared), strict=True) if form is not None
    }
    findings = infer_columns(values, [replace(each, format=formats.get(each.name)) for each in names])
    if formats != features.formats_:
        # strings that spell numbers or dates are read as such in a second pass
        features.formats_ = formats
        source = source.map(functools.partial(read_chunk, formats))
        scans = fold(functools.partial(_summarize, copy.copy(features)), source, _merge_all)
    columns = [
        set_kind(Column(name, *finding), kinds.get(name)) for name, finding in zip(table.names, findings, strict=True)
    ]
    features.schema_ = Schema(tuple(columns))
    readers = [SourceColumnReader(source, *each) for each in zip(table.names, scans, strict=True)]
    features._choose_treatments(table, readers, features._options(None))


def infer_schema(source: Source) -> Schema:
    """Infer the schema of a source from all of its values in one pass."""
    table = Table.of(source.head().X, dates=True)
    values = fold(_observe, source, _merge_all)
    findings = infer_columns(values, [Naming.of(table, j) for j in range(table.n_columns)])
    return Schema(tuple(Column(name, *finding) for name, finding in zip(table.names, findings, strict=True)))


def read_chunk(formats: Mapping[str, Format], chunk: Chunk) -> Chunk:
    """Return a chunk in which strings that spell numbers or dates are converted by the formats of their columns."""
    return chunk._replace(X=Table.of(chunk.X, dates=True).with_formats(formats).native)


def _observe(chunk: Chunk) -> list[ColumnValues]:
    table = Table.of(chunk.X, dates=True)
    return [ColumnValues.of(table, position).bounded() for position in range(table.n_columns)]


def _summarize(features: Any, chunk: Chunk) -> ColumnScans:
    table = features._part(chunk.X)
    return [ColumnScan.of(table, position, features.missing) for position in range(table.n_columns)]


def _merge_all(mine: list[Any], theirs: list[Any]) -> list[Any]:
    return [a.merge(b) for a, b in zip(mine, theirs, strict=True)]


@dataclass(frozen=True, eq=False)
class SourceColumnReader:
    """A column of a source with its statistics of one pass; further passes read what these do not hold."""

    source: Source
    name: str
    scan: ColumnScan

    @property
    def present(self) -> int:
        return self.scan.values.present

    def gaps(self, missing: str) -> Gaps:
        return Gaps(missing, self.scan.values.missing > 0)  # errors were raised in the first pass

    def numbers(self) -> NumberSpread:
        if self.scan.spread is not None and self.scan.days is None:
            return self.scan.spread
        return fold(functools.partial(_numbers, self.name), self.source, NumberSpread.merge)

    def days(self) -> tuple[NumberSpread, CalendarParts]:
        if self.scan.spread is not None and self.scan.days is not None:
            return self.scan.spread, self.scan.days
        return fold(functools.partial(_days, self.name), self.source, _merge_both)

    def labels(self) -> Occurrences:
        if self.scan.values.labels is not None and not self.scan.values.halvings:
            return self.scan.values.labels
        return fold(functools.partial(_labels, self.name), self.source, Occurrences.merge)

    def text(self, options: TreatmentOptions) -> TextTreatment:
        with naming_column(self.name):
            fitted = clone(options.vectorizer).fit(self.source.map(functools.partial(_documents, self.name)))
        return TextTreatment(self.name, fitted, self.gaps(options.missing))


def _read_column(name: str, chunk: Chunk) -> TableColumnReader:
    table = Table.of(chunk.X, dates=True)
    return TableColumnReader(table, table.position(name))


def _numbers(name: str, chunk: Chunk) -> NumberSpread:
    return _read_column(name, chunk).numbers()


def _days(name: str, chunk: Chunk) -> tuple[NumberSpread, CalendarParts]:
    return _read_column(name, chunk).days()


def _merge_both(
    mine: tuple[NumberSpread, CalendarParts], theirs: tuple[NumberSpread, CalendarParts]
) -> tuple[NumberSpread, CalendarParts]:
    return mine[0].merge(theirs[0]), mine[1].merge(theirs[1])


def _labels(name: str, chunk: Chunk) -> Occurrences:
    return _read_column(name, chunk).labels()


def _documents(name: str, chunk: Chunk) -> Chunk:
    column = _read_column(name, chunk)
    return chunk._replace(X=texts_of(column.table, column.position)[0])
