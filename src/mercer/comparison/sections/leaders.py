"""Who did best, by how much, and how sure that is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.comparison.view import View
from mercer.report import Axis, Bars, Chart, Note, Section

#: models that a chart has room for
MOST_MODELS = 25


def leaders(view: View) -> Section:
    """The leaderboard, a chart of the first measure with its intervals, and which differences are real."""
    comparison = view.comparison
    # what is to be said of single models stands below, each with its level
    blocks: list[Any] = [*comparison.sentences(), replace(comparison.leaderboard(), notes=comparison.notes)]
    chart = _chart(view)
    if chart.marks[0].names:  # type: ignore[union-attr]
        blocks.append(chart)
    differences = comparison.differences()
    if differences.rows:
        blocks.append(differences)
    blocks += [
        Note(f"{entry.name}: {note}", "warning" if entry.failed else "info")
        for entry in comparison.entries
        for note in entry.notes
    ]
    return Section(
        "leaderboard",
        "Which model",
        tuple(blocks),
        "Every model was fitted to some of the rows and judged by the others. Intervals are of the mean over the "
        "splits, at 95 %.",
    )


def _chart(view: View) -> Chart:
    comparison, metric = view.comparison, view.comparison.task.metric
    entries = [entry for entry in view.ranked if np.isfinite(entry.scores[metric.name]).all()][:MOST_MODELS]
    found = [comparison.interval(entry.name) for entry in entries]
    mean, low, high = np.array(found).reshape(-1, 3).T
    better = "More is better." if metric.larger_is_better else "Less is better."
    bars = Bars(metric.heading, [entry.name for entry in entries], mean, low=low, high=high)
    return Chart(f"{metric.heading} of each model", Axis(metric.heading), Axis("model"), (bars,), better)
