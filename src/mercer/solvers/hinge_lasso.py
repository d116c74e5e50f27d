"""Squared hinge losses with a penalty of absolute values, ‖w‖₁ + Σ C (1 − y x·w)₊², where columns are many.

One coefficient at a time moves by a Newton step of its own (Yuan and others 2010), and between sweeps those that are
not zero move together. The quadratic model of `proximal` is no help here: rows beyond their margins have no curvature,
and the others are too few to tell so many columns apart. The dual is to maximise Σ yβ − β²/4C with |Xᵀβ| ≤ 1 and
yβ ≥ 0: the slopes 2C y (1 − y x·w)₊ of the rows, shrunk until they obey that, make a gap.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mercer._jit import hinge_columns as loops
from mercer.designs.sparse import Entries
from mercer.solvers.curvature import Curvature
from mercer.solvers.dual_descent import Sweeps
from mercer.solvers.margins import Judgement, MarginRows

Array = NDArray[Any]

#: coefficients that make a step together at most
MOST_TOGETHER = 1_000
#: … and steps in a row, as long as each gains more than this portion of the objective
MOST_TOGETHER_STEPS, WORTH_MORE = 3, 1e-9
MOST_HALVINGS = 10


class HingeColumns:
    """Columns of rows, with that of the constant, if there is one."""

    def __init__(self, rows: MarginRows) -> None:
        constant = np.full((rows.n_rows, int(rows.constant != 0)), rows.constant)
        if isinstance(rows.X, np.ndarray):
            self.X: Any = np.asfortranarray(np.hstack([rows.X, constant]))
            nowhere = np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint32)
            self.entries = Entries(*nowhere, self.X.reshape(-1, order="F"))
        else:
            self.X = sparse.hstack([sparse.csc_array(rows.X), sparse.csc_array(constant)], format="csc")
            self.entries = Entries.of(self.X)

    @property
    def n_columns(self) -> int:
        return int(self.X.shape[1])

    def chosen(self, rows: Array, columns: Array) -> Array:
        """Some columns of some rows, as numbers."""
        part = self.X[:, columns]
        return np.asarray(part[rows] if isinstance(part, np.ndarray) else part.tocsr()[rows].toarray())


class HingeLasso(Sweeps):
    """Sweeps over the columns, for classes y = ±1 and a weight C of each row."""

    PATIENCE: ClassVar[int] = 50

    def __init__(
        self, columns: HingeColumns, y: Array, weight: Array, gap: float, most_sweeps: int, seed: int = 0
    ) -> None:
        self._columns, self._y, self._weight = columns, y, weight
        self.w = np.zeros(columns.n_columns)
        super().__init__(columns.n_columns, columns.entries.values.size, gap, most_sweeps, seed)

    def _objective(self, w: Array, eta: Array) -> float:
        return float(np.abs(w).sum() + self._weight @ np.square(np.maximum(1 - self._y * eta, 0.0)))

    def _judged(self) -> Judgement:
        self._active, self._limit = len(self._order), np.inf
        self._eta = np.asarray(self._columns.X @ self.w)
        for _ in range(MOST_TOGETHER_STEPS):
            if not self._move_together():
                break
        short = np.maximum(1 - self._y * self._eta, 0.0)
        slopes = 2 * self._weight * self._y * short
        share = 1 / max(1.0, float(np.abs(self._columns.X.T @ slopes).max(initial=0.0)))
        self.beta = share * slopes
        # what is lost by the share, and by coefficients that are not at right angles with their slopes
        gap = (1 - share) ** 2 * float(self._weight @ np.square(short))
        gap += float(np.abs(self.w).sum() - self.w @ (self._columns.X.T @ self.beta))
        return Judgement(self._objective(self.w, self._eta), max(gap, 0.0))

    def _move_together(self) -> bool:
        """A Newton step of all coefficients that are not zero; those that would change their sign end at zero.

        Returns whether another one may be worth its while.
        """
        rows, face = np.flatnonzero(self._y * self._eta < 1), np.flatnonzero(self.w)
        if not 0 < len(face) <= min(MOST_TOGETHER, len(rows)):
            return False
        X, h, w = self._columns.chosen(rows, face), 2 * self._weight[rows], self.w[face]
        slopes = X.T @ (h * (self._eta[rows] - self._y[rows])) + np.sign(w)
        direction = -Curvature.of(X.T @ (h[:, None] * X)).solve(slopes)
        before = self._objective(self.w, self._eta)
        for halvings in range(MOST_HALVINGS):
            there = self.w.copy()
            there[face] = w + 0.5**halvings * direction
            there[face] = np.where(there[face] * w < 0, 0.0, there[face])
            eta = np.asarray(self._columns.X @ there)
            if (value := self._objective(there, eta)) < before:
                self.w, self._eta = there, eta
                return before - value > WORTH_MORE * before
        return False

    def _sweep(self, seed: int) -> float:
        state = self._order, self._active, seed, self._limit, self.w, self._eta
        self._active, self._limit = loops.sweep(*self._columns.entries, self._y, self._weight, *state)
        return float(self._limit)
