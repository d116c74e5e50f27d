"""Which columns a model reads, and of which type each value has to be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mercer._errors import ColumnMismatchError, DataError
from mercer._suggest import did_you_mean, listed
from mercer.base.pipelines import columns_of_fit, inside, names_read, part_of, steps_of
from mercer.base.validation import column_names
from mercer.data.kinds import Kind
from mercer.data.schema import Column, Schema
from mercer.files import ModelCard
from mercer.serve._answers import plain

ValueType = Literal["number", "string", "boolean", "any"]

#: kinds of which a model reads nothing
IDLE = frozenset({Kind.IDENTIFIER, Kind.CONSTANT})


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

    each: tuple[Input, ...]
    #: whether the model was fitted to columns with names
    named: bool

    @classmethod
    def of(cls, model: Any, schema: Schema | None = None) -> Inputs:
        """Those of a fitted model, by its own account or by the schema of the table it was fitted to."""
        first = part_of(model, 0)
        _refuse_without_columns(model, first)
        _refuse_readers_of_files(model)
        named = hasattr(first, "feature_names_in_")
        read = names_read(first)
        columns = list(schema if schema is not None else columns_of_fit(first))
        _refuse_other_schema(read, [column.name for column in columns])
        places = {name: j for j, name in enumerate(column_names(first))}
        columns.sort(key=lambda column: places.get(column.name, len(places)))  # as in the fit
        # several transformers, each of which knows its own columns only
        mixed = schema is None and hasattr(first, "transformers_")
        return cls(
            tuple(Input(each, "any" if mixed else _type(each), required=each.name in read) for each in columns),
            named or schema is not None or hasattr(first, "schema_"),
        )

    def __iter__(self) -> Iterator[Input]:
        return iter(self.each)

    @property
    def names(self) -> list[str]:
        return [each.name for each in self.each]


def model_name(model: Any) -> str:
    """What predicts, and what is built around it: "Calibrated(NaiveBayes)"."""
    if hasattr(model, "steps"):
        return model_name(steps_of(model)[-1])
    within = inside(model)
    return type(model).__name__ + ("" if within is None else f"({model_name(within)})")


def _refuse_without_columns(model: Any, reader: Any) -> None:
    if not hasattr(model, "predict"):
        raise DataError(f"{type(model).__name__} makes no predictions that could be served. Give a model.")
    if not hasattr(reader, "n_features_in_"):
        raise DataError(
            f"{type(reader).__name__} cannot be served: it is not fitted, or reads texts and no columns of a table. "
            "Fit it; texts are served as a column of a table, behind TableFeatures."
        )


def _refuse_readers_of_files(model: Any) -> None:
    """A request must not name the files that are opened."""
    inside = model.get_params(deep=True).values() if hasattr(model, "get_params") else ()
    for each in (model, *inside):
        if getattr(each, "input", None) in ("filename", "file"):
            raise DataError(
                f"{type(each).__name__} opens the files that rows name, which nobody who may send a request should be "
                'able to ask for. Fit it with input="content".'
            )


def _refuse_other_schema(read: Sequence[str], names: Sequence[str]) -> None:
    if absent := [name for name in read if name not in set(names)]:
        raise ColumnMismatchError(
            f"The schema is that of another table: it lacks {listed(absent)}, which the model reads. "
            f"{did_you_mean(absent[0], names)}"
        )


def _type(column: Column) -> ValueType:
    stored = column.stored or column.kind
    if column.kind in IDLE:
        return "any"
    if column.levels:
        kinds = {bool: "boolean", str: "string"}
        found = {kinds.get(type(level), "number") for level in column.levels}
        return found.pop() if len(found) == 1 else "any"  # type: ignore[return-value]
    if stored is Kind.BOOLEAN:
        return "boolean"
    return "string" if stored in (Kind.CATEGORY, Kind.TEXT, Kind.DATE) or column.kind is Kind.DATE else "number"


# What a client is told about rows and answers: /schema, and the JSON schemas of OpenAPI.

ANY = ["string", "number", "boolean"]


def described(model: Any, inputs: Inputs, card: ModelCard | None = None) -> dict[str, Any]:
    """Return task, classes and columns; with a card also the question, a typical row and how good the model is."""
    classes = plain(model.classes_.tolist()) if hasattr(model, "classes_") else None
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
        "levels": plain(each.column.levels),
        "typical": None if summary is None else plain(summary.typical),
        "unit": "" if summary is None else summary.unit,
    }


def body_schema(inputs: Inputs) -> dict[str, Any]:
    """JSON Schema of the rows of a request."""
    row = {
        "type": "object",
        "properties": {each.name: _value_schema(each) for each in inputs},
        "required": [each.name for each in inputs if each.required],
        "additionalProperties": False,
    }
    rows = {"type": "array", "items": row, "minItems": 1}
    return {"oneOf": [rows, {"type": "object", "properties": {"rows": rows}, "required": ["rows"]}]}


def _value_schema(each: Input) -> dict[str, Any]:
    kinds = ANY if each.type == "any" else [each.type]
    examples = {"examples": plain(each.column.levels[:5])} if each.column.levels else {}
    return {"type": [*kinds, "null"], "description": each.column.kind.value, **examples}


def response_schema() -> dict[str, Any]:
    """JSON Schema of an answer."""
    number = {"type": ["number", "null"]}
    answer = {
        "type": "object",
        "properties": {
            "prediction": {"description": "A class or a number; null where there is none"},
            "probabilities": {"type": "object", "additionalProperties": number},
            "scores": {"description": "Of a classifier without probabilities"},
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
