"""Which treatment each column gets: by what its values are, unless somebody says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from mercer._errors import ColumnTypeError, DataError
from mercer._suggest import did_you_mean
from mercer._typing import Array
from mercer.data.coding import Coded
from mercer.data.infer import OF_STRINGS
from mercer.data.kinds import Kind
from mercer.data.levels import Occurrences
from mercer.data.schema import Column, Schema
from mercer.data.table import Table, blocks_of_columns
from mercer.matrices.encoded import Part
from mercer.preprocessing._reading import days_of, labels_of, numbers_of
from mercer.preprocessing.treatments import (
    BinaryTreatment,
    CategoryTreatment,
    DateTreatment,
    DaysSeen,
    Gaps,
    LeftOutTreatment,
    MissingOnlyTreatment,
    NumberSpread,
    NumberTreatment,
    TextTreatment,
    Treatment,
)

# What the rows of a fit show of a column: asked for by what it is to become, answered by a table or a source.


class Manner(NamedTuple):
    """What was asked of all columns."""

    missing: str
    scaled: bool
    vectorizer: Any
    #: options of `Levels`
    levels: Mapping[str, Any]
    #: for vectorisers whose weights depend on classes
    y: Any
    #: where features of the rows of the fit are put that were found on the way
    made: dict[str, list[Part]]


class ColumnEvidenceSource(Protocol):
    """One column of a fit. What is not what it is asked for raises an error that names a row."""

    @property
    def present(self) -> int:
        """How many rows have a value."""

    def gaps(self, missing: str) -> Gaps:
        """Whether rows have none, which may be refused."""

    def numbers(self) -> NumberSpread:
        """Where its numbers lie."""

    def days(self) -> tuple[NumberSpread, DaysSeen]:
        """Where its dates lie."""

    def labels(self) -> Occurrences:
        """Which labels it has, and how often."""

    def text(self, manner: Manner) -> TextTreatment:
        """What a vectoriser learns of its documents."""


@dataclass(frozen=True, eq=False)
class InTable:
    """A column whose rows are all there."""

    table: Table
    position: int
    #: where its numbers lie, if that is known already: it has no gaps then
    spread: NumberSpread | None = None

    @classmethod
    def all_of(cls, table: Table) -> list[Self]:
        """Return all columns of a table; those of numbers are read together, as many as fit a block."""
        spreads: dict[int, NumberSpread | None] = {}
        for columns in blocks_of_columns(table, frozenset(Kind) - {Kind.DATE}):
            numbers = np.asarray(table.numbers(columns), dtype=np.float64)
            spreads |= dict(zip(columns, NumberSpread.of_columns(numbers), strict=True))
        return [cls(table, j, spreads.get(j)) for j in range(table.n_columns)]

    @property
    def present(self) -> int:
        return int((~self._missing()).sum())

    def gaps(self, missing: str) -> Gaps:
        if self.spread is not None:
            return Gaps(missing, False)
        return Gaps.of(self.table.names[self.position], self._missing(), missing)

    def _missing(self) -> Array:
        if self.table.kinds[self.position].numeric:  # without a look at which numbers there are
            return np.isnan(self.table.numbers([self.position])[:, 0])
        return np.asarray(self._coded.codes < 0)

    @cached_property
    def _coded(self) -> Coded:
        return labels_of(self.table, self.position, text=None)

    def numbers(self) -> NumberSpread:
        return NumberSpread.of(numbers_of(self.table, self.position)) if self.spread is None else self.spread

    def days(self) -> tuple[NumberSpread, DaysSeen]:
        days = days_of(self.table, self.position)
        return NumberSpread.of(days), DaysSeen.of(days, self.table.zone(self.position))

    def labels(self) -> Occurrences:
        return Occurrences.zero().update(self._coded, self.table.declared_levels(self.position))

    def text(self, manner: Manner) -> TextTreatment:
        text, parts = TextTreatment.of(self.table, self.position, manner.vectorizer, manner.y, manner.missing)
        manner.made[text.column] = parts
        return text


#: kinds that may be asked for
ASKED = (Kind.NUMBER, Kind.COUNT, Kind.BINARY, Kind.CATEGORY, Kind.TEXT, Kind.DATE, Kind.IDENTIFIER, Kind.CONSTANT)
ASKED_FOR = "as asked for"


def schema_for(table: Table, kinds: Mapping[Any, Any]) -> Schema:
    """The schema of a table, with the kinds that were asked for."""
    asked = asked_kinds(table, kinds)
    return Schema(tuple(with_kind(column, asked.get(column.name)) for column in Schema.infer(table)))


def asked_kinds(table: Table, kinds: Mapping[Any, Any]) -> dict[str, Kind]:
    """Kinds that were asked for, by the names of the columns."""
    return {name_of(table, key): _kind(word) for key, word in kinds.items()}


def name_of(table: Table, key: Any) -> str:
    """The name of a column that is given by its name or its position."""
    if isinstance(key, int | np.integer) and -table.n_columns <= key < table.n_columns:
        return table.names[key]
    return table.names[table.position(str(key))]


def treatment(column: Column, evidence: ColumnEvidenceSource, manner: Manner) -> Treatment:
    """What becomes of one column."""
    name, missing = column.name, manner.missing
    match column.kind:
        case Kind.IDENTIFIER:
            return LeftOutTreatment(name, reason_left_out(column, present=True))
        case Kind.CONSTANT:
            return _constant(column, evidence, missing)
        case Kind.TEXT:
            return evidence.text(manner)
        case Kind.DATE:
            return DateTreatment.learnt(name, *evidence.days(), evidence.gaps(missing), scaled=manner.scaled)
        case Kind.BINARY | Kind.BOOLEAN:
            labels = evidence.labels()
            return BinaryTreatment.learnt(name, labels, two_of(name, labels.labels.tolist()), evidence.gaps(missing))
        case Kind.CATEGORY | Kind.CODE:
            refuse_mixed(column)
            return CategoryTreatment.learnt(name, evidence.labels(), evidence.gaps(missing), **manner.levels)
        case _:
            return NumberTreatment(name, evidence.numbers().scale(), manner.scaled, evidence.gaps(missing))


def _constant(column: Column, evidence: ColumnEvidenceSource, missing: str) -> Treatment:
    """Of a single value and gaps, where it is missing may still tell something."""
    present = evidence.present > 0
    if present and missing == "indicator" and evidence.gaps(missing).told:
        return MissingOnlyTreatment(column.name)
    return LeftOutTreatment(column.name, reason_left_out(column, present=present))


def reason_left_out(column: Column, *, present: bool) -> str:
    """Why nothing of an identifier or a constant is used."""
    if ASKED_FOR in column.notes:
        return ASKED_FOR
    if column.kind is Kind.IDENTIFIER:
        return "an identifier"
    return "it has one value" if present else "it has no values"


def with_kind(column: Column, kind: Kind | None) -> Column:
    """A column as it was asked for; that it is so anyhow is no remark, unless somebody would refuse it otherwise."""
    if kind is None or (kind is column.kind and _mixed(column) is None):
        return column
    if column.format is not None and kind in OF_STRINGS:
        notes = tuple(note for note in column.notes if note != column.format.described)
        return replace(column, kind=kind, stored=Kind.CATEGORY, format=None, notes=(*notes, ASKED_FOR))
    return replace(column, kind=kind, notes=(*column.notes, ASKED_FOR))


def _mixed(column: Column) -> str | None:
    """The remark on a column that its values are of several types."""
    return next((note for note in column.notes if note.startswith("values of several types")), None)


def _kind(word: Any) -> Kind:
    if isinstance(word, Kind):
        return word
    for kind in ASKED:
        if kind.value == word:
            return kind
    raise DataError(f"There is no kind of column {word!r}. {did_you_mean(str(word), [kind.value for kind in ASKED])}")


def two_of(column: str, occurring: list[Any]) -> tuple[Any, Any]:
    """The two values of a column that is to have two, in order."""
    levels = sorted(occurring, key=lambda label: (str(type(label)), label))
    if len(levels) != 2:
        raise ColumnTypeError(
            f"Column {column!r} is to be binary, but has {len(levels)} different values. Ask for 'category' or "
            "'number' instead."
        )
    return levels[0], levels[1]


def refuse_mixed(column: Column) -> None:
    if ASKED_FOR in column.notes or (note := _mixed(column)) is None:
        return
    levels = column.levels or ()
    examples = {type(level).__name__: level for level in reversed(levels)}
    shown = " and ".join(repr(level) for level in examples.values())
    raise ColumnTypeError(
        f"Column {column.name!r} holds {note}, e.g. {shown}. Convert them to one type, or ask for them as they "
        f"are with kinds={{{column.name!r}: 'category'}}."
    )
