"""The choice of a treatment for each column, by its values or as requested."""

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
    CalendarParts,
    CategoryTreatment,
    DateTreatment,
    Gaps,
    LeftOutTreatment,
    MissingOnlyTreatment,
    NumberSpread,
    NumberTreatment,
    TextTreatment,
    Treatment,
)


class TreatmentOptions(NamedTuple):
    """The options that apply to all columns."""

    missing: str
    scaled: bool
    vectorizer: Any
    #: options of `Levels`
    levels: Mapping[str, Any]
    #: the target, for vectorizers whose weights depend on classes
    y: Any
    #: collects features of the rows of the fit that are computed while learning
    computed: dict[str, list[Part]]


class ColumnReader(Protocol):
    """Reader of one column of the rows of a fit, in a table or a source.

    A method raises an error that names a row if the column does not hold the kind of values that it reads.
    """

    @property
    def present(self) -> int:
        """Number of rows with a value."""

    def gaps(self, missing: str) -> Gaps:
        """Return whether rows have missing values, which may be an error."""

    def numbers(self) -> NumberSpread:
        """Return the distribution of its numbers."""

    def days(self) -> tuple[NumberSpread, CalendarParts]:
        """Return the distribution of its dates."""

    def labels(self) -> Occurrences:
        """Return its labels with their numbers of occurrences."""

    def text(self, options: TreatmentOptions) -> TextTreatment:
        """Return the vectorizer fitted to its documents."""


@dataclass(frozen=True, eq=False)
class TableColumnReader:
    """A column whose rows are all in memory."""

    table: Table
    position: int
    #: the distribution of its numbers, if known already; the column has no gaps then
    spread: NumberSpread | None = None

    @classmethod
    def all_of(cls, table: Table) -> list[Self]:
        """Return all columns of a table; columns of numbers are read together, as many as fit into a block."""
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
        if self.table.kinds[self.position].numeric:  # without coding the numbers
            return np.isnan(self.table.numbers([self.position])[:, 0])
        return np.asarray(self._coded.codes < 0)

    @cached_property
    def _coded(self) -> Coded:
        return labels_of(self.table, self.position, text=None)

    def numbers(self) -> NumberSpread:
        return NumberSpread.of(numbers_of(self.table, self.position)) if self.spread is None else self.spread

    def days(self) -> tuple[NumberSpread, CalendarParts]:
        days = days_of(self.table, self.position)
        return NumberSpread.of(days), CalendarParts.of(days, self.table.zone(self.position))

    def labels(self) -> Occurrences:
        return Occurrences.zero().update(self._coded, self.table.declared_levels(self.position))

    def text(self, options: TreatmentOptions) -> TextTreatment:
        text, parts = TextTreatment.of(self.table, self.position, options.vectorizer, options.y, options.missing)
        options.computed[text.column] = parts
        return text


#: kinds that may be requested
REQUESTABLE_KINDS = (
    Kind.NUMBER,
    Kind.COUNT,
    Kind.BINARY,
    Kind.CATEGORY,
    Kind.TEXT,
    Kind.DATE,
    Kind.IDENTIFIER,
    Kind.CONSTANT,
)
#: the remark on a column whose kind was requested
REQUESTED = "as requested"


def infer_schema_with(table: Table, kinds: Mapping[Any, Any]) -> Schema:
    """Return the schema of a table, with the requested kinds."""
    requested = requested_kinds(table, kinds)
    return Schema(tuple(set_kind(column, requested.get(column.name)) for column in Schema.infer(table)))


def requested_kinds(table: Table, kinds: Mapping[Any, Any]) -> dict[str, Kind]:
    """Return the requested kinds by the names of the columns."""
    return {column_name(table, key): _kind(word) for key, word in kinds.items()}


def column_name(table: Table, key: Any) -> str:
    """Return the name of a column that is given by its name or position."""
    if isinstance(key, int | np.integer) and -table.n_columns <= key < table.n_columns:
        return table.names[key]
    return table.names[table.position(str(key))]


def choose_treatment(column: Column, reader: ColumnReader, options: TreatmentOptions) -> Treatment:
    """Choose the treatment of one column."""
    name, missing = column.name, options.missing
    match column.kind:
        case Kind.IDENTIFIER:
            return LeftOutTreatment(name, reason_left_out(column, present=True))
        case Kind.CONSTANT:
            present = reader.present > 0
            if present and missing == "indicator" and reader.gaps(missing).has_indicator:
                return MissingOnlyTreatment(name)  # where the only value is missing may still be informative
            return LeftOutTreatment(name, reason_left_out(column, present=present))
        case Kind.TEXT:
            return reader.text(options)
        case Kind.DATE:
            return DateTreatment.learn(name, *reader.days(), reader.gaps(missing), scaled=options.scaled)
        case Kind.BINARY | Kind.BOOLEAN:
            labels = reader.labels()
            return BinaryTreatment.learn(name, labels, two_values(name, labels.labels.tolist()), reader.gaps(missing))
        case Kind.CATEGORY | Kind.CODE:
            check_not_mixed(column)
            return CategoryTreatment.learn(name, reader.labels(), reader.gaps(missing), **options.levels)
        case _:
            return NumberTreatment(name, reader.numbers().scale(), options.scaled, reader.gaps(missing))


def reason_left_out(column: Column, *, present: bool) -> str:
    """Return the reason why an identifier or a constant is not used."""
    if REQUESTED in column.notes:
        return REQUESTED
    if column.kind is Kind.IDENTIFIER:
        return "an identifier"
    return "it has one value" if present else "it has no values"


def set_kind(column: Column, kind: Kind | None) -> Column:
    """Return a column with the requested kind.

    The request is not noted if the column has this kind anyway, unless its values are of several types, which would be
    an error otherwise.
    """
    if kind is None or (kind is column.kind and _note_on_mixed_types(column) is None):
        return column
    if column.format is not None and kind in OF_STRINGS:
        notes = tuple(note for note in column.notes if note != column.format.described)
        return replace(column, kind=kind, stored=Kind.CATEGORY, format=None, notes=(*notes, REQUESTED))
    return replace(column, kind=kind, notes=(*column.notes, REQUESTED))


def _note_on_mixed_types(column: Column) -> str | None:
    """Return the remark that the values of a column are of several types, or None."""
    return next((note for note in column.notes if note.startswith("values of several types")), None)


def _kind(word: Any) -> Kind:
    if isinstance(word, Kind):
        return word
    for kind in REQUESTABLE_KINDS:
        if kind.value == word:
            return kind
    raise DataError(
        f"There is no kind of column {word!r}. {did_you_mean(str(word), [kind.value for kind in REQUESTABLE_KINDS])}"
    )


def two_values(column: str, occurring: list[Any]) -> tuple[Any, Any]:
    """Return the two values of a binary column in order."""
    levels = sorted(occurring, key=lambda label: (str(type(label)), label))
    if len(levels) != 2:
        raise ColumnTypeError(
            f"Column {column!r} must be binary, but has {len(levels)} different values. Request the kind 'category' or "
            "'number' instead."
        )
    return levels[0], levels[1]


def check_not_mixed(column: Column) -> None:
    if REQUESTED in column.notes or (note := _note_on_mixed_types(column)) is None:
        return
    levels = column.levels or ()
    examples = {type(level).__name__: level for level in reversed(levels)}
    shown = " and ".join(repr(level) for level in examples.values())
    raise ColumnTypeError(
        f"Column {column.name!r} holds {note}, e.g. {shown}. Convert them to one type, or use them as they are with "
        f"kinds={{{column.name!r}: 'category'}}."
    )
