"""∫p̂² of a Parzen density: sums of K∗K over all pairs of points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.spatial.distance import cdist

from mercer.smoothing.autocorrelation import Autocorrelation
from mercer.smoothing.windows import Windows

Array = NDArray[Any]
Profile = Callable[[Array], Array]
#: pairs of a block
BLOCK = 1 << 15
#: of more points a table of K∗K is made, which is faster than its formula and good to 1e-8 of its height
MANY = 1000
#: pieces of the table; kinks at half the reach, which triangles have, are between two of them
PIECES = 1 << 12
#: beyond this K∗K of kernels without an end adds less than rounding
FARTHEST = 48.0


def mean_product(windows: Windows, *, rtol: float = 0.0) -> float:
    """∫p̂² = Σᵢⱼ w_i w_j (K∗K)(u_i − u_j)/|L|, with weights that sum to one; kernels of one width.

    `rtol` is the relative error that does no harm.
    """
    both = windows.kernel.autocorrelation(windows.columns)
    if both.gaussian_width is not None:
        wider = Windows(windows.kernel, windows.bandwidth.scaled(both.gaussian_width), windows.points, windows.weight)
        return float(np.average(np.exp(wider.log_density(wider.points, rtol=rtol)), weights=wider.share))
    volume = float(np.exp(windows.bandwidth.log_volume(windows.columns)))
    return _over_pairs(both, windows.sums.points, windows.share) / volume


def _over_pairs(both: Autocorrelation, points: Array, weight: Array | None) -> float:
    """Σᵢⱼ w_i w_j (K∗K)(u_i − u_j): blocks of points in the order of their first axis skip what is out of reach."""
    order = np.argsort(points[:, 0])
    points = points[order]
    share = np.full(len(points), 1 / len(points)) if weight is None else weight[order] / weight.sum()
    reach = min(both.reach, FARTHEST)
    profile = both.profile if len(points) <= MANY else tabulated(both.profile, reach)
    ends = np.searchsorted(points[:, 0], points[:, 0] + reach, side="right")
    rows = max(1, BLOCK // int((ends - np.arange(len(ends))).max()))
    total = 0.0
    for start in range(0, len(points), rows):
        block, ahead = slice(start, start + rows), slice(start + rows, ends[min(start + rows, len(ends)) - 1])
        values = share[block] @ _values(both, profile, points[block], points[start : max(ahead.start, ahead.stop)])
        # those ahead are met once, and count for both
        total += values[:rows] @ share[block] + 2 * (values[rows:] @ share[ahead])
    return float(total)


def tabulated(profile: Profile, reach: float) -> Profile:
    """A function of r ≥ 0 that is 0 beyond its reach, by cubic pieces of equal length."""
    pieces = CubicSpline(np.linspace(0, reach, PIECES + 1), profile(np.linspace(0, reach, PIECES + 1))).c
    cubic, square, slope, height = (np.append(row, 0.0) for row in pieces)
    scale = PIECES / reach

    def values(r: Array) -> Array:
        piece = np.minimum(r * scale, PIECES).astype(np.intp)
        beyond = r - piece / scale
        return np.asarray(((cubic[piece] * beyond + square[piece]) * beyond + slope[piece]) * beyond + height[piece])

    return values


def _values(both: Autocorrelation, profile: Profile, A: Array, B: Array) -> Array:
    if both.kernel.form == "radial" and both.columns > 1:
        return profile(cdist(A, B))
    values = profile(np.abs(np.subtract.outer(A[:, 0], B[:, 0])))
    for axis in range(1, both.columns):
        values *= profile(np.abs(np.subtract.outer(A[:, axis], B[:, axis])))
    return values
