"""Intervals of scores, and tests of whether a model is better than another.

Three tests find a difference, and the smallest p-value counts:

1. A paired t-test of the parts of the units (`_paired.scores_by_unit`). Units are rows, groups or blocks of time, so
   that it has far more power than a test of five splits.
2. For a model against a baseline, a test of whether forecasts and targets are related: their covariance within splits
   (`Entry.signal`) is 0 if the columns are uninformative. The first test loses power here, because estimation errors
   reduce the gain of a model. Forecasts depend on the targets of other splits, so that each pair of rows counts twice;
   the variance is therefore larger than that of independent rows (`SIGNAL_VARIANCE_FACTOR`). The test is used only for
   a model with the better score.
3. A t-test, by splits, of the logarithms of losses that are far apart (`_paired.p_of_ratios`).

A model is better than the baseline beyond chance if its p-value is small after the correction for the number of
models (`baseline_differences`).

If units have no parts, as for a median, the splits are tested (Nadeau and Bengio 2003).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from mercer.application.metrics import Metric
from mercer.comparison._entry import Entry
from mercer.comparison._paired import (
    Difference,
    Interval,
    adjust_jointly,
    difference_of,
    interval_of,
    p_of_ratios,
    p_of_signal,
    paired_t,
)


def score_interval(entry: Entry, metric: Metric, overlap: float) -> Interval:
    """Return the mean of a measure over the splits and its 95% interval.

    `overlap` is the number of scored rows per training row, which is used if splits are compared.
    """
    scores = entry.scores[metric.name]
    if (parts := entry.by_unit.get(metric.name)) is None:
        return interval_of(scores, overlap, metric.low, metric.high)
    return interval_of(parts, 0.0, metric.low, metric.high)._replace(mean=entry.mean(metric.name))


def score_difference(one: Entry, other: Entry, metric: Metric, overlap: float) -> Difference:
    """Return the advantage of the first model by a measure, with its interval and p-value."""
    gains = metric.gain(one.scores[metric.name]), metric.gain(other.scores[metric.name])
    difference = difference_of(*gains, overlap)
    parts = one.by_unit.get(metric.name), other.by_unit.get(metric.name)
    if parts[0] is None or parts[1] is None or not math.isfinite(difference.mean):
        return difference
    by_units = paired_t(metric.gain(parts[0]), metric.gain(parts[1]))
    p_values = [by_units.p, p_of_ratios(*gains, overlap)]
    if other.kind == "baseline" and one.kind != "baseline" and difference.mean > 0 and metric.name in one.signal:
        p_values.append(p_of_signal(one.signal[metric.name]))
    return by_units._replace(p=min(p_values))


def baseline_differences(
    models: Sequence[Entry], baseline: Entry, metric: Metric, overlap: float
) -> dict[str, Difference]:
    """Return the advantage of each model over a baseline, with p-values adjusted for the number of models.

    A field of models has more than one chance to look better than a baseline. The family is the hypotheses that a
    model is not better; the correlations of the models are those of the parts of the units in the covariances of
    forecasts and targets (`adjust_jointly`).
    """
    differences = [score_difference(entry, baseline, metric, overlap) for entry in models]
    one_sided = [1.0 if each.mean <= 0 and not math.isnan(each.p) else each.p for each in differences]
    adjusted = adjust_jointly(one_sided, [entry.signal.get(metric.name) for entry in models])
    return {entry.name: each._replace(adjusted=p) for entry, each, p in zip(models, differences, adjusted, strict=True)}
