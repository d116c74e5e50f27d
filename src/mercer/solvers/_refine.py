"""Iterative refinement of least squares, with gradients that have twice the usual digits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer._jit import least_squares as loops
from mercer._threads import ordered_stream, row_blocks
from mercer.data.source import COPIED_BLOCK, rows_per_block
from mercer.solvers._rows import Rows
from mercer.solvers._triangle import Penalised
from mercer.stats._base import as_block, as_weight, spoilt_sums_are_silent
from mercer.stats.r_factor import RFactor

Array = NDArray[Any]

#: corrections after which there are no more digits to be had
MOST_CORRECTIONS = 4
#: a correction has to be this much smaller than the one before, or it consists of rounding errors
PROGRESS = 0.5
EPS = float(np.finfo(float).eps)


class Refined(NamedTuple):
    """Coefficients, the intercept, and what is left of the gradient of each target, as a length in the space of y."""

    coefficients: Array  # (columns, targets)
    intercept: Array  # (targets,)
    length: Array  # (targets,)


@dataclass(frozen=True, eq=False)
class Refinement:
    """The fit of one penalty, about the pilot of its factor (about zero without an intercept)."""

    rows: Rows
    factor: RFactor
    penalised: Penalised
    alpha: float
    intercept: bool

    def unrefined(self, R: Array, z: Array) -> Refined:
        """As it is."""
        w = self.penalised.coefficients
        gradient = R.T @ (z - R @ w) - self.alpha * w
        return self._refined(w, self._level(w), self.penalised.length(gradient))

    def run(self, R: Array, z: Array) -> Refined:
        """Correct until there is nothing to correct; as it is, where gradients overflow."""
        w = self.penalised.coefficients
        level = self._level(w)
        best, shortest = (w, level), np.full(self.rows.targets, np.inf)
        for _ in range(MOST_CORRECTIONS):
            first, slope = self._gradient(w, level)
            length = self.penalised.length(slope)
            better = length < PROGRESS * shortest
            if not better.any():
                break
            best = np.where(better, w, best[0]), np.where(better, level, best[1])
            shortest = np.where(better, length, shortest)
            step = self.penalised.correction(slope)
            w = w + step
            level = level + first - self._offset @ step
            if (np.abs(step) <= EPS * np.abs(w)).all():
                break
        return self._refined(*best, shortest) if np.isfinite(shortest).all() else self.unrefined(R, z)

    def _refined(self, w: Array, level: Array, length: Array) -> Refined:
        d = self.factor.n_columns
        return Refined(w, self._shift[d:] + level - self._shift[:d] @ w, length)

    @property
    def _shift(self) -> Array:
        return self.factor.pilot if self.intercept else np.zeros_like(self.factor.pilot)

    @property
    def _offset(self) -> Array:
        """From the pilot to the mean of X."""
        offset: Array = self.factor.R[0, 1 : 1 + self.factor.n_columns] / self.factor.R[0, 0]
        return offset * self.intercept

    def _level(self, w: Array) -> Array:
        """The intercept about the pilot."""
        d = self.factor.n_columns
        return np.asarray((self.factor.R[0, 1 + d :] / self.factor.R[0, 0] - self._offset @ w) * self.intercept)

    @spoilt_sums_are_silent
    def _gradient(self, w: Array, level: Array) -> tuple[Array, Array]:
        """What the intercept lacks at the given slopes; and the gradient by the slopes, at the best intercept."""
        high, low = _gradient(self.rows, self._shift, np.concatenate([level[None], w]))
        slope = high[1:] - self._offset[:, None] * high[0] + (low[1:] - self._offset[:, None] * low[0])
        return high[0] / self.factor.weight * self.intercept, slope - self.alpha * w


def _gradient(rows: Rows, shift: Array, v: Array) -> tuple[Array, Array]:
    """High and low part."""
    n, d = rows.shape

    def of_block(block: slice) -> tuple[Array, Array]:
        X, Y, weight = rows.batch(block)
        return loops.gradient(as_block(X), as_block(Y), as_weight(weight), shift, v)  # type: ignore[no-any-return]

    high, low = np.zeros_like(v), np.zeros_like(v)
    for more, rest in ordered_stream(of_block, row_blocks(n, rows_per_block(d, COPIED_BLOCK))):
        total = high + more
        part = total - high
        low += (high - (total - part)) + (more - part) + rest
        high = total
    return high, low
