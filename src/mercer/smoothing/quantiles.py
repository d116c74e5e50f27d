"""Quantiles of a density of one column: the inverse of its distribution function, by Newton's method between bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._errors import DataError, NoClosedFormError
from mercer._typing import Array
from mercer.smoothing.density import Density

#: every other step halves what is left over, or the bounds: so many exhaust the digits of a number
STEPS = 250


def quantiles(density: Density, q: Any) -> Array:
    """The smallest x with cdf(x) ≥ q, for each q; 0 and 1 give the ends of where the density is positive.

    Parameters
    ----------
    density : Density
        Of one column.
    q : array-like
        Probabilities.

    Returns
    -------
    ndarray of the shape of q
        The quantiles.
    """
    if density.columns != 1:
        raise NoClosedFormError(
            f"quantiles are those of one column, and the density has {density.columns}; ask its `marginal` or "
            "`conditional` density of one."
        )
    asked = checked_probabilities(q)
    found = np.empty(asked.size)
    inner = (asked.ravel() > 0) & (asked.ravel() < 1)
    found[inner] = _between(density, asked.ravel()[inner])
    low, high = density.ends()
    found[~inner] = np.where(asked.ravel()[~inner] == 0, low[0], high[0])
    return found.reshape(asked.shape)


def checked_probabilities(q: Any) -> Array:
    """Probabilities as an array; a `DataError` names what is none."""
    try:
        asked = np.asarray(q, dtype=float)
    except (TypeError, ValueError):
        raise DataError(f"q holds probabilities, from 0 to 1; got {q!r}.") from None
    wrong = asked[~((asked >= 0) & (asked <= 1))]
    if wrong.size:
        raise DataError(f"q holds probabilities, from 0 to 1; got {wrong[0]}.")
    return asked


def _between(density: Density, q: Array) -> Array:
    (low,), (high,) = density.extent(np.inf)
    lower, upper, off = np.full(len(q), low), np.full(len(q), high), np.full(len(q), np.inf)
    x, unit = _start(density, q), 1e-3 * np.finfo(float).eps * (high - low)
    for _ in range(STEPS):
        excess = density.cdf(x[:, None]) - q
        lower, upper = np.where(excess >= 0, lower, x), np.where(excess >= 0, x, upper)
        steps = _newton(density, excess, x, lower, upper)
        # a step that did not halve what is left over is followed by one that halves the bounds
        following = np.where(np.abs(excess) <= 0.5 * off, steps, 0.5 * (lower + upper))
        near = 2 * np.spacing(np.abs(x)) + unit
        if ((np.abs(steps - x) <= near) | (upper - lower <= near)).all():
            return steps
        x, off = following, np.abs(excess)
    return x


def _start(density: Density, q: Array) -> Array:
    """Quantiles of the points themselves."""
    points, weight = density.centres[:, 0], density.weight
    order = np.argsort(points)
    up_to = np.cumsum(np.ones(len(points)) if weight is None else weight[order] / weight.max())
    place = np.minimum(np.searchsorted(up_to, q * up_to[-1]), len(points) - 1)
    return np.asarray(points[order[place]], dtype=float)


def _newton(density: Density, excess: Array, x: Array, lower: Array, upper: Array) -> Array:
    """x − (F − q)/f, or the middle of the bounds where that leaves them."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        following = x - excess / np.exp(density.log_curve(x))
    inside = (following >= lower) & (following <= upper)
    return np.where(inside, following, 0.5 * (lower + upper))
