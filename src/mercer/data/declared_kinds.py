"""Declared kinds and formats of columns, stored in the metadata of pyarrow fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from mercer._errors import ColumnMismatchError
from mercer._suggest import did_you_mean
from mercer.data.kinds import Kind

if TYPE_CHECKING:
    from mercer.data.table import Table

#: key of the kind
KIND_KEY = b"mercer:kind"
#: key of the decimal mark of numbers that are written as strings
DECIMAL_KEY = b"mercer:decimal"
#: key of the order of dates that are written as strings
DATES_KEY = b"mercer:dates"
#: key of the likely decimal mark of a file, for numbers that can be read in two ways
LIKELY_DECIMAL_KEY = b"mercer:likely-decimal"


def with_kinds(frame: Any, kinds: Mapping[str, Kind]) -> Any:
    """Return a pyarrow table with declared kinds of columns, which `Schema.infer` respects.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mercer import Schema
    >>> frame = pa.table({"stars": [1, 2, 3, 4, 5] * 5})
    >>> Schema.infer(frame), Schema.infer(with_kinds(frame, {"stars": Kind.NUMBER}))
    (Schema(stars: code of 5), Schema(stars: number))
    """
    names = frame.column_names if kinds else ()
    positions = {name: position for position, name in reversed([*enumerate(names)])}
    for name in kinds:
        if name not in positions:
            raise ColumnMismatchError(f"There is no column {name!r}. {did_you_mean(name, names)}")
    return _with_metadata(frame, {positions[name]: {KIND_KEY: kind.value} for name, kind in kinds.items()})


def with_marks(frame: Any, decimal: str | None, dates: str | None, likely: str | None = None) -> Any:
    """Return a pyarrow table with the declared decimal mark of numbers and the order of dates that are written as
    strings.

    The `likely` decimal mark is for numbers that can be read in two ways.
    """
    given = ((DECIMAL_KEY, decimal), (DATES_KEY, dates), (LIKELY_DECIMAL_KEY, likely))
    marks = {key: mark for key, mark in given if mark is not None}
    return _with_metadata(frame, dict.fromkeys(range(frame.num_columns) if marks else (), marks))


def _with_metadata(frame: Any, words: Mapping[int, Mapping[bytes, str]]) -> Any:
    """Return a pyarrow table with entries added to the metadata of its fields, by their positions."""
    if not words:
        return frame
    import pyarrow as pa

    fields = list(frame.schema)
    for position, added in words.items():
        known = {**(fields[position].metadata or {}), **{key: word.encode() for key, word in added.items()}}
        fields[position] = fields[position].with_metadata(known)
    return pa.Table.from_arrays(frame.columns, schema=pa.schema(fields, frame.schema.metadata))


class Declarations(NamedTuple):
    """The declarations about a column; None if there are none.

    The decimal mark of its numbers, the order of its dates, and the likely decimal mark apply to strings.
    """

    kind: Kind | None = None
    decimal: str | None = None
    dates: str | None = None
    likely: str | None = None


def declarations_of(table: Table, position: int) -> Declarations:
    """Return the declarations about a column."""
    if table.library != "pyarrow":
        return Declarations()
    words = table.storage.frame.to_native().schema.field(position).metadata  # type: ignore[attr-defined]
    if not words:
        return Declarations()
    kind, *marks = (
        None if (word := words.get(key)) is None else word.decode()
        for key in (KIND_KEY, DECIMAL_KEY, DATES_KEY, LIKELY_DECIMAL_KEY)
    )
    return Declarations(None if kind is None else Kind(kind), *marks)
