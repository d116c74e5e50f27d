"""What a client is told about rows and answers: /schema, and the JSON schemas of OpenAPI."""

from __future__ import annotations

from typing import Any

from mercer.serving.answers import plain
from mercer.serving.inputs import Input, Inputs

ANY = ["string", "number", "boolean"]


def described(model: Any, inputs: Inputs) -> dict[str, Any]:
    """Task, classes and columns."""
    classes = plain(model.classes_.tolist()) if hasattr(model, "classes_") else None
    return {
        "task": "regression" if classes is None else "classification",
        "classes": classes,
        "columns": [_column(each) for each in inputs],
    }


def _column(each: Input) -> dict[str, Any]:
    return {
        "name": each.name,
        "kind": each.column.kind.value,
        "type": each.type,
        "required": each.required,
        "levels": plain(each.column.levels),
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
