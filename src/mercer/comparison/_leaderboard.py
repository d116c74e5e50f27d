"""The leaderboard of a comparison, its frame, and the differences from the best model with their tests."""

from __future__ import annotations

import importlib.util
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.application.metrics import Metric
from mercer.application.tasks import ClassificationTask
from mercer.comparison._named_models import REFERENCE_MARK, UNCONVERGED_MARK
from mercer.comparison._paired import MIN_LOSS_RATIO, SIGNIFICANCE_LEVEL, Difference, Interval, holm, overlap_of
from mercer.comparison._score_tests import baseline_differences, score_difference
from mercer.data.frame_like import frame_like
from mercer.report import Cell, Field, Grid
from mercer.report.grid import EMPTY_CELL
from mercer.report.wording import PValue, Seconds, format_plain

if TYPE_CHECKING:
    from mercer.comparison._entry import Entry
    from mercer.comparison.comparison import Comparison


#: share of other scores below which a score is 0 but for rounding
VERDICT_ROUNDING = 1e-10


def make_leaderboard(comparison: Comparison) -> Grid:
    """Return a table of the main measures with their intervals, seconds and bytes, and the notes."""
    metrics = [metric for metric in comparison.task.metrics if metric.shown]
    calibrated = isinstance(comparison.task, ClassificationTask)
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
            *(_format_interval(comparison, entry, metric) for metric in metrics),
            *([_format_calibration(entry)] if calibrated else []),
            Seconds(entry.fit_seconds),
            Seconds(entry.predict_seconds),
            Bytes(entry.size_bytes),
        )
        for entry in list_entries(comparison)
    )
    return Grid(comparison.title, fields, rows, collect_notes(comparison))


def heading_of(comparison: Comparison, metric: Metric) -> str:
    """Return the heading of a measure, with the unit of the target if the measure has it."""
    return f"{metric.heading} ({comparison.unit})" if metric.in_units and comparison.unit else metric.heading


def list_entries(comparison: Comparison) -> list[Entry]:
    """Return the entries, best first, with the reference at the place of its score."""
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
    """Return the name of an entry in the leaderboard, with marks for a reference and for missing convergence."""
    name = f"{entry.name}{REFERENCE_MARK}" if entry.kind == "reference" else entry.name
    return name if entry.converged else f"{name}{UNCONVERGED_MARK}"


def collect_notes(comparison: Comparison) -> tuple[str, ...]:
    """Return the notes of the comparison, then those of its models."""
    of_models = (f"{marked_name(entry)}: {note}" for entry in list_entries(comparison) for note in entry.notes)
    return (*comparison.notes, *of_models)


def make_frame(comparison: Comparison, library: str | None = None) -> Any:
    """Return a frame with a row for each model: measures with intervals, times, size, kind and notes."""
    if library is None:
        library = "pandas" if importlib.util.find_spec("pandas") else "pyarrow"
    records = [_record(comparison, entry) for entry in list_entries(comparison)]
    columns = [np.array([record[name] for record in records]) for name in records[0]]
    return frame_like(list(records[0]), columns, library)


def _record(comparison: Comparison, entry: Entry) -> dict[str, Any]:
    record: dict[str, Any] = {"model": entry.name, "kind": entry.kind, "partner": entry.partner or ""}
    for metric in comparison.task.metrics:
        interval = comparison.interval(entry.name, metric.name)
        record |= {metric.name: interval.mean, f"{metric.name}_low": interval.low, f"{metric.name}_high": interval.high}
    if isinstance(comparison.task, ClassificationTask):
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


def _format_interval(comparison: Comparison, entry: Entry, metric: Metric) -> Cell:
    """Format a score with its margin; ends that are 0 but for rounding, compared with the other models, as 0."""
    interval = comparison.interval(entry.name, metric.name)
    means = [abs(each.mean(metric.name)) for each in list_entries(comparison)]
    scale = max((mean for mean in means if math.isfinite(mean)), default=0.0)
    rounded = Interval(*(0.0 if abs(each) < VERDICT_ROUNDING * scale else each for each in interval))
    return "0" if rounded == (0.0, 0.0, 0.0) else _format_margin(metric.form, rounded)


def _format_margin(form: str, interval: Interval) -> Cell:
    """Format a mean and the margin of its interval with the same decimals; of unequal margins the larger one."""
    if math.isnan(interval.low):
        return interval.mean
    mean, margin = format_plain(interval.mean, form), max(interval.high - interval.mean, interval.mean - interval.low)
    decimals = len(mean.partition(".")[2].partition("e")[0])
    return f"{mean} ± {margin:,.{decimals}f}" if "e" not in mean else f"{mean} ± {margin:.1e}"


def _format_calibration(entry: Entry) -> Cell:
    """Format the calibration error with both ends of its interval, which is not symmetric."""
    error = entry.calibration
    return None if error is None else f"{error.error:.3f} ({error.low:.3f}–{error.high:.3f})"


class Bytes(float):
    """A number of bytes, formatted with three digits and a unit, and sorted as a number.

    Examples
    --------
    >>> f"{Bytes(2048)}", f"{Bytes(950)}", f"{Bytes(999_600)}"
    ('2.05 kB', '950 B', '1 MB')
    """

    def __format__(self, form: str) -> str:
        power = next((power for power in range(3) if float(f"{self / 1000**power:.3g}") < 1000), 3)
        return f"{self / 1000**power:.3g} {('B', 'kB', 'MB', 'GB')[power]}"


def compare_with_best(comparison: Comparison) -> dict[str, Difference]:
    """Return the difference from the best model for each other model, by the measure that models are ranked by.

    If one of the two models does not have this measure, the next one that both have is used. P-values are adjusted by
    Holm for the number of models. A baseline is not one of them: it is tested against all models, as in the verdict
    (`baseline_differences`).
    """
    best, *others = comparison.done
    overlap = overlap_of(comparison.splits)
    differences = {}
    for entry in others:
        metric = shared_metric(comparison, best, entry)
        differences[entry.name] = score_difference(best, entry, metric, overlap)
        if entry.kind == "baseline" and best.kind != "baseline" and differences[entry.name].mean > 0:
            models = [each for each in comparison.done if each.kind != "baseline"]
            differences[entry.name] = baseline_differences(models, entry, metric, overlap)[best.name]
    rivals = [name for name, difference in differences.items() if math.isnan(difference.adjusted)]
    for name, p in zip(rivals, holm([differences[name].p for name in rivals]), strict=True):
        differences[name] = differences[name]._replace(adjusted=p)
    return differences


def shared_metric(comparison: Comparison, one: Entry, other: Entry) -> Metric:
    """Return the first measure that both models have."""
    both = (
        metric
        for metric in comparison.task.metrics
        if not np.isnan(one.scores[metric.name]).all() and not np.isnan(other.scores[metric.name]).all()
    )
    return next(both, comparison.task.metric)


def make_differences(comparison: Comparison) -> Grid:
    """Return a table of the differences from the best model with their tests."""
    if not comparison.done:
        return Grid("Differences from the best score", (Field("model"),), ())
    best = comparison.done[0]
    rows = []
    for name, difference in compare_with_best(comparison).items():
        metric = shared_metric(comparison, best, comparison.entry(name))
        chances = PValue(difference.p), PValue(difference.adjusted)
        rows.append(
            (
                name,
                metric.heading,
                difference.mean,
                difference.low,
                difference.high,
                *chances,
                describe_difference(difference),
            )
        )
    fields = (
        Field("model"),
        Field("by"),
        *(Field(heading, ".3g") for heading in ("worse by", "from", "to", "p", "p (adjusted)")),
        Field("beyond chance"),
    )
    note = (
        "Paired t-tests of the held-out rows (of groups or blocks of time, where these split the rows), their "
        f"p-values adjusted for the number of tests (Holm 1979); beyond chance means below {SIGNIFICANCE_LEVEL}. "
        "Against the baseline the covariance of targets and forecasts within splits is tested, too, and of losses "
        f"that are at least {MIN_LOSS_RATIO:g} times as large the logarithms; the smallest p-value counts. The p-value "
        "against the baseline is adjusted for all models, with their correlations (Westfall and Young 1993)."
    )
    return Grid(f"Differences from the best score, that of {best.name}", fields, tuple(rows), (note,))


def describe_difference(difference: Difference) -> str:
    """Return whether a difference is beyond chance: "yes", "no", or a dash without a test."""
    if math.isnan(difference.adjusted):
        return "yes, without bound" if difference.mean == math.inf else EMPTY_CELL
    return "yes" if difference.adjusted < SIGNIFICANCE_LEVEL else "no"
