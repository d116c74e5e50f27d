"""Integrals of derivatives of a density, estimated from points: what plug-in rules put into the asymptotic error.

θ_r(g) = ΣΣ w_i w_j Δʳφ_g(x_i − x_j), with weights that sum to one, Δ the Laplacian and φ_g the Gaussian of variance g².
It estimates ∫ p Δʳp, which is ∫(Δp)² for r = 2.
"""

from __future__ import annotations

from itertools import product
from math import factorial, log, log2, pi
from typing import Any, Protocol

import numpy as np
from scipy.fft import dctn
from scipy.special import genlaguerre

from mercer._typing import Array

#: values of a block
BLOCK = 1 << 18
#: cells of a grid per axis, by its dimensions
FEWEST_CELLS, MOST_CELLS = {1: 1 << 14, 2: 1 << 8, 3: 1 << 6}, {1: 1 << 20, 2: 1 << 10, 3: 192}
#: cells are at most so wide, in units of the least width that matters
COARSEST = 0.25
#: the share of points that may be left out for finer cells
FEW = 0.02
#: e to minus this is nothing beside the rest of a sum
NOTHING = 200.0


class Functional(Protocol):
    """θ_r(g) as a function of both."""

    def __call__(self, order: int, width: float) -> float: ...


class Cosines:
    """θ_r of points on a grid, by the squares of their cosine transform (Botev, Grotowski & Kroese 2010).

    Parameters
    ----------
    points : array of shape (n, d), d ≤ 3
        Binned linearly, with room for kernels around them.
    share : array of shape (n,) or None
        Weights that sum to one.
    fine : float
        The least width that matters: cells are a fraction of it, unless there were too many.
    wide : float
        The greatest width that matters: kernels of it do not feel the borders, which are mirrors.
    """

    def __init__(self, points: Array, share: Array | None, fine: float, wide: float) -> None:
        self.columns = points.shape[1]
        points, share = _in_the_middle(points, share, COARSEST * fine * MOST_CELLS[self.columns])
        low, high = points.min(axis=0), points.max(axis=0)
        length = float((high - low).max() + 8 * wide)
        cells = _cells(length / fine, self.columns)
        self.step = length / cells
        binned = linearly_binned(points, (low + high - length) / 2, self.step, cells, share)
        frequency = np.pi / length * np.arange(cells + 1)
        # the mean effect of linear binning on a cosine is taken back; every cosine but the first stands for two waves
        undo = np.where(frequency > 0, 2.0, 1.0) * np.sinc(frequency * self.step / (2 * np.pi)) ** -4.0 / length
        power = np.square(dctn(binned, type=1) / 2**self.columns)
        self._power = (power * _outer(np.multiply, [undo] * self.columns)).ravel()
        self._square = _outer(np.add, [np.square(frequency)] * self.columns).ravel()
        with np.errstate(divide="ignore"):
            self._log_square = np.log(self._square)

    def __call__(self, order: int, width: float) -> float:
        kept = len(self._square)
        if self.columns == 1:
            kept = int(np.searchsorted(self._square, 2 * NOTHING / width**2))
        logs = order * self._log_square[:kept]
        logs -= 0.5 * width**2 * self._square[:kept]
        return float((-1) ** order * (np.exp(logs, out=logs) @ self._power[:kept]))


class Pairs:
    """θ_r over all pairs of points, in blocks.

    Parameters
    ----------
    points : array of shape (n, d)
        The points, around their mean.
    share : array of shape (n,) or None
        Weights that sum to one.
    """

    def __init__(self, points: Array, share: Array | None) -> None:
        self.points = points
        self.share = np.full(len(points), 1 / len(points)) if share is None else share
        self.norms = np.square(points).sum(axis=1)

    def __call__(self, order: int, width: float) -> float:
        """Δʳφ(u) = (−2)ʳ r! L_r(½‖u‖²) φ(u) with Laguerre's polynomials of index ½d − 1."""
        columns = self.points.shape[1]
        polynomial = genlaguerre(order, columns / 2 - 1).coef
        rows = max(1, BLOCK // len(self.points))
        total = sum(self._block(start, start + rows, polynomial, width) for start in range(0, len(self.points), rows))
        scale = np.exp(-columns * (log(width) + 0.5 * log(2 * pi)))
        return float((-2 / width**2) ** order * factorial(order) * scale * total)

    def _block(self, start: int, stop: int, polynomial: Array, width: float) -> float:
        """Rows with themselves and with all after them, which count for both."""
        half = self.points[start:stop] @ self.points[start:].T
        half = np.maximum((0.5 * self.norms[start:stop, None] + 0.5 * self.norms[start:] - half) / width**2, 0)
        sums = self.share[start:stop] @ (np.polyval(polynomial, half) * np.exp(-half))
        size = stop - start
        return float(sums[:size] @ self.share[start:stop] + 2 * (sums[size:] @ self.share[stop:]))


def linearly_binned(points: Array, low: Array, step: float, cells: int, share: Array | None = None) -> Array:
    """Weight on the corners of a grid of so many cells per axis: a point's goes to those of its cell by closeness."""
    columns = points.shape[1]
    strides = (cells + 1) ** np.arange(columns - 1, -1, -1)
    binned = np.zeros((cells + 1) ** columns)
    for start in range(0, len(points), BLOCK):
        rows = slice(start, start + BLOCK)
        places = (points[rows].T - low[:, None]) / step
        corner = np.minimum(places.astype(np.intp), cells - 1)
        sides = np.stack([corner + 1 - places, places - corner])
        lowest = strides @ corner
        for up in product((0, 1), repeat=columns):
            near = np.prod([sides[side, axis] for axis, side in enumerate(up)], axis=0)
            added = np.bincount(lowest, near if share is None else near * share[rows])
            binned[strides @ up :][: len(added)] += added
    return binned.reshape((cells + 1,) * columns) / (len(points) if share is None else share.sum())


def _in_the_middle(points: Array, share: Array | None, length: float) -> tuple[Array, Array | None]:
    """The points of a cube around the medians: the few beyond it would make all cells too wide for the others."""
    if (np.ptp(points, axis=0) <= length).all():
        return points, share
    away = np.abs(points - np.quantile(points, 0.5, axis=0, method="inverted_cdf")).max(axis=1)
    # where they are not few, it is wide cells that do less harm
    kept = away <= max(length / 2, np.quantile(away, 1 - FEW))
    return points[kept], None if share is None else share[kept] / share[kept].sum()


def _outer(operation: Any, axes: list[Array]) -> Array:
    """All combinations of entries, one of each axis."""
    whole = axes[0]
    for axis in axes[1:]:
        whole = operation.outer(whole, axis)
    return np.asarray(whole)


def _cells(widths: float, columns: int) -> int:
    """Cells per axis: a power of two, so many that one is a 64th of the width in one dimension, a 16th in more."""
    wanted = widths * (64 if columns == 1 else 16)
    return int(np.clip(2 ** np.ceil(log2(wanted)), FEWEST_CELLS[columns], MOST_CELLS[columns]))
