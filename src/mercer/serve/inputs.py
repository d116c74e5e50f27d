"""The columns that a model reads with the types of their values, and their description as JSON for clients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from mercer._errors import ColumnMismatchError, DataError
from mercer._suggest import did_you_mean, listed
from mercer.base.pipelines import columns_of_fit, inner_model, innermost_part, names_read, steps_of
from mercer.base.validation import column_names
from mercer.data.kinds import Kind
from mercer.data.schema import Column, Schema
from mercer.files import ModelCard
from mercer.serve._answers import to_json_value

ValueType = Literal["number", "string", "boolean", "any"]

#: kinds of columns that models do not read
UNREAD_KINDS = frozenset({Kind.IDENTIFIER, Kind.CONSTANT})


@dataclass(frozen=True)
class Input:
    """One column of a row."""

    column: Column
    type: ValueType
    required: bool

    @property
    def name(self) -> str:
        return self.column.name


@dataclass(frozen=True)
class Inputs:
    """All columns that rows may have."""

    columns: tuple[Input, ...]
    #: whether the model was fitted to columns with names
    has_names: bool

    @classmethod
    def of(cls, model: Any, schema: Schema | None = None) -> Inputs:
        """Return the columns of a fitted model, or of the schema of the table that it was fitted to."""
        if not hasattr(model, "predict"):
            raise DataError(f"{type(model).__name__} has no predictions to serve. Give a classifier or regressor.")
        first = innermost_part(model, 0)
        if not hasattr(first, "n_features_in_"):
            raise DataError(
                f"{type(first).__name__} cannot be served: it is not fitted, or reads texts instead of columns of a "
                "table. Fit it; texts are served as a column of a table, with TableFeatures."
            )
        _check_reads_no_files(model)
        read = names_read(first)
        columns = list(schema if schema is not None else columns_of_fit(first))
        names = [column.name for column in columns]
        if absent := [name for name in read if name not in set(names)]:
            raise ColumnMismatchError(
                f"The schema is that of another table: it lacks {listed(absent)}, which the model reads. "
                f"{did_you_mean(absent[0], names)}"
            )
        order = {name: j for j, name in enumerate(column_names(first))}
        columns.sort(key=lambda column: order.get(column.name, len(order)))  # as in the fit
        # each of several transformers has only its own columns, so that types are not known here
        is_mixed = schema is None and hasattr(first, "transformers_")
        return cls(
            tuple(Input(each, "any" if is_mixed else _type(each), required=each.name in read) for each in columns),
            hasattr(first, "feature_names_in_") or schema is not None or hasattr(first, "schema_"),
        )

    def __iter__(self) -> Iterator[Input]:
        return iter(self.columns)

    @property
    def names(self) -> list[str]:
        return [each.name for each in self.columns]


def model_name(model: Any) -> str:
    """Return the class of a model with that of the model inside it: "Calibrated(NaiveBayes)"."""
    if hasattr(model, "steps"):
        return model_name(steps_of(model)[-1])
    within = inner_model(model)
    return type(model).__name__ + ("" if within is None else f"({model_name(within)})")


def _check_reads_no_files(model: Any) -> None:
    """Raise `DataError` if the model opens files that a request could name."""
    parts = model.get_params(deep=True).values() if hasattr(model, "get_params") else ()
    for each in (model, *parts):
        if getattr(each, "input", None) in ("filename", "file"):
            raise DataError(
                f"{type(each).__name__} opens the files that rows name, so that requests could read any file of the "
                'server. Fit it with input="content".'
            )


def _type(column: Column) -> ValueType:
    """Return the JSON type of the values of a column."""
    stored = column.stored or column.kind
    if column.kind in UNREAD_KINDS:
        return "any"
    if column.levels:
        kinds = {bool: "boolean", str: "string"}
        types = {kinds.get(type(level), "number") for level in column.levels}
        return types.pop() if len(types) == 1 else "any"  # type: ignore[return-value]
    if stored is Kind.BOOLEAN:
        return "boolean"
    return "string" if stored in (Kind.CATEGORY, Kind.TEXT, Kind.DATE) or column.kind is Kind.DATE else "number"


#: JSON types of a value of any type
ANY_TYPE = ["string", "number", "boolean"]


def model_description(model: Any, inputs: Inputs, card: ModelCard | None = None) -> dict[str, Any]:
    """Return the task, classes and columns; with a card also the question, a typical row and scores."""
    classes = to_json_value(model.classes_.tolist()) if hasattr(model, "classes_") else None
    return {
        "task": "regression" if classes is None else "classification",
        "classes": classes,
        "columns": [_column(each, card) for each in inputs],
        "card": None if card is None else _card(card),
    }


def _card(card: ModelCard) -> dict[str, Any]:
    return {
        "target": card.target,
        "question": card.question,
        "unit": "" if card.outcome is None else card.outcome.unit,
        "facts": [[name, value] for name, value in card.facts()],
        "limits": list(card.limits),
    }


def _column(each: Input, card: ModelCard | None) -> dict[str, Any]:
    summary = None if card is None else card.column(each.name)
    return {
        "name": each.name,
        "kind": each.column.kind.value,
        "type": each.type,
        "required": each.required,
        "levels": to_json_value(each.column.levels),
        "typical": None if summary is None else to_json_value(summary.typical),
        "unit": "" if summary is None else summary.unit,
    }


def body_schema(inputs: Inputs) -> dict[str, Any]:
    """Return the JSON Schema of the rows of a request."""
    row = {
        "type": "object",
        "properties": {each.name: _value_schema(each) for each in inputs},
        "required": [each.name for each in inputs if each.required],
        "additionalProperties": False,
    }
    rows = {"type": "array", "items": row, "minItems": 1}
    return {"oneOf": [rows, {"type": "object", "properties": {"rows": rows}, "required": ["rows"]}]}


def _value_schema(each: Input) -> dict[str, Any]:
    kinds = ANY_TYPE if each.type == "any" else [each.type]
    examples = {"examples": to_json_value(each.column.levels[:5])} if each.column.levels else {}
    return {"type": [*kinds, "null"], "description": each.column.kind.value, **examples}


def response_schema() -> dict[str, Any]:
    """Return the JSON Schema of an answer."""
    number = {"type": ["number", "null"]}
    answer = {
        "type": "object",
        "properties": {
            "prediction": {"description": "A class or a number; null if there is none"},
            "probabilities": {"type": "object", "additionalProperties": number},
            "scores": {"description": "Decision values of a classifier without probabilities"},
            "set": {"type": "array", "description": "Classes of a conformal set"},
            "interval": {"type": "array", "items": number, "minItems": 2, "maxItems": 2},
        },
        "required": ["prediction"],
    }
    return {
        "type": "object",
        "properties": {
            "predictions": {"type": "array", "items": answer},
            "notes": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["predictions", "notes"],
    }
