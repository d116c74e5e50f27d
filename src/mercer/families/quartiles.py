"""Quartiles of a sample, weighted or not: how wide it is, whatever its tails."""

from __future__ import annotations

import numpy as np

from mercer._typing import Array

#: values from which on a quantile is looked for among few of them, and how many say where
MANY, LOOKED_AT = 1_000_000, 1 << 16


def quartile_distance(x: Array, weight: Array | None = None) -> float:
    """Between the quartiles: NumPy's, and with weights those of the line through the middles of the steps.

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
    """`numpy.quantile`; of many values faster, by looking closer only at those around it.

    Every so many-th value says between which two it should lie. Where it does not, NumPy does.
    """
    place = q * (len(x) - 1)
    rank = int(place)
    if len(x) >= MANY:
        some = np.sort(x[:: len(x) // LOOKED_AT])
        ends = len(some) * (q + 8 * np.sqrt(q * (1 - q) / len(some)) * np.array([-1.0, 1.0]))
        low, high = some[ends.astype(int)]
        below, close = int(np.count_nonzero(x < low)), x[(x >= low) & (x <= high)]
        if below <= rank < below + len(close) - 1:
            here = rank - below
            left, right = np.partition(close, (here, here + 1))[here : here + 2]
            return float(left + (right - left) * (place - rank))
    return float(np.quantile(x, q))


def _weighted_quantile(x: Array, weight: Array, q: float) -> float:
    """On the line through the middles of the steps of the distribution function; of many values found as above."""
    ends = weight[x == x.min()].min() / 2, weight[x == x.max()].max() / 2
    at = float(ends[0] + q * (weight.sum() - ends[0] - ends[1]))
    if len(x) >= MANY:
        step = len(x) // LOOKED_AT
        low, high = _around(x[::step], weight[::step], q)
        close = np.flatnonzero((x >= low) & (x <= high))
        values, middles = _middles_of_steps(x[close], weight[close], float(weight[x < low].sum()))
        if len(middles) and middles[0] <= at <= middles[-1]:
            return float(np.interp(at, middles, values))
    values, middles = _middles_of_steps(x, weight, 0.0)
    return float(np.interp(at, middles, values))


def _around(x: Array, weight: Array, q: float) -> tuple[float, float]:
    """Values between which the quantile of all lies, as far as these few can tell."""
    order = np.argsort(x)
    shares = np.cumsum(weight[order]) / weight.sum()
    error = 8 * np.sqrt(q * (1 - q) * np.square(weight).sum()) / weight.sum()
    low, high = np.searchsorted(shares, [q - error, q + error])
    return float(x[order[low]]), float(x[order[min(high, len(x) - 1)]])


def _middles_of_steps(x: Array, weight: Array, below: float) -> tuple[Array, Array]:
    """Values in order, equal ones by their weight and not by their rows, and the weight up to the middle of each."""
    order = np.lexsort((weight, x))
    weight = weight[order]
    return x[order], below + np.cumsum(weight) - weight / 2
