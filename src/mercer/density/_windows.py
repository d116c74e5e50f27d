"""Parzen windows: the density that is the mean of kernels centred on points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import gammainc, gammainccinv

from mercer._errors import NoClosedFormError, OutOfReachError
from mercer._stored import floats, optional, part_of, stored
from mercer._threads import ordered_map, row_blocks
from mercer._typing import Array
from mercer.density._bandwidth import Bandwidth
from mercer.density._boxes import NormalCells, box_probability, is_worth_sorting
from mercer.density._density import Density, Rng
from mercer.density._kernels import Gaussian, SmoothingKernel, Uniform
from mercer.density._regions import find_probes
from mercer.density._sums import KernelSums, Sources, Tolerance, has_grid


def draw_rows(windows: Windows, n: int, rng: Rng) -> Array:
    """Draw n rows: a point by its weight, and a step from its kernel."""
    rows = _draw_points(windows, n, rng)
    steps = _draw_steps(windows, n, rng)
    if windows.factors is not None:
        steps = steps * windows.factors[rows, None]
    return windows.points[rows] + windows.bandwidth.coloured(steps)


def _draw_points(windows: Windows, n: int, rng: Rng) -> Array:
    """Draw points by their weights, from the same uniform numbers as scikit-learn."""
    u = rng.uniform(0, 1, size=n)
    if windows.share is None:
        return np.asarray(u * len(windows.points), dtype=np.int64)
    up_to = np.cumsum(windows.share)
    last = np.flatnonzero(windows.share)[-1]
    return np.asarray(np.minimum(np.searchsorted(up_to, u * up_to[-1]), last))


def _draw_steps(windows: Windows, n: int, rng: Rng) -> Array:
    """Draw from the kernel; for the uniform one by scikit-learn's method, so that the numbers are the same."""
    kernel, d = windows.kernel, windows.columns
    if not isinstance(kernel, Uniform) or kernel.form == "product":
        return kernel.sample(n, d, rng)
    steps = rng.normal(size=(n, d))
    squares = np.square(steps).sum(axis=1)
    # the squared length of a normal vector, made uniform by its own distribution function, is the enclosed volume
    return np.asarray(steps * (gammainc(d / 2, squares / 2) ** (1 / d) / np.sqrt(squares))[:, None])


@dataclass(frozen=True, eq=False)
class WindowSlice:
    """Windows of the remaining columns: log weights (w_j K_x(x − x_j)), their points, and their bandwidth."""

    log_weight: Array
    points: Array
    bandwidth: Bandwidth


def slice_windows(windows: Windows, given: Mapping[int, float]) -> WindowSlice:
    """Restrict every kernel of `windows` to given values of some columns; exact for products and for Gaussians.

    A Gaussian with a full Σ moves with the condition: its mean is x_jB + Σ_BA Σ_AA⁻¹(x_A − x_jA), its covariance the
    Schur complement Σ_BB − Σ_BA Σ_AA⁻¹ Σ_AB, whatever the factor by which it is wider.
    """
    A = list(given)
    B = [column for column in range(windows.columns) if column not in given]
    away = np.array([given[column] for column in A], dtype=float) - windows.points[:, A]
    if windows.is_separable or np.ndim(windows.bandwidth.value) < 2:
        return WindowSlice(_slice_log_weight(windows, A, away), windows.points[:, B], select_axes(windows.bandwidth, B))
    Sigma = np.asarray(windows.bandwidth.value)
    pull = cho_solve(cho_factor(Sigma[np.ix_(A, A)], lower=True), Sigma[np.ix_(A, B)])
    left = Sigma[np.ix_(B, B)] - Sigma[np.ix_(B, A)] @ pull
    bandwidth = replace(windows.bandwidth, value=(left + left.T) / 2, criterion=None)
    return WindowSlice(_slice_log_weight(windows, A, away), windows.points[:, B] + away @ pull, bandwidth)


def _slice_log_weight(windows: Windows, A: list[int], away: Array) -> Array:
    """Return log w_j λ_j⁻ᵃ k((x − x_j)/λ_j) up to a constant."""
    narrow = select_axes(windows.bandwidth, A)
    U, logs = narrow.whiten(away), np.zeros(len(away))
    if windows.factors is not None:
        U, logs = U / windows.factors[:, None], -len(A) * np.log(windows.factors)
    if windows.share is not None:
        with np.errstate(divide="ignore"):
            logs = logs + np.log(windows.share)
    return logs + windows.kernel.log_density(U)


def select_axes(bandwidth: Bandwidth, keep: list[int]) -> Bandwidth:
    """Return the bandwidth of some of the columns."""
    value = np.asarray(bandwidth.value)
    if value.ndim == 0:
        return bandwidth
    return replace(bandwidth, value=value[keep] if value.ndim == 1 else value[np.ix_(keep, keep)], criterion=None)


#: standard deviations beyond which a Gaussian has less than 1e-17 of its mass
GAUSSIAN_SPAN = 9.0
#: bandwidths from the origin at which coordinates are clipped, so that differences do not overflow
CLIPPED_COORDINATE = 1e300
#: densities below this, in units of 1/h, are ignored by regions
LEAST_HEIGHT = 1e-12
#: number of clusters of queries up to which they are evaluated separately
MOST_CLUSTERS = 64
#: points from which the origin is computed
ORIGIN_ROWS = 1001
#: rows of a block for the search of extremes; threads do not pay off for fewer
BOX_ROWS = 1 << 20


@stored(
    lambda windows: len(windows.points) > 0,
    kernel=part_of(SmoothingKernel),
    bandwidth=part_of(Bandwidth, d="d"),
    points=floats("nd"),
    _weight=optional(floats("n")),
    _given_factors=optional(floats("n")),
    factors=optional(floats("n")),
)
class Windows(Density):
    """`p(x) = Σ_j w_j |L|⁻¹ λ_j⁻ᵈ K(L⁻¹(x − x_j)/λ_j) / Σ_j w_j` (lecture 4, "Parzen Window").

    Parameters
    ----------
    kernel : SmoothingKernel
        The kernel K.
    bandwidth : Bandwidth
        L, and the sensitivity of the adaptive factors.
    points : array of shape (n, d)
        Centres of the kernels.
    weight : array of shape (n,), default=None
        Weight of each point; 1 if not given.
    factors : array of shape (n,), default=None
        λ, the factor by which the kernel of each point is wider; Abramson's if not given and the bandwidth is
        sensitive.

    Examples
    --------
    >>> import numpy as np
    >>> windows = Windows(Gaussian(), Bandwidth(1.0), np.array([[0.0], [2.0]]))
    >>> windows.density(np.array([[1.0]])).round(4)  # φ(1)
    array([0.242])
    """

    def __init__(
        self,
        kernel: SmoothingKernel,
        bandwidth: Bandwidth,
        points: Array,
        weight: Array | None = None,
        factors: Array | None = None,
    ) -> None:
        self.kernel, self.bandwidth, self.points = kernel, bandwidth, points
        self._weight, self._given_factors = weight, factors

    def __getstate__(self) -> dict[str, Any]:
        """Return the arguments and the factors, which are slow to compute; everything else is recomputed on demand."""
        kept = ("kernel", "bandwidth", "points", "_weight", "_given_factors", "factors")
        return {name: value for name, value in self.__dict__.items() if name in kept}

    def __repr__(self) -> str:
        return f"<windows around {len(self.points):,} points, {self.kernel.name} kernels, {self.bandwidth}>"

    @property
    def weight(self) -> Array | None:
        return self._weight

    @property
    def columns(self) -> int:
        return int(self.points.shape[1])

    @property
    def centres(self) -> Array:
        return self.points

    @cached_property
    def share(self) -> Array | None:
        """Weights divided by the largest, so that products with them neither overflow nor vanish."""
        return None if self._weight is None else self._weight / self._weight.max()

    @cached_property
    def total_share(self) -> float:
        """Sum of `share`."""
        return float(len(self.points) if self.share is None else self.share.sum())

    @cached_property
    def origin(self) -> Array:
        """A point amid the data; coordinates relative to it keep their digits."""
        return np.median(self.points[:: 1 + len(self.points) // ORIGIN_ROWS], axis=0)

    @cached_property
    def sums(self) -> KernelSums:
        return KernelSums(self.kernel, self._whitened(self.points), self.share, self.factors)

    @cached_property
    def device_copies(self) -> dict[Any, Any]:
        """Copies of the points on devices, for `_tensor_sums`; never saved."""
        return {}

    @cached_property
    def ordered(self) -> tuple[Array, Array, Array]:
        """Points of a single column in ascending order, cumulative shares (from 0 to the total), and their shares."""
        order = np.argsort(self.points[:, 0])
        share = np.ones(len(order)) if self.share is None else self.share[order]
        return self.points[order, 0], np.append(0.0, np.cumsum(share)), share

    @cached_property
    def normal_cells(self) -> NormalCells:
        """The points of a single column, prepared for the distribution function of Gaussians."""
        points, _, share = self.ordered
        return NormalCells(points, share, float(self.scales[0]))

    def log_density(self, X: Array, *, rtol: float = 0.0, atol: float = 0.0) -> Array:
        """Return log p(x) for every row."""
        sums = self.sums.log_sums(self._whitened(X), tolerance=self._tolerance(rtol, atol))
        logs = self.log_scale + sums - np.log(self.total_share)
        # where even the logarithm overflows, the smallest float is returned
        return np.asarray(np.maximum(logs, -np.finfo(float).max) if np.isinf(self.kernel.reach) else logs)

    def density_within(self, X: Array, atol: float) -> Array:
        """Return p(x) for every row with an absolute error of at most `atol`."""
        if not has_grid(self.kernel, self.columns, adaptive=self.factors is not None):
            return self.density(X)
        sources, queries = self._in_axes(X)
        sums, known = sources.sums(queries, self._tolerance(0.0, atol), small=True)
        values = np.exp(self.log_scale) * sums / self.total_share
        if not known.all():
            values[~known] = self.density(X[~known])
        return np.asarray(values)

    def log_density_at_most(self, X: Array) -> Array:
        """Return an upper bound of log p(x), from the distance of each row to the box around all points."""
        low, high = self._corners
        away = (np.maximum(np.maximum(low - X, X - high), 0) / self.scales).max(axis=1) / self.widest
        if self.kernel.form == "product" and self.bandwidth.root.ndim == 2:
            away /= np.sqrt(self.columns)  # bounds the largest whitened coordinate from below
        steepest = 0.0 if self.factors is None else -self.columns * np.log(self.factors.min())
        return self.log_scale + steepest + self.kernel.log_profile(away)

    def log_curve(self, x: Array) -> Array:
        if not (isinstance(self.kernel, Gaussian) and is_worth_sorting(self)):
            return self._log_density_by_clusters(x)
        heights = self.normal_cells.density(x)
        counts = heights * self.scales[0] > LEAST_HEIGHT
        return np.where(counts, np.log(np.where(counts, heights, 1.0)), -np.inf)

    def _log_density_by_clusters(self, x: Array) -> Array:
        """Return log p(x) in one dimension; queries far apart are evaluated separately, which needs fewer blocks."""
        order, logs = np.argsort(x), np.empty(len(x))
        cuts = np.flatnonzero(np.diff(x[order]) > 2 * self.span * self.widest * self.scales[0]) + 1
        for rows in np.split(order, cuts if len(cuts) <= MOST_CLUSTERS else []):
            logs[rows] = self.log_density(x[rows, None])
        return logs

    def _tolerance(self, rtol: float, atol: float) -> Tolerance:
        with np.errstate(over="ignore"):
            share = atol * float(np.exp(-self.log_scale))
        return Tolerance(min(rtol, 1.0), min(share, 1.0))

    def _in_axes(self, X: Array) -> tuple[Sources, Array]:
        """Return points and rows in coordinates with one bandwidth per axis; the original ones if possible."""
        if self.bandwidth.root.ndim == 2:
            return self.sums.sources, self._whitened(X)
        return Sources(self.points, self.share, np.array(self.scales), self._corners), np.require(
            X, requirements=["C", "W"]
        )

    def log_density_left_out(self, moved: Array | None = None, *, rtol: float = 0.0) -> Array:
        """Return log p(x_i) of every point under the windows of all others, with unchanged adaptive factors.

        `moved` holds other locations, one for each point, at which the density of the others is evaluated instead. If
        there are no others, the density is 0.
        """
        at = self.sums.points if moved is None else self._whitened(moved)
        sums = self.sums.log_sums(at, leave_out=True, tolerance=self._tolerance(rtol, 0.0))
        return np.where(self._others > 0, self.log_scale + sums - np.log(np.maximum(self._others, 1e-300)), -np.inf)

    def probability(self, low: Array, high: Array) -> Array:
        return box_probability(self, low, high)

    def sample(self, n: int, rng: Rng) -> Array:
        return draw_rows(self, n, rng)

    def mean(self) -> Array:
        """Return E[x], which is the mean of the points because kernels are symmetric."""
        return self.origin + np.average(self.points - self.origin, axis=0, weights=self.share)

    def marginal(self, keep: Sequence[int]) -> Windows:
        keep = list(keep)
        if keep == list(range(self.columns)):
            return self
        self._check_has_marginal("a marginal density")
        return Windows(self.kernel, select_axes(self.bandwidth, keep), self.points[:, keep], self._weight, self.factors)

    def conditional(self, given: Mapping[int, float]) -> Windows:
        """Return p(y|x): windows around the y_j, weighted by the kernels of the x_j (lecture 4)."""
        return self.from_slices([self.sliced(given)], given)

    def sliced(self, given: Mapping[int, float]) -> WindowSlice:
        """Return every kernel restricted to given values of some columns."""
        self._check_has_marginal("a conditional density")
        return slice_windows(self, given)

    def from_slices(self, slices: list[WindowSlice], given: Mapping[int, float]) -> Windows:
        """Return the density that is proportional to the sum of the slices."""
        log_weight = np.concatenate([s.log_weight for s in slices])
        if not np.isfinite(top := log_weight.max()):
            raise OutOfReachError(
                f"no training point is within reach of the condition {dict(given)}, so that the density there is 0/0; "
                "widen the bandwidth, or use the Gaussian kernel, which reaches everywhere."
            )
        weight = np.exp(log_weight - top)
        held = np.flatnonzero(weight)
        points = np.concatenate([s.points for s in slices])
        factors = None if self.factors is None else np.tile(self.factors, len(slices))[held]
        return Windows(self.kernel, slices[0].bandwidth, points[held], weight[held], factors)

    def _check_has_marginal(self, what: str) -> None:
        if not self.is_separable and not isinstance(self.kernel, Gaussian):
            raise NoClosedFormError(
                f"{what} has no formula for the {self.kernel.name} kernel in its {self.kernel.form} form with "
                f"{'a bandwidth matrix' if self.bandwidth.root.ndim == 2 else 'one bandwidth for all directions'}; use "
                f'the Gaussian kernel, or {type(self.kernel).__name__}(form="product") with a bandwidth per column.'
            )

    @property
    def is_separable(self) -> bool:
        """Return whether every kernel is a product over the columns."""
        return self.columns == 1 or (self.kernel.has_marginals and is_diagonal(self.bandwidth))

    @property
    def scales(self) -> Array:
        """Bandwidth along each axis, √Σ_aa."""
        L = self.bandwidth.root
        return np.sqrt(np.square(L).sum(axis=1)) if L.ndim == 2 else np.broadcast_to(L, self.columns)

    @property
    def span(self) -> float:
        """Bandwidths beyond which a kernel has less than 1e-16 of its mass along an axis."""
        if np.isfinite(self.kernel.reach):
            return self.kernel.reach
        d = self.columns if self.kernel.form == "radial" else 1
        return GAUSSIAN_SPAN if isinstance(self.kernel, Gaussian) else float(gammainccinv(d, 1e-17))

    @property
    def widest(self) -> float:
        """The largest factor by which a kernel is wider."""
        return 1.0 if self.factors is None else float(self.factors.max())

    def extent(self, reach: float) -> tuple[Array, Array]:
        margin = min(reach, self.span) * self.widest * self.scales
        low, high = self._corners
        return low - margin, high + margin

    def ends(self) -> tuple[Array, Array]:
        if np.isfinite(self.kernel.reach):
            return self.extent(np.inf)
        return np.full(self.columns, -np.inf), np.full(self.columns, np.inf)

    def probes(self) -> Array:
        return find_probes(self)

    @cached_property
    def _corners(self) -> tuple[Array, Array]:
        """Corners of the box around all points."""

        def of_block(rows: slice) -> tuple[Array, Array]:
            return self.points[rows].min(axis=0), self.points[rows].max(axis=0)

        ends = np.array(ordered_map(of_block, row_blocks(len(self.points), BOX_ROWS)))
        return ends[:, 0].min(axis=0), ends[:, 1].max(axis=0)

    def _whitened(self, X: Array) -> Array:
        # coordinates too far away to be distinguished are clipped
        with np.errstate(over="ignore"):
            return np.clip(self.bandwidth.whiten(X - self.origin), -CLIPPED_COORDINATE, CLIPPED_COORDINATE)

    @cached_property
    def _others(self) -> Array:
        """Shares of all points but one, from cumulative sums from both ends, which avoids cancellation."""
        if self.share is None:
            return np.full(len(self.points), len(self.points) - 1.0)
        before = np.concatenate([[0.0], np.cumsum(self.share)[:-1]])
        after = np.concatenate([np.cumsum(self.share[::-1])[-2::-1], [0.0]])
        return np.asarray(before + after)

    @property
    def log_scale(self) -> float:
        """`log 1/(c |L|)`."""
        return -self.kernel.log_constant(self.columns) - self.bandwidth.log_volume(self.columns)

    @cached_property
    def factors(self) -> Array | None:
        """Abramson's λ_j = (p̂(x_j)/g)^(−α), g the geometric mean of p̂ over the points; None if all are 1."""
        if self._given_factors is not None or self.bandwidth.sensitivity == 0:
            return self._given_factors
        pilot = KernelSums(self.kernel, self._whitened(self.points), self.share)
        logs = pilot.log_sums(pilot.points)
        logs = np.where(np.isfinite(logs), logs, 0.0)  # points without weight that no kernel reaches
        centred = logs - np.average(logs, weights=self.share)
        return np.where(self._has_weight, np.exp(-self.bandwidth.sensitivity * centred), 1.0)

    @property
    def _has_weight(self) -> Array:
        return np.ones(len(self.points), dtype=bool) if self.share is None else self.share > 0


def is_diagonal(bandwidth: Bandwidth) -> bool:
    """Return whether the bandwidth does not correlate columns."""
    value = np.asarray(bandwidth.value)
    return value.ndim < 2 or bool((value == np.diag(np.diag(value))).all())
