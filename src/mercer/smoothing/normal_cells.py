"""The distribution function of very many Gaussian windows of one column: cells of points instead of points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import ndtr

from mercer._typing import Array

#: of a cell, in bandwidths
WIDTH = 0.5
#: derivatives of Φ that count: the next adds less than ¼¹⁷ max|Φ⁽¹⁷⁾|/17! < 1e-18
ORDER = 16
#: Φ is 0 or 1 beyond
FAR = 9.0
#: places that are looked at together, and pairs of a place and a cell
PLACES, PAIRS = 64, 1 << 14


class NormalCells:
    """Σ_j w_j Φ((x − x_j)/h) by Taylor's series around the middle of each cell (Greengard & Strain 1991).

    Parameters
    ----------
    points : array of shape (n,)
        In ascending order.
    weight : array of shape (n,)
        Of each.
    h : float
        The bandwidth.
    """

    def __init__(self, points: Array, weight: Array, h: float) -> None:
        cells = np.floor((points - points[0]) / (WIDTH * h))
        starts = np.flatnonzero(np.append(True, np.diff(cells) > 0))
        self.h, self.middles = h, points[0] + (cells[starts] + 0.5) * WIDTH * h
        away = (np.repeat(self.middles, np.diff(np.append(starts, len(points)))) - points) / h
        self.moments = np.empty((ORDER + 1, len(starts)))
        term = np.array(weight, dtype=float)
        for k in range(ORDER + 1):
            self.moments[k] = np.add.reduceat(term, starts)
            term *= away / (k + 1)
        self.up_to = np.append(0.0, np.cumsum(self.moments[0]))

    def cdf(self, x: Array) -> Array:
        """The share of the weight that lies below each x, to 1e-15 of all."""

        def below(u: Array, near: slice) -> Array:
            whole = self.up_to[near.start] + ndtr(u) @ self.moments[0, near]
            return np.asarray(whole + _series(u, self.moments[1:, near]))

        return np.asarray(np.clip(self._of(x, below) / self.up_to[-1], 0, 1))

    def density(self, x: Array) -> Array:
        """The derivative of `cdf`, to 1e-15 of 1/h."""
        heights = self._of(x, lambda u, near: _series(u, self.moments[:, near]))
        return np.asarray(np.maximum(heights, 0) / (self.h * self.up_to[-1]))

    def _of(self, x: Array, sums: Callable[[Array, slice], Array]) -> Array:
        """Sums for every x, given how far it is from the middles of the cells near it, and which these are."""
        x = np.clip(x, self.middles[0] - 40 * self.h, self.middles[-1] + 40 * self.h)
        found, order = np.empty(len(x)), np.argsort(x)
        waiting = [order[start : start + PLACES] for start in range(0, len(x), PLACES)]
        while waiting:
            rows = waiting.pop()
            near = self._near(x[rows[0]], x[rows[-1]])
            if len(rows) > 1 and len(rows) * (near.stop - near.start) > PAIRS:
                waiting += np.array_split(rows, 2)
                continue
            found[rows] = sums((x[rows, None] - self.middles[near]) / self.h, near)
        return found

    def _near(self, low: float, high: float) -> slice:
        reach = (FAR + WIDTH) * self.h
        return slice(*np.searchsorted(self.middles, [low - reach, high + reach]).tolist())


def _series(u: Array, moments: Array) -> Array:
    """Σ_k φ⁽ᵏ⁾(u) m_k over all cells, by the recurrence of Hermite's polynomials."""
    total, before, now = np.zeros(len(u)), np.zeros_like(u), np.exp(-0.5 * u**2) / np.sqrt(2 * np.pi)
    for k, moment in enumerate(moments):
        total += now @ moment
        before, now = now, -(u * now + k * before)
    return total
