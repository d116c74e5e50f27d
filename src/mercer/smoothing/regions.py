"""Highest-density regions: the smallest sets of a given probability (Hyndman 1996)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from mercer._errors import DataError
from mercer.smoothing.density import Density

Array = NDArray[Any]
#: points at which the density is looked at to find the level in several dimensions
SOME_POINTS = 10_000
#: parts of an interval in which the density crosses the level, of which one goes on
PARTS = 5
#: how short it has to be, relatively, while the level is sought, and when it is found
FINE, FINEST = 1e-11, 0.0
#: densities may differ by so much, relatively, and count as equal: they are sums in another order
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class HighestDensityRegion:
    """{x : p(x) ≥ level}, which holds `coverage` of the probability and is the smallest set that does.

    `intervals` has a row (low, high) for each piece of it where the density has one column, and is None otherwise.
    """

    coverage: float
    log_level: float
    intervals: Array | None
    density: Density = field(repr=False)

    @property
    def level(self) -> float:
        """Density on the boundary."""
        return float(np.exp(self.log_level))

    def contains(self, X: Any) -> Array:
        """Whether each row lies in the region."""
        rows = np.asarray(X, dtype=float).reshape(-1, self.density.columns)
        return np.asarray(self.density.log_density(rows) >= self.log_level - ROUNDING)


def highest_density_region(density: Density, coverage: float) -> HighestDensityRegion:
    """The region of this coverage: solved for on the curve in one dimension, estimated at the points in more."""
    if not 0 < coverage < 1:
        raise DataError(f"coverage is a share of the probability, above 0 and below 1; got {coverage!r}.")
    if density.columns == 1:
        return _of_curve(density, coverage)
    return HighestDensityRegion(coverage, _level_at_points(density, coverage), None, density)


def _level_at_points(density: Density, coverage: float) -> float:
    """The weighted 1 − coverage quantile of log p(x_j), at so many points that a hundredth of the coverage is seen."""
    some = slice(None, None, 1 + len(density.centres) // SOME_POINTS)
    logs = density.log_density(density.centres[some])
    weight = np.ones(len(logs)) if density.weight is None else density.weight[some] / density.weight.max()
    order = np.argsort(logs)
    up_to = np.cumsum(weight[order])
    return float(logs[order[np.searchsorted(up_to, (1 - coverage) * up_to[-1])]])


def _of_curve(density: Density, coverage: float) -> HighestDensityRegion:
    """Solve P(p(x) ≥ level) = coverage; where a level is a plateau the region is the first that holds enough."""
    places = density.probes()
    logs = density.log_density(places[:, None])

    def excess(log_level: float) -> float:
        return float(_mass(density, _pieces(density, places, logs, log_level, FINE))) - coverage

    low, high = _bracket(density, places, logs, coverage, excess)
    log_level = low if high <= low else float(brentq(excess, low, high, xtol=1e-13))
    if excess(log_level) < -1e-9:  # on the empty side of a jump
        log_level -= ROUNDING
    return HighestDensityRegion(coverage, log_level, _pieces(density, places, logs, log_level, FINEST), density)


def _bracket(
    density: Density, places: Array, logs: Array, coverage: float, excess: Callable[[float], float]
) -> tuple[float, float]:
    """Levels that hold enough and too little, near a guess; both the lowest if not even that one holds enough."""
    lowest, highest = float(logs[np.isfinite(logs)].min()), float(logs.max())
    low = high = min(max(_guess(density, places, logs, coverage), lowest), highest)
    step = 0.02
    while low > lowest and excess(low) < 0:
        low, high, step = max(low - step, lowest), low, 4 * step
    if high > low:
        return low, high
    while high < highest and excess(high) >= 0:
        low, high, step = high, min(high + step, highest), 4 * step
    return low, high


def _guess(density: Density, places: Array, logs: Array, coverage: float) -> float:
    """The level if pieces between two places were in the region as a whole, or not at all."""
    masses = density.probability(places[:-1, None], places[1:, None])
    with np.errstate(invalid="ignore"):
        heights = 0.5 * (logs[1:] + logs[:-1])
    order = np.argsort(-heights)
    place = int(np.searchsorted(np.cumsum(masses[order]), coverage))
    return float(heights[order[min(place, len(order) - 1)]])


def _mass(density: Density, pieces: Array) -> Array:
    return np.asarray(density.probability(pieces[:, :1], pieces[:, 1:]).sum())


def _pieces(density: Density, places: Array, logs: Array, log_level: float, fine: float) -> Array:
    """Intervals in which log p ≥ log level, but for rounding, of shape (pieces, 2)."""
    log_level -= ROUNDING
    inside = np.concatenate([[False], logs >= log_level, [False]])
    starts = np.flatnonzero(~inside[:-1] & inside[1:])
    ends = np.flatnonzero(inside[:-1] & ~inside[1:]) - 1
    outside = np.concatenate([places[np.maximum(starts - 1, 0)], places[np.minimum(ends + 1, len(places) - 1)]])
    found = _crossings(density, outside, np.concatenate([places[starts], places[ends]]), log_level, fine)
    return np.stack(np.split(found, 2), axis=1)


def _crossings(density: Density, outside: Array, inside: Array, log_level: float, fine: float) -> Array:
    """Where the density passes the level between places outside and inside of the region, by ever finer grids.

    Asking for some values at once costs little more than for one, and jumps do no harm. An end that lies on the bounds
    of the support stays where it is.
    """
    at_bound = density.log_density(outside[:, None]) >= log_level
    outside, inside = np.where(at_bound, inside, outside), np.where(at_bound, outside, inside)
    each, enough = np.arange(len(inside)), 2 * np.spacing(np.abs(inside)) + fine * np.abs(outside - inside)
    while (np.abs(outside - inside) > enough).any():
        grid = np.linspace(outside, inside, PARTS + 1, axis=1)
        grid[:, -1] = inside
        within = density.log_density(grid[:, 1:-1].reshape(-1, 1)).reshape(len(grid), -1) >= log_level
        first = np.argmax(np.column_stack([within, np.ones(len(grid), dtype=bool)]), axis=1) + 1
        following = grid[each, first - 1], grid[each, first]
        if (following[0] == outside).all() and (following[1] == inside).all():
            break
        outside, inside = following
    return inside
