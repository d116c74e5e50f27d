"""The section on ROC and precision–recall curves."""

from __future__ import annotations

import numpy as np

from mercer._typing import Array
from mercer.comparison._roc import precision_recall_points, roc_points
from mercer.comparison._view import View
from mercer.report import Axis, Chart, Line, Section

#: models with a curve, for two classes
MAX_ROC_MODELS = 4
#: classes with a curve, for more than two classes
MAX_ROC_CLASSES = 10
#: points of a curve
MAX_ROC_POINTS = 150


def ranking(view: View) -> Section | None:
    """Return curves of the best models for two classes, or of the best model for more classes."""
    if not view.classification or not view.learning:
        return None
    curves = _binary_curves(view) if len(view.labels) == 2 else _class_curves(view)
    if not curves:
        return None
    blocks = (_roc_chart(curves), _precision_recall_chart(curves))
    what = (
        f"{view.labels[1]!r} above {view.labels[0]!r}"
        if len(view.labels) == 2
        else f"each class above all others, by {view.learning[0].name}"
    )
    return Section(
        "ranking",
        "Ranking: ROC and precision–recall",
        blocks,
        f"How well probabilities rank {what}, at every threshold, on rows that the models were not fitted to.",
    )


def _binary_curves(view: View) -> list[tuple[str, Array, Array]]:
    held = [(entry.name, *view.held_out(entry)) for entry in view.learning[:MAX_ROC_MODELS]]
    return [(name, proba[:, 1], truth == 1) for name, proba, truth in held]


def _class_curves(view: View) -> list[tuple[str, Array, Array]]:
    proba, truth = view.held_out(view.learning[0])
    counts = np.bincount(truth, minlength=len(view.labels))
    frequent = np.sort(np.argsort(-counts, kind="stable")[:MAX_ROC_CLASSES])
    return [(view.labels[k], proba[:, k], truth == k) for k in frequent.tolist() if 0 < counts[k] < len(truth)]


def _roc_chart(curves: list[tuple[str, Array, Array]]) -> Chart:
    lines = [Line("", [0, 1], [0, 1], dashed=True)]
    for name, score, positive in curves:
        false, true = roc_points(score, positive)
        area = float(np.trapezoid(true, false))
        lines.append(Line(f"{name} (area {area:.3f})", *thin_curve(false, true)))
    return Chart(
        "ROC",
        Axis("false alarms among the others", low=0, high=1),
        Axis("found among the class", low=0, high=1),
        tuple(lines),
        "Towards the top left is better; the dashed line is guessing.",
    )


def _precision_recall_chart(curves: list[tuple[str, Array, Array]]) -> Chart:
    lines = []
    for name, score, positive in curves:
        precision, recall, average = precision_recall_points(score, positive)
        lines.append(Line(f"{name} (average {average:.3f})", *thin_curve(recall, precision)))
    if len(curves) == 1 or all((positive == curves[0][2]).all() for *_, positive in curves if len(positive)):
        share = float(curves[0][2].mean())
        lines.insert(0, Line("", [0, 1], [share, share], dashed=True))
    return Chart(
        "Precision and recall",
        Axis("recall: found among the class", low=0, high=1),
        Axis("precision: right among the found", low=0, high=1),
        tuple(lines),
        "Towards the top right is better.",
    )


def thin_curve(x: Array, y: Array) -> tuple[Array, Array]:
    """Return at most `MAX_ROC_POINTS` points, evenly spaced along the curve, with both ends."""
    if len(x) <= MAX_ROC_POINTS:
        return x, y
    length = np.append(0, np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y))))
    wanted = np.searchsorted(length, np.linspace(0, length[-1], MAX_ROC_POINTS))
    kept = np.unique(np.clip(wanted, 0, len(x) - 1))
    return x[kept], y[kept]
