"""Coordinate descent that keeps the slope of each row: for more columns than a Gram matrix is worth.

Sweeps are accelerated by Anderson's method; a leap that does not lower the objective is not made.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.solvers._columns import Columns
from mercer.solvers._duality import Penalty
from mercer.solvers.anderson import Anderson

Array = NDArray[Any]

#: sweeps that the acceleration looks back on
MEMORY = 5


class ResidualSet:
    """Columns `ids` with coefficients w; v is the slope of each row downhill, and h what a unit of X w takes from it.

    The objective is Σ v²/2h + penalty, up to a constant. Where `centred`, an intercept keeps Σ v at zero.
    """

    def __init__(self, columns: Columns, ids: Array, h: Array, *, centred: bool) -> None:
        self._columns, self.ids, self._h, self._centred = columns, ids, h, centred
        self._curvature = columns.squares(ids, h)
        with np.errstate(divide="ignore"):
            self._inverse = np.where(h > 0, 1 / h, 0.0)
        self.w, self.v = np.zeros(0), np.zeros(0)

    def load(self, w: Array, v: Array) -> None:
        """Begin at coefficients of these columns, with the slopes of the rows."""
        self.w, self.v = np.array(w), np.array(v)

    def solve(self, penalty: Penalty, target: float, most: int) -> int:
        """Sweep until one lowers the objective by no more than `target`; returns the number of sweeps."""
        penalty = penalty.of(self.ids)
        k, anderson = len(self.ids), Anderson(MEMORY)
        for sweeps in range(1, most + 1):
            before = np.concatenate([self.w, self.v])
            decrease = self._sweep(penalty)
            if decrease <= target:
                return sweeps
            value = self._value(penalty, self.w, self.v)
            leap = anderson.proposal(before, np.concatenate([self.w, self.v]) - before)
            w, v = leap[:k].copy(), leap[k:].copy()
            if self._value(penalty, w, v) < value and not (penalty.positive and (w < 0).any()):
                self.w, self.v = w, v
        return most

    def _value(self, penalty: Penalty, w: Array, v: Array) -> float:
        return 0.5 * float(np.square(v) @ self._inverse) + penalty.value(w)

    def _sweep(self, penalty: Penalty) -> float:
        decrease = self._columns.sweep(self.ids, self._h, self._curvature, penalty, self.w, self.v)
        if self._centred:
            total, weight = self.v.sum(), self._h.sum()
            self.v -= total / weight * self._h
            decrease += 0.5 * total**2 / weight
        return float(decrease)
