"""Models by their names: classes of mercer and scikit-learn, and models written as in Python."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from mercer._errors import DataError
from mercer._suggest import did_you_mean, listed
from mercer.application.shown import Shown
from mercer.base import Traits, estimator_named, model_names, traits_of
from mercer.data import Kind, Schema, Table
from mercer.data.formats import Format
from mercer.data.select import select
from mercer.data.sources.base import Chunk, Source
from mercer.preprocessing.table_source import infer_schema, read_chunk

# One model by its name, made ready for the columns of a table as they come.

#: models of columns that are numbers as they are, and of these that are counts
OF_NUMBERS, OF_COUNTS = ("numbers",), ("counts", "zero-one")


@dataclass(frozen=True, eq=False)
class PreparedModel:
    """A model that is not fitted, the rows that it is shown (a frame or a source), and what their columns are."""

    model: Any
    frame: Any
    schema: Schema
    notes: tuple[str, ...] = ()
    #: name of the task that the model was fitted for; "" before
    task: str = ""


def prepared(
    name: str, frame: Any, *, settings: Mapping[str, Any] | None = None, formats: Mapping[str, Format] | None = None
) -> PreparedModel:
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


def prepared_model(model: Any, frame: Any, *, formats: Mapping[str, Format] | None = None) -> PreparedModel:
    """Return a model of mercer that is not fitted, ready for a frame."""
    shown = Shown.of(Table.of(frame, dates=True).with_formats(formats or {}))
    return _prepared(model, shown, shown.table.native if shown.formats else frame)


def prepared_source(name: str, source: Source, *, settings: Mapping[str, Any] | None = None) -> PreparedModel:
    """The same for a source, whose columns are judged in a pass over all rows."""
    model = model_named(name, settings or {})
    schema = infer_schema(source)
    shown = Shown(Table.of(source.head().X, dates=True).with_formats(schema.formats), schema)
    rows = source.map(partial(read_chunk, schema.formats)) if schema.formats else source
    return _prepared(model, shown, rows)


def _prepared(model: Any, shown: Shown, rows: Any) -> PreparedModel:
    """The rows are a frame or a source."""
    declared = traits_of(model)
    if declared.columns == "any":
        return _of_columns(model, shown, rows)
    plain = [column.name for column in shown.schema if column.kind not in (Kind.IDENTIFIER, Kind.CONSTANT)]
    amounts = shown.plain
    raw = amounts and not shown.formats  # what strings spell is kept by `TableFeatures`
    if raw and _takes_numbers(declared, alone=amounts == plain):
        return PreparedModel(model, _only(rows, amounts), shown.schema, _left_out(shown, amounts))
    if declared.columns in OF_COUNTS and shown.texts:
        others = [each for each in plain if each not in shown.texts]
        return PreparedModel(
            shown.features(model, text_only=True, text="counts"), rows, shown.schema, _not_shown(others)
        )
    if declared.columns == "counts":  # in standard units some would be below 0
        return PreparedModel(shown.features(model, scale=False), rows, shown.schema)
    output = "auto" if declared.columns == "features" else "array"
    features = shown.features(model, output=output)
    notes = _without_dependent(features[0], shown) if declared.needs_full_rank else ()
    return PreparedModel(features, rows, shown.schema, notes)


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


def _of_columns(model: Any, shown: Shown, rows: Any) -> PreparedModel:
    if not shown.described:
        raise DataError(f"{type(model).__name__} has no family for text and dates, and there are no other columns.")
    schema = Schema(tuple(shown.schema[name] for name in shown.described))
    ready = (
        model if "families" not in model.get_params() or model.families != "auto" else model.set_params(families=schema)
    )
    return PreparedModel(ready, _only(rows, shown.described), shown.schema, _left_out(shown, shown.described))


def _left_out(shown: Shown, kept: list[str]) -> tuple[str, ...]:
    return _not_shown([f"{column.name}" for column in shown.schema if column.name not in kept])


def _not_shown(names: list[str]) -> tuple[str, ...]:
    return (f"The model is not shown {listed(names)}.",) if names else ()


#: penalties that may stand within a model; kernels may, too
PENALTIES = ("L1", "L2")


def parse_model(text: str) -> Any | None:
    """Return the model that is written as in Python, such as `SVC(C=10)`; None where the text is not a call.

    Only models, kernels and penalties of mercer can be written, with numbers, strings, truth values and None as
    parameters: nothing else is evaluated.

    Examples
    --------
    >>> parse_model("SVC(C=10)"), parse_model("LogisticRegression of products")
    (SVC(C=10), None)
    """
    try:
        call = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return None
    return _called(call, text) if isinstance(call, ast.Call) else None


def _called(call: ast.Call, text: str) -> Any:
    makers = _makers()
    if not isinstance(call.func, ast.Name) or call.func.id not in makers:
        name = ast.unparse(call.func)
        raise DataError(f"There is no model {name!r}, as in {text!r}. {did_you_mean(name, sorted(makers))}")
    values = [_value(each, text) for each in call.args]
    named = {each.arg: _value(each.value, text) for each in call.keywords if each.arg is not None}
    name = call.func.id
    try:
        if name in model_names() and not values:
            return model_named(name, named)
        return makers[name](*values, **named)
    except (TypeError, ValueError) as refusal:
        raise DataError(f"{text!r} is not a model: {' '.join(str(refusal).split())}") from None


def _value(node: ast.expr, text: str) -> Any:
    if isinstance(node, ast.Call):
        return _called(node, text)
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise DataError(
            f"{text!r} has {ast.unparse(node)!r}, which is neither a number, a string, a model, a kernel nor a penalty."
        ) from None


def _makers() -> dict[str, Callable[..., Any]]:
    """Return what may be called, by name."""
    from mercer import families, kernels
    from mercer.kernel_ridge import kernelize

    of_kernels = {name: getattr(kernels, name) for name in kernels.__all__ if isinstance(getattr(kernels, name), type)}
    penalties = {name: getattr(families, name) for name in PENALTIES}
    return {
        **of_kernels,
        **penalties,
        **{name: estimator_named(name) for name in model_names()},
        "kernelize": kernelize,
    }


def find_sklearn(name: str) -> Any | None:
    """Return a classifier or regressor of scikit-learn by its class, or its full path; None where there is none.

    Examples
    --------
    >>> find_sklearn("sklearn.ensemble.RandomForestRegressor")
    RandomForestRegressor()
    """
    from sklearn.utils import all_estimators

    *path, last = name.split(".")
    if path and path[0] != "sklearn":
        return None
    for found, kind in all_estimators(type_filter=["classifier", "regressor"]):
        if found.casefold() == last.casefold() and kind.__module__.startswith(".".join(path) or "sklearn"):
            try:
                return kind()
            except TypeError:  # it is built around another model
                raise DataError(
                    f"{found} needs parameters, and cannot be made by its name alone; give it in Python."
                ) from None
    return None
