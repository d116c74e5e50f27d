"""Make models from their names, and prepare them for the columns of a table.

A name is a class of mercer, a class of scikit-learn, or a model written as in Python.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from mercer._errors import DataError
from mercer._suggest import did_you_mean, listed
from mercer.application.training_table import TrainingTable
from mercer.base import Traits, estimator_named, model_names, traits_of
from mercer.data import Kind, Schema, Table
from mercer.data.formats import Format
from mercer.data.select import select
from mercer.data.sources.base import Chunk, Source
from mercer.preprocessing.table_source import infer_schema, read_chunk

#: traits `columns` of models of numeric columns
NUMBER_COLUMNS = ("numbers",)
#: traits `columns` of models of counts
COUNT_COLUMNS = ("counts", "zero-one")
#: penalties that may be parameters of a model that is written as in Python, as kernels may
WRITABLE_PENALTIES = ("L1", "L2")


@dataclass(frozen=True, eq=False)
class PreparedModel:
    """A model, the rows it is given (a frame or a source), the schema of their columns, and notes for the user."""

    model: Any
    frame: Any
    schema: Schema
    notes: tuple[str, ...] = ()
    #: name of the task for which the model was fitted; "" before the fit
    task: str = ""


def prepare_named(
    name: str, frame: Any, *, settings: Mapping[str, Any] | None = None, formats: Mapping[str, Format] | None = None
) -> PreparedModel:
    """Return the model of that name for a frame, after a step that makes features if the model requires them.

    `formats` are the formats in which numbers and dates of the frame were written before they were converted.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame = pa.table({"age": [31.5, 40.0, 28.0], "city": ["Ulm", "Bonn", None]})
    >>> prepare_named("LogisticRegression", frame, settings={"C": 10}).model[-1]
    LogisticRegression(C=10)
    """
    return prepare_model(make_model(name, settings or {}), frame, formats=formats)


def prepare_model(model: Any, frame: Any, *, formats: Mapping[str, Format] | None = None) -> PreparedModel:
    """Return an unfitted model of mercer with the steps that prepare the columns of a frame for it."""
    training = TrainingTable.of(Table.of(frame, dates=True).with_formats(formats or {}))
    return _prepare(model, training, training.table.native if training.formats else frame)


def prepare_for_source(name: str, source: Source, *, settings: Mapping[str, Any] | None = None) -> PreparedModel:
    """Return the model of that name for a source, whose schema is inferred in one pass over all rows."""
    model = make_model(name, settings or {})
    schema = infer_schema(source)
    training = TrainingTable(Table.of(source.head().X, dates=True).with_formats(schema.formats), schema)
    rows = source.map(partial(read_chunk, schema.formats)) if schema.formats else source
    return _prepare(model, training, rows)


def _prepare(model: Any, training: TrainingTable, rows: Any) -> PreparedModel:
    """Choose the columns and features for a model; `rows` are a frame or a source."""
    declared = traits_of(model)
    if declared.columns == "any":
        return _prepare_for_columns(model, training, rows)
    varying = [column.name for column in training.schema if column.kind not in (Kind.IDENTIFIER, Kind.CONSTANT)]
    numeric = training.numeric
    as_stored = numeric and not training.formats  # `TableFeatures` stores the formats of converted strings
    if as_stored and _takes_numbers(declared, all_numeric=numeric == varying):
        return PreparedModel(model, _select(rows, numeric), training.schema, _note_left_out(training, numeric))
    if declared.columns in COUNT_COLUMNS and training.texts:
        words = training.with_features(model, text_only=True, text="counts")
        return PreparedModel(
            words, rows, training.schema, _note_names([each for each in varying if each not in training.texts])
        )
    if declared.columns == "counts":  # standardized counts would be negative
        return PreparedModel(training.with_features(model, scale=False), rows, training.schema)
    output = "auto" if declared.columns == "features" else "array"
    pipeline = training.with_features(model, output=output)
    notes = _drop_dependent(pipeline[0], training) if declared.needs_full_rank else ()
    return PreparedModel(pipeline, rows, training.schema, notes)


def _takes_numbers(declared: Traits, *, all_numeric: bool) -> bool:
    """Return whether a model is fitted to the numeric columns without a step that makes features.

    A model that integrates missing values out always is, so that it merges and forgets; other models of numbers or
    counts are if all columns are numeric.
    """
    if declared.columns == "numbers" and declared.integrates_missing:
        return True
    return all_numeric and declared.columns in (*NUMBER_COLUMNS, *COUNT_COLUMNS)


def _drop_dependent(features: Any, training: TrainingTable) -> tuple[str, ...]:
    """Configure features without linear dependencies, and return notes on the columns left out.

    A category of two levels becomes one number, and codes stay numbers. Categories of more levels are left out, unless
    no other column remains.
    """
    kinds = dict.fromkeys(training.names_of_kinds(Kind.CODE), Kind.NUMBER)
    categories = training.names_of_kinds(Kind.CATEGORY)
    kinds |= {name: Kind.BINARY for name in categories if len(training.schema[name].levels or ()) == 2}
    dependent = [name for name in categories if name not in kinds]
    others = {*training.schema.names} - {*dependent, *training.names_of_kinds(Kind.IDENTIFIER, Kind.CONSTANT)}
    left_out = dependent if others else []
    kinds = {name: kind for name, kind in {**features.kinds, **kinds}.items() if name not in left_out}
    features.set_params(kinds=kinds, exclude=[*features.exclude, *left_out])
    return _note_names(left_out)


def _select(rows: Any, names: list[str]) -> Any:
    """Select columns of a frame or of a source."""
    return rows.map(partial(_select_of_chunk, names)) if isinstance(rows, Source) else select(rows, names)


def _select_of_chunk(names: list[str], chunk: Chunk) -> Chunk:
    return chunk._replace(X=select(chunk.X, names))


def make_model(name: str, settings: Mapping[str, Any]) -> Any:
    """Return the model with this public name and these parameters, which must be parameters of the model."""
    if name not in (known := model_names()):
        raise DataError(f"There is no model {name!r}. {did_you_mean(name, known)}")
    model = estimator_named(name)()
    set_parameters(model, settings)
    return model


def set_parameters(model: Any, settings: Mapping[str, Any]) -> None:
    """Set parameters of a model; raise `DataError` if it lacks one, or does not allow its value."""
    known = list(model.get_params(deep=False))
    if unknown := [each for each in settings if each not in known]:
        raise DataError(f"{type(model).__name__} has no parameter {unknown[0]!r}. {did_you_mean(unknown[0], known)}")
    try:
        model.set_params(**settings)
        if hasattr(model, "_parameter_constraints"):
            model._validate_params()
    except ValueError as error:
        raise DataError(" ".join(str(error).split())) from None


def _prepare_for_columns(model: Any, training: TrainingTable, rows: Any) -> PreparedModel:
    """Prepare a model that has a family for each column."""
    if not training.described:
        raise DataError(f"{type(model).__name__} has no family for text and dates, and there are no other columns.")
    names = training.described
    if "families" in model.get_params() and model.families == "auto":
        model.set_params(families=Schema(tuple(training.schema[name] for name in names)))
    return PreparedModel(model, _select(rows, names), training.schema, _note_left_out(training, names))


def _note_left_out(training: TrainingTable, kept: list[str]) -> tuple[str, ...]:
    return _note_names([column.name for column in training.schema if column.name not in kept])


def _note_names(names: list[str]) -> tuple[str, ...]:
    return (f"The model does not use {listed(names)}.",) if names else ()


def parse_model(text: str) -> Any | None:
    """Return the model that is written as in Python, such as `SVC(C=10)`; None if the text is not a call.

    Only models, kernels and penalties of mercer are called, with numbers, strings, booleans and None as arguments;
    nothing else is evaluated.

    Examples
    --------
    >>> parse_model("SVC(C=10)"), parse_model("LogisticRegression of products")
    (SVC(C=10), None)
    """
    try:
        call = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return None
    return _evaluate_call(call, text) if isinstance(call, ast.Call) else None


def _evaluate_call(call: ast.Call, text: str) -> Any:
    callables = _allowed_callables()
    if not isinstance(call.func, ast.Name) or call.func.id not in callables:
        name = ast.unparse(call.func)
        raise DataError(f"There is no model {name!r}, as in {text!r}. {did_you_mean(name, sorted(callables))}")
    values = [_evaluate(each, text) for each in call.args]
    named = {each.arg: _evaluate(each.value, text) for each in call.keywords if each.arg is not None}
    name = call.func.id
    try:
        if name in model_names() and not values:
            return make_model(name, named)
        return callables[name](*values, **named)
    except (TypeError, ValueError) as error:
        raise DataError(f"{text!r} is not a model: {' '.join(str(error).split())}") from None


def _evaluate(node: ast.expr, text: str) -> Any:
    if isinstance(node, ast.Call):
        return _evaluate_call(node, text)
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise DataError(
            f"{text!r} has {ast.unparse(node)!r}, which is neither a number, a string, a model, a kernel nor a penalty."
        ) from None


def _allowed_callables() -> dict[str, Callable[..., Any]]:
    """Return the kernels, penalties and models that may be called, by name."""
    from mercer import families, kernels
    from mercer.kernel_ridge import kernelize

    of_kernels = {name: getattr(kernels, name) for name in kernels.__all__ if isinstance(getattr(kernels, name), type)}
    penalties = {name: getattr(families, name) for name in WRITABLE_PENALTIES}
    return {
        **of_kernels,
        **penalties,
        **{name: estimator_named(name) for name in model_names()},
        "kernelize": kernelize,
    }


def find_sklearn(name: str) -> Any | None:
    """Return a classifier or regressor of scikit-learn by its class or its full path; None if it does not exist.

    Examples
    --------
    >>> find_sklearn("sklearn.ensemble.RandomForestRegressor")
    RandomForestRegressor()
    """
    from sklearn.utils import all_estimators

    *path, last = name.split(".")
    if path and path[0] != "sklearn":
        return None
    for class_name, kind in all_estimators(type_filter=["classifier", "regressor"]):
        if class_name.casefold() == last.casefold() and kind.__module__.startswith(".".join(path) or "sklearn"):
            try:
                return kind()
            except TypeError:  # another model is a required parameter
                raise DataError(
                    f"{class_name} needs parameters, and cannot be made by its name alone; give it in Python."
                ) from None
    return None
