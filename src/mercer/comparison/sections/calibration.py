"""The section on the calibration of probabilities."""

from __future__ import annotations

from typing import Any

from mercer.comparison._entry import Entry
from mercer.comparison._view import View, sample_rows
from mercer.decision import calibration_curve_with_intervals, calibration_error
from mercer.report import Axis, Chart, Field, Grid, Line, PointCloud, Section
from mercer.report.wording import format_count

#: models with a calibration curve
MAX_CALIBRATION_MODELS = 3
#: held-out rows of a calibration curve, which bounds time
MAX_CALIBRATION_CURVE_ROWS = 100_000
CALIBRATION_FIELDS = (
    Field("model"),
    Field("off by", ".4f"),
    Field("from", ".4f"),
    Field("to", ".4f"),
    Field("by chance alone", ".4f"),
    Field("p-value", ".3g"),
    Field("Brier score", ".4f"),
    Field("reliability", ".4f"),
    Field("resolution", ".4f"),
)


def calibration(view: View) -> Section | None:
    """Return calibration curves of the best models on held-out rows."""
    if not view.classification or not view.learning:
        return None
    entries = view.learning[:MAX_CALIBRATION_MODELS]
    curves = [_curve(view, entry) for entry in entries]
    top = len(view.labels) > 2
    event = "the most probable class is right" if top else f"{view.labels[1]}"
    diagonal = Line("", [0, 1], [0, 1], dashed=True)
    chart = Chart(
        f"Predicted and observed: {event}",
        Axis("predicted probability", low=0, high=1),
        Axis("observed frequency", low=0, high=1),
        (diagonal, *(mark for curve in curves for mark in curve)),
        "Rows in bins of about equal size. On the dashed line probabilities are frequencies; the bars are 95% "
        "intervals for the observed frequency.",
    )
    # the leaderboard has the same errors
    errors = [entry.calibration or calibration_error(*_held(view, entry)) for entry in entries]
    grid = Grid(
        "Calibration error",
        CALIBRATION_FIELDS,
        tuple(
            (entry.name, e.error, e.low, e.high, e.by_chance, e.p_value, e.brier, e.reliability, e.resolution)
            for entry, e in zip(entries, errors, strict=True)
        ),
    )
    sentences = [f"{entry.name}: {e.sentence()}" for entry, e in zip(entries, errors, strict=True)]
    return Section(
        "calibration",
        "Are the probabilities right?",
        (chart, *sentences, grid),
        "Of all rows with probability 0.8, 8 in 10 should be in the class. This is checked on rows that the model was "
        "not fitted to.",
    )


def _curve(view: View, entry: Entry) -> tuple[Line, PointCloud]:
    curve = calibration_curve_with_intervals(*_held(view, entry))
    bins = zip(curve.rows, curve.first, curve.last, strict=True)
    labels = [f"{format_count(int(n), 'row')} from {a:.3g} to {b:.3g}" for n, a, b in bins]
    return (
        Line(entry.name, curve.predicted, curve.observed),
        PointCloud(entry.name, curve.predicted, curve.observed, labels, low=curve.low, high=curve.high),
    )


def _held(view: View, entry: Entry) -> tuple[Any, Any]:
    proba, truth = view.probabilities(entry)
    rows = sample_rows(len(truth), MAX_CALIBRATION_CURVE_ROWS)
    return proba[rows], truth[rows]
