"""`TableFeatures` of a source: one pass to see what the columns are, and one more for each column of text."""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

from sklearn.base import clone

from mercer._stored import stored
from mercer.data.dates import are_dates
from mercer.data.formats import Format
from mercer.data.infer import Naming, detect_formats, infer_columns
from mercer.data.kinds import Kind
from mercer.data.levels import Occurrences
from mercer.data.schema import Column, Schema
from mercer.data.seen_values import SeenValues
from mercer.data.sources.base import Chunk, Source
from mercer.data.table import Table
from mercer.engines.folding import fold
from mercer.preprocessing._column_choice import InTable, Manner, asked_kinds, with_kind
from mercer.preprocessing._reading import days_of, numbers_of, refuse_gaps, texts_of
from mercer.preprocessing.treatments import DaysSeen, Gaps, NumberSpread, TextTreatment, naming

Glances = list["Glance"]


@stored()
class Glance(NamedTuple):
    """All that is to be known of a column, whatever it turns out to be."""

    seen: SeenValues
    #: of numbers, or of days
    spread: NumberSpread | None
    days: DaysSeen | None

    @classmethod
    def of(cls, table: Table, position: int, missing: str) -> Self:
        seen, spread, days = SeenValues.of(table, position), None, None
        if missing == "error" and seen.missing:
            refuse_gaps(table.names[position], table.coded(position).codes < 0)
        spelled = seen.kind is Kind.CATEGORY and seen.labels is not None and are_dates(seen.labels.labels.tolist())
        if seen.kind is Kind.DATE or spelled:
            values = days_of(table, position)
            spread, days = NumberSpread.of(values), DaysSeen.of(values, table.zone(position))
        elif seen.kind.numeric:
            spread = NumberSpread.of(numbers_of(table, position))
        return cls(seen.bounded(), spread, days)

    def merge(self, other: Self) -> Self:
        mine, theirs = (self, other) if self.seen.present else (other, self)
        alike = theirs.spread is not None and (mine.days is None) == (theirs.days is None)
        spread = mine.spread.merge(theirs.spread) if mine.spread and theirs.spread and alike else None
        days = mine.days.merge(theirs.days) if mine.days and theirs.days else None
        if not theirs.seen.present:  # nothing speaks against what the others are
            spread, days = mine.spread, mine.days
        return type(self)(self.seen.merge(other.seen), spread, days)


def learn_source(features: Any, source: Source) -> None:
    """Schema and treatments of all columns; the schema is judged as if all rows were in one table."""
    table = features._opened(source.head().X)
    kinds = asked_kinds(table, features.kinds or {})
    features.formats_ = dict(features.formats or {})
    names = [Naming.of(table.with_formats(features.formats_), j) for j in range(table.n_columns)]
    glances = fold(functools.partial(_glances, copy.copy(features)), source, _merged)
    seen = [glance.seen for glance in glances]
    declared = [replace(each, declared=kinds.get(each.name, each.declared)) for each in names]
    formats = features.formats_ or {
        each.name: form for each, form in zip(names, detect_formats(seen, declared), strict=True) if form is not None
    }
    found = infer_columns(seen, [replace(each, format=formats.get(each.name)) for each in names])
    if formats != features.formats_:
        # strings that spell numbers or dates are read as such in a second pass
        features.formats_ = formats
        source = source.map(functools.partial(read_chunk, formats))
        glances = fold(functools.partial(_glances, copy.copy(features)), source, _merged)
    columns = [
        with_kind(Column(name, *finding), kinds.get(name)) for name, finding in zip(table.names, found, strict=True)
    ]
    features.schema_ = Schema(tuple(columns))
    evidence = [InSource(source, *each) for each in zip(table.names, glances, strict=True)]
    features._treat(table, evidence, features._manner(None))


def infer_schema(source: Source) -> Schema:
    """Return the schema of a source by all of its values: `Schema.infer`, in one pass."""
    table = Table.of(source.head().X, dates=True)
    seen = fold(_seen, source, _merged)
    findings = infer_columns(seen, [Naming.of(table, j) for j in range(table.n_columns)])
    return Schema(tuple(Column(name, *found) for name, found in zip(table.names, findings, strict=True)))


def read_chunk(formats: Mapping[str, Format], chunk: Chunk) -> Chunk:
    """Return a chunk in which the strings of some columns are the numbers and dates that they spell."""
    return chunk._replace(X=Table.of(chunk.X, dates=True).with_formats(formats).native)


def _seen(chunk: Chunk) -> list[SeenValues]:
    table = Table.of(chunk.X, dates=True)
    return [SeenValues.of(table, position).bounded() for position in range(table.n_columns)]


def _glances(features: Any, chunk: Chunk) -> Glances:
    table = features._part(chunk.X)
    return [Glance.of(table, position, features.missing) for position in range(table.n_columns)]


def _merged(mine: list[Any], theirs: list[Any]) -> list[Any]:
    return [a.merge(b) for a, b in zip(mine, theirs, strict=True)]


@dataclass(frozen=True, eq=False)
class InSource:
    """A column of which one glance was had; what that has not kept is asked for by another pass."""

    source: Source
    name: str
    glance: Glance

    @property
    def present(self) -> int:
        return self.glance.seen.present

    def gaps(self, missing: str) -> Gaps:
        return Gaps(missing, self.glance.seen.missing > 0)  # some that are refused were so at a glance

    def numbers(self) -> NumberSpread:
        if self.glance.spread is not None and self.glance.days is None:
            return self.glance.spread
        return fold(functools.partial(_numbers, self.name), self.source, NumberSpread.merge)

    def days(self) -> tuple[NumberSpread, DaysSeen]:
        if self.glance.spread is not None and self.glance.days is not None:
            return self.glance.spread, self.glance.days
        return fold(functools.partial(_days, self.name), self.source, _both_merged)

    def labels(self) -> Occurrences:
        if self.glance.seen.labels is not None and not self.glance.seen.halvings:
            return self.glance.seen.labels
        return fold(functools.partial(_labels, self.name), self.source, Occurrences.merge)

    def text(self, manner: Manner) -> TextTreatment:
        with naming(self.name):
            fitted = clone(manner.vectorizer).fit(self.source.map(functools.partial(_documents, self.name)))
        return TextTreatment(self.name, fitted, self.gaps(manner.missing))


def _of_column(name: str, chunk: Chunk) -> InTable:
    table = Table.of(chunk.X, dates=True)
    return InTable(table, table.position(name))


def _numbers(name: str, chunk: Chunk) -> NumberSpread:
    return _of_column(name, chunk).numbers()


def _days(name: str, chunk: Chunk) -> tuple[NumberSpread, DaysSeen]:
    return _of_column(name, chunk).days()


def _both_merged(
    mine: tuple[NumberSpread, DaysSeen], theirs: tuple[NumberSpread, DaysSeen]
) -> tuple[NumberSpread, DaysSeen]:
    return mine[0].merge(theirs[0]), mine[1].merge(theirs[1])


def _labels(name: str, chunk: Chunk) -> Occurrences:
    return _of_column(name, chunk).labels()


def _documents(name: str, chunk: Chunk) -> Chunk:
    column = _of_column(name, chunk)
    return chunk._replace(X=texts_of(column.table, column.position)[0])
