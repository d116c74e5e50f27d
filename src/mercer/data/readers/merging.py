"""Common types of columns over files and blocks, with an error that names two incompatible ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mercer._errors import DataError
from mercer.data.readers.arrow_types import joined


def types_of(schema: Any, place: str) -> dict[str, Any]:
    """Return the pyarrow types by name; a name may occur only once."""
    names = [str(name) for name in schema.names]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{place} has several columns {twice!r}. Rename them, so that every name occurs once.")
    return dict(zip(names, schema.types, strict=True))


def merged(
    found: Iterable[tuple[str, Mapping[str, Any]]],
    names: Sequence[str],
    told: Mapping[str, Any],
    *,
    otherwise: Any = None,
) -> dict[str, Any]:
    """Return one type for each of these columns, from the types in all places.

    A column may hold whole numbers in one place and fractions in another, but not text, unless its type is given by
    `told` or there is a type as which everything can be read, `otherwise`.
    """
    import pyarrow as pa

    types = dict.fromkeys(names, pa.null()) | dict(told)
    first: dict[str, str] = {}
    for place, own in found:
        for name in names:
            if name in told or name not in own:
                continue
            both = joined(types[name], own[name]) or otherwise
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
