"""Contributions of columns to one row, as a table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.report import Field, Grid
from mercer.report.wording import plainly
from mercer.using.explaining.explanation import EXACT, Explanation
from mercer.using.explaining.outputs import PREDICTION
from mercer.using.explaining.values import row_texts

#: classes that have a column each; of more, those that may be meant
MOST_CLASSES = 6


def evidence_grid(model: Any, row: Any, explanation: Explanation, most: int = 20) -> Grid:
    """Return the base, what each column adds to it, strongest first, the sum of weaker ones, and the total.

    Sampled contributions to one output have their standard errors beside them.
    """
    explanation, notes = _of_few_classes(explanation)
    strength = np.abs(explanation.contributions[0]).max(axis=1)
    order = [j for j in np.argsort(-strength, kind="stable").tolist() if strength[j] > 0]
    kept, left = order[:most], order[most:]
    values = row_texts(row, explanation.names)
    beside = explanation.error is not None and len(explanation.outputs) == 1
    rows: list[tuple[Any, ...]] = [("(before any column)", "", *explanation.base.tolist(), "")]
    rows += [
        (
            explanation.names[j],
            values[explanation.names[j]],
            *explanation.contributions[0, j].tolist(),
            _error(explanation, [j]),
        )
        for j in kept
    ]
    if left:
        others = f"({len(left)} other{'s' if len(left) > 1 else ''})"
        rows.append((others, "", *explanation.contributions[0, left].sum(axis=0).tolist(), _error(explanation, left)))
    rows.append(("(all together)", "", *explanation.totals[0].tolist(), ""))
    form = "+.4g" if explanation.what == PREDICTION else "+.4f"
    fields = (Field("column"), Field("value"), *(Field(name, form) for name in explanation.outputs), Field("±"))
    if not beside:
        rows, fields = [line[:-1] for line in rows], fields[:-1]
    return Grid(
        f"What adds to the {explanation.what}",
        fields,
        tuple(rows),
        (*notes, *_method(explanation, beside), _conclusion(model, row)),
    )


def _error(explanation: Explanation, columns: list[int]) -> str:
    """The standard error of a contribution, or of a sum of them."""
    if explanation.error is None:
        return ""
    return plainly(float(np.sqrt(np.square(explanation.error[0, columns, 0]).sum())), ".2g")


def _method(explanation: Explanation, beside: bool) -> tuple[str, ...]:
    """How contributions that are not terms of the model were computed."""
    if explanation.method == EXACT:
        return ()
    errors = ""
    if beside:
        errors = " Standard errors are beside them (±)."
    elif explanation.error is not None:
        errors = f" Standard errors are at most {plainly(float(explanation.error[0].max()), '.2g')}."
    return (f"{explanation.details}{errors}",)


def _of_few_classes(explanation: Explanation) -> tuple[Explanation, tuple[str, ...]]:
    """Of many classes those that the row most speaks for, in their order, and a sentence that says so."""
    if (classes := len(explanation.outputs)) <= MOST_CLASSES:
        return explanation, ()
    kept = np.sort(np.argsort(-explanation.totals[0], kind="stable")[:MOST_CLASSES])
    few = replace(
        explanation,
        outputs=tuple(explanation.outputs[k] for k in kept.tolist()),
        base=explanation.base[kept],
        contributions=explanation.contributions[..., kept],
        error=None if explanation.error is None else explanation.error[..., kept],
    )
    return few, (f"Shown are the {MOST_CLASSES} classes of {classes} that are highest all together.",)


def _conclusion(model: Any, row: Any) -> str:
    predicted = np.asarray(model.predict(row)).tolist()[0]
    if not hasattr(model, "predict_proba"):
        return f"Prediction: {plainly(predicted, '.6g') if isinstance(predicted, float) else predicted}."
    proba = np.asarray(model.predict_proba(row))[0]
    kept = np.sort(np.argsort(-proba, kind="stable")[:MOST_CLASSES])
    shares = [f"{label}: {share:.4f}" for label, share in zip(model.classes_[kept].tolist(), proba[kept], strict=True)]
    others = [] if len(kept) == len(proba) else [f"{len(proba) - len(kept)} others: {1 - proba[kept].sum():.4f}"]
    return f"Prediction: {predicted} ({', '.join(shares + others)})."
