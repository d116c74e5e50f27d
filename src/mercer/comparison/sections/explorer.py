"""The section on explanations: drivers, a nomogram, and the contributions to single rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._errors import MercerError
from mercer._typing import Array
from mercer.comparison._entry import Entry
from mercer.comparison._view import View, sample_rows
from mercer.comparison.sections.nomogram import describe_sum, nomogram
from mercer.data import Table
from mercer.explanation import explain_rows
from mercer.explanation.column_drivers import common_output
from mercer.explanation.evidence import column_texts
from mercer.explanation.explanation import EXACT_METHOD, Explanation, explain_exactly
from mercer.report import Axis, Bars, Chart, EvidenceRecord, Field, Grid, Note, RowTable, Section
from mercer.report.wording import format_number, format_value

#: rows that can be selected on the page
MAX_EXPLORED_ROWS = 40
#: columns above which a table is wide
MAX_NARROW_COLUMNS = 300
#: rows that can be selected for a wide table, whose explanations take longer
MAX_EXPLORED_ROWS_OF_WIDE = 12
#: models that explain the rows
MAX_EXPLORED_MODELS = 3
#: classes whose probabilities and contributions are on the page
MAX_EXPLORED_CLASSES = 6
#: features up to which all are on the page
MAX_EXPLORED_FEATURES = 25
#: features of a row that are kept if there are more
MAX_FEATURES_PER_ROW = 8
#: columns whose values are on the page, besides those of the kept features
MAX_EXPLORED_COLUMNS = 30
#: drivers in the chart
MAX_CHART_DRIVERS = 15
#: characters of a value of a row
MAX_ROW_VALUE_LENGTH = 160
#: name of the sum over features that are not kept
OTHER_FEATURES = "(all other features)"


def explorer(view: View) -> Section | None:
    """Return the drivers of the recommended model, its nomogram if it has one, and rows with their contributions."""
    explained: list[tuple[Entry, Explanation]] = []
    failed: list[Note] = []
    rows = _choose_rows(view)
    wide = view.comparison.table.n_columns > MAX_NARROW_COLUMNS
    for entry in view.recommended_first():
        if len(explained) == MAX_EXPLORED_MODELS or (model := view.fitted(entry)) is None:
            continue
        try:
            if explained and wide and explain_exactly(model, view.rows_for(entry, rows)) is None:
                continue  # Shapley values of a wide table take long: only for the first model
            explained.append((entry, _explain_entry(view, entry, model, rows)))
        except (MercerError, ValueError, TypeError, AttributeError, IndexError) as error:
            failed.append(Note(f"{entry.name} could not be explained: {error}"))
    if not explained:
        return Section("rows", "Why", tuple(failed)) if failed else None
    first = explained[0][0]
    methods = [
        Note(_describe_method(entry, explanation))
        for entry, explanation in explained
        if explanation.method != EXACT_METHOD
    ]
    return Section(
        "rows",
        "Why: drivers, and rows one by one",
        (*_drivers(view, first), *nomogram(view, first), _make_row_table(view, rows, explained), *methods, *failed),
        f"What each column adds to the {explained[0][1].what} of a row. With the base, the sum is exactly what the "
        "model says.",
    )


def _explain_entry(view: View, entry: Entry, model: Any, rows: Array) -> Explanation:
    """Explain these rows; a model that is not a sum over columns is compared with the rows of the view."""
    evaluations = view.evaluations(entry)
    return explain_rows(model, view.rows_for(entry, rows), background=view.rows_for(entry), max_evaluations=evaluations)


def _describe_method(entry: Entry, explanation: Explanation) -> str:
    """Describe the explanation of a model that is not a sum over columns."""
    if explanation.error is None:
        return f"{entry.name} is not a sum over columns. {explanation.details}"
    typical, largest = (
        format_number(float(np.median(explanation.error)), 2),
        format_number(float(explanation.error.max()), 2),
    )
    return (
        f"{entry.name} is not a sum over columns. {explanation.details} Their standard errors are at most {largest}, "
        f"half of them at most {typical}."
    )


def _drivers(view: View, entry: Entry) -> list[Any]:
    """Return the columns with the largest effects on the output, as a chart and a table."""
    drivers = view.drivers(entry)
    if not drivers:
        return []
    kept = drivers[:MAX_CHART_DRIVERS]
    of = common_output(kept)
    sizes, errors = np.array([[driver.size, driver.error] for driver in kept]).T
    names = [driver.column for driver in kept]
    bars = Bars("moves by", names, sizes, low=np.maximum(sizes - 2 * errors, 0), high=sizes + 2 * errors)
    more = f" The {len(drivers) - len(kept):,} other columns move it less." if len(kept) < len(drivers) else ""
    caption = f"Mean distance of what a column adds to the {of} from its average over rows, with 95% intervals.{more}"
    fields = (Field("column"), Field("direction"), Field("moves by", ".3g"))
    lines = tuple((driver.column, driver.direction, driver.size) for driver in kept)
    return [
        Chart(f"Drivers of {entry.name}", Axis(f"moves the {of} by"), Axis(""), (bars,), caption),
        Grid("Drivers and their direction", fields, lines),
    ]


def _choose_rows(view: View) -> Array:
    """Choose the rows with the largest errors of the best model, and some others."""
    n, columns = view.comparison.table.shape
    most = MAX_EXPLORED_ROWS if columns <= MAX_NARROW_COLUMNS else MAX_EXPLORED_ROWS_OF_WIDE
    some = sample_rows(n, most * 3 // 4, seed=1)
    best = view.best(probabilistic=view.classification)
    if best is None:
        return some
    held = np.asarray(best.held_out, dtype=float)
    truth = np.asarray(view.comparison.task.truth)
    wrong = -held[np.arange(n), truth] if view.classification else np.abs(held - truth)
    worst = np.argsort(-np.nan_to_num(wrong, nan=-np.inf), kind="stable")[: most - len(some)]
    return np.unique(np.concatenate([some, worst]))


def _make_row_table(view: View, rows: Array, explained: list[tuple[Entry, Explanation]]) -> RowTable:
    table = view.comparison.table.take(rows)
    evidence = [each for entry, explanation in explained for each in _make_evidence(view, entry, explanation, rows)]
    places = [] if view.sparse else _choose_columns(table, evidence)
    texts = [column_texts(table, j, MAX_ROW_VALUE_LENGTH) for j in places]
    truth = np.asarray(view.comparison.task.truth)[rows]
    return RowTable(
        [table.names[j] for j in places],
        [list(row) for row in zip(*texts, strict=True)] if texts else [[] for _ in rows],
        evidence,
        [f"row {row}" for row in rows.tolist()],
        [view.labels[k] for k in truth.tolist()]
        if view.classification
        else [_format_answer(value) for value in truth.tolist()],
    )


def _format_answer(value: Any) -> str:
    """Format a prediction or a true value: numbers have thousands separators."""
    return format_number(value, 5) if isinstance(value, float) else format_value(value)


def _choose_columns(table: Table, evidence: list[EvidenceRecord]) -> list[int]:
    """Return the positions of the first columns and of all columns with a contribution."""
    named = {name for each in evidence for name in each.features}
    return [j for j, name in enumerate(table.names) if j < MAX_EXPLORED_COLUMNS or name in named]


def _make_evidence(view: View, entry: Entry, explanation: Explanation, rows: Array) -> list[EvidenceRecord]:
    model, X = view.fitted(entry), view.rows_for(entry, rows)
    predicted = [_format_answer(value) for value in np.ravel(model.predict(X)).tolist()]
    classes: list[str] = []
    proba: Any = ()
    if view.classification and hasattr(model, "predict_proba") and len(view.labels) <= MAX_EXPLORED_CLASSES:
        classes = [str(label) for label in np.asarray(model.classes_).tolist()]
        proba = np.asarray(model.predict_proba(X))
    kept = _choose_features(explanation)
    features = [explanation.names[j] for j in kept] + ([OTHER_FEATURES] if len(kept) < len(explanation.names) else [])
    evidence = []
    for k in _choose_outputs(explanation):
        added = explanation.contributions[:, :, k]
        few = added[:, kept]
        if len(features) > len(kept):
            few = np.column_stack([few, added.sum(axis=1) - few.sum(axis=1)])
        evidence.append(
            EvidenceRecord(
                entry.name,
                describe_sum(view, explanation, explanation.outputs[k]),
                float(explanation.base[k]),
                few,
                predicted,
                features,
                classes,
                proba,
            )
        )
    return evidence


def _choose_outputs(explanation: Explanation) -> list[int]:
    """Choose all classes; of many, those that are highest for most rows, which come first."""
    n_outputs = len(explanation.outputs)
    if n_outputs <= MAX_EXPLORED_CLASSES:
        return list(range(n_outputs))
    times = np.bincount(explanation.totals.argmax(axis=1), minlength=n_outputs)
    order: list[int] = np.argsort(-times, kind="stable").tolist()
    return order[:MAX_EXPLORED_CLASSES]


def _choose_features(explanation: Explanation) -> list[int]:
    """Choose all features; of many, such as words, those with the largest contributions to single rows."""
    if len(explanation.names) <= MAX_EXPLORED_FEATURES:
        return list(range(len(explanation.names)))
    size = np.abs(explanation.contributions).max(axis=2)
    strongest = np.argsort(-size, axis=1, kind="stable")[:, :MAX_FEATURES_PER_ROW]
    return sorted({j for row, order in enumerate(strongest.tolist()) for j in order if size[row, j] > 0})
