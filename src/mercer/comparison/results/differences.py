"""Which models of a comparison are worse than the best, by how much, and whether that is beyond chance."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from mercer.comparison.measuring.judging import score_difference
from mercer.comparison.measuring.paired import FAR_APART, LEVEL, Difference, holm, overlap_of
from mercer.report import Field, Grid
from mercer.report.grid import NOTHING
from mercer.report.wording import PValue
from mercer.using.metrics import Metric

if TYPE_CHECKING:
    from mercer.comparison.comparison import Comparison
    from mercer.comparison.entry import Entry


def against_best(comparison: Comparison) -> dict[str, Difference]:
    """For each model but the best, by how much it is worse by the measure that models are ranked by.

    Where the best and the model have no such measure in common, it is compared by the next that both have.
    """
    best, *others = comparison.done
    overlap = overlap_of(comparison.splits)
    found = {}
    for entry in others:
        metric = shared_metric(comparison, best, entry)
        found[entry.name] = score_difference(best, entry, metric, overlap)
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
        return Grid("Differences from the best score", (Field("model"),), ())
    best = comparison.done[0]
    rows = []
    for name, found in against_best(comparison).items():
        metric = shared_metric(comparison, best, comparison.entry(name))
        chances = PValue(found.p), PValue(found.adjusted)
        rows.append((name, metric.heading, found.mean, found.low, found.high, *chances, verdict(found)))
    fields = (
        Field("model"),
        Field("by"),
        *(Field(heading, ".3g") for heading in ("worse by", "from", "to", "p", "p (Holm)")),
        Field("beyond chance"),
    )
    note = (
        "Paired t-tests of the held-out rows (of groups or blocks of time, where these split the rows), their p-values "
        f"corrected for the number of tests (Holm 1979); beyond chance means below {LEVEL}. Against the baseline the "
        "covariance of targets and forecasts within splits is tested, too, and of losses that are at least "
        f"{FAR_APART:g} times as large the logarithms; the smallest p-value counts."
    )
    return Grid(f"Differences from the best score, that of {best.name}", fields, tuple(rows), (note,))


def verdict(found: Difference) -> str:
    if math.isnan(found.adjusted):
        return "yes, without bound" if found.mean == math.inf else NOTHING
    return "yes" if found.adjusted < LEVEL else "no"
