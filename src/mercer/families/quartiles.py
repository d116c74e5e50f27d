"""Interquartile range of a sample, with or without weights."""

from __future__ import annotations

import numpy as np

from mercer._typing import Array

#: number of values from which a quantile is bracketed by a subsample first
VALUES_TO_BRACKET = 1_000_000
#: size of that subsample
BRACKETING_VALUES = 1 << 16


def quartile_distance(x: Array, weight: Array | None = None) -> float:
    """Interquartile range, by NumPy's quantiles; with weights by interpolation between the middles of the cdf's steps.

    Examples
    --------
    >>> quartile_distance(np.arange(5.0)), quartile_distance(np.arange(5.0), np.full(5, 0.2))
    (2.0, 2.0)
    """
    if weight is None:
        return _quantile(x, 0.75) - _quantile(x, 0.25)
    weight = weight / weight.max()
    return _weighted_quantile(x, weight, 0.75) - _weighted_quantile(x, weight, 0.25)


def _quantile(x: Array, q: float) -> float:
    """Return `numpy.quantile(x, q)`; for many values by a partition of those within a bracket.

    The bracket is 8 standard errors wide around the quantile of every k-th value; NumPy is used if it misses.
    """
    place = q * (len(x) - 1)
    rank = int(place)
    if len(x) >= VALUES_TO_BRACKET:
        subsample = np.sort(x[:: len(x) // BRACKETING_VALUES])
        ends = len(subsample) * (q + 8 * np.sqrt(q * (1 - q) / len(subsample)) * np.array([-1.0, 1.0]))
        low, high = subsample[ends.astype(int)]
        below, close = int(np.count_nonzero(x < low)), x[(x >= low) & (x <= high)]
        if below <= rank < below + len(close) - 1:
            position = rank - below
            left, right = np.partition(close, (position, position + 1))[position : position + 2]
            return float(left + (right - left) * (place - rank))
    return float(np.quantile(x, q))


def _weighted_quantile(x: Array, weight: Array, q: float) -> float:
    """Quantile by interpolation between the middles of the steps of the cdf; for many values within a bracket."""
    ends = weight[x == x.min()].min() / 2, weight[x == x.max()].max() / 2
    at = float(ends[0] + q * (weight.sum() - ends[0] - ends[1]))
    if len(x) >= VALUES_TO_BRACKET:
        step = len(x) // BRACKETING_VALUES
        low, high = _bracket(x[::step], weight[::step], q)
        close = np.flatnonzero((x >= low) & (x <= high))
        values, middles = _middles_of_steps(x[close], weight[close], float(weight[x < low].sum()))
        if len(middles) and middles[0] <= at <= middles[-1]:
            return float(np.interp(at, middles, values))
    values, middles = _middles_of_steps(x, weight, 0.0)
    return float(np.interp(at, middles, values))


def _bracket(x: Array, weight: Array, q: float) -> tuple[float, float]:
    """Interval of 8 standard errors around the weighted quantile of a subsample."""
    order = np.argsort(x)
    shares = np.cumsum(weight[order]) / weight.sum()
    error = 8 * np.sqrt(q * (1 - q) * np.square(weight).sum()) / weight.sum()
    low, high = np.searchsorted(shares, [q - error, q + error])
    return float(x[order[low]]), float(x[order[min(high, len(x) - 1)]])


def _middles_of_steps(x: Array, weight: Array, below: float) -> tuple[Array, Array]:
    """Sorted values (ties by weight, so that the order of rows does not matter), and the weight up to each middle."""
    order = np.lexsort((weight, x))
    weight = weight[order]
    return x[order], below + np.cumsum(weight) - weight / 2
