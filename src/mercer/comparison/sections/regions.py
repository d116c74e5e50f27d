"""The section on the decisions of the best model as functions of one or two columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.comparison._entry import Entry
from mercer.comparison._view import View, sample_rows
from mercer.comparison.sections.useful import sort_by_usefulness
from mercer.data import Kind, Table
from mercer.data.frame_like import frame_like
from mercer.report import Axis, Chart, Heat, Line, PointCloud, Section

#: cells along each axis
N_REGION_CELLS = 40
#: rows drawn as points
MAX_REGION_POINTS = 300
#: classes up to which regions are drawn
MAX_REGION_CLASSES = 10


def regions(view: View) -> Section | None:
    """Return class regions over the two most useful numeric columns, or predictions along the most useful ones."""
    entry = view.best(probabilistic=view.classification)
    if entry is None or not view.amounts or view.sparse:
        return None
    model = view.fitted(entry)
    useful = [j for j in sort_by_usefulness(view) if view.amounts[j] in entry.table.names]
    if model is None or not useful:
        return None
    if not view.classification:
        charts = [_prediction_chart(view, entry, model, j) for j in useful[:4]]
        title, lead = "The prediction along each column", f"What {entry.name} predicts as one column changes"
    elif len(useful) < 2 or len(view.labels) > MAX_REGION_CLASSES:
        return None
    else:
        charts = [_region_chart(view, entry, model, *useful[:2])]
        title, lead = (
            "Decision regions",
            f"What {entry.name} decides across the two columns that tell classes apart best",
        )
    others = "" if len(entry.table.names) <= 2 else ", the others being those of a typical row"
    return Section("regions", title, tuple(charts), f"{lead}{others}.")


def _region_chart(view: View, entry: Entry, model: Any, i: int, j: int) -> Chart:
    horizontal, vertical = _edges(view.numbers[:, i]), _edges(view.numbers[:, j])
    x, y = (0.5 * (edges[1:] + edges[:-1]) for edges in (horizontal, vertical))
    grid = {view.amounts[i]: np.tile(x, len(y)), view.amounts[j]: np.repeat(y, len(x))}
    proba = np.asarray(model.predict_proba(make_typical_rows(view, entry.table, grid)))
    classes = [str(label) for label in np.asarray(model.classes_).tolist()]
    best = proba.argmax(axis=1)
    heat = Heat(
        "decision",
        vertical,
        horizontal,
        best.reshape(len(y), len(x)),
        classes=classes,
        shades=np.round(proba.max(axis=1), 3).reshape(len(y), len(x)),
    )
    return Chart(
        f"{entry.name}: {view.amounts[i]} and {view.amounts[j]}",
        Axis(view.amounts[i], low=float(horizontal[0]), high=float(horizontal[-1])),
        Axis(view.amounts[j], low=float(vertical[0]), high=float(vertical[-1])),
        (heat, *_points(view, classes, i, j, horizontal, vertical)),
        "Stronger colours are surer. Points are rows of the data, whose other columns differ from the typical row.",
    )


def _points(view: View, classes: list[str], i: int, j: int, horizontal: Array, vertical: Array) -> list[PointCloud]:
    x, y = view.numbers[:, i], view.numbers[:, j]
    inside = (x >= horizontal[0]) & (x <= horizontal[-1]) & (y >= vertical[0]) & (y <= vertical[-1])
    rows = np.flatnonzero(inside)
    rows = rows[sample_rows(len(rows), MAX_REGION_POINTS)]
    codes = view.target[rows]
    of_class = {name: rows[codes == view.labels.index(name)] for name in classes}
    return [PointCloud(name, x[chosen], y[chosen]) for name, chosen in of_class.items() if len(chosen)]


def _prediction_chart(view: View, entry: Entry, model: Any, j: int) -> Chart:
    edges = _edges(view.numbers[:, j])
    predicted = np.asarray(model.predict(make_typical_rows(view, entry.table, {view.amounts[j]: edges})), dtype=float)
    known = np.flatnonzero(np.isfinite(view.numbers[:, j]))
    known = known[sample_rows(len(known), MAX_REGION_POINTS)]
    return Chart(
        f"Prediction by {view.amounts[j]}",
        Axis(view.amounts[j], low=float(edges[0]), high=float(edges[-1])),
        Axis(view.comparison.target or "target"),
        (PointCloud("rows", view.numbers[known, j], view.target[known]), Line("prediction", edges, predicted)),
        "Where columns move together, a row that is typical but for this value may be unlike any that was seen.",
    )


def _edges(values: Array) -> Array:
    low, high = np.quantile(values[np.isfinite(values)], [0.01, 0.99])
    margin = 0.05 * (high - low) or 0.5
    return np.linspace(low - margin, high + margin, N_REGION_CELLS + 1)


def make_typical_rows(view: View, table: Table, columns: dict[str, Array]) -> Any:
    """Return rows with these values, and the median or the most frequent value in the other columns of `table`."""
    n = len(next(iter(columns.values())))
    sample = table.take(view.rows)
    arrays = [
        columns[name] if name in columns else _typical_value(sample, j, n, amount=name in view.amounts)
        for j, name in enumerate(table.names)
    ]
    return frame_like(table.names, arrays, table.library)


def _typical_value(sample: Table, j: int, n: int, *, amount: bool) -> Array:
    if amount and sample.kinds[j].numeric:
        values = sample.numbers([j])[:, 0]
        return np.full(n, np.nanmedian(values) if np.isfinite(values).any() else np.nan)
    if sample.kinds[j] is Kind.DATE:
        days = sample.days(j)
        known_days = days[np.isfinite(days)]
        day = np.datetime64(int(np.median(known_days)), "D") if len(known_days) else np.datetime64("NaT", "D")
        return np.full(n, day.astype("datetime64[s]"))  # a unit that all frame libraries accept
    coded = sample.coded(j)
    known = coded.codes[coded.codes >= 0]
    if not len(known):
        return np.full(n, None, dtype=object)
    return np.repeat(coded.labels[[int(np.bincount(known).argmax())]], n)
