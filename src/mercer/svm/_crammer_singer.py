"""Crammer and Singer's support vector machine of several classes: ½ ‖W‖² + Σ C [max_m (x·w_m + 1[m ≠ y]) − x·w_y].

For few columns and classes Newton's method is used: the losses have corners, which `_margin_newton` rounds off, and a
row on a corner shifts weight between the classes that meet there. Otherwise the dual is descended row by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer._typing import Array
from mercer.svm import _crammer_singer_loops as loops
from mercer.svm._dual_descent import SweepDescent
from mercer.svm._margin_newton import MarginNewton, NewtonPoint, newton_step
from mercer.svm._margins import LossResponse, MarginObjectives, MarginRows, estimate_rounding


@dataclass(frozen=True, eq=False)
class ClassLosses:
    """Losses of rows with a class and a weight C each."""

    codes: Array
    #: C of each row, the largest α
    most: Array
    n_classes: int

    smooth: ClassVar[bool] = False
    #: initial width of the rounding of corners, on the scale of the predictors
    width: ClassVar[float] = 1.0

    @property
    def many(self) -> tuple[int, ...]:
        """Further axes of the predictors of a row."""
        return (self.n_classes,)

    def sensitivity(self, eta: Array, beta: Array, error: Array) -> Array:
        """Return how much the distance of α from the loss can change per unit of error of the predictor of a class.

        Its slope there is α less C at the row's own class, plus C at the highest, of which several may be possible.
        """
        rows = np.arange(len(eta))
        scores = eta + 1.0
        scores[rows, self.codes] -= 1.0
        is_possible = scores >= (scores - error).max(axis=1, keepdims=True) - error
        own = beta.copy()
        own[rows, self.codes] -= self.most
        highest = np.where(is_possible, np.abs(own + self.most[:, None]), np.abs(own))
        is_unique = np.count_nonzero(is_possible, axis=1)[:, None] == 1
        return np.asarray(np.where(is_unique, highest, np.maximum(highest, np.abs(own))))

    def respond(self, eta: Array, centre: Array, hold: Array) -> LossResponse:
        """Compute α of all rows; the curvature is 1/hold of the classes that can shift weight to one another."""
        alpha, free = np.empty(eta.shape), np.empty(eta.shape)
        losses = loops.respond(np.ascontiguousarray(eta), self.codes, self.most, centre, hold, alpha, free)
        return LossResponse(alpha, free / hold[:, None], *losses)


@dataclass(frozen=True, eq=False)
class ClassProblem:
    """Minimise ½ ‖W‖² + Σ ℓ(x·W)."""

    rows: MarginRows
    losses: ClassLosses


class CrammerSingerNewton(MarginNewton):
    """Newton's method for all classes at once, one step at a time."""

    def _direction(self, point: NewtonPoint) -> Array:
        """Return −H⁻¹ g, where H is 1 + Σ x xᵀ ⊗ (diag(h) − h hᵀ / Σ h) over the rows on a corner."""
        h = point.response.curvature
        on_corner = np.flatnonzero(np.count_nonzero(h, axis=1) > 1)
        hessian = _compute_hessian(self._rows.take(on_corner), h[on_corner])
        step = newton_step(hessian, point.gradient.T.ravel())
        return np.asarray(step.reshape(point.gradient.shape[::-1]).T)


def _compute_hessian(rows: MarginRows, h: Array) -> Array:
    """Return H with a block of coefficients for each pair of classes."""
    d, k = rows.n_columns, h.shape[1]
    blocks = np.zeros((k, d, k, d))
    total = h.sum(axis=1)
    for m in range(k):
        for other in range(m + 1):
            meet = np.flatnonzero(h[:, m] * h[:, other])
            if not len(meet):
                continue
            both = h[meet, m] * h[meet, other] / total[meet]
            of_pair = rows.take(meet).gram(h[meet, m] - both if other == m else both)
            blocks[m, :, other] = of_pair if other == m else -of_pair
            blocks[other, :, m] = blocks[m, :, other].T
    hessian = blocks.reshape(k * d, k * d)
    hessian[np.diag_indices(k * d)] += 1.0
    return hessian


class CrammerSingerDescent(SweepDescent):
    """Dual coordinate descent for all classes at once.

    The dual has an α for each row and class: Σ_m α_m = 0, α_m ≤ C 1[m = y] and W = Σ x αᵀ.
    """

    def __init__(
        self, rows: MarginRows, codes: Array, weight: Array, n_classes: int, gap: float, most_sweeps: int, seed: int = 0
    ) -> None:
        self._rows, self._codes, self._weight = rows, codes, weight
        self.beta = np.zeros((rows.n_rows, n_classes))
        empty = np.flatnonzero(rows.squares == 0)  # all classes have the same score there, whatever W is
        self.beta[empty, codes[empty]] += weight[empty]
        self.beta[empty, (codes[empty] + 1) % n_classes] -= weight[empty]
        super().__init__(rows.n_rows, rows.stored, gap, most_sweeps, seed)

    def _evaluate(self) -> MarginObjectives:
        self.w = self._rows.rmatvec(self.beta)
        scores = self._rows.matvec(self.w)
        own = scores[np.arange(len(scores)), self._codes]
        scores += 1.0
        scores[np.arange(len(scores)), self._codes] -= 1.0
        losses = self._weight * (scores.max(axis=1) - own)
        away = losses + np.einsum("ij,ij->i", self.beta, scores)
        return MarginObjectives(
            0.5 * float(np.square(self.w).sum() + 2 * losses.sum()), float(np.maximum(away, 0.0).sum())
        )

    def _rounding(self) -> float:
        losses = ClassLosses(self._codes, self._weight, self.beta.shape[1])
        return estimate_rounding(self._rows, losses, self.w, self._rows.matvec(self.w), self.beta, 0.0)

    def _sweep(self, seed: int) -> float:
        rows, state = self._rows, (self._order, seed, self.beta, self.w)
        return float(loops.sweep(*rows.entries, rows.constant, rows.squares, self._codes, self._weight, *state))
