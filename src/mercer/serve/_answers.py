"""Why a model says what it says of rows, in JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from mercer.base.pipelines import steps_of
from mercer.explanation import explain_rows
from mercer.explanation.explanation import Explanation

# What a model says of rows, in JSON: never NaN, which is null.


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


#: rows that are explained at a time, contributions that are named, and rows that a model predicts for an explanation
MOST_ROWS, MOST_NAMED, MOST_EVALUATIONS = 100, 12, 20_000


def explain(model: Any, X: Any) -> list[dict[str, Any]]:
    """Return one object for each row: what each column adds, the largest contributions first.

    Of several classes, the predicted one is explained.
    """
    found = explain_rows(model, X, max_evaluations=MOST_EVALUATIONS)
    predicted = [str(label) for label in np.asarray(model.predict(X)).tolist()]
    return [_row(found, row, _output(found, label)) for row, label in enumerate(predicted)]


def _output(found: Explanation, label: str) -> int:
    return found.outputs.index(label) if len(found.outputs) > 1 and label in found.outputs else 0


def _row(found: Explanation, row: int, output: int) -> dict[str, Any]:
    adds = found.contributions[row, :, output]
    errors = None if found.error is None else found.error[row, :, output]
    order = np.argsort(-np.abs(adds), kind="stable")
    order = order[adds[order] != 0]
    named = order[:MOST_NAMED]
    classes = found.what not in ("prediction", "log of the prediction", "linear predictor")
    return {
        "of": _of_class(found.what, found.outputs[output]) if classes else found.what,
        "base": plain(float(found.base[output])),
        "contributions": [
            {
                "name": found.names[j],
                "adds": plain(float(adds[j])),
                "error": None if errors is None else plain(float(errors[j])),
            }
            for j in named.tolist()
        ],
        "others": plain(float(adds[order[MOST_NAMED:]].sum())),
        "n_others": int(max(len(order) - MOST_NAMED, 0)),
        "total": plain(float(found.totals[row, output])),
        "method": found.method,
        "details": found.details,
    }


def _of_class(what: str, label: str) -> str:
    """Return what contributions add up to: "log odds of a against the average class"."""
    name, against, rest = what.partition(" against ")
    return f"{name} of {label}{against}{rest}"
