"""Cross-validation of bandwidths: each point is scored under the density of all others, without refits.

The density of the others at a point is p̂₋ᵢ(x_i) = Σ_{j≠i} w_j K_Σ(x_i − x_j) / Σ_{j≠i} w_j: one kernel sum for all i.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.spatial.distance import cdist

from mercer._errors import BandwidthError
from mercer._stored import stored
from mercer._threads import ordered_map, row_blocks
from mercer._typing import Array
from mercer.density._bandwidth import Bandwidth, Criterion
from mercer.density._kernels import Autocorrelation, Gaussian, SmoothingKernel
from mercer.density._rules import SampleSpread, Shape, ShapedRule, Silverman
from mercer.density._sums import has_grid, sort_into_blocks
from mercer.density._windows import Windows

Profile = Callable[[Array], Array]
#: pieces of the table; kinks at half the reach, as of the triangular kernel, are at nodes
TABLE_PIECES = 1 << 16
#: K∗K of kernels of unbounded support adds less than rounding beyond this
FARTHEST_PAIR = 48.0


def integrate_square(
    windows: Windows, *, rtol: float = 0.0, block_points: int = 256, tabulated_points: int = 1000
) -> float:
    """Return ∫p̂² = Σᵢⱼ w_i w_j (K∗K)(u_i − u_j)/|L|, with weights that sum to one; kernels of one width.

    Parameters
    ----------
    windows : Windows
        The density p̂.
    rtol : float, default=0
        Tolerated relative error.
    block_points : int, default=256
        Points of a block; pairs of blocks out of reach of each other are skipped.
    tabulated_points : int, default=1000
        Number of points above which K∗K is tabulated, which is faster than its formula and accurate to 1e-8 of its
        maximum.
    """
    both = windows.kernel.autocorrelation(windows.columns)
    if both.gaussian_width is not None:
        wider = Windows(windows.kernel, windows.bandwidth.scaled(both.gaussian_width), windows.points, windows.weight)
        return float(np.average(np.exp(wider.log_density(wider.points, rtol=rtol)), weights=wider.share))
    volume = float(np.exp(windows.bandwidth.log_volume(windows.columns)))
    profile = both.profile
    if len(windows.points) > tabulated_points:
        profile = tabulate(profile, min(both.reach, FARTHEST_PAIR))
    return _sum_over_pairs(both, profile, windows.sums.points, windows.share, block_points) / volume


def _sum_over_pairs(
    both: Autocorrelation, profile: Profile, points: Array, weight: Array | None, block_points: int
) -> float:
    """Return Σᵢⱼ w_i w_j (K∗K)(u_i − u_j); blocks of nearby points skip blocks out of reach."""
    order = sort_into_blocks(points, block_points)
    points = points[order]
    share = np.full(len(points), 1 / len(points)) if weight is None else weight[order] / weight.sum()
    reach = min(both.reach, FARTHEST_PAIR)
    blocks = row_blocks(len(points), block_points)
    boxes = np.array([[points[block].min(axis=0), points[block].max(axis=0)] for block in blocks])

    def with_later(first: int) -> float:
        """Return the sum of a block with itself and with all later blocks, which count twice."""
        block = blocks[first]
        total = 0.0
        for other in first + np.flatnonzero(_box_distances(both, boxes[first], boxes[first:]) <= reach):
            values = _pair_values(both, profile, points[block], points[blocks[other]])
            total += (1 if other == first else 2) * float(share[block] @ values @ share[blocks[other]])
        return total

    return float(sum(ordered_map(with_later, range(len(blocks)))))


def _box_distances(both: Autocorrelation, box: Array, boxes: Array) -> Array:
    """Return lower bounds of the distances between a box and others, in the metric of the kernel."""
    along = np.maximum(np.maximum(boxes[:, 0] - box[1], box[0] - boxes[:, 1]), 0)
    return np.asarray(along.max(axis=1) if both.kernel.form == "product" else np.sqrt(np.square(along).sum(axis=1)))


def tabulate(profile: Profile, reach: float) -> Profile:
    """Tabulate a function of r ≥ 0 that is 0 beyond its reach, with linear interpolation."""
    heights = profile(np.linspace(0, reach, TABLE_PIECES + 1))
    slopes = np.append(np.diff(heights), 0.0)
    heights[-1] = 0.0
    scale = TABLE_PIECES / reach

    def values(r: Array) -> Array:
        place = np.minimum(r * scale, TABLE_PIECES)
        piece = place.astype(np.intp)
        place -= piece
        place *= slopes[piece]
        place += heights[piece]
        return place

    return values


def _pair_values(both: Autocorrelation, profile: Profile, A: Array, B: Array) -> Array:
    if both.kernel.form == "radial" and both.columns > 1:
        return profile(cdist(A, B))
    values = profile(np.abs(np.subtract.outer(A[:, 0], B[:, 0])))
    for axis in range(1, both.columns):
        values *= profile(np.abs(np.subtract.outer(A[:, axis], B[:, axis])))
    return values


# The search for the minimising width: a grid of multiples of a reference, then Brent's method, then axis by axis.

#: multiples of the reference that are tried
TRIAL_MULTIPLES = np.geomspace(0.1, 3.0, 13)
#: multiples that are tried around the choice of a sample
NEAR_MULTIPLES = np.array([0.8, 1.0, 1.25])
#: a grid is extended while its edge is best, down to this multiple
LEAST_MULTIPLE = 1e-4
#: and up to this multiple
MOST_MULTIPLE = 1e6
#: tolerance of log widths: a criterion is flat to rounding within about the square root of float64's precision
WIDTH_PRECISION = 1e-5
#: tolerance of log widths for all points after a sample, whose choice is known to fewer digits anyway
LOW_WIDTH_PRECISION = 5e-4
#: least decrease per step of a criterion of order 1
LEAST_CRITERION_GAIN = 1e-11
#: distance beyond a jump in log widths, which exceeds the rounding of the logarithm
JUMP_MARGIN = 2e-12
NO_JUMPS = np.zeros(0)
#: first steps of a simplex in log widths
FIRST_SIMPLEX_STEP = 0.2


@dataclass(frozen=True, eq=False)
class CriterionCurve:
    """A criterion at increasing multiples of a reference."""

    widths: Array
    values: Array

    @property
    def best(self) -> int:
        return int(np.argmin(self.values))


def search_line(
    criterion: Callable[[float], float],
    grid: Array = TRIAL_MULTIPLES,
    precision: float = WIDTH_PRECISION,
    parts: int = 1,
    jumps: Array = NO_JUMPS,
) -> CriterionCurve:
    """Minimise a criterion over multiples of a reference, and return all values that were computed.

    Each step of the grid is divided into `parts`, for a criterion that may have several minima within a step. `jumps`
    are multiples at which it may fall abruptly; those next to the best part are evaluated, too.
    """
    known: dict[float, float] = {}

    def evaluate(logarithm: float) -> float:
        width = float(np.exp(round(logarithm, 12)))
        if width not in known:
            known[width] = float(criterion(width))
        return known[width]

    # Python floats, whose infinities subtract without a warning
    steps = _extend_grid(evaluate, np.log(grid).tolist())
    places = np.arange(parts * (len(steps) - 1) + 1) / parts
    logarithms = np.interp(places, np.arange(len(steps)), steps).tolist()
    best = int(np.argmin([evaluate(at) for at in logarithms]))
    below, at, above = logarithms[best - 1 : best + 2]
    for jump in np.log(jumps[(jumps > 0) & (jumps <= np.exp(above))]).tolist():
        if below <= jump:
            evaluate(jump + JUMP_MARGIN)
    if evaluate(below) > evaluate(at) < evaluate(above):
        # shifted to 1, because Brent's tolerance is relative
        bracket = (below - at + 1, 1.0, above - at + 1)
        minimize_scalar(lambda x: evaluate(x - 1 + at), bracket=bracket, method="brent", options={"xtol": precision})
    widths = np.array(sorted(known))
    return CriterionCurve(widths, np.array([known[width] for width in widths.tolist()]))


def _extend_grid(evaluate: Callable[[float], float], logarithms: list[float]) -> list[float]:
    """Extend the grid while its best point is at the edge, or while all values are infinite."""
    step = logarithms[1] - logarithms[0]
    while True:
        values = [evaluate(at) for at in logarithms]
        best = int(np.argmin(values))
        if np.isinf(values[best]) or best == len(values) - 1:
            logarithms = [*logarithms, logarithms[-1] + step]
        elif best == 0:
            logarithms = [logarithms[0] - step, *logarithms]
        else:
            return logarithms
        if logarithms[0] < np.log(LEAST_MULTIPLE) or logarithms[-1] > np.log(MOST_MULTIPLE):
            side = "narrower" if best == 0 and np.isfinite(values[0]) else "wider"
            raise BandwidthError(
                f"the criterion has no minimum: it keeps falling as kernels become {side}, from {LEAST_MULTIPLE:g} to "
                f"{MOST_MULTIPLE:g} times a reference. Points that nearly coincide, or are very far away, cause this; "
                'use "silverman-scaled", or give the bandwidth as numbers.'
            )


def refine_by_slope(
    slope: Callable[[Array], tuple[float, Array]], axes: int, gain: float = LEAST_CRITERION_GAIN
) -> Array:
    """Minimise a criterion over logarithms of factors, one per axis, from where all are 0, by its derivatives.

    The criterion has to be of order 1; a step that gains less than `gain` is the last.
    """
    options: Any = {"maxiter": 100, "ftol": gain, "gtol": 1e-7}
    bounds = [(np.log(LEAST_MULTIPLE), np.log(MOST_MULTIPLE))] * axes
    return np.asarray(minimize(slope, np.zeros(axes), jac=True, method="L-BFGS-B", bounds=bounds, options=options).x)


def refine_by_simplex(value: Callable[[Array], float], axes: int) -> Array:
    """Do the same as `refine_by_slope`, for criteria that jump or have no derivatives."""
    simplex = np.vstack([np.zeros(axes), FIRST_SIMPLEX_STEP * np.eye(axes)])
    options: Any = {"initial_simplex": simplex, "xatol": WIDTH_PRECISION, "fatol": np.inf, "maxfev": 200 * axes}
    return np.asarray(minimize(value, np.zeros(axes), method="Nelder-Mead", options=options).x)


#: pairs of points that may be compared for each of many values
MOST_CHEAP_PAIRS = 4e8
#: tolerated relative error of densities of many points, where that makes sums much faster
GRID_SUM_ERROR = 1e-10
#: number of points up to which, with kernels of compact support, steps of the grid are divided into parts
DIVIDED_POINTS = 100
#: number of these parts
STEP_PARTS = 8
#: step in log widths for finite differences of such criteria
DIFFERENCE_STEP = 1e-3


@dataclass(frozen=True)
class CrossValidation(ShapedRule):
    """Minimises a criterion over multiples of Silverman's bandwidth, and then, near the best, over widths of axes.

    The multiples are 13 from 0.1 to 3, more if the best is the first or the last, and those that Brent's method
    tries around the best. Kernels of compact support have criteria with many minima, where pairs of points come within
    reach: for up to 100 points each step between these multiples is divided into 8 parts, and a narrower minimum
    may be missed. Where a kernel ends in a jump, like the uniform one, widths are tried at the jumps in the best part.

    Each value of the criterion costs a kernel sum of all points with all points; there are about 20 of them (110 if
    steps have parts), and as many again for the axes. Of more than 2500 points, a sample of 2500 chooses among all
    widths, and all points choose a nearby one, to three digits, with about 8 sums. Sums of Gaussians in up to three
    dimensions are then taken on a grid, with a relative error of 1e-10; for other kernels all points choose a multiple
    of the widths of the sample.

    Parameters
    ----------
    shape : {"axes", "one", "matrix"}, default="axes"
        One width for each axis; one for all; or a multiple of the covariance matrix.
    """

    method: ClassVar[str]
    criterion: ClassVar[str]
    #: number of points above which a sample of this size chooses widths first
    sampled_points: ClassVar[int] = 2500

    def choose(
        self, X: Array, weight: Array | None, kernel: SmoothingKernel, *, names: Sequence[str] | None = None
    ) -> Bandwidth:
        given = SampleSpread(X, weight, names)
        self._check_ties(given, kernel)
        unit = _choose_units(given.deviations, self.shape)
        points = SampleSpread(given.centred / unit, given.share, names)
        reference, grid = Silverman(self.shape).choose(points.X, points.share, kernel, names=names), TRIAL_MULTIPLES
        if len(points.X) > self.sampled_points:
            reference, grid = self._search_sample(points, kernel, reference)
        chosen, best, curve = self._search(points.centred, points.share, kernel, reference, grid)
        criterion = self._make_criterion(curve, reference, best, unit)
        return Bandwidth(_stretch(chosen.value, unit), method=self.method, criterion=criterion)

    def value(
        self, bandwidth: Bandwidth, X: Array, weight: Array | None = None, kernel: SmoothingKernel | None = None
    ) -> float:
        """Return the criterion for a bandwidth; the likelihood's is +inf where the density of some point is 0."""
        spread = SampleSpread(X, weight)
        return self._value(Windows(kernel or Gaussian(), bandwidth, spread.centred, spread.share))

    @abstractmethod
    def _value(self, windows: Windows) -> float:
        """Return the criterion to be minimised."""

    @abstractmethod
    def _slope(self, windows: Windows) -> tuple[float, Array]:
        """Return the criterion and its derivatives by the log widths, for the Gaussian kernel."""

    @abstractmethod
    def _falls_forever(self, share: Array, tied: Array, kernel: SmoothingKernel, columns: int) -> bool:
        """Return whether the criterion falls to −inf as widths vanish; `tied` is the weight of equal points."""

    @abstractmethod
    def _in_units(self, values: Any, log_unit: float) -> Any:
        """Return values of the criterion for data multiplied by units of this log volume."""

    @abstractmethod
    def _order(self, value: float) -> float:
        """Return the order of magnitude of the criterion, for tolerances."""

    def _grid_error(self, windows: Windows) -> float:
        """Return the tolerated relative error of densities; above 0 for grids of many points, but still negligible."""
        is_large = len(windows.points) > self.sampled_points
        return GRID_SUM_ERROR if is_large and has_grid(windows.kernel, windows.columns, adaptive=False) else 0.0

    def _search_sample(
        self, points: SampleSpread, kernel: SmoothingKernel, reference: Bandwidth
    ) -> tuple[Bandwidth, Array]:
        """Return the choice of a sample, narrowed for the number of all points, and the multiples to try around it."""
        size = self.sampled_points
        rows = np.random.default_rng(0).choice(len(points.X), size, replace=False)
        share = None if points.share is None else points.share[rows]
        try:
            chosen = self._search(points.centred[rows], share, kernel, reference, TRIAL_MULTIPLES)[0]
        except BandwidthError:  # the sample does not represent all points
            return reference, TRIAL_MULTIPLES
        narrowed = chosen.scaled((len(points.X) / size) ** (-1 / (points.columns + 4)))
        return replace(narrowed, method=f"the choice of {size} points, narrowed"), NEAR_MULTIPLES

    def _search(
        self, points: Array, share: Array | None, kernel: SmoothingKernel, reference: Bandwidth, grid: Array
    ) -> tuple[Bandwidth, float, CriterionCurve]:
        """Return the best multiple of a reference, refined to the best widths of axes."""

        def at(bandwidth: Bandwidth) -> Windows:
            return Windows(kernel, bandwidth, points, share)

        precision = WIDTH_PRECISION if grid is TRIAL_MULTIPLES else LOW_WIDTH_PRECISION
        # there may be another minimum wherever a kernel reaches one more pair of points
        parts = STEP_PARTS if np.isfinite(kernel.reach) and len(points) <= DIVIDED_POINTS else 1
        jumps = _find_jumps(at(reference)) if parts > 1 else NO_JUMPS
        curve = search_line(lambda width: self._value(at(reference.scaled(width))), grid, precision, parts, jumps)
        chosen, best = reference.scaled(curve.widths[curve.best]), float(curve.values[curve.best])
        # refining takes many values; the sample has already refined the axes
        if np.ndim(chosen.value) == 1 and (grid is TRIAL_MULTIPLES or _is_cheap(points, kernel)):
            refined = self._refine(at, chosen, best)
            lower = self._value(at(refined))
            chosen, best = (refined, lower) if lower < best else (chosen, best)
        return chosen, best, curve

    def _refine(self, windows: Callable[[Bandwidth], Windows], start: Bandwidth, best: float) -> Bandwidth:
        """Refine the width of each axis separately."""
        order, axes = self._order(best), len(np.atleast_1d(start.value))

        def at(logarithms: Array) -> Windows:
            return windows(replace(start, value=start.value * np.exp(logarithms)))

        def value(logarithms: Array) -> float:
            return self._value(at(logarithms)) / order

        def slope(logarithms: Array) -> tuple[float, Array]:
            height, steepness = self._slope(at(logarithms))
            return height / order, steepness / order

        def difference(logarithms: Array) -> tuple[float, Array]:
            steps = DIFFERENCE_STEP * np.eye(axes)
            slopes = [(value(logarithms + step) - value(logarithms - step)) / (2 * DIFFERENCE_STEP) for step in steps]
            return value(logarithms), np.array(slopes)

        first = windows(start)
        if self._grid_error(first) > 0:  # many values cost less than one slope
            return at(refine_by_slope(difference, axes, 1e3 * GRID_SUM_ERROR)).bandwidth
        smooth = isinstance(first.kernel, Gaussian)
        return at(refine_by_slope(slope, axes) if smooth else refine_by_simplex(value, axes)).bandwidth

    def _make_criterion(self, curve: CriterionCurve, reference: Bandwidth, best: float, unit: Array) -> Criterion:
        log_unit = float(np.log(unit).sum())
        values, best = self._in_units(curve.values, log_unit), float(self._in_units(best, log_unit))
        alone = np.ndim(reference.value) == 0
        widths = curve.widths * reference.value * unit[0] if alone else curve.widths
        criterion = "bandwidth" if alone else f"times {reference.method}"
        return Criterion(self.criterion, widths, values, criterion, float(widths[curve.best]), best)

    def _check_ties(self, spread: SampleSpread, kernel: SmoothingKernel) -> None:
        _, group, counts = np.unique(spread.X, axis=0, return_inverse=True, return_counts=True)
        if len(counts) == len(spread.X):
            return
        share = np.full(len(spread.X), 1 / len(spread.X)) if spread.share is None else spread.share
        tied = np.bincount(group.ravel(), share)[group.ravel()]
        if self._falls_forever(share, tied, kernel, spread.columns):
            raise BandwidthError(
                f"{int(counts[counts > 1].sum())} of {len(spread.X)} points are repeated, so that {self.method} would "
                'choose a bandwidth of 0. Use "silverman-scaled", or give the bandwidth as numbers.'
            )


@stored()
@dataclass(frozen=True)
class LikelihoodCV(CrossValidation):
    """Maximises the likelihood of each point under the others: −Σ w_i log p̂₋ᵢ(x_i)/Σ w_i is least.

    It is not suited to long tails, whose isolated points require wide kernels. If every point is repeated,
    likelihoods grow without bound as widths vanish, which raises a `BandwidthError`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.density import Gaussian
    >>> X = np.random.default_rng(1).normal(size=(200, 1))
    >>> print(LikelihoodCV().choose(X, None, Gaussian()))
    h = 0.3609, by likelihood-cv, −log likelihood of a point left out 1.35488
    """

    method: ClassVar[str] = "likelihood-cv"
    criterion: ClassVar[str] = "−log likelihood of a point left out"

    def _value(self, windows: Windows) -> float:
        return -float(np.average(windows.log_density_left_out(rtol=self._grid_error(windows)), weights=windows.share))

    def _slope(self, windows: Windows) -> tuple[float, Array]:
        squares = _mean_squares(windows, leave_out=True)
        return self._value(windows), np.average(1 - squares, axis=0, weights=windows.share)

    def _falls_forever(self, share: Array, tied: Array, kernel: SmoothingKernel, columns: int) -> bool:
        return bool((tied > share).all())

    def _in_units(self, values: Any, log_unit: float) -> Any:
        return values + log_unit

    def _order(self, value: float) -> float:
        return 1.0


@stored()
@dataclass(frozen=True)
class LeastSquaresCV(CrossValidation):
    """Minimises an estimate of the integrated squared error (Rudemo 1982, Bowman 1984).

    The criterion is ∫p̂² − 2 Σ w_i p̂₋ᵢ(x_i)/Σ w_i, in expectation ∫(p̂ − p)² minus the constant ∫p². Many repeated
    points drive the widths to 0, which raises a `BandwidthError`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.density import Gaussian
    >>> X = np.random.default_rng(1).normal(size=(200, 1))
    >>> print(LeastSquaresCV().choose(X, None, Gaussian()))
    h = 0.3326, by least-squares-cv, least-squares criterion -0.313962
    """

    method: ClassVar[str] = "least-squares-cv"
    criterion: ClassVar[str] = "least-squares criterion"

    def _value(self, windows: Windows) -> float:
        rtol = self._grid_error(windows)
        left_out = np.exp(windows.log_density_left_out(rtol=rtol))
        return integrate_square(windows, rtol=rtol) - 2 * float(np.average(left_out, weights=windows.share))

    def _slope(self, windows: Windows) -> tuple[float, Array]:
        # K∗K of a Gaussian is a Gaussian wider by √2, with the same slope
        wide = Windows(windows.kernel, windows.bandwidth.scaled(2**0.5), windows.points, windows.weight)
        parts = [
            (1.0, wide, wide.log_density(wide.points), False),
            (-2.0, windows, windows.log_density_left_out(), True),
        ]
        value, slope = 0.0, np.zeros(windows.columns)
        for factor, each, logs, leave_out in parts:
            density = np.exp(logs)
            value += factor * float(np.average(density, weights=each.share))
            changes = density[:, None] * (_mean_squares(each, leave_out=leave_out) - 1)
            slope += factor * np.average(changes, axis=0, weights=each.share)
        return value, slope

    def _falls_forever(self, share: Array, tied: Array, kernel: SmoothingKernel, columns: int) -> bool:
        top = np.exp(-kernel.log_constant(columns))
        both = (share * tied).sum() * kernel.roughness(columns)
        return bool(both < 2 * top * (share * (tied - share) / (1 - share)).sum())

    def _in_units(self, values: Any, log_unit: float) -> Any:
        # for data of extreme scale a power of a density may overflow float64
        with np.errstate(over="ignore"):
            return values * np.exp(-log_unit)

    def _order(self, value: float) -> float:
        return abs(value) or 1.0


def _find_jumps(windows: Windows) -> Array:
    """Return the multiples of the bandwidth at which a discontinuous kernel reaches one more pair of points."""
    kernel, U = windows.kernel, windows.sums.points
    if not kernel.profile(np.array([kernel.reach]))[0] > 0:
        return NO_JUMPS
    apart = np.abs(U[:, None] - U)[np.triu_indices(len(U), 1)]
    return np.unique([np.sqrt(np.square(apart).sum(axis=1)), apart.max(axis=1)]) / kernel.reach


def _mean_squares(windows: Windows, *, leave_out: bool) -> Array:
    """Return Σ_j w_j k(u_i − u_j)(u_i − u_j)² / Σ_j w_j k(u_i − u_j) along each axis, in units of the bandwidth."""
    U = windows.sums.points
    first, second = np.hsplit(windows.sums.means(U, np.hstack([U, U**2]), leave_out=leave_out), 2)
    return np.asarray(second - 2 * U * first + U**2)


def _is_cheap(points: Array, kernel: SmoothingKernel) -> bool:
    """Return whether slopes of the criterion over all points, or values on an accurate grid, take only seconds."""
    return isinstance(kernel, Gaussian) and (points.shape[1] <= 2 or len(points) ** 2 <= MOST_CHEAP_PAIRS)


def _choose_units(deviations: Array, shape: Shape) -> Array:
    """Return powers of two near the spread of columns, by which data are divided without rounding."""
    unit = np.exp2(np.round(np.log2(deviations)))
    return np.full_like(unit, unit.max()) if shape == "one" else unit


def _stretch(value: float | Array, unit: Array) -> float | Array:
    """Return the bandwidth for data multiplied by units."""
    if np.ndim(value) == 2:
        return value * np.outer(unit, unit)
    return value * (unit if np.ndim(value) == 1 else float(unit[0]))
