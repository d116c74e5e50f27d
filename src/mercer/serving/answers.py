"""What a model says of rows, in JSON: never NaN, which is null."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from mercer.models.reader import steps_of


def answers(model: Any, X: Any) -> list[dict[str, Any]]:
    """One object for each row: its prediction, and probabilities, set or interval where the model has them."""
    rows = [{"prediction": plain(value)} for value in np.asarray(model.predict(X)).tolist()]
    if hasattr(model, "predict_proba"):
        labels = [label_name(label) for label in model.classes_.tolist()]
        for row, shares in zip(rows, np.asarray(model.predict_proba(X)).tolist(), strict=True):
            row["probabilities"] = dict(zip(labels, map(plain, shares), strict=True))
    elif hasattr(model, "classes_") and hasattr(model, "decision_function"):
        for row, scores in zip(rows, np.asarray(model.decision_function(X)).tolist(), strict=True):
            row["scores"] = plain(scores)
    if hasattr(model, "predict_set"):
        classes = model.classes_.tolist()
        for row, inside in zip(rows, np.asarray(model.predict_set(X)).tolist(), strict=True):
            row["set"] = plain([label for label, there in zip(classes, inside, strict=True) if there])
    if hasattr(model, "predict_interval"):
        for row, ends in zip(rows, _ends(model.predict_interval(X)), strict=True):
            row["interval"] = plain(ends)
    return rows


def bytes_per_row(model: Any) -> int:
    """Return about the bytes of the answer to a row: a number and twice the name for each class, or for each pair."""
    if not hasattr(model, "classes_"):
        return 150
    names = [len(json.dumps(label_name(label))) for label in model.classes_.tolist()]
    last = steps_of(model)[-1] if hasattr(model, "steps") else model
    pairs = len(names) ** 2 // 2 if getattr(last, "decision_function_shape", None) == "ovo" else 0
    return 150 + sum(25 + 2 * length for length in names) + 25 * pairs


def _ends(interval: Any) -> list[list[float]]:
    """Lower and upper ends of every row."""
    if hasattr(interval, "lower"):
        return np.column_stack([interval.lower, interval.upper]).tolist()  # type: ignore[no-any-return]
    return np.asarray(interval).tolist()  # type: ignore[no-any-return]


def plain(value: Any) -> Any:
    """What JSON can write: null for numbers that are none, the text of what it does not know."""
    match value:
        case list() | tuple():
            return [plain(each) for each in value]
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
    return str(value)


def label_name(label: Any) -> str:
    """A class as the name of a member of an object."""
    return str(label).lower() if isinstance(label, bool) else str(label)
