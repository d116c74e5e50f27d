"""A comparison as tables: what each model reached, and which differences are real."""

from __future__ import annotations

import importlib.util
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.comparison.measuring.paired import Difference, Interval, difference_of, holm, interval_of, overlap_of
from mercer.data.build import frame_like
from mercer.report import Cell, Field, Grid
from mercer.report.grid import NOTHING
from mercer.using.metrics import CLASSES, Metric

if TYPE_CHECKING:
    from mercer.comparison.comparison import Comparison
    from mercer.comparison.entry import Entry

#: a difference is called real below this
LEVEL = 0.05


def leaderboard(comparison: Comparison) -> Grid:
    """The main measures with their intervals, seconds and bytes; below them what a reader should know."""
    task, overlap = comparison.task, overlap_of(comparison.splits)
    metrics = [metric for metric in task.metrics if metric.shown]
    calibrated = task.metrics == CLASSES
    fields = (
        Field("model"),
        *(metric.field for metric in metrics),
        *([Field("calibration error", ".4f")] if calibrated else []),
        Field("fit s", "#.3g"),
        Field("predict s", "#.3g"),
        Field("size", "s"),
    )
    rows = tuple(
        (
            entry.name,
            *(_with_margin(metric.form, interval(entry, metric, overlap)) for metric in metrics),
            *([_calibration(entry)] if calibrated else []),
            entry.fit_seconds,
            entry.predict_seconds,
            bytes_in_words(entry.size_bytes),
        )
        for entry in comparison.entries
    )
    return Grid(comparison.title, fields, rows, notes_of(comparison))


def notes_of(comparison: Comparison) -> tuple[str, ...]:
    """Those of the comparison, and below them those of its models, by name."""
    return (*comparison.notes, *(f"{entry.name}: {note}" for entry in comparison.entries for note in entry.notes))


def against_best(comparison: Comparison) -> dict[str, Difference]:
    """For each model but the best, by how much it is worse by the measure that models are ranked by.

    Where the best and the model have no such measure in common, it is compared by the next that both have.
    """
    best, *others = comparison.done
    overlap = overlap_of(comparison.splits)
    found = {}
    for entry in others:
        metric = shared_metric(comparison, best, entry)
        of_best, of_entry = (metric.gain(each.scores[metric.name]) for each in (best, entry))
        found[entry.name] = difference_of(of_best, of_entry, overlap)
    adjusted = holm([difference.p for difference in found.values()])
    return {
        name: difference._replace(adjusted=p) for (name, difference), p in zip(found.items(), adjusted, strict=True)
    }


def shared_metric(comparison: Comparison, one: Entry, other: Entry) -> Metric:
    """The first measure that both models have."""
    both = (
        metric
        for metric in comparison.task.metrics
        if not np.isnan(one.scores[metric.name]).all() and not np.isnan(other.scores[metric.name]).all()
    )
    return next(both, comparison.task.metric)


def differences(comparison: Comparison) -> Grid:
    """By how much each model is worse than the best, and whether that is beyond chance."""
    if not comparison.done:
        return Grid("Differences from the best model", (Field("model"),), ())
    best = comparison.done[0]
    rows = []
    for name, found in against_best(comparison).items():
        metric = shared_metric(comparison, best, comparison.entry(name))
        rows.append((name, metric.heading, found.mean, found.low, found.high, found.p, found.adjusted, verdict(found)))
    fields = (
        Field("model"),
        Field("by"),
        *(Field(heading, "#.3g") for heading in ("worse by", "from", "to", "p", "p (Holm)")),
        Field("beyond chance"),
    )
    note = (
        "Paired t-tests on the same splits, their variance corrected for the rows that splits share (Nadeau and Bengio "
        f"2003), their p-values for how many there are (Holm 1979); beyond chance is below {LEVEL}."
    )
    return Grid(f"Differences from {best.name}", fields, tuple(rows), (note,))


def verdict(found: Difference) -> str:
    if math.isnan(found.adjusted):
        return "yes, without bound" if found.mean == math.inf else NOTHING
    return "yes" if found.adjusted < LEVEL else "no"


def frame(comparison: Comparison, library: str | None = None) -> Any:
    """A row for each model: its measures with their intervals, times, size, kind and notes."""
    if library is None:
        library = "pandas" if importlib.util.find_spec("pandas") else "pyarrow"
    overlap = overlap_of(comparison.splits)
    records = [_record(entry, comparison.task.metrics, overlap) for entry in comparison.entries]
    columns = [np.array([record[name] for record in records]) for name in records[0]]
    return frame_like(list(records[0]), columns, library)


def _record(entry: Entry, metrics: tuple[Metric, ...], overlap: float) -> dict[str, Any]:
    record: dict[str, Any] = {"model": entry.name, "kind": entry.kind, "partner": entry.partner or ""}
    for metric in metrics:
        found = interval(entry, metric, overlap)
        record |= {metric.name: found.mean, f"{metric.name}_low": found.low, f"{metric.name}_high": found.high}
    if metrics == CLASSES:
        error = entry.calibration
        parts = (math.nan,) * 3 if error is None else (error.error, error.low, error.high)
        record |= dict(zip(("calibration_error", "calibration_low", "calibration_high"), parts, strict=True))
    return record | {
        "fit_seconds": entry.fit_seconds,
        "predict_seconds": entry.predict_seconds,
        "size_bytes": entry.size_bytes,
        "notes": "; ".join(entry.notes),
    }


def interval(entry: Entry, metric: Metric, overlap: float) -> Interval:
    return interval_of(entry.scores[metric.name], overlap, metric.low, metric.high)


def _with_margin(form: str, found: Interval) -> Cell:
    """A mean and how far its interval reaches, by as many decimals: where it is cut off at a bound, the other side."""
    if math.isnan(found.low):
        return found.mean
    mean, margin = format(found.mean, form), max(found.high - found.mean, found.mean - found.low)
    decimals = len(mean.partition(".")[2].partition("e")[0])
    return f"{mean} ± {margin:.{decimals}f}" if "e" not in mean else f"{mean} ± {margin:.1e}"


def _calibration(entry: Entry) -> Cell:
    """With both ends of its interval, which is not symmetric: the error of a sample is more than that of all rows."""
    found = entry.calibration
    return None if found is None else f"{found.error:.3f} ({found.low:.3f}–{found.high:.3f})"


def bytes_in_words(size: float) -> str:
    """Three digits and a unit.

    Examples
    --------
    >>> bytes_in_words(2048.0), bytes_in_words(950.0)
    ('2.05 kB', '950 B')
    """
    if math.isnan(size):
        return NOTHING
    power = min(max(int(math.log10(max(size, 1)) // 3), 0), 3)
    return f"{size / 1000**power:.3g} {('B', 'kB', 'MB', 'GB')[power]}"
