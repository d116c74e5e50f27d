"""`TableFeatures` of a source: one pass to see what the columns are, and one more for each column of text."""

from __future__ import annotations

import copy
import functools
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone

from mercer._errors import VocabularyError
from mercer.data.dates import are_dates
from mercer.data.infer import Naming, judged
from mercer.data.kinds import Kind
from mercer.data.levels import Occurrences
from mercer.data.schema import Column, Schema
from mercer.data.seen import Seen
from mercer.data.sources.base import Chunk, Source
from mercer.data.table import Table
from mercer.engines.folding import fold
from mercer.models.tables._choose import (
    Manner,
    asked_kinds,
    reason_left_out,
    refuse_mixed,
    two_of,
    with_kind,
)
from mercer.models.tables._dates import Date
from mercer.models.tables._labels import Category
from mercer.models.tables._numbers import Binary, Gaps, Number, OnlyGaps
from mercer.models.tables._reading import days_of, labels_of, numbers_of, refuse_gaps, texts_of
from mercer.models.tables._spread import DaysSeen, Spread
from mercer.models.tables._texts import Text
from mercer.models.tables._treatment import LeftOut, Treatment

Glances = list["Glance"]


class Glance(NamedTuple):
    """All that is to be known of a column, whatever it turns out to be."""

    seen: Seen
    #: of numbers, or of days
    spread: Spread | None
    days: DaysSeen | None

    @classmethod
    def of(cls, table: Table, position: int, missing: str) -> Self:
        seen, spread, days = Seen.of(table, position), None, None
        if missing == "error" and seen.missing:
            refuse_gaps(table.names[position], table.coded(position).codes < 0)
        spelled = seen.kind is Kind.CATEGORY and seen.labels is not None and are_dates(seen.labels.labels.tolist())
        if seen.kind is Kind.DATE or spelled:
            values = days_of(table, position)
            spread, days = Spread.of(values), DaysSeen.of(values)
        elif seen.kind.numeric:
            spread = Spread.of(numbers_of(table, position))
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
    glances = fold(functools.partial(_glances, copy.copy(features)), source, _merged)
    kinds = asked_kinds(table, features.kinds or {})
    columns = [
        with_kind(Column(name, *judged(glance.seen, Naming.of(table, j))), kinds.get(name))
        for j, (name, glance) in enumerate(zip(table.names, glances, strict=True))
    ]
    features.schema_ = Schema(tuple(columns))
    manner = features._manner(None)
    excluded = features._excluded(table)
    features._settle(
        [
            LeftOut(column.name, "as asked for")
            if column.name in excluded
            else _treatment(source, glance, column, manner)
            for column, glance in zip(columns, glances, strict=True)
        ]
    )


def infer_schema(source: Source) -> Schema:
    """What the columns of a source are, judged by all of its values: `Schema.infer`, in one pass."""
    table = Table.of(source.head().X, dates=True)
    seen = fold(_seen, source, _merged)
    findings = (judged(each, Naming.of(table, j)) for j, each in enumerate(seen))
    return Schema(tuple(Column(name, *found) for name, found in zip(table.names, findings, strict=True)))


def _seen(chunk: Chunk) -> list[Seen]:
    table = Table.of(chunk.X, dates=True)
    return [Seen.of(table, position).bounded() for position in range(table.n_columns)]


def _glances(features: Any, chunk: Chunk) -> Glances:
    table = features._part(chunk.X)
    return [Glance.of(table, position, features.missing) for position in range(table.n_columns)]


def _merged(mine: list[Any], theirs: list[Any]) -> list[Any]:
    return [a.merge(b) for a, b in zip(mine, theirs, strict=True)]


def _treatment(source: Source, glance: Glance, column: Column, manner: Manner) -> Treatment:
    """What becomes of one column."""
    name, seen, gaps = column.name, glance.seen, Gaps(manner.missing, glance.seen.missing > 0)
    match column.kind:
        case Kind.IDENTIFIER:
            return LeftOut(name, reason_left_out(column, seen.present))
        case Kind.CONSTANT if gaps.told and seen.present:
            return OnlyGaps(name)
        case Kind.CONSTANT:
            return LeftOut(name, reason_left_out(column, seen.present))
        case Kind.TEXT:
            return _text(source, name, gaps, manner)
        case Kind.DATE if glance.spread is not None and glance.days is not None:
            return Date.learnt(name, glance.spread, glance.days, gaps, scaled=manner.scaled)
        case Kind.BINARY | Kind.BOOLEAN:
            return _binary(_all_labels(source, glance, name), name, gaps)
        case Kind.CATEGORY | Kind.CODE:
            refuse_mixed(column)
            labels = _all_labels(source, glance, name)
            return Category.learnt(name, labels, missing=manner.missing, **manner.levels)
    return _number(source, glance, name, gaps, scaled=manner.scaled)


def _number(source: Source, glance: Glance, name: str, gaps: Gaps, *, scaled: bool) -> Treatment:
    if glance.spread is None:  # asked for, and not there: the first row that has none says so
        for chunk in source:
            table = Table.of(chunk.X, dates=True)
            numbers_of(table, table.position(name))
    spread = glance.spread or Spread.of(np.empty(0))
    return Number(name, spread.scale(), scaled, gaps)


def _binary(labels: Occurrences, name: str, gaps: Gaps) -> Treatment:
    levels = two_of(name, labels.labels.tolist())
    counts = dict(zip(labels.labels.tolist(), labels.counts.tolist(), strict=True))
    return Binary(name, levels, counts[levels[1]] / labels.counts.sum(), gaps)


def _all_labels(source: Source, glance: Glance, name: str) -> Occurrences:
    """With those that were forgotten, by another pass."""
    if glance.seen.labels is not None and not glance.seen.halvings:
        return glance.seen.labels
    return fold(functools.partial(_labels, name), source, Occurrences.merge)


def _labels(name: str, chunk: Chunk) -> Occurrences:
    table = Table.of(chunk.X, dates=True)
    position = table.position(name)
    return Occurrences.zero().update(labels_of(table, position, text=None), table.declared_levels(position))


def _text(source: Source, name: str, gaps: Gaps, manner: Manner) -> Text:
    try:
        fitted = clone(manner.vectorizer).fit(source.map(functools.partial(_documents, name)))
    except VocabularyError as empty:
        raise VocabularyError(
            f"Column {name!r} as text: {empty} Leave it out with `exclude`, or say what it is with `kinds`."
        ) from None
    return Text(name, fitted, gaps)


def _documents(name: str, chunk: Chunk) -> Chunk:
    table = Table.of(chunk.X, dates=True)
    return chunk._replace(X=texts_of(table, table.position(name))[0])
