"""The columns that a fitted model reads from a table, and their types."""

from __future__ import annotations

from typing import Any

from mercer._errors import ColumnMismatchError
from mercer._suggest import did_you_mean, listed
from mercer.base import traits_of
from mercer.base.pipelines import columns_of_fit, innermost_part, names_read
from mercer.data import Kind, Table
from mercer.data.readers.base import Held
from mercer.data.schema import Column

#: missing columns that an error names
MAX_NAMED_COLUMNS = 5
#: type as which columns of a kind are read, unless their levels are strings
TYPE_OF_KIND: dict[Kind, Held] = {
    **dict.fromkeys((Kind.NUMBER, Kind.INTEGER, Kind.CODE, Kind.COUNT, Kind.BINARY, Kind.COUNTS), "number"),
    **dict.fromkeys((Kind.CATEGORY, Kind.TEXT), "text"),
    Kind.BOOLEAN: "boolean",
    Kind.DATE: "date",
}


def reader_of(model: Any) -> Any:
    """Return the part of a model that gets the columns: the first step of a pipeline, inside any wrapper."""
    return innermost_part(model, 0)


def columns_of(model: Any) -> list[str] | None:
    """Return the names of the columns that a fitted model reads; None if they have no names."""
    reader = reader_of(model)
    named = hasattr(reader, "_used") or hasattr(reader, "feature_names_in_")
    return names_read(reader) if named else None


def check_table_columns(model: Any, names: list[str], data: str) -> None:
    """Raise if a table lacks columns that the fitted model reads."""
    wanted = columns_of(model) or []
    if not (absent := [name for name in wanted if name not in names]):
        return
    raise ColumnMismatchError(
        f"The model was fitted to another table: {data!r} lacks {_list_absent(absent, len(wanted))}. "
        f"{_suggest_column(absent, names)}"
    )


def _list_absent(absent: list[str], n_read: int) -> str:
    """List the first of the columns that a table lacks, with their number."""
    if len(absent) == 1:
        return f"column {absent[0]!r}"
    more = len(absent) - MAX_NAMED_COLUMNS
    few = f"{listed(absent[:MAX_NAMED_COLUMNS])}{f' and {more} more' if more > 0 else ''}"
    return f"{len(absent)} of the {n_read} columns that it reads: {few}"


def _suggest_column(absent: list[str], names: list[str]) -> str:
    """Return the closest match for the first of the columns that has one."""
    guesses = ((name, did_you_mean(name, names)) for name in absent)
    close = next(((name, guess) for name, guess in guesses if guess.startswith("Did you mean")), None)
    if close is None:
        return "Give a table with the columns of the fit."
    return close[1] if len(absent) == 1 else f"For {close[0]!r}: {close[1][0].lower()}{close[1][1:]}"


def check_columns_exist(wanted: list[str], names: list[str]) -> None:
    """Raise if one of these names is not a column."""
    for name in wanted:
        if name not in names:
            raise ColumnMismatchError(f"There is no column {name!r}. {did_you_mean(name, names)}")


def column_types(model: Any) -> dict[str, Held]:
    """Return the type that each column had in the fit, so that another file is read with the same types."""
    if columns_of(model) is None or traits_of(reader_of(model)).kind == "baseline":
        return {}  # a baseline does not depend on the columns
    types = {column.name: _type_of(column) for column in columns_of_fit(reader_of(model))}
    return {name: each for name, each in types.items() if each is not None}


def read_rows(model: Any, X: Any) -> Any:
    """Convert columns of strings to the numbers and dates as which the model read them in its fit."""
    if columns_of(model) is None:
        return X
    formats = {column.name: column.format for column in columns_of_fit(reader_of(model)) if column.format is not None}
    return Table.of(X, dates=True).with_formats(formats).native if formats else X


def levels_of(model: Any) -> dict[str, tuple[str, ...]]:
    """Return the levels of columns of strings: these are values, even if they are words for missing values."""
    if columns_of(model) is None:
        return {}
    levels = {column.name: column.levels or () for column in columns_of_fit(reader_of(model))}
    return {name: words for name, each in levels.items() if (words := tuple(w for w in each if isinstance(w, str)))}


def _type_of(column: Column) -> Held | None:
    """Return the type as which to read a column: text if its levels are strings, such as the code 00501.

    Numbers and dates that were written as strings are read as strings, since the model converts them.
    """
    if column.format is not None:
        return "text"
    if any(isinstance(level, str) for level in column.levels or ()):
        return "text"
    return None if column.stored is None else TYPE_OF_KIND.get(column.stored)
