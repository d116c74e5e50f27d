"""A quadratic with a penalty: ½ wᵀ G w − bᵀ w + Σ l1 |w| + ½ l2 w².

Sweeps of coordinate descent find out which coefficients are zero; among those that are not, and while their signs
stay, the objective is a quadratic whose minimum is a linear system. Its factor is kept from one penalty to the next.
"""

from __future__ import annotations

import numpy as np

from mercer._jit.kernels.rows import add_rows
from mercer._jit.solvers import descent
from mercer._typing import Array
from mercer.solvers.sparse._factor import Factor
from mercer.solvers.sparse.duality import Penalty, least_squares_gap

#: products that take no longer than one step from here: so many are spent on sweeps first, and never more sweeps
CHEAP, MOST_CHEAP = 1 << 16, 100
#: sweeps before the linear system is tried, which has to pay for itself
FEWEST_SWEEPS = 2
#: what a product of matrices gains over a sweep, per number
GAIN = 12
#: times that coefficients may reach zero on the way to the solution of a linear system
MOST_FACES = 50
#: a change of the objective by this portion is none
LEVEL = 1e-9
#: a slope of this portion of the length of the residual is rounding
ROUNDING = 1e-13
#: a fall of the objective by this portion of what it was is rounding
EPSILON = 1e-16
#: … and this portion of it is that of coefficients which have come to rest
AT_REST = 1e-8


class PenalisedQuadratic:
    """Coefficients w, their slopes downhill c = b − G w, and 2 × the quadratic, which is not negative: Σ h r².

    G may grow: its first rows and columns count, as many as there are coefficients.
    """

    def __init__(self, G: Array) -> None:
        self.G = G
        self._factor = Factor()
        self.w, self.c, self.squares = np.zeros(0), np.zeros(0), 0.0

    def load(self, w: Array, c: Array, squares: float) -> None:
        """Begin at coefficients with these slopes."""
        self.w, self.c, self.squares = np.array(w), np.array(c), squares

    def gap(self, penalty: Penalty) -> float:
        """Upper bound of what the objective can still fall by."""
        return least_squares_gap(penalty, self.w, self.c, self.squares)

    def solve(self, penalty: Penalty, target: float, most: int) -> int:
        """Move until the gap is at most `target`; returns the number of steps made."""
        nothing = EPSILON * (self.squares + penalty.value(self.w))
        steps, sweeps = self._cheap_sweeps(penalty, target, nothing, most), 0
        if len(self._factor) and steps < most and not self._there(penalty, target):
            self._newton(penalty, extend=False)  # what was not zero before is likely not to be now
            steps += 1
        while steps < most and not self._there(penalty, target):
            active = np.flatnonzero((self.w != 0) | (penalty.pull(self.c) > penalty.l1))
            decrease = self._sweep(active, penalty)
            steps, sweeps = steps + 1, sweeps + 1
            slow = decrease <= nothing or sweeps >= self._patience(penalty)
            if slow and steps < most and not self._there(penalty, target):
                decrease += self._newton(penalty, extend=True)
                steps, sweeps = steps + 1, 0
            if decrease <= nothing:
                break  # as low as floating-point numbers go
        return steps

    def _cheap_sweeps(self, penalty: Penalty, target: float, nothing: float, most: int) -> int:
        """Sweeps that cost less than looking where they lead; they end when coefficients have come to rest."""
        size = len(self.w)
        few = min(CHEAP // max(1, size * size), MOST_CHEAP, most // 10)
        known = self.G, size, *penalty, self.w, self.c, self.squares
        sweeps, self.squares = descent.gram_descent(*known, target, AT_REST * nothing, few)
        return int(sweeps)

    def _there(self, penalty: Penalty, target: float) -> bool:
        return self.gap(penalty) <= target

    def _sweep(self, active: Array, penalty: Penalty) -> float:
        before, slopes = self.w.copy(), self.c.copy()
        decrease = descent.gram_sweep(self.G, len(self.w), active, *penalty, self.w, self.c)
        self.squares = max(0.0, self.squares - float((slopes + self.c) @ (self.w - before)))
        return float(decrease)

    def _patience(self, penalty: Penalty) -> float:
        """Sweeps after which the linear system is worth its cost."""
        support = np.flatnonzero(self.w)
        changes = self._factor.changes(support, penalty.l2)
        return max(FEWEST_SWEEPS, changes * len(support) / (GAIN * len(self.w)))

    def _newton(self, penalty: Penalty, *, extend: bool) -> float:
        """To the minimum for the signs that there are; coefficients that reach zero on the way stay there.

        Returns the decrease of the objective.
        """
        total = self._independent(penalty) if extend else 0.0
        for _ in range(MOST_FACES):
            self._factor.drop(self.w != 0, penalty.l2)
            if not len(self._factor):
                break
            decrease, inside = self._face(penalty, self._factor.ids)
            total += decrease
            if inside or decrease <= 0:
                break
        return total

    def _independent(self, penalty: Penalty) -> float:
        """Bring the factor up to date; of columns that depend on others, one of each such set leaves."""
        decrease = 0.0
        for _ in range(MOST_FACES):
            self._factor.drop(self.w != 0, penalty.l2)
            self._factor.extend(self.G, np.flatnonzero(self.w), penalty.l2)
            dependent = np.setdiff1d(np.flatnonzero(self.w), self._factor.ids, assume_unique=True)
            if not len(dependent):
                break
            lower = self._exchange(penalty, dependent[0])
            if lower < 0:  # the way is downhill, so that only rounding can forbid it
                break
            decrease += lower
        return decrease

    def _exchange(self, penalty: Penalty, j: int) -> float:
        """Trade a column for those it depends on, which changes the penalty alone, until a coefficient is zero.

        Returns the decrease of the objective; below 0 if nothing was done.
        """
        rows = np.append(self._factor.ids, j)
        few, w = penalty.of(rows), self.w[rows]
        step = np.append(-self._factor.solve(self.G[j, rows[:-1]]), 1.0)
        step[np.abs(step) <= LEVEL * np.abs(step).max()] = 0.0
        uphill = (few.l1 * np.sign(w) + few.l2 * w - self.c[rows]) @ step
        level = abs(uphill) <= (LEVEL * few.l1 + ROUNDING * np.sqrt(self.squares)) @ np.abs(step)
        # where no way leads down, the column gives way to the others
        step *= -np.sign(w[-1] if level else uphill)
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(w * step < 0, -w / step, np.inf)
        first = reach.min()
        if first == np.inf:  # as far as rounding can tell no coefficient comes nearer to zero
            return -1.0
        slack = LEVEL * self.squares if level else 0.0
        lower = self._try(rows, few, w, np.where(reach == first, -w, first * step), slack)
        return max(lower, 0.0) if lower >= -slack else lower  # a level move is made, and is no decrease

    def _face(self, penalty: Penalty, rows: Array) -> tuple[float, bool]:
        """One step to the minimum for the present signs, as far as they last; its decrease, and whether they did."""
        few, w = penalty.of(rows), self.w[rows]
        sign = np.sign(w)
        step = self._factor.solve(self.c[rows] - few.l2 * w - few.l1 * sign)
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where((w + step) * sign < 0, -w / step, 1.0)
        first = reach.min()
        # those whose sign would change stop at zero; if that is no way down, all stop with the first of them
        rounding = 10 * EPSILON * (self.squares + penalty.value(self.w))
        decrease = self._try(rows, few, w, np.where(reach < 1, -w, step), rounding)
        if decrease < -rounding and first < 1:
            decrease = self._try(rows, few, w, np.where(reach == first, -w, first * step))
        return max(decrease, 0.0), bool(first == 1)

    def _try(self, rows: Array, few: Penalty, w: Array, step: Array, slack: float = 0.0) -> float:
        """Make a step if it is a way down, or level up to a `slack`; returns the decrease."""
        slopes = self.c.copy()
        add_rows(self.c, 0, len(self.w), self.G, rows, -step)
        change = float((slopes[rows] + self.c[rows]) @ step)
        decrease = 0.5 * change - (few.value(w + step) - few.value(w))
        if decrease < -slack:
            self.c = slopes
        else:
            self.w[rows] = w + step
            self.squares = max(0.0, self.squares - change)
        return decrease
