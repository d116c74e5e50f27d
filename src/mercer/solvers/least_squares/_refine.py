"""Iterative refinement of least squares, with gradients that have twice the usual digits.

A correction solves with a factor of XᵀX that need only be right to a digit or two: each one gains as many digits as the
factor has, until the coefficients have all of them (Björck 1987, "corrected semi-normal equations").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self

import numpy as np

from mercer._typing import Array
from mercer.solvers.least_squares.rows import Rows
from mercer.stats.base import spoilt_sums_are_silent
from mercer.stats.normal_equations import NormalEquations
from mercer.stats.r_factor import RFactor

#: corrections after which there are no more digits to be had
MOST_CORRECTIONS = 4
#: a correction has to be this much smaller than the one before, or it consists of rounding errors
PROGRESS = 0.5
EPS = float(np.finfo(float).eps)


class System(Protocol):
    """XᵀX + alpha, factorised."""

    def correction(self, gradient: Array) -> Array:
        """(XᵀX + alpha)⁻¹ gradient."""
        ...

    def length(self, gradient: Array) -> Array:
        """√(gᵀ(XᵀX + alpha)⁻¹g) of each column: the part of y that is still to be explained."""
        ...


class Refined(NamedTuple):
    """Coefficients, the intercept, and what is left of the gradient of each target, as a length in the space of y."""

    coefficients: Array  # (columns, targets)
    intercept: Array  # (targets,)
    length: Array  # (targets,)


@dataclass(frozen=True, eq=False)
class Centre:
    """A point near the means of x and of y, and how far from it they are; both 0 where there is no intercept."""

    pilot: tuple[Array, Array]
    offset: tuple[Array, Array]
    weight: float
    intercept: bool

    @classmethod
    def of(cls, summary: NormalEquations | RFactor, *, intercept: bool) -> Self:
        if isinstance(summary, RFactor):
            pilot, offset = summary.pilot, summary.R[0, 1:] / summary.R[0, 0]
        else:
            pilot, offset = summary.moments.pilot[0], summary.moments.offset[0]
        d = summary.n_columns
        pilot, offset = pilot * intercept, offset * intercept
        return cls((pilot[:d], pilot[d:]), (offset[:d], offset[d:]), summary.weight, intercept)

    def only(self, targets: Array) -> Self:
        """With some of the targets."""
        pilot, offset = ((x, y[targets]) for x, y in (self.pilot, self.offset))
        return type(self)(pilot, offset, self.weight, self.intercept)

    def level(self, w: Array) -> Array:
        """The intercept about the pilot."""
        return np.asarray(self.offset[1] - self.offset[0] @ w)

    def refined(self, w: Array, length: Array, level: Array | None = None) -> Refined:
        """With the intercept about zero."""
        level = self.level(w) if level is None else level
        return Refined(w, self.pilot[1] + level - self.pilot[0] @ w, length)


@dataclass(frozen=True, eq=False)
class Refinement:
    """The fit of one penalty."""

    rows: Rows
    centre: Centre
    system: System
    alpha: float

    def run(self, w: Array) -> Refined:
        """Correct until there is nothing to correct; `length` is not finite where gradients overflow."""
        level = self.centre.level(w)
        best, shortest = (w, level), np.full(self.rows.targets, np.inf)
        for _ in range(MOST_CORRECTIONS):
            first, slope = self._gradient(w, level)
            length = self.system.length(slope)
            better = length < PROGRESS * shortest
            if not better.any():
                break
            best = np.where(better, w, best[0]), np.where(better, level, best[1])
            shortest = np.where(better, length, shortest)
            step = self.system.correction(slope)
            w = w + step
            level = level + first - self.centre.offset[0] @ step
            if (np.abs(step) <= EPS * np.abs(w)).all():
                break
        return self.centre.refined(best[0], shortest, best[1])

    @spoilt_sums_are_silent
    def _gradient(self, w: Array, level: Array) -> tuple[Array, Array]:
        """What the intercept lacks at the given slopes; and the gradient by the slopes, at the best intercept."""
        high, low = self.rows.gradient(np.concatenate(self.centre.pilot), np.concatenate([level[None], w]))
        offset = self.centre.offset[0][:, None]
        slope = high[1:] - offset * high[0] + (low[1:] - offset * low[0])
        return high[0] / self.centre.weight * self.centre.intercept, slope - self.alpha * w
