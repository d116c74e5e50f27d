"""Types of the columns of a source, common to all of its files and blocks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mercer.data.kinds import Kind

#: units of time, from coarse to fine
UNITS = ("s", "ms", "us", "ns")


def plain(kind: Any) -> Any:
    """Return the type in which chunks hold values of a pyarrow type.

    Dictionaries differ between blocks, so strings are plain strings; decimals, which no model computes with, are
    floats, and so are columns that only contain missing values.
    """
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return plain(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    return pa.float64() if pa.types.is_decimal(kind) or pa.types.is_null(kind) else kind


def without_views(table: Any) -> Any:
    """Return a table whose strings are stored contiguously, since pyarrow cannot select rows of polars' string
    views.
    """
    import pyarrow as pa

    stored = {kind: _without_view(kind) for kind in set(table.schema.types)}
    if all(kind == other for kind, other in stored.items()):
        return table
    fields = [field.with_type(stored[field.type]) for field in table.schema]
    return table.cast(pa.schema(fields, table.schema.metadata))


def _without_view(kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _without_view(kind.value_type), kind.ordered)
    if pa.types.is_string_view(kind):
        return pa.large_string()
    return pa.large_binary() if pa.types.is_binary_view(kind) else kind


def joined(one: Any, other: Any) -> Any:
    """Return a type that holds the values of both; None if there is none.

    The result does not depend on order and grouping, so a type does not depend on the blocks in which it was found.
    """
    import pyarrow as pa

    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    one, other = plain(one), plain(other)
    if one == other:
        return one
    both = (one, other)
    if all(map(pa.types.is_integer, both)):
        return pa.float64() if pa.uint64() in both else pa.int64()
    if all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in both):
        return pa.float64()
    if all(pa.types.is_timestamp(kind) or pa.types.is_date(kind) for kind in both):
        return _time(*both)
    return None


def _time(one: Any, other: Any) -> Any:
    import pyarrow as pa

    zones = {getattr(kind, "tz", None) for kind in (one, other)}
    unit = max((getattr(kind, "unit", "s") for kind in (one, other)), key=UNITS.index)
    return pa.timestamp(unit, zones.pop()) if len(zones) == 1 else None


def type_of(kind: Kind) -> Any:
    """Return the pyarrow type in which values of a kind are stored."""
    import pyarrow as pa

    if kind is Kind.BOOLEAN:
        return pa.bool_()
    if kind in (Kind.CATEGORY, Kind.TEXT, Kind.IDENTIFIER):
        return pa.string()
    if kind is Kind.DATE:
        return pa.timestamp("us")
    return pa.float64() if kind in (Kind.NUMBER, Kind.CONSTANT, Kind.COUNTS) else pa.int64()


def width(types: Iterable[Any]) -> int:
    """Return the approximate number of bytes of a row."""
    return max(1, sum(_bytes(kind) for kind in types))


def is_fixed(kind: Any) -> bool:
    """Return whether all values have the same number of bytes."""
    try:
        return bool(kind.bit_width)
    except ValueError:
        return False


def _bytes(kind: Any) -> int:
    """Return the bytes of a value; strings count as an average word."""
    return max(1, int(kind.bit_width) // 8) if is_fixed(kind) else 24
