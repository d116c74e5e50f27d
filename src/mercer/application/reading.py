"""Which columns of a table a fitted model reads, and what it takes them to hold."""

from __future__ import annotations

from typing import Any

from mercer._errors import ColumnMismatchError
from mercer._suggest import did_you_mean, listed
from mercer.base import traits_of
from mercer.base.pipelines import columns_of_fit, innermost_part, names_read
from mercer.data import Kind, Table
from mercer.data.readers.base import Held
from mercer.data.schema import Column

#: columns that are named where a table lacks many
MOST_ABSENT = 5
#: what columns of a kind are read as, unless their levels are something else
HELD: dict[Kind, Held] = {
    **dict.fromkeys((Kind.NUMBER, Kind.INTEGER, Kind.CODE, Kind.COUNT, Kind.BINARY, Kind.COUNTS), "number"),
    **dict.fromkeys((Kind.CATEGORY, Kind.TEXT), "text"),
    Kind.BOOLEAN: "boolean",
    Kind.DATE: "date",
}


def reader_of(model: Any) -> Any:
    """The part of a model that sees the columns: the first step of a pipeline, within whatever decides by it."""
    return innermost_part(model, 0)


def columns_of(model: Any) -> list[str] | None:
    """Names of the columns that a fitted model reads; None where there are no names."""
    reader = reader_of(model)
    named = hasattr(reader, "_used") or hasattr(reader, "feature_names_in_")
    return names_read(reader) if named else None


def refuse_other_table(model: Any, names: list[str], data: str) -> None:
    """A model reads the columns that it was fitted to; a table without them is another one."""
    wanted = columns_of(model) or []
    if not (absent := [name for name in wanted if name not in names]):
        return
    lacking = _lacking(absent, len(wanted))
    raise ColumnMismatchError(
        f"The model was fitted to another table: {data!r} lacks {lacking}. {_meant(absent, names)}"
    )


def _lacking(absent: list[str], wanted: int) -> str:
    """A few of the columns that are not there, and how many there are of them."""
    if len(absent) == 1:
        return f"column {absent[0]!r}"
    more = len(absent) - MOST_ABSENT
    few = f"{listed(absent[:MOST_ABSENT])}{f' and {more} more' if more > 0 else ''}"
    return f"{len(absent)} of the {wanted} columns that it reads: {few}"


def _meant(absent: list[str], names: list[str]) -> str:
    """The closest match of the first that has one; all names of the table would hide it."""
    guesses = ((name, did_you_mean(name, names)) for name in absent)
    close = next(((name, guess) for name, guess in guesses if guess.startswith("Did you mean")), None)
    if close is None:
        return "Give a table with the columns of the fit."
    return close[1] if len(absent) == 1 else f"For {close[0]!r}: {close[1][0].lower()}{close[1][1:]}"


def refuse_unknown(wanted: list[str], names: list[str]) -> None:
    """Every one of these has to be a column."""
    for name in wanted:
        if name not in names:
            raise ColumnMismatchError(f"There is no column {name!r}. {did_you_mean(name, names)}")


def held_by(model: Any) -> dict[str, Held]:
    """What each column held where the model was fitted, so that the same is read from another file."""
    if columns_of(model) is None or traits_of(reader_of(model)).kind == "baseline":
        return {}  # a baseline predicts the same for every row, whatever its columns hold
    held = {column.name: _held(column) for column in columns_of_fit(reader_of(model))}
    return {name: what for name, what in held.items() if what is not None}


def read_rows(model: Any, X: Any) -> Any:
    """Return rows in which strings are the numbers and dates that they were to the model in its fit."""
    if columns_of(model) is None:
        return X
    formats = {column.name: column.format for column in columns_of_fit(reader_of(model)) if column.format is not None}
    return Table.of(X, dates=True).with_formats(formats).native if formats else X


def levels_of(model: Any) -> dict[str, tuple[str, ...]]:
    """Return the levels of the columns of strings, which are values even where they are words for missing ones."""
    if columns_of(model) is None:
        return {}
    levels = {column.name: column.levels or () for column in columns_of_fit(reader_of(model))}
    return {name: words for name, each in levels.items() if (words := tuple(w for w in each if isinstance(w, str)))}


def _held(column: Column) -> Held | None:
    """By its levels, where it has any: codes may be numbers, or words that look like numbers (00501).

    Numbers and dates that were written as strings are read as strings, which the model converts.
    """
    if column.format is not None:
        return "text"
    if any(isinstance(level, str) for level in column.levels or ()):
        return "text"
    return None if column.stored is None else HELD.get(column.stored)
