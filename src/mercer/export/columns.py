"""The columns that a model reads, as inputs of a formula."""

from __future__ import annotations

from typing import Any

from mercer._errors import ExportError
from mercer.base.pipelines import columns_of_fit, names_read
from mercer.data.coding import MISSING_WORDS
from mercer.data.formats import MISSING_MARKS, Format
from mercer.data.kinds import Kind
from mercer.data.schema import Column as Described
from mercer.export.expression import ColumnKind, ColumnValue
from mercer.export.labels import kind_of_labels


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
        return kind_of_labels(column.name, column.levels)
    match column.kind:
        case Kind.DATE:
            return "date"
        case Kind.TEXT:
            return "text"
        case Kind.CONSTANT if column.stored is not None:  # only whether its values are missing is read
            return "boolean" if column.stored is Kind.BOOLEAN else "number" if column.stored.numeric else "text"
    return "number"
