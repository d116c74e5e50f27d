"""Quantiles and highest-density regions: the smallest sets of a given probability (Hyndman 1996)."""

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
from mercer.report.wording import format_count

if TYPE_CHECKING:
    from mercer.density._windows import Windows


#: number of points up to which the centres and edges of all kernels are evaluated
MOST_ENDS = 4096
#: number of points to which very many close ones are thinned
MOST_PLACES = 4096


def find_probes(windows: Windows) -> Array:
    """Return fine steps around every point, after thinning points that nearly coincide.

    Kernels may have a tip at their centre, and where they end the density has a kink or a jump: for up to a few
    thousand points, all centres and edges are included, too.
    """
    points, span = windows.points[:, 0], windows.span
    h = float(windows.scales[0]) * (np.ones(len(points)) if windows.factors is None else windows.factors)
    rows, _ = thin(points, h.min() / 4)
    steps = np.concatenate([np.linspace(0, min(4.0, span), 17), np.geomspace(1, max(span, 4.0), 8)])
    steps = np.append(steps[steps <= span], span * (1 + 1e-9))
    around = points[rows, None] + h[rows, None] * np.concatenate([-steps, steps])
    _, places = thin(around.ravel(), h.min() / 8)
    places = np.concatenate([places, around[0], around[-1]])
    if len(points) <= MOST_ENDS:
        ends = [points - h, points + h] if np.isfinite(windows.kernel.reach) else []
        places = np.concatenate([places, points, *ends])
    return np.unique(places)


def thin(x: Array, step: float) -> tuple[Array, Array]:
    """Return rows and values of one x per cell of width `step`, ascending; cells are wider if there are too many."""
    order = np.argsort(x, kind="stable")
    step = max(step, float(x[order[-1]] - x[order[0]]) / 1e15)
    while True:
        cells = np.floor((x[order] - x[order[0]]) / step)
        first = np.append(True, np.diff(cells) > 0)
        if first.sum() <= MOST_PLACES:
            return order[first], x[order[first]]
        step *= 2


#: every other step halves the error or the bracket, so that this number exhausts the digits of a float
QUANTILE_SEARCH_STEPS = 250


def compute_quantiles(density: Density, q: Any) -> Array:
    """Return the smallest x with cdf(x) ≥ q for each q; 0 and 1 give the ends of the interval of positive density.

    Parameters
    ----------
    density : Density
        A density of one column.
    q : array-like
        Probabilities.

    Returns
    -------
    ndarray of the shape of q
        The quantiles.
    """
    if density.columns != 1:
        raise NoClosedFormError(
            f"quantiles need one column, and the density has {density.columns}; use its `marginal` or "
            "`conditional` density of one."
        )
    probabilities = check_probabilities(q)
    result = np.empty(probabilities.size)
    inner = (probabilities.ravel() > 0) & (probabilities.ravel() < 1)
    result[inner] = _solve_quantiles(density, probabilities.ravel()[inner])
    low, high = density.ends()
    result[~inner] = np.where(probabilities.ravel()[~inner] == 0, low[0], high[0])
    return result.reshape(probabilities.shape)


def check_probabilities(q: Any) -> Array:
    """Return probabilities as an array; raise a `DataError` for the first value that is not a probability."""
    try:
        probabilities = np.asarray(q, dtype=float)
    except (TypeError, ValueError):
        raise DataError(f"q holds probabilities, from 0 to 1; got {q!r}.") from None
    wrong = probabilities[~((probabilities >= 0) & (probabilities <= 1))]
    if wrong.size:
        raise DataError(f"q holds probabilities, from 0 to 1; got {wrong[0]}.")
    return probabilities


def _solve_quantiles(density: Density, q: Array) -> Array:
    (low,), (high,) = density.extent(np.inf)
    lower, upper, off = np.full(len(q), low), np.full(len(q), high), np.full(len(q), np.inf)
    x, unit = _start(density, q), 1e-3 * np.finfo(float).eps * (high - low)
    for _ in range(QUANTILE_SEARCH_STEPS):
        excess = density.cdf(x[:, None]) - q
        lower, upper = np.where(excess >= 0, lower, x), np.where(excess >= 0, x, upper)
        steps = _newton(density, excess, x, lower, upper)
        # a step that did not halve the error is followed by a bisection
        following = np.where(np.abs(excess) <= 0.5 * off, steps, 0.5 * (lower + upper))
        near = 2 * np.spacing(np.abs(x)) + unit
        if ((np.abs(steps - x) <= near) | (upper - lower <= near)).all():
            return steps
        x, off = following, np.abs(excess)
    return x


def _start(density: Density, q: Array) -> Array:
    """Return quantiles of the points themselves."""
    points, weight = density.centres[:, 0], density.weight
    order = np.argsort(points)
    up_to = np.cumsum(np.ones(len(points)) if weight is None else weight[order] / weight.max())
    place = np.minimum(np.searchsorted(up_to, q * up_to[-1]), len(points) - 1)
    return np.asarray(points[order[place]], dtype=float)


def _newton(density: Density, excess: Array, x: Array, lower: Array, upper: Array) -> Array:
    """Return x − (F − q)/f, or the middle of the bounds if that lies outside them."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        following = x - excess / np.exp(density.log_curve(x))
    inside = (following >= lower) & (following <= upper)
    return np.where(inside, following, 0.5 * (lower + upper))


#: number of draws from which the level is estimated in several dimensions
REGION_DRAWS = 10_000
#: relative error of the densities at these draws
REGION_DRAWS_ERROR = 1e-3
#: relative positions at which an interval with a crossing or an extremum is evaluated
INNER_POSITIONS = np.array([0.2, 0.4, 0.6, 0.8])
#: initial distance, relative to the interval, of evaluations around the crossing of a line through its ends
CROSSING_DISTANCE = 0.1
#: tolerance of the log level if the coverage jumps
LEVEL_ERROR = 1e-11
#: tolerance of the coverage
COVERAGE_ERROR = 1e-12
#: relative length of an interval with a crossing while the level is searched
SEARCHED_CROSSING = 1e-11
#: relative length of an interval with a crossing in the result: the spacing of floats
FINAL_CROSSING = 0.0
#: relative difference up to which densities count as equal, because they are sums in another order
LOG_DENSITY_ROUNDING = 1e-12
#: golden section ratio
GOLDEN_SECTION = (np.sqrt(5) - 1) / 2
#: golden section steps: a maximum is determined to no more than half of all digits
GOLDEN_STEPS = 38


@dataclass(frozen=True, eq=False)
class HighestDensityRegion:
    """The smallest set of a given probability, {x : p(x) ≥ level}.

    `intervals` has a row (low, high) for each piece if the density has one column, and is None otherwise.

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
        """Return whether each row lies in the region."""
        rows, columns = np.asarray(X, dtype=float), self.density.columns
        if rows.ndim == 1 and columns == 1:
            rows = rows[:, None]
        if rows.ndim != 2 or rows.shape[1] != columns:
            raise DataError(f"the region has {format_count(columns, 'column')}, and X has the shape {rows.shape}.")
        return np.asarray(self.density.log_density(rows) >= self.log_level - LOG_DENSITY_ROUNDING)


def find_region(density: Density, coverage: float) -> HighestDensityRegion:
    """Return the region of this coverage: exact in one dimension, estimated from draws in more."""
    return find_regions(density, (coverage,))[0]


def find_regions(density: Density, coverages: Sequence[float]) -> list[HighestDensityRegion]:
    """Return regions of several coverages from the same draws."""
    for coverage in coverages:
        if not (isinstance(coverage, Real) and 0 < coverage < 1):
            raise DataError(f"coverage is a probability above 0 and below 1; got {coverage!r}.")
    if density.columns == 1:
        return [_solve_on_curve(density, coverage) for coverage in coverages]
    levels = _estimate_levels(density, coverages)
    return [HighestDensityRegion(c, level, None, density) for c, level in zip(coverages, levels, strict=True)]


def _estimate_levels(density: Density, coverages: Sequence[float]) -> list[float]:
    """Return quantiles of log p(x) for draws x from p with a fixed seed; a coverage is off by less than a hundredth.

    Hyndman also suggests the points from which the density was made, but p is higher there than at its draws.
    """
    drawn = density.sample(REGION_DRAWS, np.random.default_rng(0))
    logs = density.log_density(drawn, rtol=REGION_DRAWS_ERROR)
    return [float(np.quantile(logs, 1 - coverage, method="inverted_cdf")) for coverage in coverages]


def _solve_on_curve(density: Density, coverage: float) -> HighestDensityRegion:
    """Solve P(p(x) ≥ level) = coverage; where the coverage jumps, the region is the first that is large enough."""
    places = _insert_extrema(density, density.probes())
    logs = density.log_curve(places)

    def excess(log_level: float) -> float:
        pieces = _find_pieces(density, places, logs, log_level, SEARCHED_CROSSING)
        off = float(density.probability(pieces[:, :1], pieces[:, 1:]).sum()) - coverage
        return off if abs(off) > COVERAGE_ERROR else 0.0

    low, high = _bracket(places, logs, coverage, excess)
    log_level = low if high <= low else float(brentq(excess, low, high, xtol=LEVEL_ERROR))
    if excess(log_level) < -1e-9:  # below the jump
        log_level -= 2 * LEVEL_ERROR
    pieces = _find_pieces(density, places, logs, log_level, FINAL_CROSSING)
    return HighestDensityRegion(coverage, log_level, pieces, density)


def _insert_extrema(density: Density, marks: Array) -> Array:
    """Return the marks, subdivisions of the intervals between them, and the maxima and minima of the density there.

    Between consecutive points the density is then monotonic, so that no piece of a region is missed.
    """
    between = marks[:-1, None] * (1 - INNER_POSITIONS) + marks[1:, None] * INNER_POSITIONS
    places = np.unique(np.concatenate([marks, between.ravel()]))
    logs = density.log_curve(places)
    with np.errstate(invalid="ignore"):
        steps = np.nan_to_num(np.diff(logs))
    before, after = np.append(0.0, steps), np.append(steps, 0.0)
    steepest = np.maximum(np.abs(before), np.abs(after))
    turned = (np.sign(before) * np.sign(after) <= 0) & (steepest > LOG_DENSITY_ROUNDING)
    turns = np.flatnonzero(turned & np.isfinite(logs))
    upwards = np.where(before > after, 1.0, -1.0)[turns]
    left, right = places[np.maximum(turns - 1, 0)], places[np.minimum(turns + 1, len(places) - 1)]
    extrema = _maximize(lambda x: upwards * density.log_curve(x), left, right)
    return np.unique(np.concatenate([places, extrema]))


def _maximize(curve: Callable[[Array], Array], left: Array, right: Array) -> Array:
    """Return the maximiser of the curve between each left and right, by golden section search."""
    inner, outer = right - GOLDEN_SECTION * (right - left), left + GOLDEN_SECTION * (right - left)
    at_inner, at_outer = curve(inner), curve(outer)
    for _ in range(GOLDEN_STEPS):
        inner_is_higher = at_inner >= at_outer
        left, right = np.where(inner_is_higher, left, inner), np.where(inner_is_higher, outer, right)
        new = np.where(inner_is_higher, right - GOLDEN_SECTION * (right - left), left + GOLDEN_SECTION * (right - left))
        at_new = curve(new)
        inner, outer = np.where(inner_is_higher, new, outer), np.where(inner_is_higher, inner, new)
        at_inner, at_outer = np.where(inner_is_higher, at_new, at_outer), np.where(inner_is_higher, at_inner, at_new)
    return np.asarray(np.where(at_inner >= at_outer, inner, outer))


def _bracket(places: Array, logs: Array, coverage: float, excess: Callable[[float], float]) -> tuple[float, float]:
    """Return levels near a guess with too large and too small a coverage.

    Both are the lowest if even that has too little coverage, and the highest if that is a plateau with enough.
    """
    lowest, highest = float(logs[np.isfinite(logs)].min()), float(logs.max())
    low = high = min(max(_guess_level(places, logs, coverage), lowest), highest)
    step = 0.02
    while low > lowest and excess(low) < 0:
        low, high, step = max(low - step, lowest), low, 4 * step
    if high > low:
        return low, high
    while high < highest and excess(high) >= 0:
        low, high, step = high, min(high + step, highest), 4 * step
    return (high, high) if excess(high) >= 0 else (low, high)


def _guess_level(places: Array, logs: Array, coverage: float) -> float:
    """Return the level for a density that is a step function around the points."""
    up_to = np.concatenate([places[:1], 0.5 * places[1:] + 0.5 * places[:-1], places[-1:]])
    order = np.argsort(-logs)
    masses = np.cumsum((np.exp(logs - logs.max()) * np.diff(up_to / (places[-1] - places[0])))[order])
    return float(logs[order[np.searchsorted(masses, coverage * masses[-1])]])


def _find_pieces(density: Density, places: Array, logs: Array, log_level: float, fine: float) -> Array:
    """Return the intervals in which log p ≥ log level, up to rounding, of shape (pieces, 2)."""
    log_level -= LOG_DENSITY_ROUNDING
    inside = np.concatenate([[False], logs >= log_level, [False]])
    starts = np.flatnonzero(~inside[:-1] & inside[1:])
    ends = np.flatnonzero(inside[:-1] & ~inside[1:]) - 1
    outside = np.concatenate([places[np.maximum(starts - 1, 0)], places[np.minimum(ends + 1, len(places) - 1)]])
    crossings = _find_crossings(density, outside, np.concatenate([places[starts], places[ends]]), log_level, fine)
    return np.stack(np.split(crossings, 2), axis=1)


def _find_crossings(density: Density, outside: Array, inside: Array, log_level: float, fine: float) -> Array:
    """Return the points at which the density crosses the level, between points outside and inside the region.

    Intervals are evaluated at several points at once, which costs little more than one: around the crossing of a line
    through their ends, the nearer the better that prediction was, and at even steps, which handle jumps. A region
    ends at an outer point that belongs to it, as those on the bounds of a support may.
    """
    below, above = (density.log_curve(places) - log_level for places in (outside, inside))
    inside = np.where(below >= 0, outside, inside)
    enough = 2 * np.spacing(np.abs(inside)) + fine * np.abs(outside - inside)
    near = np.full(len(inside), CROSSING_DISTANCE)
    going = np.flatnonzero(np.abs(outside - inside) > enough)
    while going.size:
        ends = outside[going], inside[going], below[going], above[going]
        outside[going], inside[going], below[going], above[going] = _narrow(density, *ends, near[going], log_level)
        length, before = np.abs(outside - inside)[going], np.abs(ends[0] - ends[1])
        near[going] = np.where(length <= 2.5 * near[going] * before, near[going] ** 1.5, CROSSING_DISTANCE)
        going = going[(length > enough[going]) & (length < before)]
    return inside


def _narrow(
    density: Density, outside: Array, inside: Array, below: Array, above: Array, near: Array, log_level: float
) -> tuple[Array, Array, Array, Array]:
    """Return the part of every interval with the first crossing of the level, and log p − log level at its ends."""
    straight = np.where(np.isfinite(below), below / np.where(np.isfinite(below), below - above, -1.0), 0.5)
    around = np.stack([straight - near, straight + near], axis=1)
    parts = np.sort(np.column_stack([np.tile(INNER_POSITIONS, (len(near), 1)), np.clip(around, 0, 1)]), axis=1)
    inner = outside[:, None] + parts * (inside - outside)[:, None]
    grid = np.column_stack([outside, inner, inside])
    heights = density.log_curve(inner.ravel()).reshape(inner.shape) - log_level
    heights = np.column_stack([below, heights, above])
    first = 1 + np.argmax(np.column_stack([heights[:, 1:-1] >= 0, np.ones(len(near), dtype=bool)]), axis=1)
    each = np.arange(len(near))
    return grid[each, first - 1], grid[each, first], heights[each, first - 1], heights[each, first]
