"""Duality gaps of penalised losses: upper bounds for a further decrease of the objective.

`least_squares_gap` is that of the lasso, and `duality_gap` that of other losses; their sums are in `_duality_loops`.

For a loss f(X w) with negative slopes v = −f'(X w) of the rows, c = Xᵀ v, and a share s of the slopes, Fenchel's
inequality gives

    objective − minimum  ≤  D(s) + Σ_j [ g_j(w_j) + g_j*(s c_j) − s c_j w_j ],      g(w) = l1 |w| + ½ l2 w²,

where D(s) is the part of the rows: 0 for s = 1, and ½ (1 − s)² Σ v² for least squares. The conjugate g* is
(|c| − l1)₊²/2 l2, and infinite for |c| > l1 if l2 = 0: then s has to be small enough. The squared part of the penalty
may also be counted as rows of the data (√l2 w against 0), which gives a better bound where it is weak. Both bounds
hold, and the smaller is used. Each term is written as a sum of nonnegative terms, so that nothing cancels.

An unpenalised coefficient has no such bound: its slope has to vanish.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.optim import _duality_loops as loops

#: upper bound for the strength of a penalty, so that products with coefficients do not overflow
STRONGEST = 1e290


class GapPenalty(NamedTuple):
    """The penalty Σ l1 |w| + ½ l2 w², with the constraint w ≥ 0 if `positive`."""

    l1: Array
    l2: Array
    positive: bool = False

    def select(self, ids: Array) -> GapPenalty:
        """Return the penalty of some coefficients."""
        return GapPenalty(self.l1[ids], self.l2[ids], self.positive)

    def times(self, factor: float) -> GapPenalty:
        """Return the penalty with its strengths multiplied."""
        with np.errstate(over="ignore"):
            l1, l2 = factor * self.l1, factor * self.l2
        # infinity times a coefficient of 0 would be NaN
        return GapPenalty(np.minimum(l1, STRONGEST), np.minimum(l2, STRONGEST), self.positive)

    def value(self, w: Array) -> float:
        """Return Σ l1 |w| + ½ l2 w²."""
        return float(self.l1 @ np.abs(w) + 0.5 * self.l2 @ np.square(w))

    @property
    def free(self) -> Array:
        """Return the mask of unpenalised coefficients."""
        return np.asarray((self.l1 == 0) & (self.l2 == 0))

    def pull(self, c: Array) -> Array:
        """Return the force of slopes on coefficients that are zero: |c|, or c₊ if `positive`."""
        return np.maximum(c, 0.0) if self.positive else np.abs(c)

    def excess(self, c: Array) -> Array:
        """Return the part of the slopes beyond l1: the soft threshold of c."""
        beyond = np.maximum(self.pull(c) - self.l1, 0.0)
        return np.asarray(beyond if self.positive else np.copysign(beyond, c))

    def violations(self, w: Array, c: Array) -> Array:
        """Return the size of the shortest subgradient of each coefficient."""
        rest = c - self.l2 * w
        return np.where(w == 0, np.abs(self.excess(rest)), np.abs(rest - self.l1 * np.sign(w)))


def duality_gap(penalty: GapPenalty, w: Array, c: Array, lost: Callable[[float], float]) -> float:
    """Return the smaller of both bounds; `lost` is D(s). Unpenalised coefficients are left out."""
    l1, l2, positive = penalty
    by_rows, by_conjugate, _, smooth = loops.feasible_shares(l1, l2, positive, w, c)
    bound = lost(by_rows) + loops.penalty_terms_as_rows(l1, l2, w, c, by_rows)
    if smooth:
        bound = min(bound, lost(by_conjugate) + loops.penalty_terms_by_conjugate(l1, l2, positive, w, c, by_conjugate))
    return float(max(bound, 0.0))  # below 0 by rounding only


def least_squares_gap(penalty: GapPenalty, w: Array, c: Array, squares: float) -> float:
    """Return the gap of ½ Σ h r², given `squares` = Σ h r²; unpenalised slopes add ½ Σ c²."""
    return float(loops.least_squares_gap(*penalty, w, c, squares))


def squares_lost(squares: float) -> Callable[[float], float]:
    """Return D(s) of least squares, ½ (1 − s)² Σ h r²."""
    return lambda share: 0.5 * (1 - share) ** 2 * squares
