"""What each model of a comparison reached: as a table to read, and as a frame."""

from __future__ import annotations

import importlib.util
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.comparison.measuring.paired import Interval
from mercer.comparison.taking_part.chosen import NOT_CONVERGED, REFERENCE
from mercer.data.frame_like import frame_like
from mercer.report import Cell, Field, Grid
from mercer.report.wording import Seconds, plainly
from mercer.using.metrics import Metric
from mercer.using.tasks import Classification

if TYPE_CHECKING:
    from mercer.comparison.comparison import Comparison
    from mercer.comparison.entry import Entry


def leaderboard(comparison: Comparison) -> Grid:
    """The main measures with their intervals, seconds and bytes; below them what a reader should know."""
    metrics = [metric for metric in comparison.task.metrics if metric.shown]
    calibrated = isinstance(comparison.task, Classification)
    fields = (
        Field("model"),
        *(Field(heading_of(comparison, metric), metric.form) for metric in metrics),
        *([Field("calibration error", ".4f")] if calibrated else []),
        Field("fit s", "#.3g"),
        Field("predict s", "#.3g"),
        Field("size", "s"),
    )
    rows = tuple(
        (
            marked_name(entry),
            *(_with_margin(metric.form, comparison.interval(entry.name, metric.name)) for metric in metrics),
            *([_calibration(entry)] if calibrated else []),
            Seconds(entry.fit_seconds),
            Seconds(entry.predict_seconds),
            Bytes(entry.size_bytes),
        )
        for entry in listed(comparison)
    )
    return Grid(comparison.title, fields, rows, notes_of(comparison))


def heading_of(comparison: Comparison, metric: Metric) -> str:
    """Return the heading of a measure, with the unit of the target where it has that."""
    return f"{metric.heading} ({comparison.unit})" if metric.in_units and comparison.unit else metric.heading


def listed(comparison: Comparison) -> list[Entry]:
    """Return the entries best first, with the reference where its score places it."""
    entries, reference, metric = list(comparison.entries), comparison.reference, comparison.task.metric
    if reference is None:
        return entries
    gain = metric.gain(reference.mean(metric.name))
    worse = (
        place
        for place, entry in enumerate(entries)
        if entry.failed or not metric.gain(entry.mean(metric.name)) >= gain  # NaN is worse
    )
    place = len(comparison.done) if reference.failed else next(worse, len(entries))
    return [*entries[:place], reference, *entries[place:]]


def marked_name(entry: Entry) -> str:
    """Return the name of an entry as the leaderboard shows it: a reference, or one that did not converge, is marked."""
    name = f"{entry.name}{REFERENCE}" if entry.kind == "reference" else entry.name
    return name if entry.converged else f"{name}{NOT_CONVERGED}"


def notes_of(comparison: Comparison) -> tuple[str, ...]:
    """Those of the comparison, and below them those of its models, by name."""
    of_models = (f"{marked_name(entry)}: {note}" for entry in listed(comparison) for note in entry.notes)
    return (*comparison.notes, *of_models)


def frame(comparison: Comparison, library: str | None = None) -> Any:
    """A row for each model: its measures with their intervals, times, size, kind and notes."""
    if library is None:
        library = "pandas" if importlib.util.find_spec("pandas") else "pyarrow"
    records = [_record(comparison, entry) for entry in listed(comparison)]
    columns = [np.array([record[name] for record in records]) for name in records[0]]
    return frame_like(list(records[0]), columns, library)


def _record(comparison: Comparison, entry: Entry) -> dict[str, Any]:
    record: dict[str, Any] = {"model": entry.name, "kind": entry.kind, "partner": entry.partner or ""}
    for metric in comparison.task.metrics:
        found = comparison.interval(entry.name, metric.name)
        record |= {metric.name: found.mean, f"{metric.name}_low": found.low, f"{metric.name}_high": found.high}
    if isinstance(comparison.task, Classification):
        error = entry.calibration
        parts = (math.nan,) * 3 if error is None else (error.error, error.low, error.high)
        record |= dict(zip(("calibration_error", "calibration_low", "calibration_high"), parts, strict=True))
    return record | {
        "fit_seconds": entry.fit_seconds,
        "predict_seconds": entry.predict_seconds,
        "size_bytes": entry.size_bytes,
        "converged": entry.converged,
        "notes": "; ".join(entry.notes),
    }


def _with_margin(form: str, found: Interval) -> Cell:
    """A mean and how far its interval reaches, by as many decimals: where it is cut off at a bound, the other side."""
    if math.isnan(found.low):
        return found.mean
    mean, margin = plainly(found.mean, form), max(found.high - found.mean, found.mean - found.low)
    decimals = len(mean.partition(".")[2].partition("e")[0])
    return f"{mean} ± {margin:,.{decimals}f}" if "e" not in mean else f"{mean} ± {margin:.1e}"


def _calibration(entry: Entry) -> Cell:
    """With both ends of its interval, which is not symmetric: the error of a sample is more than that of all rows."""
    found = entry.calibration
    return None if found is None else f"{found.error:.3f} ({found.low:.3f}–{found.high:.3f})"


class Bytes(float):
    """A number of bytes, which is written with three digits and a unit, and sorted as a number.

    Examples
    --------
    >>> f"{Bytes(2048)}", f"{Bytes(950)}", f"{Bytes(999_600)}"
    ('2.05 kB', '950 B', '1 MB')
    """

    def __format__(self, form: str) -> str:
        power = next((power for power in range(3) if float(f"{self / 1000**power:.3g}") < 1000), 3)
        return f"{self / 1000**power:.3g} {('B', 'kB', 'MB', 'GB')[power]}"
