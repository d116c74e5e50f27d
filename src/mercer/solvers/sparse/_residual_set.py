"""Coordinate descent that keeps the slope of each row: for more columns than a Gram matrix is worth.

Sweeps are accelerated by Anderson's method; a leap that does not lower the objective is not made. Where there are more
columns than rows and all of them have a squared penalty, the minimum for the present signs is a linear system of as
many unknowns as there are rows (Woodbury's identity), which is solved from time to time.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from mercer._jit.product import square
from mercer._typing import Array
from mercer.solvers.anderson import Anderson
from mercer.solvers.sparse._columns import Columns, DenseColumns
from mercer.solvers.sparse.duality import Penalty

#: sweeps that the acceleration looks back on
MEMORY = 5
#: rows up to which their linear system is solved, and how many sweeps it costs per row
MOST_ROWS, SWEEPS_PER_ROW = 3_000, 0.02
#: times that coefficients may reach zero on the way to its solution
MOST_FACES = 50


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
        patience = self._patience(penalty)
        for sweeps in range(1, most + 1):
            before = np.concatenate([self.w, self.v])
            decrease = self._sweep(penalty)
            if decrease <= target:
                return sweeps
            if sweeps % patience == 0:
                self._newton(penalty)
                anderson = Anderson(MEMORY)
                continue
            leap = anderson.proposal(before, np.concatenate([self.w, self.v]) - before)
            self._try(penalty, leap[:k].copy(), leap[k:].copy())
        return most

    def _try(self, penalty: Penalty, w: Array, v: Array) -> bool:
        """Go to a point if it is lower."""
        lower = self._value(penalty, w, v) < self._value(penalty, self.w, self.v)
        if allowed := bool(lower and not (penalty.positive and (w < 0).any())):
            self.w, self.v = w, v
        return allowed

    def _value(self, penalty: Penalty, w: Array, v: Array) -> float:
        return 0.5 * float(np.square(v) @ self._inverse) + penalty.value(w)

    def _sweep(self, penalty: Penalty) -> float:
        decrease = self._columns.sweep(self.ids, self._h, self._curvature, penalty, self.w, self.v)
        if self._centred:
            total, weight = self.v.sum(), self._h.sum()
            self.v -= total / weight * self._h
            decrease += 0.5 * total**2 / weight
        return float(decrease)

    # The linear system.

    def _patience(self, penalty: Penalty) -> int:
        """Sweeps after which a linear system of the rows is worth its cost; more than there are if it never is."""
        n = self._columns.n_rows
        suits = isinstance(self._columns, DenseColumns) and n <= min(MOST_ROWS, len(self.ids)) and penalty.l2.all()
        return max(MEMORY, int(SWEEPS_PER_ROW * n)) if suits else np.iinfo(np.int64).max

    def _newton(self, penalty: Penalty) -> None:
        """To the minimum for the signs that there are; coefficients that reach zero on the way stay there."""
        support = np.flatnonzero(self.w)
        K = np.eye(self._columns.n_rows) + self._outer(penalty, support)
        for _ in range(MOST_FACES):
            left = np.flatnonzero(self.w)
            K -= self._outer(penalty, np.setdiff1d(support, left, assume_unique=True))
            support = left
            if not len(support) or self._face(penalty, support, K):
                break

    def _outer(self, penalty: Penalty, which: Array) -> Array:
        """√h X l2⁻¹ Xᵀ √h of some of the columns."""
        assert isinstance(self._columns, DenseColumns)
        root, total = np.sqrt(self._h), np.zeros((self._columns.n_rows,) * 2)
        for part in self._columns.chunks(which):
            tile = self._columns.gather(self.ids[which[part]])
            tile *= root
            tile /= np.sqrt(penalty.l2[which[part]])[:, None]
            total += square(tile)
        return total

    def _face(self, penalty: Penalty, support: Array, K: Array) -> bool:
        """One step to the minimum for the present signs, as far as they last; whether no more are to be made."""
        few, w, ids, root = penalty.of(support), self.w[support], self.ids[support], np.sqrt(self._h)
        sign = np.sign(w)
        # (XᵀhX + l2)⁻¹ b = l2⁻¹ (b − Xᵀ√h K⁻¹ √hX l2⁻¹ b)
        step = (self._columns.products(self.v[None], ids)[0] - few.l1 * sign - few.l2 * w) / few.l2
        inner = scipy.linalg.solve(K, root * self._columns.combination(ids, step[None])[0], assume_a="pos")
        step -= self._columns.products((root * inner)[None], ids)[0] / few.l2
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where((w + step) * sign < 0, -w / step, 1.0)
        # as in `PenalisedQuadratic`: those whose sign would change stop at zero, or all with the first of them
        first = reach.min()
        for trial in (np.where(reach < 1, -w, step), np.where(reach == first, -w, first * step)):
            there = self.w.copy()
            there[support] = w + trial
            moved = self._columns.combination(ids, trial[None])[0]
            if self._try(penalty, there, self.v - self._h * moved):
                return bool(first == 1)
            if first == 1:
                break
        return True
