"""One model by its name, made ready for the columns of a table as they come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from mercer._errors import DataError
from mercer._suggest import did_you_mean, listed
from mercer.base import Traits, estimator_named, model_names, traits_of
from mercer.data import Kind, Schema, Table
from mercer.data.formats import Format
from mercer.data.select import select
from mercer.data.sources.base import Chunk, Source
from mercer.models.tables.source import infer_schema, read_chunk
from mercer.using.shown import Shown

#: models of columns that are numbers as they are, and of these that are counts
OF_NUMBERS, OF_COUNTS = ("numbers",), ("counts", "zero-one")


@dataclass(frozen=True, eq=False)
class Prepared:
    """A model that is not fitted, the rows that it is shown (a frame or a source), and what their columns are."""

    model: Any
    frame: Any
    schema: Schema
    notes: tuple[str, ...] = ()
    #: name of the task that the model was fitted for; "" before
    task: str = ""


def prepared(
    name: str, frame: Any, *, settings: Mapping[str, Any] | None = None, formats: Mapping[str, Format] | None = None
) -> Prepared:
    """The model of that name for a frame: with features of the columns before it, where it needs them.

    `formats` say how columns of the frame were written that have been read as numbers or dates.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame = pa.table({"age": [31.5, 40.0, 28.0], "city": ["Ulm", "Bonn", None]})
    >>> prepared("LogisticRegression", frame, settings={"C": 10}).model[-1]
    LogisticRegression(C=10)
    """
    return prepared_model(model_named(name, settings or {}), frame, formats=formats)


def prepared_model(model: Any, frame: Any, *, formats: Mapping[str, Format] | None = None) -> Prepared:
    """Return a model of mercer that is not fitted, ready for a frame."""
    shown = Shown.of(Table.of(frame, dates=True).with_formats(formats or {}))
    return _prepared(model, shown, shown.table.native if shown.formats else frame)


def prepared_source(name: str, source: Source, *, settings: Mapping[str, Any] | None = None) -> Prepared:
    """The same for a source, whose columns are judged in a pass over all rows."""
    model = model_named(name, settings or {})
    schema = infer_schema(source)
    shown = Shown(Table.of(source.head().X, dates=True).with_formats(schema.formats), schema)
    rows = source.map(partial(read_chunk, schema.formats)) if schema.formats else source
    return _prepared(model, shown, rows)


def _prepared(model: Any, shown: Shown, rows: Any) -> Prepared:
    """The rows are a frame or a source."""
    declared = traits_of(model)
    if declared.columns == "any":
        return _of_columns(model, shown, rows)
    plain = [column.name for column in shown.schema if column.kind not in (Kind.IDENTIFIER, Kind.CONSTANT)]
    amounts = shown.plain
    raw = amounts and not shown.formats  # what strings spell is kept by `TableFeatures`
    if raw and _takes_numbers(declared, alone=amounts == plain):
        return Prepared(model, _only(rows, amounts), shown.schema, _left_out(shown, amounts))
    if declared.columns in OF_COUNTS and shown.texts:
        others = [each for each in plain if each not in shown.texts]
        return Prepared(shown.features(model, text_only=True, text="counts"), rows, shown.schema, _not_shown(others))
    if declared.columns == "counts":  # in standard units some would be below 0
        return Prepared(shown.features(model, scale=False), rows, shown.schema)
    output = "auto" if declared.columns == "features" else "array"
    features = shown.features(model, output=output)
    notes = _without_dependent(features[0], shown) if declared.needs_full_rank else ()
    return Prepared(features, rows, shown.schema, notes)


def _takes_numbers(declared: Traits, *, alone: bool) -> bool:
    """Whether a model takes numbers as they are: where they are `alone`, or integrating out what is missing.

    The latter are shown the numbers of a table of anything, so that they merge and forget.
    """
    if declared.columns == "numbers" and declared.integrates_missing:
        return True
    return alone and declared.columns in (*OF_NUMBERS, *OF_COUNTS)


def _without_dependent(features: Any, shown: Shown) -> tuple[str, ...]:
    """Two levels become one number, codes stay numbers; more levels are left out, where there is anything else."""
    told = dict.fromkeys(shown.named(Kind.CODE), Kind.NUMBER)
    told |= {name: Kind.BINARY for name in shown.named(Kind.CATEGORY) if len(shown.schema[name].levels or ()) == 2}
    levels = [name for name in shown.named(Kind.CATEGORY) if name not in told]
    left = {*shown.schema.names} - {*levels, *shown.named(Kind.IDENTIFIER, Kind.CONSTANT)}
    left_out = levels if left else []
    kinds = {name: kind for name, kind in {**features.kinds, **told}.items() if name not in left_out}
    features.set_params(kinds=kinds, exclude=[*features.exclude, *left_out])
    return _not_shown(left_out)


def _only(rows: Any, names: list[str]) -> Any:
    """Some columns of a frame or of a source."""
    return rows.map(partial(_selected, names)) if isinstance(rows, Source) else select(rows, names)


def _selected(names: list[str], chunk: Chunk) -> Chunk:
    return chunk._replace(X=select(chunk.X, names))


def model_named(name: str, settings: Mapping[str, Any]) -> Any:
    """A model by its public name, with parameters that it has."""
    if name not in (known := model_names()):
        raise DataError(f"There is no model {name!r}. {did_you_mean(name, known)}")
    model = estimator_named(name)()
    set_parameters(model, settings)
    return model


def set_parameters(model: Any, settings: Mapping[str, Any]) -> None:
    """Set parameters that a model has, with values that it allows."""
    known = list(model.get_params(deep=False))
    if unknown := [each for each in settings if each not in known]:
        raise DataError(f"{type(model).__name__} has no parameter {unknown[0]!r}. {did_you_mean(unknown[0], known)}")
    try:
        model.set_params(**settings)
        if hasattr(model, "_parameter_constraints"):
            model._validate_params()
    except ValueError as refusal:
        raise DataError(" ".join(str(refusal).split())) from None


def _of_columns(model: Any, shown: Shown, rows: Any) -> Prepared:
    if not shown.described:
        raise DataError(f"{type(model).__name__} has no family for text and dates, and there are no other columns.")
    schema = Schema(tuple(shown.schema[name] for name in shown.described))
    ready = (
        model if "families" not in model.get_params() or model.families != "auto" else model.set_params(families=schema)
    )
    return Prepared(ready, _only(rows, shown.described), shown.schema, _left_out(shown, shown.described))


def _left_out(shown: Shown, kept: list[str]) -> tuple[str, ...]:
    return _not_shown([f"{column.name}" for column in shown.schema if column.name not in kept])


def _not_shown(names: list[str]) -> tuple[str, ...]:
    return (f"The model is not shown {listed(names)}.",) if names else ()
