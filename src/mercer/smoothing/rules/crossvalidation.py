"""Cross-validation: each point is judged by the density of all others, which needs no refits.

The density of the others at a point is p̂₋ᵢ(x_i) = Σ_{j≠i} w_j K_Σ(x_i − x_j) / Σ_{j≠i} w_j: one kernel sum for all i.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from mercer._errors import BandwidthError
from mercer._stored import stored
from mercer._typing import Array
from mercer.smoothing.bandwidth import Bandwidth, Criterion
from mercer.smoothing.kernels import Gaussian, SmoothingKernel
from mercer.smoothing.rules.products import mean_product
from mercer.smoothing.rules.reference import Silverman
from mercer.smoothing.rules.rule import Shape, ShapedRule
from mercer.smoothing.rules.search import (
    ENOUGH,
    GRID,
    NEAR,
    NO_JUMPS,
    PRECISION,
    Curve,
    refine_by_simplex,
    refine_by_slope,
    search_line,
)
from mercer.smoothing.rules.spread import Spread
from mercer.smoothing.tolerance import has_grid
from mercer.smoothing.windows import Windows

#: of more points some are asked first, so that all need not be asked about widths far from the best
MANY = 2500
#: pairs of points that are compared for each of many values
MOST_PAIRS = 4e8
#: relative error of a density in the sum over many points, where that makes it much faster
ROUNDING = 1e-10
#: up to so many points, under kernels of finite reach, steps of the grid are tried in so many parts
FEW, PARTS = 100, 8
#: of logarithms of widths, for differences of such criteria
STEP = 1e-3


@dataclass(frozen=True)
class CrossValidation(ShapedRule):
    """Some criterion is least among multiples of Silverman's bandwidth, and then, near the best, among widths of axes.

    The multiples are 13 from 0.1 to 3, more where the best is the first or the last, and those that Brent's method
    tries around the best. Kernels of finite reach have criteria with many minima, where pairs of points come within
    reach: of up to 100 points each step between these multiples is tried in 8 parts, and a minimum that is narrower
    may be missed. Where a kernel ends in a jump, as the uniform one, widths are tried at which the best part has jumps.

    Each value of the criterion costs a kernel sum of all points with all points; there are about 20 of them (110 where
    steps have parts), and for the axes as many again. Of more than 2500 points, so many make a choice among all widths,
    and then all points one nearby, to three digits: about 8 sums. Those of Gaussians in up to three dimensions are then
    taken on a grid, with a relative error of 1e-10; of other kernels all points choose a multiple of the widths that
    some have chosen.

    Parameters
    ----------
    shape : {"axes", "one", "matrix"}, default="axes"
        One width for each axis; one for all; or a multiple of the covariance matrix.
    """

    method: ClassVar[str]
    criterion: ClassVar[str]

    def choose(
        self, X: Array, weight: Array | None, kernel: SmoothingKernel, *, names: Sequence[str] | None = None
    ) -> Bandwidth:
        given = Spread(X, weight, names)
        self._refuse_ties(given, kernel)
        unit = _units(given.deviations, self.shape)
        points = Spread(given.centred / unit, given.share, names)
        reference, grid = Silverman(self.shape).choose(points.X, points.share, kernel, names=names), GRID
        if len(points.X) > MANY:
            reference, grid = self._chosen_by_some(points, kernel, reference)
        chosen, best, curve = self._search(points.centred, points.share, kernel, reference, grid)
        told = self._told(curve, reference, best, unit)
        return Bandwidth(_stretched(chosen.value, unit), method=self.method, criterion=told)

    def value(
        self, bandwidth: Bandwidth, X: Array, weight: Array | None = None, kernel: SmoothingKernel | None = None
    ) -> float:
        """The criterion for a bandwidth; that of the likelihood is +inf where the others leave some point none."""
        spread = Spread(X, weight)
        return self._value(Windows(kernel or Gaussian(), bandwidth, spread.centred, spread.share))

    @abstractmethod
    def _value(self, windows: Windows) -> float:
        """The criterion, to be minimised."""

    @abstractmethod
    def _slope(self, windows: Windows) -> tuple[float, Array]:
        """The criterion and its derivatives by the logarithms of the widths, for the Gaussian kernel."""

    @abstractmethod
    def _falls_forever(self, share: Array, tied: Array, kernel: SmoothingKernel, columns: int) -> bool:
        """Whether the criterion falls to −inf as widths vanish; `tied` is the weight of all that equal a point."""

    @abstractmethod
    def _in_units(self, values: Any, log_unit: float) -> Any:
        """Values of the criterion for data multiplied by units of this log volume."""

    @abstractmethod
    def _order(self, value: float) -> float:
        """What changes of the criterion are large or small compared with, where it has this value."""

    def _chosen_by_some(self, points: Spread, kernel: SmoothingKernel, reference: Bandwidth) -> tuple[Bandwidth, Array]:
        """Where all points have to look, and at which multiples: near the choice of some, narrowed for their number."""
        rows = np.random.default_rng(0).choice(len(points.X), MANY, replace=False)
        share = None if points.share is None else points.share[rows]
        try:
            chosen = self._search(points.centred[rows], share, kernel, reference, GRID)[0]
        except BandwidthError:  # these say nothing about all the others
            return reference, GRID
        narrowed = chosen.scaled((len(points.X) / MANY) ** (-1 / (points.columns + 4)))
        return replace(narrowed, method=f"the choice of {MANY} points, narrowed"), NEAR

    def _search(
        self, points: Array, share: Array | None, kernel: SmoothingKernel, reference: Bandwidth, grid: Array
    ) -> tuple[Bandwidth, float, Curve]:
        """The best multiple of a reference, and from there the best widths of axes."""

        def at(bandwidth: Bandwidth) -> Windows:
            return Windows(kernel, bandwidth, points, share)

        precision = PRECISION if grid is GRID else ENOUGH
        # wherever a kernel comes to reach one more pair of points there may be another minimum
        parts = PARTS if np.isfinite(kernel.reach) and len(points) <= FEW else 1
        jumps = _jumps(at(reference)) if parts > 1 else NO_JUMPS
        curve = search_line(lambda width: self._value(at(reference.scaled(width))), grid, precision, parts, jumps)
        chosen, best = reference.scaled(curve.widths[curve.best]), float(curve.values[curve.best])
        # that takes many values; some points have already told the axes apart
        if np.ndim(chosen.value) == 1 and (grid is GRID or _is_cheap(points, kernel)):
            refined = self._refined(at, chosen, best)
            lower = self._value(at(refined))
            chosen, best = (refined, lower) if lower < best else (chosen, best)
        return chosen, best, curve

    def _refined(self, windows: Callable[[Bandwidth], Windows], start: Bandwidth, best: float) -> Bandwidth:
        """Each axis has its own say from where all together are best."""
        order, axes = self._order(best), len(np.atleast_1d(start.value))

        def at(logarithms: Array) -> Windows:
            return windows(replace(start, value=start.value * np.exp(logarithms)))

        def value(logarithms: Array) -> float:
            return self._value(at(logarithms)) / order

        def slope(logarithms: Array) -> tuple[float, Array]:
            height, steepness = self._slope(at(logarithms))
            return height / order, steepness / order

        def difference(logarithms: Array) -> tuple[float, Array]:
            steps = STEP * np.eye(axes)
            slopes = [(value(logarithms + step) - value(logarithms - step)) / (2 * STEP) for step in steps]
            return value(logarithms), np.array(slopes)

        first = windows(start)
        if _rounding(first) > 0:  # many values cost less than one slope
            return at(refine_by_slope(difference, axes, 1e3 * ROUNDING)).bandwidth
        smooth = isinstance(first.kernel, Gaussian)
        return at(refine_by_slope(slope, axes) if smooth else refine_by_simplex(value, axes)).bandwidth

    def _told(self, curve: Curve, reference: Bandwidth, best: float, unit: Array) -> Criterion:
        log_unit = float(np.log(unit).sum())
        values, best = self._in_units(curve.values, log_unit), float(self._in_units(best, log_unit))
        alone = np.ndim(reference.value) == 0
        widths = curve.widths * reference.value * unit[0] if alone else curve.widths
        told = "bandwidth" if alone else f"times {reference.method}"
        return Criterion(self.criterion, widths, values, told, float(widths[curve.best]), best)

    def _refuse_ties(self, spread: Spread, kernel: SmoothingKernel) -> None:
        _, group, counts = np.unique(spread.X, axis=0, return_inverse=True, return_counts=True)
        if len(counts) == len(spread.X):
            return
        share = _share(spread)
        tied = np.bincount(group.ravel(), share)[group.ravel()]
        if self._falls_forever(share, tied, kernel, spread.columns):
            raise BandwidthError(
                f"{int(counts[counts > 1].sum())} of {len(spread.X)} points are repeated, so that {self.method} would "
                'choose a bandwidth of 0. Use "silverman-scaled", or give the bandwidth as numbers.'
            )


@stored()
@dataclass(frozen=True)
class LikelihoodCV(CrossValidation):
    """The bandwidth of greatest likelihood of each point under the others: −Σ w_i log p̂₋ᵢ(x_i)/Σ w_i is least.

    It is not meant for long tails, where the loneliest points ask for wide kernels. If every point is repeated,
    likelihoods grow without bound as widths vanish: a `BandwidthError`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.smoothing import Gaussian
    >>> X = np.random.default_rng(1).normal(size=(200, 1))
    >>> print(LikelihoodCV().choose(X, None, Gaussian()))
    h = 0.3609, by likelihood-cv, −log likelihood of a point left out 1.35488
    """

    method: ClassVar[str] = "likelihood-cv"
    criterion: ClassVar[str] = "−log likelihood of a point left out"

    def _value(self, windows: Windows) -> float:
        return -float(np.average(windows.log_density_left_out(rtol=_rounding(windows)), weights=windows.share))

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
    """The bandwidth of least integrated square error, as far as points can tell (Rudemo 1982, Bowman 1984).

    ∫p̂² − 2 Σ w_i p̂₋ᵢ(x_i)/Σ w_i is least: ∫(p̂ − p)² in expectation, up to the constant ∫p². Many repeated points
    drive it to widths that vanish: a `BandwidthError`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.smoothing import Gaussian
    >>> X = np.random.default_rng(1).normal(size=(200, 1))
    >>> print(LeastSquaresCV().choose(X, None, Gaussian()))
    h = 0.3326, by least-squares-cv, least-squares criterion -0.313962
    """

    method: ClassVar[str] = "least-squares-cv"
    criterion: ClassVar[str] = "least-squares criterion"

    def _value(self, windows: Windows) -> float:
        left_out = np.exp(windows.log_density_left_out(rtol=_rounding(windows)))
        return mean_product(windows, rtol=_rounding(windows)) - 2 * float(np.average(left_out, weights=windows.share))

    def _slope(self, windows: Windows) -> tuple[float, Array]:
        # K∗K of a Gaussian is the Gaussian √2 times as wide, of which the slope is the same
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
        # of data of extreme scales a density to some power may be too large for float64
        with np.errstate(over="ignore"):
            return values * np.exp(-log_unit)

    def _order(self, value: float) -> float:
        return abs(value) or 1.0


def _jumps(windows: Windows) -> Array:
    """The multiples of the bandwidth at which a kernel that ends in a jump comes to reach one more pair of points."""
    kernel, U = windows.kernel, windows.sums.points
    if not kernel.profile(np.array([kernel.reach]))[0] > 0:
        return NO_JUMPS
    apart = np.abs(U[:, None] - U)[np.triu_indices(len(U), 1)]
    return np.unique([np.sqrt(np.square(apart).sum(axis=1)), apart.max(axis=1)]) / kernel.reach


def _mean_squares(windows: Windows, *, leave_out: bool) -> Array:
    """Σ_j w_j k(u_i − u_j)(u_i − u_j)² / Σ_j w_j k(u_i − u_j) along each axis, in units of the bandwidth."""
    U = windows.sums.points
    first, second = np.hsplit(windows.sums.means(U, np.hstack([U, U**2]), leave_out=leave_out), 2)
    return np.asarray(second - 2 * U * first + U**2)


def _rounding(windows: Windows) -> float:
    """The relative error that densities may have; a grid of many points has more than 0, but no digits that matter."""
    many = len(windows.points) > MANY and has_grid(windows.kernel, windows.columns, adaptive=False)
    return ROUNDING if many else 0.0


def _is_cheap(points: Array, kernel: SmoothingKernel) -> bool:
    """Whether a criterion of all points has slopes, and these or a grid of little error take no more than seconds."""
    return isinstance(kernel, Gaussian) and (points.shape[1] <= 2 or len(points) ** 2 <= MOST_PAIRS)


def _units(deviations: Array, shape: Shape) -> Array:
    """Powers of two near the spread of columns: divided by them, data keep their digits and densities their range."""
    unit = np.exp2(np.round(np.log2(deviations)))
    return np.full_like(unit, unit.max()) if shape == "one" else unit


def _stretched(value: float | Array, unit: Array) -> float | Array:
    """A bandwidth for data that are so many times as large."""
    if np.ndim(value) == 2:
        return value * np.outer(unit, unit)
    return value * (unit if np.ndim(value) == 1 else float(unit[0]))


def _share(spread: Spread) -> Array:
    return np.full(len(spread.X), 1 / len(spread.X)) if spread.share is None else spread.share
