"""Crammer and Singer's support vector machine of several classes by Newton's method: where columns and classes are few.

The losses C [max_m (x·w_m + 1[m ≠ y]) − x·w_y] of rows have corners, which `margin_newton` rounds off; a row that is on
one shifts weight between the classes that meet there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer._typing import Array
from mercer.svm import _crammer_singer_loops as loops
from mercer.svm._margin_newton import MarginNewton, MarginPlace, newton_step
from mercer.svm._margins import Answers, MarginRows


@dataclass(frozen=True, eq=False)
class ClassLosses:
    """Of rows with a class and a weight C each."""

    codes: Array
    #: C: how large α can be
    most: Array
    n_classes: int

    smooth: ClassVar[bool] = False
    #: on the scale of the predictors
    width: ClassVar[float] = 1.0

    @property
    def many(self) -> tuple[int, ...]:
        """Predictors of a row."""
        return (self.n_classes,)

    def sensitivity(self, eta: Array, beta: Array, error: Array) -> Array:
        """By how much the distance of α from the loss can change for a predictor of a class that is off by 1.

        Its slope there is α less C at the row's own class, plus C at the highest, of which several may be in question.
        """
        rows = np.arange(len(eta))
        scores = eta + 1.0
        scores[rows, self.codes] -= 1.0
        could = scores >= (scores - error).max(axis=1, keepdims=True) - error
        own = beta.copy()
        own[rows, self.codes] -= self.most
        highest = np.where(could, np.abs(own + self.most[:, None]), np.abs(own))
        sure = np.count_nonzero(could, axis=1)[:, None] == 1
        return np.asarray(np.where(sure, highest, np.maximum(highest, np.abs(own))))

    def answers(self, eta: Array, centre: Array, hold: Array) -> Answers:
        """Of all rows; as curvature, 1/hold of the classes that can shift weight to one another."""
        alpha, free = np.empty(eta.shape), np.empty(eta.shape)
        losses = loops.respond(np.ascontiguousarray(eta), self.codes, self.most, centre, hold, alpha, free)
        return Answers(alpha, free / hold[:, None], *losses)


@dataclass(frozen=True, eq=False)
class ClassProblem:
    """½ ‖W‖² + Σ ℓ(x·W)."""

    rows: MarginRows
    losses: ClassLosses


class CrammerSingerNewton(MarginNewton):
    """Newton steps of all classes at once, one at a time."""

    def _direction(self, here: MarginPlace) -> Array:
        """−H⁻¹ g, where H is 1 + Σ x xᵀ ⊗ (diag(h) − h hᵀ / Σ h) over the rows that are on a corner."""
        h = here.answers.curvature
        on_corner = np.flatnonzero(np.count_nonzero(h, axis=1) > 1)
        hessian = _hessian(self._rows.take(on_corner), h[on_corner])
        step = newton_step(hessian, here.gradient.T.ravel())
        return np.asarray(step.reshape(here.gradient.shape[::-1]).T)


def _hessian(rows: MarginRows, h: Array) -> Array:
    """A block of coefficients for each pair of classes."""
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
