"""Sums of Gaussian kernels over many points by FFT, in up to three dimensions, with a bounded error.

Points are spread over a grid by B-splines, the grid is convolved with the kernel by FFT, and interpolated by the same
splines; the transform of the spline is divided out twice. The only error is aliasing, whose sum is known: `error` is a
bound for any points.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import scipy.fft

from mercer._threads import ordered_map, row_blocks, thread_count
from mercer._typing import Array
from mercer.density import _fourier_loops as fourier_loops

#: orders of the splines to choose from
SPLINE_ORDERS = (2, 4, 6, 8, 10, 12)
#: grid spacings to choose from, in units of the bandwidth
GRID_SPACINGS = 2.0 ** -np.arange(-1, 12, 0.25)
#: largest number of cells of a grid
MOST_GRID_CELLS = 1 << 24
#: parts in which points are spread, each on its own grid, whatever the number of threads
SPREAD_PARTS = 4
#: cost in nanoseconds of a point and a cell that its spline covers
SPREAD_NS = 1.5
#: cost in nanoseconds of a step of computing the spline
SPLINE_NS = 0.5
#: cost in nanoseconds of the transforms per cell
CELL_TRANSFORM_NS = 40.0
#: cost in nanoseconds of comparing a pair without a grid
PAIR_NS = 0.5
#: error below which rounding exceeds the bound
LEAST_GRID_ERROR = 1e-13

SPREADERS: dict[int, Any] = {1: fourier_loops.spread_line, 2: fourier_loops.spread_plane, 3: fourier_loops.spread_space}
READERS: dict[int, Any] = {
    1: fourier_loops.interpolate_line,
    2: fourier_loops.interpolate_plane,
    3: fourier_loops.interpolate_space,
}


@cache
def axis_error(order: int, spacing: float) -> float:
    """Return the contribution of one axis to the error, as a share of the kernel's value at 0.

    The frequency t (in units of 1/h) is aliased with t + 2πm/δ with the weight |t/(t + 2πm/δ)|^order, in spreading and
    in interpolation; frequencies beyond π/δ are lost. The spectrum of the kernel is a normal density.
    """
    edge = np.pi / spacing
    t, step = np.linspace(0, min(edge, 12.0), 2001, retstep=True)
    alias = sum((t / (2 * edge * m + sign * t)) ** order for m in range(1, 9) for sign in (-1, 1))
    # an integral that bounds the rest of the sum over m
    alias = alias + 2 * (t / (2 * edge)) ** order * (8.0 ** (1 - order) / (order - 1))
    density = np.sqrt(2 / np.pi) * np.exp(-(t**2) / 2)
    lost = float(np.exp(-(edge**2) / 2)) if edge < 38 else 0.0
    return float(np.trapezoid(density * ((1 + alias) ** 2 - 1), dx=step)) + lost


class FourierPlan(NamedTuple):
    """A grid: the order of its splines, its spacing in units of the bandwidth, and its error bound."""

    order: int
    spacing: float
    #: least distance of a point from its periodic images, in units of the bandwidth
    gap: float
    cells: tuple[int, ...]
    #: greatest error of a sum, as a share of the weight of all points
    error: float
    nanoseconds: float


def plan_grid(n_points: int, n_queries: int, spans: Array, error: float) -> FourierPlan | None:
    """Return the cheapest grid over these spans (in bandwidths) with the given error; None if all are too large."""
    error = max(error, LEAST_GRID_ERROR)
    gap = float(np.sqrt(2 * np.log(8 * len(spans) / error)))
    plans = [_plan_order(n_points, n_queries, spans, gap, order, error) for order in SPLINE_ORDERS]
    return min((one for one in plans if one is not None), key=lambda one: one.nanoseconds, default=None)


def _plan_order(
    n_points: int, n_queries: int, spans: Array, gap: float, order: int, error: float
) -> FourierPlan | None:
    columns = len(spans)
    for spacing in GRID_SPACINGS.tolist():
        bound = (1 + axis_error(order, spacing)) ** columns - 1
        if bound > 0.75 * error:
            continue
        least = (spans + gap) / spacing + 2 * order + 2
        if np.prod(least) > MOST_GRID_CELLS:
            return None
        cells = tuple(scipy.fft.next_fast_len(int(np.ceil(size)), real=True) for size in least)
        steps = 0 if columns == 1 and order == 2 else columns * order**2
        each = SPREAD_NS * order**columns + SPLINE_NS * steps
        work = each * (n_points + n_queries) + CELL_TRANSFORM_NS * float(np.prod(cells))
        # images: at most two beyond the gap on each axis
        images = columns * 2 * float(np.exp(-(gap**2) / 2))
        return FourierPlan(order, spacing, gap, cells, bound + images, work)
    return None


class FourierSums:
    """Σ_j w_j exp(−½‖(x − x_j)/h‖²) on a grid that covers `low` to `high`.

    Parameters
    ----------
    plan : FourierPlan
        The grid.
    points : array of shape (n, d)
        The points, within `low` and `high`.
    weight : array of shape (n,) or None
        Weight of each point; None means ones.
    widths : array of shape (d,)
        Bandwidth h along each axis.
    low : array of shape (d,)
        Least coordinates covered.
    """

    def __init__(self, plan: FourierPlan, points: Array, weight: Array | None, widths: Array, low: Array) -> None:
        self.plan, self._scale = plan, 1 / (plan.spacing * widths)
        self._origin = low - plan.order / self._scale
        self._values = self._convolve(self._spread(points, np.empty(0) if weight is None else weight))

    def __call__(self, queries: Array) -> Array:
        """Return the sums at queries between `low` and `high`."""
        result = np.empty(len(queries))
        read = READERS[queries.shape[1]]

        def work(rows: slice) -> None:
            read(self._values, queries[rows], self._origin, self._scale, self.plan.order, result[rows])

        ordered_map(work, row_blocks(len(queries), 1 << 14))
        return result

    def _spread(self, points: Array, weight: Array) -> Array:
        parts = row_blocks(len(points), max(1 << 15, -(-len(points) // SPREAD_PARTS)))
        grids = ordered_map(lambda rows: self._spread_part(points[rows], weight[rows]), parts)
        return np.asarray(sum(grids[1:], start=grids[0]))

    def _spread_part(self, points: Array, weight: Array) -> Array:
        grid, order = np.zeros(self.plan.cells), self.plan.order
        if order == 2 and points.shape[1] == 1:
            fourier_loops.spread_pairs(points, weight, self._origin, self._scale, grid)
        else:
            SPREADERS[points.shape[1]](points, weight, self._origin, self._scale, order, grid)
        return grid

    def _convolve(self, grid: Array) -> Array:
        """Convolve the grid with the kernel and divide by the transforms of both splines."""
        threads = thread_count()
        spectrum = scipy.fft.rfftn(grid, workers=threads)
        for axis, cells in enumerate(grid.shape):
            last = axis == grid.ndim - 1
            numbers = scipy.fft.rfftfreq(cells) if last else scipy.fft.fftfreq(cells)
            shape = [1] * grid.ndim
            shape[axis] = len(numbers)
            spectrum *= self._factor(2 * np.pi * numbers).reshape(shape)
        return np.asarray(scipy.fft.irfftn(spectrum, grid.shape, workers=threads))

    def _factor(self, theta: Array) -> Array:
        """Return the factor of the spectrum along one axis at a frequency of θ per grid point."""
        order, spacing = self.plan.order, self.plan.spacing
        kernel = np.sqrt(2 * np.pi) * np.exp(-((theta / spacing) ** 2) / 2)
        return np.asarray(kernel / (np.sinc(theta / (2 * np.pi)) ** (2 * order) * spacing))
