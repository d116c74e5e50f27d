"""Predictions and explanations of rows as JSON, in which null stands for NaN."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from mercer.base.pipelines import steps_of
from mercer.explanation import explain_rows
from mercer.explanation.explanation import Explanation

#: rows that are explained at a time
MAX_EXPLAINED_ROWS = 100
#: contributions that are listed by name
MAX_NAMED_DRIVERS = 12
#: rows that a model predicts for an explanation
MAX_EVALUATIONS = 20_000


def predict(model: Any, X: Any) -> list[dict[str, Any]]:
    """Return one object for each row: its prediction and, if the model has them, probabilities, set or interval."""
    rows = [{"prediction": to_json_value(value)} for value in np.asarray(model.predict(X)).tolist()]
    if hasattr(model, "predict_proba"):
        labels = [label_name(label) for label in model.classes_.tolist()]
        for row, shares in zip(rows, np.asarray(model.predict_proba(X)).tolist(), strict=True):
            row["probabilities"] = dict(zip(labels, map(to_json_value, shares), strict=True))
    elif hasattr(model, "classes_") and hasattr(model, "decision_function"):
        for row, scores in zip(rows, np.asarray(model.decision_function(X)).tolist(), strict=True):
            row["scores"] = to_json_value(scores)
    if hasattr(model, "predict_set"):
        classes = model.classes_.tolist()
        for row, inside in zip(rows, np.asarray(model.predict_set(X)).tolist(), strict=True):
            row["set"] = to_json_value([label for label, is_in in zip(classes, inside, strict=True) if is_in])
    if hasattr(model, "predict_interval"):
        for row, ends in zip(rows, _ends(model.predict_interval(X)), strict=True):
            row["interval"] = to_json_value(ends)
    return rows


def bytes_per_row(model: Any) -> int:
    """Return the approximate bytes of an answer per row: a number and twice the name for each class or pair."""
    if not hasattr(model, "classes_"):
        return 150
    names = [len(json.dumps(label_name(label))) for label in model.classes_.tolist()]
    last = steps_of(model)[-1] if hasattr(model, "steps") else model
    pairs = len(names) ** 2 // 2 if getattr(last, "decision_function_shape", None) == "ovo" else 0
    return 150 + sum(25 + 2 * length for length in names) + 25 * pairs


def _ends(interval: Any) -> list[list[float]]:
    """Return the lower and upper ends of the interval of every row."""
    if hasattr(interval, "lower"):
        return np.column_stack([interval.lower, interval.upper]).tolist()  # type: ignore[no-any-return]
    return np.asarray(interval).tolist()  # type: ignore[no-any-return]


def to_json_value(value: Any) -> Any:
    """Return a value that JSON can represent: None for NaN and infinities, text for objects of other types."""
    match value:
        case list() | tuple():
            return [to_json_value(each) for each in value]
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
    return str(value)


def label_name(label: Any) -> str:
    """Return a class label as the name of a member of a JSON object."""
    return str(label).lower() if isinstance(label, bool) else str(label)


def explain(model: Any, X: Any) -> list[dict[str, Any]]:
    """Return one object for each row: the contributions of the columns, the largest first.

    The contributions to the predicted class are explained if there are several classes.
    """
    explanation = explain_rows(model, X, max_evaluations=MAX_EVALUATIONS)
    rows = []
    for row, label in enumerate(map(str, np.asarray(model.predict(X)).tolist())):
        output = (
            explanation.outputs.index(label) if len(explanation.outputs) > 1 and label in explanation.outputs else 0
        )
        rows.append(_explanation_of_row(explanation, row, output))
    return rows


def _explanation_of_row(explanation: Explanation, row: int, output: int) -> dict[str, Any]:
    adds = explanation.contributions[row, :, output]
    errors = None if explanation.error is None else explanation.error[row, :, output]
    order = np.argsort(-np.abs(adds), kind="stable")
    order = order[adds[order] != 0]
    named = order[:MAX_NAMED_DRIVERS]
    has_classes = explanation.what not in ("prediction", "log of the prediction", "linear predictor")
    return {
        "of": _name_class(explanation.what, explanation.outputs[output]) if has_classes else explanation.what,
        "base": to_json_value(float(explanation.base[output])),
        "contributions": [
            {
                "name": explanation.names[j],
                "adds": to_json_value(float(adds[j])),
                "error": None if errors is None else to_json_value(float(errors[j])),
            }
            for j in named.tolist()
        ],
        "others": to_json_value(float(adds[order[MAX_NAMED_DRIVERS:]].sum())),
        "n_others": int(max(len(order) - MAX_NAMED_DRIVERS, 0)),
        "total": to_json_value(float(explanation.totals[row, output])),
        "method": explanation.method,
        "details": explanation.details,
    }


def _name_class(what: str, label: str) -> str:
    """Insert the class into the name of the explained quantity: "log odds of a against the average class"."""
    name, against, rest = what.partition(" against ")
    return f"{name} of {label}{against}{rest}"
