"""The columns that a model reads, as inputs of a formula."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mercer._errors import ExportError
from mercer.base.pipelines import columns_of_fit, names_read
from mercer.data.coding import MISSING_WORDS
from mercer.data.formats import MISSING_MARKS, Format
from mercer.data.kinds import Kind
from mercer.data.schema import Column as Described
from mercer.export.expression import ColumnKind, ColumnValue


def columns_read(reader: Any) -> list[ColumnValue]:
    """Return the columns that the first step of a model reads."""
    if getattr(reader, "_formula", None) is not None:
        raise ExportError(
            "TableFeatures with a formula cannot be exported. Write the features as columns of the table, e.g. in SQL, "
            "and leave the formula out."
        )
    described = {column.name: column for column in columns_of_fit(reader)}
    formats = getattr(reader, "formats_", {})
    return [
        ColumnValue(
            name, _kind(described[name]), gaps=_gaps(described[name], formats.get(name)), format=formats.get(name)
        )
        for name in names_read(reader)
    ]


def _gaps(column: Described, form: Format | None) -> tuple[str, ...]:
    """Return the words for missing values that are not levels of the column."""
    if form is not None:
        return tuple(sorted(MISSING_MARKS))
    return tuple(word for word in MISSING_WORDS if word not in (column.levels or ()))


def _kind(column: Described) -> ColumnKind:
    if column.levels is not None:
        return _kind_of_labels(column.name, column.levels)
    match column.kind:
        case Kind.DATE:
            return "date"
        case Kind.TEXT:
            return "text"
        case Kind.CONSTANT if column.stored is not None:  # only whether its values are missing is read
            return "boolean" if column.stored is Kind.BOOLEAN else "number" if column.stored.numeric else "text"
    return "number"


def _kind_of_labels(column: str, labels: Iterable[Any]) -> ColumnKind:
    """Return the kind of a column with these values."""
    kinds = {_kind_of_label(column, label) for label in labels}
    if len(kinds) > 1 and kinds != {"number", "boolean"}:
        raise ExportError(
            f"Column {column!r} cannot be exported: some of its values are strings and others numbers. Convert them to "
            "one type and fit again."
        )
    return "number" if len(kinds) != 1 else kinds.pop()


def _kind_of_label(column: str, label: Any) -> ColumnKind:
    match label:
        case str():
            return "text"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
    raise ExportError(
        f"Column {column!r} cannot be exported: it holds {label!r}, of type {type(label).__name__}. Convert it to "
        "strings or numbers and fit again."
    )
