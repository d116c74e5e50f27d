"""Duality gaps of penalised losses: an upper bound of how much lower the objective can get.

For a loss f(X w) with slopes v = −f'(X w) of the rows, c = Xᵀ v, and a share s of the slopes, Fenchel's inequality says

    objective − minimum  ≤  D(s) + Σ_j [ g_j(w_j) + g_j*(s c_j) − s c_j w_j ],      g(w) = l1 |w| + ½ l2 w²,

where D(s) is what the rows lose by the share: 0 for s = 1, and ½ (1 − s)² Σ v² for least squares. g* is
(|c| − l1)₊²/2 l2, and infinite for |c| > l1 if l2 = 0: then s has to be small enough. The squared part of the penalty
may as well be counted as rows of the data (√l2 w against 0), which is better where it is weak; both bounds hold, and
the smaller is taken. Each term is written as a sum of terms that are not negative, so that nothing cancels.

A coefficient that is not penalised has no such bound: its slope has to vanish.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.optim import _duality_loops as loops

#: a penalty of a working coefficient stays below this, so that it can be multiplied
STRONGEST = 1e290


class GapPenalty(NamedTuple):
    """Σ l1 |w| + ½ l2 w², and whether only w ≥ 0 will do."""

    l1: Array
    l2: Array
    positive: bool = False

    def of(self, ids: Array) -> GapPenalty:
        return GapPenalty(self.l1[ids], self.l2[ids], self.positive)

    def times(self, factor: float) -> GapPenalty:
        with np.errstate(over="ignore"):
            l1, l2 = factor * self.l1, factor * self.l2
        # infinity times a coefficient of 0 would be NaN
        return GapPenalty(np.minimum(l1, STRONGEST), np.minimum(l2, STRONGEST), self.positive)

    def value(self, w: Array) -> float:
        return float(self.l1 @ np.abs(w) + 0.5 * self.l2 @ np.square(w))

    @property
    def free(self) -> Array:
        """Coefficients that are not penalised."""
        return np.asarray((self.l1 == 0) & (self.l2 == 0))

    def pull(self, c: Array) -> Array:
        """How strongly slopes pull at coefficients of zero."""
        return np.maximum(c, 0.0) if self.positive else np.abs(c)

    def excess(self, c: Array) -> Array:
        """The part of slopes that the absolute values do not hold."""
        beyond = np.maximum(self.pull(c) - self.l1, 0.0)
        return np.asarray(beyond if self.positive else np.copysign(beyond, c))

    def violations(self, w: Array, c: Array) -> Array:
        """The shortest subgradient: how far each slope is from what optimality asks for."""
        rest = c - self.l2 * w
        return np.where(w == 0, np.abs(self.excess(rest)), np.abs(rest - self.l1 * np.sign(w)))


def duality_gap(penalty: GapPenalty, w: Array, c: Array, lost: Callable[[float], float]) -> float:
    """The smaller of both bounds; `lost` is D(s). Coefficients that are not penalised are left out."""
    l1, l2, positive = penalty
    by_rows, by_conjugate, _, smooth = loops.feasible_shares(l1, l2, positive, w, c)
    bound = lost(by_rows) + loops.penalty_terms_as_rows(l1, l2, w, c, by_rows)
    if smooth:
        bound = min(bound, lost(by_conjugate) + loops.penalty_terms_by_conjugate(l1, l2, positive, w, c, by_conjugate))
    return float(max(bound, 0.0))  # but for rounding it is


def least_squares_gap(penalty: GapPenalty, w: Array, c: Array, squares: float) -> float:
    """Of ½ Σ h r², where that sum is given without the half; slopes that nothing holds have to vanish."""
    return float(loops.least_squares_gap(*penalty, w, c, squares))


def squares_lost(squares: float) -> Callable[[float], float]:
    """D(s) of least squares, ½ Σ h r²."""
    return lambda share: 0.5 * (1 - share) ** 2 * squares
