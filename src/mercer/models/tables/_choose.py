"""Which treatment each column gets: by what its values are, unless somebody says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import ColumnTypeError, DataError
from mercer._suggest import did_you_mean
from mercer.data.kinds import Kind
from mercer.data.schema import Column, Schema
from mercer.data.table import Table
from mercer.designs.encoded import Part
from mercer.models.tables._dates import Date
from mercer.models.tables._labels import Category
from mercer.models.tables._numbers import Binary, Number, OnlyGaps
from mercer.models.tables._reading import labels_of
from mercer.models.tables._texts import Text
from mercer.models.tables._treatment import LeftOut, Treatment

#: kinds that may be asked for
ASKED = (Kind.NUMBER, Kind.COUNT, Kind.BINARY, Kind.CATEGORY, Kind.TEXT, Kind.DATE, Kind.IDENTIFIER, Kind.CONSTANT)
ASKED_FOR = "as asked for"


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


def treatment(table: Table, position: int, column: Column, manner: Manner) -> Treatment:
    """What becomes of one column."""
    match column.kind:
        case Kind.IDENTIFIER:
            return LeftOut(column.name, reason_left_out(column, table.n_rows))
        case Kind.CONSTANT:
            return _constant(table, position, column, manner)
        case Kind.TEXT:
            text, parts = Text.of(table, position, manner.vectorizer, manner.y, missing=manner.missing)
            manner.made[column.name] = parts
            return text
        case Kind.DATE:
            return Date.of(table, position, scaled=manner.scaled, missing=manner.missing)
        case Kind.BINARY | Kind.BOOLEAN:
            coded = labels_of(table, position, text=None)
            occurring = coded.labels[np.unique(coded.codes[coded.codes >= 0])].tolist()
            return Binary.of(table, position, two_of(column.name, occurring), missing=manner.missing)
        case Kind.CATEGORY | Kind.CODE:
            refuse_mixed(column)
            return Category.of(table, position, missing=manner.missing, **manner.levels)
        case _:
            return Number.of(table, position, scaled=manner.scaled, missing=manner.missing)


def _constant(table: Table, position: int, column: Column, manner: Manner) -> Treatment:
    """Of a single value and gaps, where it is missing may still tell something."""
    gaps = table.coded(position).codes < 0
    if manner.missing == "indicator" and gaps.any() and not gaps.all():
        return OnlyGaps(column.name)
    return LeftOut(column.name, reason_left_out(column, int((~gaps).sum())))


def reason_left_out(column: Column, present: int) -> str:
    """Why nothing of an identifier or a constant is used."""
    if ASKED_FOR in column.notes:
        return ASKED_FOR
    if column.kind is Kind.IDENTIFIER:
        return "every row has its own value"
    return "it has one value" if present else "it has no values"


def with_kind(column: Column, kind: Kind | None) -> Column:
    """A column as it was asked for; that it is so anyhow is no remark, unless somebody would refuse it otherwise."""
    if kind is None or (kind is column.kind and _mixed(column) is None):
        return column
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
