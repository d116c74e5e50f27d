"""Which part of a model reads the table, which columns it reads, and what these hold.

Asked by all who give a fitted model rows of their own making: exports, servers, and readers of files.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from mercer.base import resolve, traits_of
from mercer.base.validation import column_names
from mercer.data.kinds import Kind
from mercer.data.schema import Column, Schema

#: where models that are built around another keep it, once it is fitted
INSIDE = ("model_", "best_estimator_", "regressor_", "estimator_", "model")


def steps_of(pipeline: Any) -> list[Any]:
    """What is done to a row, one after the other."""
    return [step for _, step in pipeline.steps if step is not None and step != "passthrough"]


def inside(model: Any) -> Any:
    """Return the model that another is built around; None if it is built around none."""
    return next((getattr(model, name) for name in INSIDE if hasattr(getattr(model, name, None), "predict")), None)


def part_of(model: Any, place: Literal[0, -1]) -> Any:
    """The part of a model that reads rows (0) or that predicts (-1), whatever is built around it."""
    if hasattr(model, "steps"):
        return part_of(steps_of(model)[place], place)
    within = inside(model)
    # the model whose objective `kernelize` takes is never fitted itself
    return part_of(within, place) if within is not None and _is_fitted(within) else model


def _is_fitted(model: Any) -> bool:
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def names_read(reader: Any) -> list[str]:
    """Names of the columns that such a part reads: x0, x1, … where they had none in the fit."""
    used = getattr(reader, "_used", None)
    return column_names(reader) if used is None else list(used)


def columns_of_fit(reader: Any) -> list[Column]:
    """All columns of the fit, in its order; `levels` are those that are told apart, None where a column is numbers."""
    known = {column.name: column for column in schema_of(reader) or ()}
    levels = _levels(reader)
    read = set(names_read(reader))
    return [
        _column(name, known.get(name), levels.get(name)) if name in read else known[name]
        for name in dict.fromkeys((*known, *column_names(reader)))
    ]


def schema_of(reader: Any) -> Schema | None:
    """What the part knew of the table, by its own look (`TableFeatures`) or because it was told (`NaiveBayes`)."""
    schema = getattr(reader, "schema_", None) or getattr(reader, "families", None)
    return schema if isinstance(schema, Schema) else None


def _levels(reader: Any) -> dict[str, tuple[Any, ...]]:
    """Return the values of the columns that are categories to a fitted model or transformer."""
    declared = traits_of(reader).levels
    return {} if declared is None else resolve(declared)(reader)


def _column(name: str, known: Column | None, levels: tuple[Any, ...] | None) -> Column:
    if known is not None and levels is not None and set(levels) - set(known.levels or levels):
        # learnt since: by `merge` or `partial_fit`
        return replace(known, levels=levels, kind=Kind.CODE if known.kind is Kind.BINARY else known.kind)
    if known is not None:
        return replace(known, levels=None if levels is None else known.levels or levels)
    if levels is None:
        return Column(name, Kind.NUMBER)
    types = {type(level) for level in levels}
    stored = Kind.CATEGORY if str in types else Kind.BOOLEAN if types == {bool} else Kind.NUMBER
    return Column(name, Kind.CATEGORY, levels, stored=stored)
