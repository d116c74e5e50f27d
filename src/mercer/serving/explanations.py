"""Why a model says what it says of rows, in JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.serving.answers import plain
from mercer.using.explaining.explanation import Explanation, explain_rows

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
