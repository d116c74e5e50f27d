"""What a client is told about rows and answers: /schema, and the JSON schemas of OpenAPI."""

from __future__ import annotations

from typing import Any

from mercer.files import ModelCard
from mercer.serving.answers import plain
from mercer.serving.inputs import Input, Inputs

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
