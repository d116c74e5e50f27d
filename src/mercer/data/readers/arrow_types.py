"""Types of columns that are common to all files and blocks of a source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mercer._errors import DataError
from mercer.data.kinds import Kind

#: units of time, from coarse to fine
TIME_UNITS = ("s", "ms", "us", "ns")
#: assumed bytes of a value without a fixed width: an average word
WORD_BYTES = 24


def plain_type(kind: Any) -> Any:
    """Return the type in which chunks hold values of a pyarrow type.

    Dictionaries differ between blocks, so strings are plain strings; decimals, which no model computes with, are
    floats, and so are columns that only contain missing values.
    """
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
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


def common_type(one: Any, other: Any) -> Any:
    """Return a type that holds the values of both; None if there is none.

    The result does not depend on order and grouping, so a type does not depend on the blocks in which it was found.
    """
    import pyarrow as pa

    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    one, other = plain_type(one), plain_type(other)
    if one == other:
        return one
    both = (one, other)
    if all(map(pa.types.is_integer, both)):
        return pa.float64() if pa.uint64() in both else pa.int64()
    if all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in both):
        return pa.float64()
    if all(pa.types.is_timestamp(kind) or pa.types.is_date(kind) for kind in both):
        return _common_time(*both)
    return None


def _common_time(one: Any, other: Any) -> Any:
    """Return the finer of two types of dates or times; None if their time zones differ."""
    import pyarrow as pa

    zones = {getattr(kind, "tz", None) for kind in (one, other)}
    unit = max((getattr(kind, "unit", "s") for kind in (one, other)), key=TIME_UNITS.index)
    return pa.timestamp(unit, zones.pop()) if len(zones) == 1 else None


def types_of(schema: Any, place: str) -> dict[str, Any]:
    """Return the pyarrow types of a schema by name; raise an error if a name occurs twice."""
    names = [str(name) for name in schema.names]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{place} has several columns {twice!r}. Rename them, so that every name occurs once.")
    return dict(zip(names, schema.types, strict=True))


def merge_types(
    types_by_place: Iterable[tuple[str, Mapping[str, Any]]],
    names: Sequence[str],
    declared: Mapping[str, Any],
    *,
    otherwise: Any = None,
) -> dict[str, Any]:
    """Return one type for each of these columns, from the types in all places.

    A column may hold whole numbers in one place and fractions in another, but not text, unless its type is `declared`
    or there is a type as which everything can be read, `otherwise`.
    """
    import pyarrow as pa

    types = dict.fromkeys(names, pa.null()) | dict(declared)
    first: dict[str, str] = {}
    for place, own in types_by_place:
        for name in names:
            if name in declared or name not in own:
                continue
            both = common_type(types[name], own[name]) or otherwise
            if both is None:
                raise DataError(
                    f"Column {name!r} is of the type {own[name]} in {place}, but {types[name]} in {first[name]}. Write "
                    "it the same way everywhere, leave it out with drop=, or say what it is with schema= (on the "
                    f"command line with --kind {name}=category)."
                )
            if not pa.types.is_null(own[name]):
                first.setdefault(name, place)
            types[name] = both
    return types


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


def row_bytes(types: Iterable[Any]) -> int:
    """Return the approximate number of bytes of a row."""
    return max(1, sum(_value_bytes(kind) for kind in types))


def has_fixed_width(kind: Any) -> bool:
    """Return whether all values have the same number of bytes."""
    try:
        return bool(kind.bit_width)
    except ValueError:
        return False


def _value_bytes(kind: Any) -> int:
    return max(1, int(kind.bit_width) // 8) if has_fixed_width(kind) else WORD_BYTES
