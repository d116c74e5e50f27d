"""∫p̂² of a Parzen density: sums of K∗K over all pairs of points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist

from mercer._threads import ordered_map, row_blocks
from mercer._typing import Array
from mercer.smoothing._blocks import in_blocks
from mercer.smoothing.autocorrelation import Autocorrelation
from mercer.smoothing.windows import Windows

Profile = Callable[[Array], Array]
#: points of a block, which is compared with others within reach
SIDE = 256
#: of more points a table of K∗K is made, which is faster than its formula and good to 1e-8 of its height
MANY = 1000
#: pieces of the table; kinks at half the reach, which triangles have, are between two of them
PIECES = 1 << 16
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
    """Σᵢⱼ w_i w_j (K∗K)(u_i − u_j): blocks of points that are close together skip those out of reach."""
    order = in_blocks(points, SIDE)
    points = points[order]
    share = np.full(len(points), 1 / len(points)) if weight is None else weight[order] / weight.sum()
    reach = min(both.reach, FARTHEST)
    profile = both.profile if len(points) <= MANY else tabulated(both.profile, reach)
    blocks = row_blocks(len(points), SIDE)
    boxes = np.array([[points[block].min(axis=0), points[block].max(axis=0)] for block in blocks])

    def with_later(first: int) -> float:
        """A block with itself and with all after it, which are met once and count for both."""
        block = blocks[first]
        total = 0.0
        for other in first + np.flatnonzero(_gaps(both, boxes[first], boxes[first:]) <= reach):
            values = _values(both, profile, points[block], points[blocks[other]])
            total += (1 if other == first else 2) * float(share[block] @ values @ share[blocks[other]])
        return total

    return float(sum(ordered_map(with_later, range(len(blocks)))))


def _gaps(both: Autocorrelation, box: Array, boxes: Array) -> Array:
    """Least distances between a box and others, along the axis where it is greatest for products."""
    along = np.maximum(np.maximum(boxes[:, 0] - box[1], box[0] - boxes[:, 1]), 0)
    return np.asarray(along.max(axis=1) if both.kernel.form == "product" else np.sqrt(np.square(along).sum(axis=1)))


def tabulated(profile: Profile, reach: float) -> Profile:
    """A function of r ≥ 0 that is 0 beyond its reach, by lines between many of its values."""
    heights = profile(np.linspace(0, reach, PIECES + 1))
    slopes = np.append(np.diff(heights), 0.0)
    heights[-1] = 0.0
    scale = PIECES / reach

    def values(r: Array) -> Array:
        place = np.minimum(r * scale, PIECES)
        piece = place.astype(np.intp)
        place -= piece
        place *= slopes[piece]
        place += heights[piece]
        return place

    return values


def _values(both: Autocorrelation, profile: Profile, A: Array, B: Array) -> Array:
    if both.kernel.form == "radial" and both.columns > 1:
        return profile(cdist(A, B))
    values = profile(np.abs(np.subtract.outer(A[:, 0], B[:, 0])))
    for axis in range(1, both.columns):
        values *= profile(np.abs(np.subtract.outer(A[:, axis], B[:, axis])))
    return values
