"""The section on certificates: evidence that each fit is optimal, and its plan."""

from __future__ import annotations

from typing import Any

from mercer.comparison._view import View, find_certified
from mercer.report import Field, Grid, Section


def proofs(view: View) -> Section | None:
    """Return the certificates and plans of the models fitted to all rows."""
    rows = []
    for entry in view.ranked:
        model = view.fitted(entry)
        rows += [(entry.name, *_row(part)) for part in find_certified(model)]
    if not rows:
        return None
    left = [entry.name for entry in view.ranked if entry.name not in view.affordable]
    notes = (f"Not fitted again, to save time: {', '.join(left)}.",) if left else ()
    fields = (
        Field("model"),
        Field("proof"),
        Field("value", ".2g"),
        Field("allowed", ".2g"),
        Field("holds"),
        Field("in words"),
        Field("path"),
    )
    return Section(
        "certificates",
        "Certificates: is each fit the optimum?",
        (Grid("", fields, tuple(rows), notes),),
        "Every fit comes with a number that is 0 at the optimum. Where it is within what is allowed, no better "
        "coefficients exist for this model and these rows.",
    )


def _row(model: Any) -> tuple[Any, ...]:
    proof, plan = model.certificate_, getattr(model, "plan_", None)
    closed = proof.kind == "closed form"
    numbers = (None, None) if closed else (float(proof.value), float(proof.tolerance))
    return (proof.kind, *numbers, "yes" if proof.holds else "no", proof.sentence, str(plan or ""))
