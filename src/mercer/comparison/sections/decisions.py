"""The section on decisions: confusions of classes, and costs of mistakes."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.comparison._entry import Entry
from mercer.comparison._view import View, sample_rows
from mercer.report import Axis, Chart, CostTable, Field, Grid, Heat, Section

#: held-out rows over which costs are averaged on the page
MAX_COST_ROWS = 2_000
#: models whose costs are compared on the page
MAX_COST_MODELS = 3
#: classes up to which a matrix of costs can be edited on the page
MAX_COST_CLASSES = 10
#: classes up to which confusions are drawn
MAX_CONFUSED_CLASSES = 20


def decisions(view: View) -> Section | None:
    """Return the confusions of the best model, and expected costs for a matrix that can be edited."""
    best = view.best()
    if not view.classification or best is None:
        return None
    blocks: list[Any] = []
    if len(view.labels) <= MAX_CONFUSED_CLASSES:
        blocks += [_confusion_chart(view, best), _class_grid(view, best)]
    if view.learning and len(view.labels) <= MAX_COST_CLASSES:
        blocks += [_cost_table(view), *_sample_note(view)]
    if not blocks:
        return None
    return Section(
        "decisions",
        "Decisions, mistakes and what they cost",
        tuple(blocks),
        f"How often {best.name} confuses classes, on rows that it was not fitted to, and the cheapest decisions when "
        "mistakes have the costs that you enter.",
    )


def count_confusions(held: Array, truth: Array, n_classes: int) -> Array:
    """Count rows by their true class (rows of the matrix) and their predicted class (columns)."""
    counts = np.zeros((n_classes, n_classes), dtype=int)
    np.add.at(counts, (truth, held.argmax(axis=1)), 1)
    return counts


def _confusion_chart(view: View, entry: Entry) -> Chart:
    counts = count_confusions(*view.held_out(entry), len(view.labels))
    heat = Heat("rows", view.labels, view.labels, counts, form=",.0f")
    right = np.trace(counts) / max(1, counts.sum())
    return Chart(
        f"Confusions of {entry.name}",
        Axis("decided"),
        Axis("true"),
        (heat,),
        f"{right:.1%} of the rows are on the diagonal, where the decision is right.",
    )


def _class_grid(view: View, entry: Entry) -> Grid:
    counts = count_confusions(*view.held_out(entry), len(view.labels))
    right, true, decided = np.diagonal(counts), counts.sum(axis=1), counts.sum(axis=0)
    with np.errstate(invalid="ignore"):
        recall, precision = right / true, right / decided
    rows = tuple(zip(view.labels, true.tolist(), recall.tolist(), precision.tolist(), strict=True))
    fields = (Field("class"), Field("rows", ",d"), Field("recall", ".1%"), Field("precision", ".1%"))
    return Grid(f"{entry.name}, class by class", fields, rows)


def _cost_table(view: View) -> CostTable:
    models = {}
    for entry in view.learning[:MAX_COST_MODELS]:
        proba, truth = view.held_out(entry)
        rows = sample_rows(len(truth), MAX_COST_ROWS)
        models[entry.name] = (np.round(proba[rows], 4), truth[rows])
    return CostTable(view.labels, models)


def _sample_note(view: View) -> list[str]:
    n = view.comparison.table.n_rows
    return (
        [f"Costs are averages over {MAX_COST_ROWS:,} of the {n:,} rows, drawn at random."] if n > MAX_COST_ROWS else []
    )
