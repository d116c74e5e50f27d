"""What each unit of rows contributes to a score, so that units, and not the few splits, show how sure the score is.

Units are rows, or whole groups, or blocks of time: rows of different units are taken to be independent. The score of a
model is the mean over J splits of a measure m. With tᵢ the part of row i in the measure of its split of n rows
(`Metric.by_row`, whose mean is that measure), the part of unit u is

    vᵤ = m + U Σ (tᵢ − m) / (J n),   the sum over the held-out rows of u, and U the number of units,

whose mean is m and whose variance, divided by U, is that of the score for models as they were fitted (Bayle et al.
2020): the deviations of rows cover those between splits. A row that was held out in several repeats counts once, with
the sum of its parts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer._typing import Array
from mercer.using.metrics import Metric, Outcome


def scores_by_unit(metrics: Sequence[Metric], outcomes: Sequence[Outcome], units: Sequence[Array]) -> dict[str, Array]:
    """Return for each measure the parts of the units; none where rows have no part of their own, as in a median.

    `outcomes` and `units` have an entry for each split: what was forecast of its held-out rows, and their units.
    """
    found = {}
    for metric in metrics:
        if metric.by_row is None:
            continue
        parts = [metric.by_row(outcome) for outcome in outcomes]
        means = [float(metric.measure(outcome)) for outcome in outcomes]
        mean = float(np.mean([each for each in means if not np.isnan(each)] or [np.nan]))
        if np.isfinite(mean):
            found[metric.name] = mean + _summed([None if part is None else part - mean for part in parts], units)
    return found


def signals_by_unit(metrics: Sequence[Metric], outcomes: Sequence[Outcome], units: Sequence[Array]) -> dict[str, Array]:
    """Return for each measure the parts of the units in the covariance of target and forecast within splits.

    For Y and G of `Metric.pairing`, the mean of Σ (Y − Ȳ)(G − Ḡ) is by how much the loss is smaller than it would be,
    had the same forecasts met the targets of the same split in random order.
    """
    found = {}
    for metric in metrics:
        pairs = [None if metric.pairing is None else metric.pairing(outcome) for outcome in outcomes]
        if all(pair is not None for pair in pairs):
            parts = [((Y - Y.mean(axis=0)) * (G - G.mean(axis=0))).sum(axis=1) for Y, G in filter(None, pairs)]
            found[metric.name] = _summed(parts, units)
    return found


def _summed(parts: Sequence[Array | None], units: Sequence[Array]) -> Array:
    """Return U Σ pᵢ / (J n) for each unit with held-out rows; splits and rows without a part (NaN) are left out."""
    codes, places = np.unique(np.concatenate(units), return_inverse=True)
    ends = np.cumsum([len(each) for each in units])[:-1]
    total, splits = np.zeros(len(codes)), 0
    for part, of in zip(parts, np.split(places, ends), strict=True):
        if part is not None and (known := ~np.isnan(part)).any():
            total += np.bincount(of[known], part[known] / known.sum(), minlength=len(codes))
            splits += 1
    return total * len(codes) / max(splits, 1)
