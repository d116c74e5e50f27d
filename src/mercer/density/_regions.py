"""Highest-density regions: the smallest sets of a given probability (Hyndman 1996)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import brentq

from mercer._errors import DataError, NoClosedFormError
from mercer._typing import Array
from mercer.density._density import Density
from mercer.report.wording import counted

if TYPE_CHECKING:
    from mercer.density._windows import Windows


# Where to look at a density on the line so that no hill of it is missed.

#: points whose middles and kernels' ends are looked at one by one
MOST_ENDS = 4096
#: places that are left where very many are close together
MOST_PLACES = 4096


def probes_of(windows: Windows) -> Array:
    """Fine steps around every point; of many points that nearly coincide, around one.

    In their middles kernels may have a tip, and where they end, the density bends or jumps: of some thousands of points
    all these places count, too.
    """
    points, span = windows.points[:, 0], windows.span
    h = float(windows.scales[0]) * (np.ones(len(points)) if windows.factors is None else windows.factors)
    rows, _ = thinned(points, h.min() / 4)
    steps = np.concatenate([np.linspace(0, min(4.0, span), 17), np.geomspace(1, max(span, 4.0), 8)])
    steps = np.append(steps[steps <= span], span * (1 + 1e-9))
    around = points[rows, None] + h[rows, None] * np.concatenate([-steps, steps])
    _, places = thinned(around.ravel(), h.min() / 8)
    places = np.concatenate([places, around[0], around[-1]])
    if len(points) <= MOST_ENDS:
        ends = [points - h, points + h] if np.isfinite(windows.kernel.reach) else []
        places = np.concatenate([places, points, *ends])
    return np.unique(places)


def thinned(x: Array, step: float) -> tuple[Array, Array]:
    """Rows and values of one x in every cell of width `step`, ascending; cells are wider where these are too many."""
    order = np.argsort(x, kind="stable")
    step = max(step, float(x[order[-1]] - x[order[0]]) / 1e15)
    while True:
        cells = np.floor((x[order] - x[order[0]]) / step)
        first = np.append(True, np.diff(cells) > 0)
        if first.sum() <= MOST_PLACES:
            return order[first], x[order[first]]
        step *= 2


# Quantiles of a density of one column: the inverse of its distribution function, by Newton's method between bounds.

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


#: draws at which the density is looked at to find the level in several dimensions, and the error of it there
DRAWS, DRAWN_ERROR = 10_000, 1e-3
#: where an interval is looked at in which the density crosses the level, or may turn
PARTS = np.array([0.2, 0.4, 0.6, 0.8])
#: how near, in lengths of the interval, the crossing is to where a line would cross: at first
NEAR = 0.1
#: of the logarithm of a level, where the coverage jumps and cannot be met
LEVEL_ERROR = 1e-11
#: a coverage that is off by less is met
MET = 1e-12
#: how short it has to be, relatively, while the level is sought, and when it is found
FINE, FINEST = 1e-11, 0.0
#: densities may differ by so much, relatively, and count as equal: they are sums in another order
ROUNDING = 1e-12
#: of golden sections, and how many there are: summits cannot be told to more than half of all digits
GOLDEN, SECTIONS = (np.sqrt(5) - 1) / 2, 38


@dataclass(frozen=True, eq=False)
class HighestDensityRegion:
    """{x : p(x) ≥ level}, which holds `coverage` of the probability and is the smallest set that does.

    `intervals` has a row (low, high) for each piece of it where the density has one column, and is None otherwise.

    Examples
    --------
    >>> from mercer import KernelDensity
    >>> p = KernelDensity(bandwidth=1.0).fit([[0.0], [10.0]])
    >>> p.highest_density_region(0.9).intervals.round(2)  # one around each point, and nothing between them
    array([[-1.64,  1.64],
           [ 8.36, 11.64]])
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
        rows, columns = np.asarray(X, dtype=float), self.density.columns
        if rows.ndim == 1 and columns == 1:
            rows = rows[:, None]
        if rows.ndim != 2 or rows.shape[1] != columns:
            raise DataError(f"the region is one of {counted(columns, 'column')}, and X has the shape {rows.shape}.")
        return np.asarray(self.density.log_density(rows) >= self.log_level - ROUNDING)


def highest_density_region(density: Density, coverage: float) -> HighestDensityRegion:
    """The region of this coverage: solved for on the curve in one dimension, estimated from draws in more."""
    return highest_density_regions(density, (coverage,))[0]


def highest_density_regions(density: Density, coverages: Sequence[float]) -> list[HighestDensityRegion]:
    """Regions of several coverages, which share their draws."""
    for coverage in coverages:
        if not (isinstance(coverage, Real) and 0 < coverage < 1):
            raise DataError(f"coverage is a share of the probability, above 0 and below 1; got {coverage!r}.")
    if density.columns == 1:
        return [_of_curve(density, coverage) for coverage in coverages]
    levels = _levels_of_draws(density, coverages)
    return [HighestDensityRegion(c, level, None, density) for c, level in zip(coverages, levels, strict=True)]


def _levels_of_draws(density: Density, coverages: Sequence[float]) -> list[float]:
    """Quantiles of log p(x) for draws x from p, always the same: a coverage is off by less than a hundredth.

    Hyndman takes the points the density was made of, if there is nothing else; p is higher there than at its draws.
    """
    drawn = density.sample(DRAWS, np.random.default_rng(0))
    logs = density.log_density(drawn, rtol=DRAWN_ERROR)
    return [float(np.quantile(logs, 1 - coverage, method="inverted_cdf")) for coverage in coverages]


def _of_curve(density: Density, coverage: float) -> HighestDensityRegion:
    """Solve P(p(x) ≥ level) = coverage; where a level is a plateau the region is the first that holds enough."""
    places = _with_turns(density, density.probes())
    logs = density.log_curve(places)

    def excess(log_level: float) -> float:
        off = float(_mass(density, _pieces(density, places, logs, log_level, FINE))) - coverage
        return off if abs(off) > MET else 0.0

    low, high = _bracket(places, logs, coverage, excess)
    log_level = low if high <= low else float(brentq(excess, low, high, xtol=LEVEL_ERROR))
    if excess(log_level) < -1e-9:  # on the empty side of a jump
        log_level -= 2 * LEVEL_ERROR
    return HighestDensityRegion(coverage, log_level, _pieces(density, places, logs, log_level, FINEST), density)


def _with_turns(density: Density, marks: Array) -> Array:
    """Marks, parts of what lies between them, and the summits and valleys there.

    From each of these places to the next the density rises or falls, or a hill would come out of nothing at some level.
    """
    between = marks[:-1, None] * (1 - PARTS) + marks[1:, None] * PARTS
    places = np.unique(np.concatenate([marks, between.ravel()]))
    logs = density.log_curve(places)
    with np.errstate(invalid="ignore"):
        steps = np.nan_to_num(np.diff(logs))
    before, after = np.append(0.0, steps), np.append(steps, 0.0)
    turned = (np.sign(before) * np.sign(after) <= 0) & (np.maximum(np.abs(before), np.abs(after)) > ROUNDING)
    turns = np.flatnonzero(turned & np.isfinite(logs))
    upwards = np.where(before > after, 1.0, -1.0)[turns]
    left, right = places[np.maximum(turns - 1, 0)], places[np.minimum(turns + 1, len(places) - 1)]
    found = _highest(lambda x: upwards * density.log_curve(x), left, right)
    return np.unique(np.concatenate([places, found]))


def _highest(curve: Callable[[Array], Array], left: Array, right: Array) -> Array:
    """Where the curve is highest between each left and right, by golden sections."""
    inner, outer = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
    at_inner, at_outer = curve(inner), curve(outer)
    for _ in range(SECTIONS):
        here = at_inner >= at_outer
        left, right = np.where(here, left, inner), np.where(here, outer, right)
        new = np.where(here, right - GOLDEN * (right - left), left + GOLDEN * (right - left))
        at_new = curve(new)
        inner, outer = np.where(here, new, outer), np.where(here, inner, new)
        at_inner, at_outer = np.where(here, at_new, at_outer), np.where(here, at_inner, at_new)
    return np.asarray(np.where(at_inner >= at_outer, inner, outer))


def _bracket(places: Array, logs: Array, coverage: float, excess: Callable[[float], float]) -> tuple[float, float]:
    """Levels that hold enough and too little, near a guess.

    Both are the lowest if not even that one holds enough, and the highest if that is a plateau that does.
    """
    lowest, highest = float(logs[np.isfinite(logs)].min()), float(logs.max())
    low = high = min(max(_guess(places, logs, coverage), lowest), highest)
    step = 0.02
    while low > lowest and excess(low) < 0:
        low, high, step = max(low - step, lowest), low, 4 * step
    if high > low:
        return low, high
    while high < highest and excess(high) >= 0:
        low, high, step = high, min(high + step, highest), 4 * step
    return (high, high) if excess(high) >= 0 else (low, high)


def _guess(places: Array, logs: Array, coverage: float) -> float:
    """The level if the density were a step around every place, and a step were in the region or not."""
    up_to = np.concatenate([places[:1], 0.5 * places[1:] + 0.5 * places[:-1], places[-1:]])
    order = np.argsort(-logs)
    masses = np.cumsum((np.exp(logs - logs.max()) * np.diff(up_to / (places[-1] - places[0])))[order])
    return float(logs[order[np.searchsorted(masses, coverage * masses[-1])]])


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
    """Where the density passes the level between places outside and inside of the region.

    Intervals are looked at in some places at once, which costs little more than one: around where a line through their
    ends would cross, ever nearer to it while that comes true, and in even steps, so that jumps do no harm. A region
    ends at an outer place that belongs to it, as those on the bounds of a support may.
    """
    below, above = (density.log_curve(places) - log_level for places in (outside, inside))
    inside = np.where(below >= 0, outside, inside)
    enough, near = 2 * np.spacing(np.abs(inside)) + fine * np.abs(outside - inside), np.full(len(inside), NEAR)
    going = np.flatnonzero(np.abs(outside - inside) > enough)
    while going.size:
        ends = outside[going], inside[going], below[going], above[going]
        outside[going], inside[going], below[going], above[going] = _narrowed(density, *ends, near[going], log_level)
        length, before = np.abs(outside - inside)[going], np.abs(ends[0] - ends[1])
        near[going] = np.where(length <= 2.5 * near[going] * before, near[going] ** 1.5, NEAR)
        going = going[(length > enough[going]) & (length < before)]
    return inside


def _narrowed(
    density: Density, outside: Array, inside: Array, below: Array, above: Array, near: Array, log_level: float
) -> tuple[Array, Array, Array, Array]:
    """The part of every interval in which the density passes the level first, and what log p − log level is at ends."""
    straight = np.where(np.isfinite(below), below / np.where(np.isfinite(below), below - above, -1.0), 0.5)
    around = np.stack([straight - near, straight + near], axis=1)
    parts = np.sort(np.column_stack([np.tile(PARTS, (len(near), 1)), np.clip(around, 0, 1)]), axis=1)
    inner = outside[:, None] + parts * (inside - outside)[:, None]
    grid = np.column_stack([outside, inner, inside])
    found = density.log_curve(inner.ravel()).reshape(inner.shape) - log_level
    found = np.column_stack([below, found, above])
    first = 1 + np.argmax(np.column_stack([found[:, 1:-1] >= 0, np.ones(len(near), dtype=bool)]), axis=1)
    each = np.arange(len(near))
    return grid[each, first - 1], grid[each, first], found[each, first - 1], found[each, first]
