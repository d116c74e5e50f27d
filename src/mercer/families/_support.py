"""Supports of several families, and quantiles by inverting a distribution function."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import ndtri

from mercer._typing import Array

#: lower limit of draws that are above 0, as a draw that underflows to 0 has no log density
SMALLEST_DRAW = float(np.finfo(float).tiny)


def not_positive(x: Array) -> Array:
    """Mask of the x ≤ 0 or infinite."""
    return np.asarray((np.asarray(x) <= 0) | np.isinf(x))


def negative(x: Array) -> Array:
    """Mask of the x < 0 or infinite."""
    return np.asarray((np.asarray(x) < 0) | np.isinf(x))


def not_a_count(x: Array) -> Array:
    """Mask of the x other than 0, 1, 2, …"""
    x = np.asarray(x, dtype=float)
    return np.asarray(negative(x) | (np.floor(x) < x))


Function = Callable[..., Array]

#: relative precision of a quantile
QUANTILE_PRECISION = 1e-13
#: limit on the steps of a search; bisection alone takes fewer
MAX_QUANTILE_STEPS = 200


def whole_quantile(cdf: Function, q: Array, mean: Array, deviation: Array, highest: Array | float = np.inf) -> Array:
    """Smallest integer k ≥ 0 with cdf(k) ≥ q, by bisection around the normal approximation; NaN unless 0 ≤ q ≤ 1."""
    q, mean, deviation = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in (q, mean, deviation)))
    known = (q >= 0) & (q < 1) & np.isfinite(mean)
    with np.errstate(invalid="ignore"):
        guess = np.floor(mean + deviation * ndtri(np.where(known, q, 0.5)))
    low = np.clip(np.where(np.isfinite(guess), guess, 0.0), 0.0, highest)
    high, step = low.copy(), np.maximum(1.0, np.ceil(deviation / 8))
    # bracket the quantile, cdf(low) < q ≤ cdf(high), where cdf(−1) = 0
    for _ in range(MAX_QUANTILE_STEPS):
        short = known & (cdf(high) < q)
        if not short.any():
            break
        high = np.where(short, np.minimum(high + step, highest), high)
        step = np.where(short, 2 * step, step)
    step = np.maximum(1.0, np.ceil(deviation / 8))
    for _ in range(MAX_QUANTILE_STEPS):
        long = known & (low >= 0) & (cdf(low) >= q)
        if not long.any():
            break
        low = np.where(long, np.maximum(low - step, -1.0), low)
        step = np.where(long, 2 * step, step)
    while (open_ := known & (high - low > np.maximum(1.0, np.spacing(high)))).any():
        middle = np.floor((low + high) / 2)
        enough = cdf(middle) >= q
        low, high = np.where(open_ & ~enough, middle, low), np.where(open_ & enough, middle, high)
    return np.where(known, high, np.where(q == 1, highest, np.nan))


def positive_quantile(cdf: Function, log_density: Function, q: Array, start: Array) -> Array:
    """Solve cdf(x) = q for x > 0 and 0 < q < 1 by Newton's method with bisection.

    `cdf(x, rows)` and `log_density(x, rows)` are evaluated at the rows that have not converged.
    """
    rows = np.arange(len(q))
    result, low, high, x = np.empty(len(q)), np.zeros(len(q)), np.full(len(q), np.inf), np.array(start, dtype=float)
    for _ in range(MAX_QUANTILE_STEPS):
        off = cdf(x, rows) - q[rows]
        low, high = np.where(off < 0, x, low), np.where(off < 0, high, x)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            new = x - off * np.exp(-log_density(x, rows))
        bounded = np.where(low > 0, np.sqrt(low) * np.sqrt(high), high / 16)
        middle = np.where(np.isinf(high), 4 * x, bounded)
        new = np.where((new > low) & (new < high) & (new < 4 * x), new, middle)
        converged = (np.abs(new - x) <= QUANTILE_PRECISION * x) | (
            (high - low <= QUANTILE_PRECISION * high) & (high < np.inf)
        )
        result[rows] = new
        if converged.all():
            break
        rows, low, high, x = rows[~converged], low[~converged], high[~converged], new[~converged]
    return result
