"""Labels of classes and of levels of categories, in forms that every language can write."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mercer._errors import ExportError
from mercer.export.expression import ColumnKind, Label


def plain_labels(model: Any) -> list[Label]:
    """Return the classes of a model."""
    labels = model.classes_.tolist()
    for label in labels:
        if not isinstance(label, str | bool | int | float):
            raise ExportError(
                f"{type(model).__name__} cannot be exported: its class {label!r} is of type {type(label).__name__}. "
                "Fit it with classes that are strings, numbers or booleans."
            )
    if len({isinstance(label, str) for label in labels}) > 1:
        raise ExportError(
            f"{type(model).__name__} cannot be exported: some of its classes are strings and others numbers. "
            "Fit it with classes of one type."
        )
    return labels  # type: ignore[no-any-return]


def kind_of_labels(column: str, labels: Iterable[Any]) -> ColumnKind:
    """Return the kind of a column with these values."""
    kinds = {_kind(column, label) for label in labels}
    if len(kinds) > 1 and kinds != {"number", "boolean"}:
        raise ExportError(
            f"Column {column!r} cannot be exported: some of its values are strings and others numbers. Convert them to "
            "one type and fit again."
        )
    return "number" if len(kinds) != 1 else kinds.pop()


def _kind(column: str, label: Any) -> ColumnKind:
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
