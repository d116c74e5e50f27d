"""The section on predicted and observed numbers and counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.comparison._view import View, sample_rows
from mercer.report import Axis, Chart, Field, Grid, Line, PointCloud, Section
from mercer.report.wording import format_count

#: points of a scatter plot
MAX_SCATTER_POINTS = 600
#: bins of the curve of means
MAX_MEAN_BINS = 12


def predictions(view: View) -> Section | None:
    """Return charts of observed against predicted values, of residuals, and of the frequencies of counts."""
    best = view.best()
    if view.classification or best is None:
        return None
    predicted, truth = view.held_out(best)
    if len(truth) < 2:
        return None
    blocks: list[Any] = [
        _observed_chart(predicted, truth),
        _residual_chart(predicted, truth),
        _error_quantiles(predicted, truth),
    ]
    if view.comparison.task.name == "counts":
        blocks.append(draw_rootogram(predicted, truth, r=view.overdispersed(best)))
    return Section(
        "predictions",
        "Predicted and observed",
        tuple(blocks),
        f"What {best.name} predicted for rows that it was not fitted to, and what was observed.",
    )


def _observed_chart(predicted: Array, truth: Array) -> Chart:
    rows = sample_rows(len(truth), MAX_SCATTER_POINTS)
    low, high = float(min(predicted.min(), truth.min())), float(max(predicted.max(), truth.max()))
    x, y, below, above, n = average_in_bins(predicted, truth)
    labels = [format_count(k, "row") for k in n]
    sampled = f" {len(rows)} of {len(truth):,} rows are drawn." if len(rows) < len(truth) else ""
    return Chart(
        "Observed against predicted",
        Axis("predicted"),
        Axis("observed"),
        (
            Line("", [low, high], [low, high], dashed=True),
            PointCloud("rows", predicted[rows], truth[rows]),
            PointCloud("mean observed", x, y, labels, low=below, high=above),
        ),
        "Means in bins of equally many rows, with 95% intervals. On the dashed line, observed equals predicted."
        f"{sampled}",
    )


def _residual_chart(predicted: Array, truth: Array) -> Chart:
    rows = sample_rows(len(truth), MAX_SCATTER_POINTS)
    left = truth - predicted
    x, y, below, above, _ = average_in_bins(predicted, left)
    return Chart(
        "Residuals against predicted",
        Axis("predicted"),
        Axis("observed − predicted"),
        (
            Line("", [float(predicted.min()), float(predicted.max())], [0, 0], dashed=True),
            PointCloud("rows", predicted[rows], left[rows]),
            Line("mean", x, y, low=below, high=above),
        ),
        "Where the mean differs from 0, the model misses structure. Where the spread grows, a model of the logarithm "
        "or of counts may fit better.",
    )


def average_in_bins(by: Array, values: Array) -> tuple[Array, Array, Array, Array, list[int]]:
    """Return the means of `by` and `values`, 95% intervals, and numbers of rows in bins of equally many rows."""
    order = np.argsort(by, kind="stable")
    parts = [part for part in np.array_split(order, min(MAX_MEAN_BINS, max(1, len(by) // 5))) if len(part)]
    x = np.array([by[part].mean() for part in parts])
    y = np.array([values[part].mean() for part in parts])
    half = np.array([1.96 * values[part].std(ddof=1) / np.sqrt(len(part)) if len(part) > 1 else 0.0 for part in parts])
    return x, y, y - half, y + half, [len(part) for part in parts]


def _error_quantiles(predicted: Array, truth: Array) -> Grid:
    left = np.abs(truth - predicted)
    levels = (0.5, 0.8, 0.9, 0.95, 0.99)
    rows = tuple((level, float(np.quantile(left, level))) for level in levels)
    return Grid("How far off", (Field("of the rows", ".0%"), Field("are off by at most", ".4g")), rows)


def draw_rootogram(predicted: Array, truth: Array, *, r: float = np.inf) -> Chart:
    """Draw how often counts occur beside how often the distribution with these means has them.

    Parameters
    ----------
    predicted, truth : ndarray of shape (n_rows,)
        Means, and the counts observed.
    r : float, default=inf
        Of the negative binomial distribution; the default is a Poisson's.
    """
    from scipy.stats import nbinom, poisson

    top = int(min(np.quantile(truth, 0.99) + 1, 40))
    values = np.arange(top + 1)
    mean = np.maximum(predicted, 1e-12)
    distribution = nbinom(r, r / (r + mean)) if np.isfinite(r) else poisson(mean)
    name = "negative binomial" if np.isfinite(r) else "Poisson"
    expected = np.array([np.sum(distribution.pmf(value)) for value in values])
    observed = np.bincount(truth[truth <= top].astype(int), minlength=top + 1)
    return Chart(
        "How often each count occurs",
        Axis("count", form=".0f"),
        Axis("rows", form=",.0f", low=0),
        (PointCloud("observed", values, observed), Line(f"{name} with these means", values, expected)),
        "Where more rows than expected are at 0 and far out, the counts are over-dispersed.",
    )
