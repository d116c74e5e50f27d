"""Why models say what they say: rows to look at one by one, below a nomogram."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._errors import MercerError
from mercer.comparison.entry import Entry
from mercer.comparison.sections.nomogram import nomogram, summed
from mercer.comparison.view import View, some_rows
from mercer.report import Evidence, Note, Rows, Section
from mercer.report.wording import shortened, written
from mercer.using.explaining.explanation import Explanation, explain_rows

Array = NDArray[Any]

#: rows to look at; models and classes that explain them; features and columns of each
MOST_ROWS, MOST_MODELS, MOST_CLASSES, MOST_FEATURES, MOST_COLUMNS = 40, 3, 6, 25, 30
#: of many features, those of a row that are kept
MOST_OF_ROW = 8
#: rows that a model predicts for Shapley values
MOST_EVALUATIONS = 40_000
REST = "everything else"


def explorer(view: View) -> Section | None:
    """A nomogram of the best model that is a sum over columns, and rows with the weight of evidence of each column."""
    told: list[tuple[Entry, Explanation]] = []
    refused: list[Note] = []
    machines: list[str] = []
    rows = _chosen(view)
    for entry in view.ranked:
        if entry.kind == "baseline" or len(told) == MOST_MODELS or (model := view.fitted(entry)) is None:
            continue
        try:
            told.append((entry, _explained(view, entry, model, rows)))
        except MercerError as refusal:
            if entry.kind in ("kernel", "density"):
                machines.append(entry.name)
            elif len(refused) < MOST_MODELS:
                refused.append(Note(f"{entry.name}: {refusal}"))
        except (ValueError, TypeError, AttributeError, IndexError):
            continue
    if machines:
        refused.append(Note(f"{', '.join(machines)}: no explanation, because they are no sums of what columns say."))
    if not told:
        return Section("rows", "Why", tuple(refused)) if refused else None
    best = told[0][0]
    blocks = [*nomogram(view, best), _rows(view, rows, told), *refused]
    return Section(
        "rows",
        "Why: rows one by one",
        tuple(blocks),
        "What each column adds to the log odds (or to the prediction) of a row: the weight of evidence. The sum of "
        "all, with the base, is exactly what the model says.",
    )


def _explained(view: View, entry: Entry, model: Any, rows: Array) -> Explanation:
    """What columns add to these rows; against the rows looked at where a model is not a sum over columns."""
    return explain_rows(model, view.shown(entry, rows), background=view.shown(entry), max_evaluations=MOST_EVALUATIONS)


def _chosen(view: View) -> Array:
    """Rows that the best model is most wrong about, and some others, in order."""
    n = view.comparison.table.n_rows
    some = some_rows(n, MOST_ROWS * 3 // 4, seed=1)
    best = view.best(probable=view.classification)
    if best is None:
        return some
    held = np.asarray(best.held_out, dtype=float)
    truth = np.asarray(view.comparison.task.truth)
    wrong = -held[np.arange(n), truth] if view.classification else np.abs(held - truth)
    worst = np.argsort(-np.nan_to_num(wrong, nan=-np.inf), kind="stable")[: MOST_ROWS - len(some)]
    return np.unique(np.concatenate([some, worst]))


def _rows(view: View, rows: Array, told: list[tuple[Entry, Explanation]]) -> Rows:
    table = view.comparison.table.take(rows)
    names = list(table.names[:MOST_COLUMNS]) if not view.sparse else []
    texts = [_texts(table, j) for j in range(len(names))]
    truth = np.asarray(view.comparison.task.truth)[rows]
    return Rows(
        names,
        [list(row) for row in zip(*texts, strict=True)] if texts else [[] for _ in rows],
        [evidence for entry, explanation in told for evidence in _evidence(view, entry, explanation, rows)],
        [f"row {row}" for row in rows.tolist()],
        [view.labels[k] for k in truth.tolist()] if view.classification else [written(value) for value in truth],
    )


def _texts(table: Any, j: int) -> list[str]:
    coded = table.coded(j)
    labels = [
        shortened(written(label) if not isinstance(label, str) else label, 160) for label in coded.labels.tolist()
    ]
    return [labels[code] if code >= 0 else "missing" for code in coded.codes.tolist()]


def _evidence(view: View, entry: Entry, told: Explanation, rows: Array) -> list[Evidence]:
    model, X = view.fitted(entry), view.shown(entry, rows)
    predicted = [written(value) for value in np.ravel(model.predict(X)).tolist()]
    classes: list[str] = []
    proba: Any = ()
    if view.classification and hasattr(model, "predict_proba") and len(view.labels) <= MOST_CLASSES:
        classes = [str(label) for label in np.asarray(model.classes_).tolist()]
        proba = np.asarray(model.predict_proba(X))
    kept = _kept(told)
    features = [told.names[j] for j in kept] + ([REST] if len(kept) < len(told.names) else [])
    found = []
    for k, output in enumerate(told.outputs[:MOST_CLASSES]):
        added = told.contributions[:, :, k]
        few = added[:, kept]
        if len(features) > len(kept):
            few = np.column_stack([few, added.sum(axis=1) - few.sum(axis=1)])
        found.append(
            Evidence(
                entry.name, summed(view, told, output), float(told.base[k]), few, predicted, features, classes, proba
            )
        )
    return found


def _kept(told: Explanation) -> list[int]:
    """All features; of many (words) those that add most to one row or another."""
    if len(told.names) <= MOST_FEATURES:
        return list(range(len(told.names)))
    size = np.abs(told.contributions).max(axis=2)
    strongest = np.argsort(-size, axis=1, kind="stable")[:, :MOST_OF_ROW]
    return sorted({j for row, order in enumerate(strongest.tolist()) for j in order if size[row, j] > 0})
