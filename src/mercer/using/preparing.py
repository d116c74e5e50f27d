"""One model by its name, made ready for the columns of a table as they come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from mercer._errors import DataError
from mercer._suggest import did_you_mean, listed
from mercer.data import Kind, Schema, Table
from mercer.data.formats import Format
from mercer.data.select import select
from mercer.data.sources.base import Chunk, Source
from mercer.models.tables.source import infer_schema, read_chunk
from mercer.using.shown import AMOUNTS, Shown

CLASSIFIERS = (
    "NaiveBayes",
    "GaussianNB",
    "BernoulliNB",
    "MultinomialNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianDiscriminant",
    "LinearDiscriminantAnalysis",
    "QuadraticDiscriminantAnalysis",
    "KernelBayes",
    "LogisticRegression",
    "LogisticRegressionCV",
    "OrdinalRegression",
    "LinearThreshold",
    "Perceptron",
    "SVC",
    "LinearSVC",
    "NadarayaWatsonClassifier",
)
REGRESSORS = (
    "GLM",
    "LinearRegression",
    "Ridge",
    "RidgeCV",
    "Lasso",
    "LassoCV",
    "ElasticNet",
    "ElasticNetCV",
    "PoissonRegressor",
    "GammaRegressor",
    "LogNormalRegressor",
    "TweedieRegressor",
    "KernelRidge",
    "SVR",
    "LinearSVR",
    "NadarayaWatson",
    "LocalLinear",
)
MODELS = (*CLASSIFIERS, *REGRESSORS)

#: models of columns of any kind, one by one
OF_COLUMNS = frozenset({"NaiveBayes"})
#: models of numbers as they are, in their own units
OF_NUMBERS = frozenset(
    {"GaussianNB", "GaussianDiscriminant", "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis", "KernelBayes"}
)
#: those that have a place for gaps: they are shown the numbers of a table of anything, so that they merge and forget
OF_NUMBERS_WITH_GAPS = frozenset({"GaussianNB", "GaussianDiscriminant"})
#: models of counts of words, or of columns that are counts
OF_COUNTS = frozenset({"MultinomialNB", "ComplementNB", "BernoulliNB", "CategoricalNB"})
#: those of them that take numbers as they are: in standard units some would be below 0
OF_AMOUNTS = OF_COUNTS - {"BernoulliNB"}
#: models whose covariances features that add up to 1, one for each level, make singular
OF_COVARIANCES = frozenset({"QuadraticDiscriminantAnalysis"})
#: models of rows in a space: of numbers in standard units, side by side
OF_POINTS = frozenset(
    {"Kernelized", "SVC", "SVR", "KernelRidge", "NadarayaWatson", "NadarayaWatsonClassifier", "LocalLinear"}
)

#: kinds that are read as numbers, codes and all
NUMERIC = AMOUNTS | {Kind.CODE, Kind.BINARY}


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
    return _prepared(type(model).__name__, model, shown, shown.table.native if shown.formats else frame)


def prepared_source(name: str, source: Source, *, settings: Mapping[str, Any] | None = None) -> Prepared:
    """The same for a source, whose columns are judged in a pass over all rows."""
    model = model_named(name, settings or {})
    schema = infer_schema(source)
    shown = Shown(Table.of(source.head().X, dates=True).with_formats(schema.formats), schema)
    rows = source.map(partial(read_chunk, schema.formats)) if schema.formats else source
    return _prepared(name, model, shown, rows)


def _prepared(name: str, model: Any, shown: Shown, rows: Any) -> Prepared:
    """The rows are a frame or a source."""
    if name in OF_COLUMNS:
        return _of_columns(model, shown, rows)
    plain = [column.name for column in shown.schema if column.kind not in (Kind.IDENTIFIER, Kind.CONSTANT)]
    amounts = [each for each in plain if shown.schema[each].kind in NUMERIC]
    raw = amounts and not shown.formats  # what strings spell is kept by `TableFeatures`
    if raw and (name in OF_NUMBERS_WITH_GAPS or (name in OF_NUMBERS | OF_COUNTS and amounts == plain)):
        return Prepared(model, _only(rows, amounts), shown.schema, _left_out(shown, amounts))
    if name in OF_COUNTS and shown.texts:
        others = [each for each in plain if each not in shown.texts]
        return Prepared(shown.features(model, text_only=True, text="counts"), rows, shown.schema, _not_shown(others))
    if name in OF_AMOUNTS:
        return Prepared(shown.features(model, scale=False), rows, shown.schema)
    output = "array" if name in OF_POINTS | OF_NUMBERS | OF_COUNTS else "auto"
    features = shown.features(model, output=output)
    notes = _without_dependent(features[0], shown) if name in OF_COVARIANCES else ()
    return Prepared(features, rows, shown.schema, notes)


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
    import mercer

    if name not in MODELS:
        raise DataError(f"There is no model {name!r}. {did_you_mean(name, MODELS)}")
    model = getattr(mercer, name)()
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
