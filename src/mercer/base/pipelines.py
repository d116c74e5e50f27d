"""Unwrap pipelines and models built around other models; find the columns that a fitted model reads.

Exports, the server, the command line, reports and wrappers of models use this module.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer.base import resolve, traits_of
from mercer.base.validation import column_names
from mercer.data.kinds import Kind
from mercer.data.schema import Column, Schema

#: attributes in which a model that is built around another stores the fitted one
INNER_MODEL_ATTRIBUTES = ("model_", "best_estimator_", "regressor_", "estimator_", "model")


def steps_of(pipeline: Any) -> list[Any]:
    """Return the steps of a pipeline that do something, in their order."""
    return [step for _, step in pipeline.steps if step is not None and step != "passthrough"]


def inner_model(model: Any) -> Any:
    """Return the model that another is built around; None if it is built around none."""
    return next(
        (getattr(model, name) for name in INNER_MODEL_ATTRIBUTES if hasattr(getattr(model, name, None), "predict")),
        None,
    )


def innermost_part(model: Any, place: Literal[0, -1]) -> Any:
    """Return the innermost part of a model that reads rows (0) or that predicts (-1)."""
    if hasattr(model, "steps"):
        return innermost_part(steps_of(model)[place], place)
    inner = inner_model(model)
    # the model whose objective `kernelize` takes is never fitted itself
    return innermost_part(inner, place) if inner is not None and is_fitted(inner) else model


def is_fitted(model: Any) -> bool:
    """Return whether a model is fitted."""
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return False
    return True


def nested_models(model: Any) -> Iterator[Any]:
    """Yield a fitted model and those it is built around, from outside in; of a pipeline, the step that predicts."""
    while model is not None:
        yield model
        model = steps_of(model)[-1] if hasattr(model, "steps") else inner_model(model)


def last_step(model: Any) -> Any:
    """Return the last step of a pipeline, or of the pipeline that is its last step; any other model as it is."""
    return last_step(model.steps[-1][1]) if isinstance(model, Pipeline) else model


def predicting_step(model: Any) -> Any:
    """Return the estimator that predicts: the last step of a pipeline, or the best estimator of a search."""
    last = last_step(model)
    return predicting_step(last.best_estimator_) if hasattr(last, "best_estimator_") else last


def transform_to_last_step(model: Any, X: Any) -> tuple[Any, Any]:
    """Return the predictor of a fitted pipeline and the rows that the pipeline passes to it; others as they are."""
    while type(model) is Pipeline and hasattr(model.steps[-1][1], "predict"):
        if len(model) > 1:
            X = model[:-1].transform(X)
        model = model[-1]
    return model, X


def split_steps(model: Any) -> tuple[list[tuple[str, Any]], Any]:
    """Return the named steps that prepare the rows, also those of nested pipelines, and the last step."""
    steps: list[tuple[str, Any]] = []
    while getattr(model, "steps", None):
        steps += model.steps[:-1]
        model = model.steps[-1][1]
    return steps, model


def strip_preparation(model: Any) -> Any:
    """Return a model, or the search for one, without the steps that prepare its rows or its target."""
    if hasattr(model, "steps"):
        return strip_preparation(model.steps[-1][1])
    regressor = getattr(model, "regressor", None)
    return model if regressor is None else strip_preparation(regressor)


def feature_names(model: Any) -> list[str] | None:
    """Return the names of the features that a pipeline passes to its last step; None where these are unknown."""
    if not isinstance(model, Pipeline):
        return None
    try:
        return [str(name) for name in model[:-1].get_feature_names_out()]
    except (AttributeError, ValueError):
        return None


def names_read(reader: Any) -> list[str]:
    """Return the names of the columns that a part reads: x0, x1, … where the fit had columns without names."""
    used = getattr(reader, "_used", None)
    return column_names(reader) if used is None else list(used)


def columns_of_fit(reader: Any) -> list[Column]:
    """Return all columns of the fit, in its order; `levels` are those of a category, None for numbers."""
    known = {column.name: column for column in schema_of(reader) or ()}
    levels = _levels(reader)
    read = set(names_read(reader))
    return [
        _column(name, known.get(name), levels.get(name)) if name in read else known[name]
        for name in dict.fromkeys((*known, *column_names(reader)))
    ]


def schema_of(reader: Any) -> Schema | None:
    """Return the schema that the part has found (`TableFeatures`) or was given (`NaiveBayes`); None without one."""
    schema = getattr(reader, "schema_", None) or getattr(reader, "families", None)
    return schema if isinstance(schema, Schema) else None


def _levels(reader: Any) -> dict[str, tuple[Any, ...]]:
    """Return the values of the columns that are categories to a fitted model or transformer."""
    declared = traits_of(reader).levels
    return {} if declared is None else resolve(declared)(reader)


def _column(name: str, known: Column | None, levels: tuple[Any, ...] | None) -> Column:
    if known is not None and levels is not None and set(levels) - set(known.levels or levels):
        # levels learnt after the fit, by `merge` or `partial_fit`
        return replace(known, levels=levels, kind=Kind.CODE if known.kind is Kind.BINARY else known.kind)
    if known is not None:
        return replace(known, levels=None if levels is None else known.levels or levels)
    if levels is None:
        return Column(name, Kind.NUMBER)
    types = {type(level) for level in levels}
    stored = Kind.CATEGORY if str in types else Kind.BOOLEAN if types == {bool} else Kind.NUMBER
    return Column(name, Kind.CATEGORY, levels, stored=stored)
