"""One type for each column of a source, whatever its files and blocks look like on their own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mercer.data.kinds import Kind

#: units of time, from coarse to fine
UNITS = ("s", "ms", "us", "ns")


def plain(kind: Any) -> Any:
    """The type in which chunks have values of a pyarrow type.

    Dictionaries differ from block to block, so that strings are strings; decimals, with which no model computes, are
    floats, and so is a column of which nothing is known but that it is missing.
    """
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return plain(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    return pa.float64() if pa.types.is_decimal(kind) or pa.types.is_null(kind) else kind


def without_views(table: Any) -> Any:
    """A table whose strings are stored one after the other: pyarrow cannot take rows of the views of polars."""
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
    """The type that has room for the values of both; None where a column cannot hold both.

    In any order and grouping the same, so that a type does not depend on the blocks that it was found in.
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
    """How values of a kind are stored."""
    import pyarrow as pa

    if kind is Kind.BOOLEAN:
        return pa.bool_()
    if kind in (Kind.CATEGORY, Kind.TEXT, Kind.IDENTIFIER):
        return pa.string()
    if kind is Kind.DATE:
        return pa.timestamp("us")
    return pa.float64() if kind in (Kind.NUMBER, Kind.CONSTANT, Kind.COUNTS) else pa.int64()


def width(types: Iterable[Any]) -> int:
    """Bytes that a row takes, about."""
    return max(1, sum(_bytes(kind) for kind in types))


def is_fixed(kind: Any) -> bool:
    """Whether every value takes as many bytes."""
    try:
        return bool(kind.bit_width)
    except ValueError:
        return False


def _bytes(kind: Any) -> int:
    """Strings and the like are as long as words are."""
    return max(1, int(kind.bit_width) // 8) if is_fixed(kind) else 24
