"""Draw a comparison with matplotlib. Each function returns the Axes and neither shows nor saves the figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._errors import DataError
from mercer.application.tasks import ClassificationTask
from mercer.comparison._roc import roc_points
from mercer.decision import calibration_curve_with_intervals
from mercer.report.axes import MUTED_COLOUR, OUTLINE_COLOUR, prepare_axes

if TYPE_CHECKING:
    from mercer.comparison._entry import Entry
    from mercer.comparison.comparison import Comparison

#: maximum number of models in one plot
MAX_PLOTTED_MODELS = 5


def draw_leaderboard(comparison: Comparison, metric: str | None, ax: Any) -> Any:
    """Draw a measure of every model with its interval, best at the top."""
    chosen = comparison.metric(metric)
    ax = prepare_axes(ax, f"{chosen.heading} (95% interval)", "")
    entries = [each for each in comparison.done if np.isfinite(each.mean(chosen.name))][::-1]
    for place, entry in enumerate(entries):
        mean, low, high = comparison.interval(entry.name, chosen.name)
        ax.plot([low, high], [place, place], color=MUTED_COLOUR, linewidth=2, solid_capstyle="butt")
        ax.plot(mean, place, "o", color=OUTLINE_COLOUR)
    ax.set_yticks(range(len(entries)), [entry.name for entry in entries])
    return ax


def draw_calibration(comparison: Comparison, names: list[str] | None, ax: Any) -> Any:
    """Draw observed frequencies against predicted probabilities; on the diagonal they agree."""
    task = _check_classification(comparison)
    ax = _prepare_unit_square(ax, "predicted probability", "observed share")
    for entry in _probabilistic_entries(comparison, names):
        rows = entry.answered
        curve = calibration_curve_with_intervals(entry.held_out[rows], task.truth[rows])
        (line,) = ax.plot(curve.predicted, curve.observed, marker="o", label=entry.name)
        ax.fill_between(curve.predicted, curve.low, curve.high, color=line.get_color(), alpha=0.15, linewidth=0)
    ax.legend()
    return ax


def draw_roc(comparison: Comparison, names: list[str] | None, label: Any, ax: Any) -> Any:
    """Draw the true positive rate of a class against the false positive rate, over all thresholds."""
    task = _check_classification(comparison)
    column = len(task.labels) - 1 if label is None else _class_column(task, label)
    ax = _prepare_unit_square(ax, "false positives", f"true positives ({task.labels.tolist()[column]})")
    for entry in _probabilistic_entries(comparison, names):
        rows = entry.answered
        ax.plot(*roc_points(entry.held_out[rows, column], task.truth[rows] == column), label=entry.name)
    ax.legend()
    return ax


def _prepare_unit_square(ax: Any, horizontal: str, vertical: str) -> Any:
    """Return axes from 0 to 1 with a diagonal."""
    ax = prepare_axes(ax, horizontal, vertical)
    ax.plot([0, 1], [0, 1], color=MUTED_COLOUR, linestyle="--", linewidth=1)
    ax.set(xlim=(0, 1), ylim=(0, 1))
    return ax


def _check_classification(comparison: Comparison) -> ClassificationTask:
    if not isinstance(comparison.task, ClassificationTask):
        raise DataError(f"This plot needs classes, and the task is {comparison.task.name}; use plot_leaderboard.")
    return comparison.task


def _class_column(task: ClassificationTask, label: Any) -> int:
    if label not in task.labels.tolist():
        raise DataError(f"There is no class {label!r}; there are {', '.join(map(repr, task.labels.tolist()))}.")
    return int(task.labels.tolist().index(label))


def _probabilistic_entries(comparison: Comparison, names: list[str] | None) -> list[Entry]:
    if names is not None:
        chosen = [comparison.entry(name) for name in names]
        lacking = [entry.name for entry in chosen if not entry.probabilistic]
        if lacking:
            raise DataError(f"{lacking[0]} has no probabilities to draw; leave it out.")
        return chosen
    able = [entry for entry in comparison.done if entry.probabilistic and entry.kind != "baseline"]
    return able[:MAX_PLOTTED_MODELS]
