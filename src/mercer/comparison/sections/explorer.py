"""Why models say what they say: a nomogram, and rows to look at one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._errors import MercerError
from mercer.comparison.view import View, some_rows
from mercer.report import Axis, Chart, Evidence, Field, Grid, Line, Note, Points, Rows, Section
from mercer.report.wording import shortened, written
from mercer.using.explaining.explanation import Explanation, explain_rows

Array = NDArray[Any]

#: rows to look at; models and classes that explain them; features and columns of each
MOST_ROWS, MOST_MODELS, MOST_CLASSES, MOST_FEATURES, MOST_COLUMNS = 40, 3, 6, 25, 30
#: of many features, those of a row that are kept
MOST_OF_ROW = 8
#: rows from which a nomogram is read, its lines, values on each, and the share of the least and of the greatest amounts
#: that it leaves out: a single one far out would leave all other lines no room
NOMOGRAM_ROWS, MOST_LINES, MOST_VALUES, EXTREMES = 500, 14, 7, 0.01
#: what one column adds, for the same value, when others differ: rounding
SAME = 1e-8
REST = "everything else"


def explorer(view: View) -> Section | None:
    """A nomogram of the best model that is a sum over columns, and rows with the weight of evidence of each column."""
    told: list[tuple[Any, Explanation]] = []
    refused: list[Note] = []
    machines: list[str] = []
    rows = _chosen(view)
    for entry in view.ranked:
        if entry.kind == "baseline" or len(told) == MOST_MODELS:
            continue
        try:
            told.append((entry, explain_rows(_model(view, entry), view.shown(entry, rows))))
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
    blocks = [*_nomogram(view, told[0][0]), _rows(view, rows, told), *refused]
    return Section(
        "rows",
        "Why: rows one by one",
        tuple(blocks),
        "What each column adds to the log odds (or to the prediction) of a row: the weight of evidence. The sum of "
        "all, with the base, is exactly what the model says.",
    )


def _model(view: View, entry: Any) -> Any:
    model = view.fitted(entry)
    if model is None:
        raise ValueError("not fitted")
    return model


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


def _rows(view: View, rows: Array, told: list[tuple[Any, Explanation]]) -> Rows:
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


def _evidence(view: View, entry: Any, told: Explanation, rows: Array) -> list[Evidence]:
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
            Evidence(entry.name, _of(view, told, output), float(told.base[k]), few, predicted, features, classes, proba)
        )
    return found


def _kept(told: Explanation) -> list[int]:
    """All features; of many (words) those that add most to one row or another."""
    if len(told.names) <= MOST_FEATURES:
        return list(range(len(told.names)))
    size = np.abs(told.contributions).max(axis=2)
    strongest = np.argsort(-size, axis=1, kind="stable")[:, :MOST_OF_ROW]
    return sorted({j for row, order in enumerate(strongest.tolist()) for j in order if size[row, j] > 0})


def _of(view: View, told: Explanation, output: str) -> str:
    if not view.classification:
        return told.what
    if len(view.labels) == 2:
        return f"{told.what} of {output} against {view.labels[0]}"
    return f"{told.what.split(' against')[0]} of {output} against the average class"


def _nomogram(view: View, entry: Any) -> list[Any]:
    """What each value of each column adds; only where that does not depend on the other columns."""
    rows = view.rows[some_rows(len(view.rows), NOMOGRAM_ROWS)]
    table = entry.table.take(rows)
    if view.sparse:
        return []
    told = explain_rows(_model(view, entry), table.native)
    output = len(told.outputs) - 1
    names = [name for name in told.strongest(3 * MOST_LINES) if name in table.names]
    lines = []
    for name in names:
        added = told.contributions[:, told.names.index(name), output]
        coded = table.coded(table.names.index(name))
        if not _of_itself(coded.codes, added):
            return []
        if np.ptp(added) > SAME:
            lines.append((name, *_values(view, name, coded, added)))
    if not lines:
        return []
    return _drawn(view, entry, told, output, lines[:MOST_LINES])


def _of_itself(codes: Array, added: Array) -> bool:
    """Whether equal values always add the same."""
    shifted = codes - codes.min()
    highest, lowest = np.full(shifted.max() + 1, -np.inf), np.full(shifted.max() + 1, np.inf)
    np.maximum.at(highest, shifted, added)
    np.minimum.at(lowest, shifted, added)
    seen = np.isfinite(highest)
    return bool((highest[seen] - lowest[seen] <= SAME * (1 + np.abs(added).max())).all())


def _values(view: View, name: str, coded: Any, added: Array) -> tuple[list[str], Array]:
    """Some values of a column, and what they add: quantiles of amounts, the most frequent of names."""
    codes = coded.codes
    if name in view.amounts:
        known = np.flatnonzero(codes >= 0)
        order = known[np.argsort(coded.labels[codes[known]].astype(float), kind="stable")]
        shares = np.linspace(EXTREMES, 1 - EXTREMES, MOST_VALUES)
        places = order[(shares * (len(order) - 1)).round().astype(int)]
    else:
        frequent = np.argsort(-np.bincount(codes[codes >= 0]), kind="stable")[:MOST_VALUES]
        places = np.array([int(np.argmax(codes == k)) for k in frequent.tolist()])
    first = np.unique(codes[places], return_index=True)[1]
    places = places[np.sort(first)]
    return [written(coded.labels[code]) for code in codes[places].tolist()], added[places]


def _drawn(view: View, entry: Any, told: Explanation, output: int, lines: list[Any]) -> list[Any]:
    names = tuple(name for name, *_ in lines)
    marks: list[Any] = []
    rows: list[tuple[Any, ...]] = []
    for name, texts, added in lines:
        y = float(names.index(name))
        marks.append(Line("", [float(added.min()), float(added.max())], [y, y]))
        labels = [f"{name} = {text}: {value:+.3g}" for text, value in zip(texts, added, strict=True)]
        marks.append(Points("", added, np.full(len(added), y), labels))
        rows += [(name, text, float(value)) for text, value in zip(texts, added, strict=True)]
    of = _of(view, told, told.outputs[output])
    chart = Chart(
        f"Nomogram of {entry.name}",
        Axis(f"adds to the {of}"),
        Axis("", "category", names),
        tuple(marks),
        f"Sum what the values of a row add, and the base of {told.base[output]:+.3g}: that is its {of}. Point at a dot "
        "to see the value.",
    )
    grid = Grid("The same as a table", (Field("column"), Field("value"), Field("adds", "+.3g")), tuple(rows))
    return [chart, grid]
