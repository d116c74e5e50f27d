"""How sure a score is, and whether a model is better than another: the one place where this is decided.

Three tests find a difference, and the smallest p-value counts:

1. A paired t-test of the parts of the units (`measuring.units`). There are as many units as rows, or groups, or blocks
   of time, so that it has far more power than a test of five splits.
2. For a model against a baseline, a test of whether forecasts and targets belong together at all: their covariance
   within splits (`Entry.signal`) is 0 where the columns say nothing. The first test loses power here, because a model
   pays for what it estimates: it gains less than its columns are worth. Forecasts depend on the targets of other
   splits, so that each pair of rows counts twice; the variance is therefore doubled, which is the most that this does.
   A model that is not better by score is not called better by this test.
3. A t-test of the logarithms of losses that are far apart, by splits (`measuring.paired`).

Where units have no parts, as for a median, the splits decide (Nadeau and Bengio 2003).
"""

from __future__ import annotations

import math

from mercer.application.metrics import Metric
from mercer.comparison._entry import Entry
from mercer.comparison._paired import (
    Difference,
    Interval,
    difference_of,
    interval_of,
    p_of_ratios,
    p_of_signal,
    paired_t,
)


def score_interval(entry: Entry, metric: Metric, overlap: float) -> Interval:
    """Return the mean of a measure over the splits and its 95% interval.

    `overlap` is how many rows are scored for each row fitted to, which counts where splits are compared.
    """
    scores = entry.scores[metric.name]
    if (parts := entry.by_unit.get(metric.name)) is None:
        return interval_of(scores, overlap, metric.low, metric.high)
    return interval_of(parts, 0.0, metric.low, metric.high)._replace(mean=entry.mean(metric.name))


def score_difference(one: Entry, other: Entry, metric: Metric, overlap: float) -> Difference:
    """Return by how much the first is better by a measure, and whether that is chance."""
    gains = metric.gain(one.scores[metric.name]), metric.gain(other.scores[metric.name])
    found = difference_of(*gains, overlap)
    parts = one.by_unit.get(metric.name), other.by_unit.get(metric.name)
    if parts[0] is None or parts[1] is None or not math.isfinite(found.mean):
        return found
    by_units = paired_t(metric.gain(parts[0]), metric.gain(parts[1]))
    p_values = [by_units.p, p_of_ratios(*gains, overlap)]
    if other.kind == "baseline" and one.kind != "baseline" and found.mean > 0 and metric.name in one.signal:
        p_values.append(p_of_signal(one.signal[metric.name]))
    return by_units._replace(p=min(p_values))
