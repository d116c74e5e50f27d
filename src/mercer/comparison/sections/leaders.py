"""The section on the scores of all models and their differences."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.comparison._leaderboard import VERDICT_ROUNDING, heading_of, list_entries, marked_name
from mercer.comparison._verdict import describe_details
from mercer.comparison._view import View
from mercer.report import Axis, Bars, Chart, Note, Section

#: models in the chart
MAX_LEADER_BARS = 25
#: class of a warning before its message
_WARNING = re.compile(r"^\w*Warning: ")


def leaders(view: View) -> Section:
    """Return the leaderboard, a chart of the first measure with intervals, and the tests of differences."""
    comparison = view.comparison
    # notes on single models follow below, each with its level
    blocks: list[Any] = [replace(comparison.leaderboard(), notes=comparison.notes), *describe_details(comparison)]
    chart = _chart(view)
    if chart.marks[0].names:  # type: ignore[union-attr]
        blocks.append(chart)
    differences = comparison.differences()
    if differences.rows:
        blocks.append(differences)
    blocks += [
        Note(f"{entry.name}: {_WARNING.sub('', note)}", "warning" if entry.failed else "info")
        for entry in comparison.entries
        for note in entry.notes
    ]
    return Section(
        "leaderboard",
        "All models and their scores",
        tuple(blocks),
        "Every model was fitted to a part of the rows and scored on the rest. Scores are means over the splits with "
        "95% intervals.",
    )


def _chart(view: View) -> Chart:
    comparison, metric = view.comparison, view.comparison.task.metric
    models = [entry for entry in list_entries(comparison) if not entry.failed]
    entries = [entry for entry in models if np.isfinite(entry.scores[metric.name]).all()][:MAX_LEADER_BARS]
    intervals = [comparison.interval(entry.name) for entry in entries]
    values = np.array(intervals).reshape(-1, 3)
    rounding = VERDICT_ROUNDING * np.abs(values[:, 0]).max(initial=0)
    mean, low, high = np.where(np.abs(values) < rounding, 0.0, values).T  # as in the table
    better = "Higher is better." if metric.larger_is_better else "Lower is better."
    bars = Bars(metric.heading, [marked_name(entry) for entry in entries], mean, low=low, high=high)
    heading = metric.heading[:1].upper() + metric.heading[1:]
    axis = Axis(heading_of(comparison, metric), form="#.3g" if np.abs(mean).max(initial=0) < 1000 else ".3g")
    return Chart(f"{heading} of each model", axis, Axis(""), (bars,), better)
