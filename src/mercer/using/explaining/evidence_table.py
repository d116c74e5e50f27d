"""What each column says of one row, as a table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.data import Table
from mercer.report import Field, Grid
from mercer.using.explaining.explanation import Explanation

#: classes that have a column each; of more, those that may be meant
MOST_CLASSES = 6


def evidence_grid(model: Any, row: Any, told: Explanation, most: int = 20) -> Grid:
    """The base, what each column adds to it, strongest first, and what it all adds up to."""
    told, notes = _of_few_classes(told)
    strength = np.abs(told.contributions[0]).max(axis=1)
    order = np.argsort(-strength, kind="stable")
    kept = [j for j in order.tolist() if strength[j] > 0][:most]
    left = [j for j in order.tolist() if j not in kept and strength[j] > 0]
    values = _values(row)
    rows: list[tuple[Any, ...]] = [("(before any column)", "", *told.base.tolist())]
    rows += [(told.names[j], values.get(told.names[j], ""), *told.contributions[0, j].tolist()) for j in kept]
    if left:
        rows.append(
            (
                f"({len(left)} other{'s' if len(left) > 1 else ''})",
                "",
                *told.contributions[0, left].sum(axis=0).tolist(),
            )
        )
    rows.append(("(all together)", "", *told.totals[0].tolist()))
    fields = (Field("column"), Field("value"), *(Field(name, "+.4f") for name in told.outputs))
    return Grid(f"What adds to the {told.what}", fields, tuple(rows), (*notes, _conclusion(model, row)))


def _of_few_classes(told: Explanation) -> tuple[Explanation, tuple[str, ...]]:
    """Of many classes those that the row most speaks for, in their order, and a sentence that says so."""
    if (classes := len(told.outputs)) <= MOST_CLASSES:
        return told, ()
    kept = np.sort(np.argsort(-told.totals[0], kind="stable")[:MOST_CLASSES])
    few = replace(
        told,
        outputs=tuple(told.outputs[k] for k in kept.tolist()),
        base=told.base[kept],
        contributions=told.contributions[..., kept],
    )
    return few, (f"Shown are the {MOST_CLASSES} classes of {classes} that are highest all together.",)


def _values(row: Any) -> dict[str, str]:
    """The values of the row, as they are written."""
    table = Table.of(row, dates=True)
    found = {}
    for position, name in enumerate(table.names):
        codes, labels = table.coded(position)
        found[name] = "missing" if codes[0] < 0 else str(labels.tolist()[codes[0]])
    return found


def _conclusion(model: Any, row: Any) -> str:
    predicted = np.asarray(model.predict(row)).tolist()[0]
    if not hasattr(model, "predict_proba"):
        return f"Prediction: {f'{predicted:.6g}' if isinstance(predicted, float) else predicted}."
    proba = np.asarray(model.predict_proba(row))[0]
    kept = np.sort(np.argsort(-proba, kind="stable")[:MOST_CLASSES])
    shares = [f"{label}: {share:.4f}" for label, share in zip(model.classes_[kept].tolist(), proba[kept], strict=True)]
    others = [] if len(kept) == len(proba) else [f"{len(proba) - len(kept)} others: {1 - proba[kept].sum():.4f}"]
    return f"Prediction: {predicted} ({', '.join(shares + others)})."
