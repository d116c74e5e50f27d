"""Squared hinge losses with a penalty of absolute values, ‖w‖₁ + Σ C (1 − y x·w)₊², where columns are many.

One coefficient at a time moves by a Newton step of its own (Yuan and others 2010), and between sweeps those that are
not zero move together. The quadratic model of `proximal` is no help here: rows beyond their margins have no curvature,
and the others are too few to tell so many columns apart. The dual is to maximise Σ yβ − β²/4C with |Xᵀβ| ≤ 1 and
yβ ≥ 0: the slopes 2C y (1 − y x·w)₊ of the rows, shrunk until they obey that, make a gap.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from mercer._typing import Array
from mercer.matrices import Coordinates, DenseDesign, Design, SparseDesign
from mercer.matrices.sparse import Entries
from mercer.matrices.squares import column_squares
from mercer.optim.curvature import Curvature
from mercer.optim.krylov import conjugate_gradient
from mercer.svm import _hinge_lasso_loops as loops
from mercer.svm._dual_descent import Sweeps
from mercer.svm._margins import Judgement, MarginRows

#: coefficients up to which the Hessian of those that make a step together is factorised
MOST_FACTORISED = 1_000
#: conjugate gradients of more end at this portion of the gradient, or after so many products
RESIDUAL, MOST_PRODUCTS = 1e-3, 100
#: … and steps in a row, as long as each gains more than this portion of the objective
MOST_TOGETHER_STEPS, WORTH_MORE = 3, 1e-9
MOST_HALVINGS = 10
#: where they outnumber the rows short of their margins, |w| has this portion of the curvature of w² / 2|w₀|, a parabola
#: above it; that is given up once such a step gains no more than the second portion of the objective
DAMPING, WORTH_DAMPING = 0.1, 1e-7


class HingeColumns:
    """Columns of rows, with that of the constant, if there is one."""

    def __init__(self, rows: MarginRows) -> None:
        constant = np.full((rows.n_rows, int(rows.constant != 0)), rows.constant)
        if isinstance(rows.X, np.ndarray):
            self.X: Any = np.asfortranarray(np.hstack([rows.X, constant]))
            self.entries = Entries.of_dense(self.X.reshape(-1, order="F"))
        else:
            self.X = sparse.hstack([sparse.csc_array(rows.X), sparse.csc_array(constant)], format="csc")
            self.entries = Entries.of(self.X)

    @property
    def n_columns(self) -> int:
        return int(self.X.shape[1])

    def chosen(self, rows: Array, columns: Array) -> Design:
        """Some columns of some rows."""
        part = self.X[:, columns]
        plain = Coordinates.plain(len(columns), intercept=False)
        if isinstance(part, np.ndarray):
            return DenseDesign(np.ascontiguousarray(part[rows]), plain)
        return SparseDesign.within(part.tocsr()[rows], plain)


def _newton_direction(X: Design, h: Array, slopes: Array, damping: Array | None) -> Array:
    """−(Xᵀ diag(h) X + diag(damping))⁻¹ times the slopes."""
    if damping is None and X.n_columns <= MOST_FACTORISED:
        return -Curvature.of(X.gram(h)).solve(slopes)
    ridge = np.zeros(X.n_columns) if damping is None else damping
    scale = np.maximum(column_squares(X, h) + ridge, np.finfo(float).tiny)
    found = conjugate_gradient(
        lambda v: X.transposed_times(h * X.times(v)) + ridge * v,
        -slopes,
        precondition=lambda r: r / scale,
        tolerance=RESIDUAL,
        most_steps=MOST_PRODUCTS,
    )
    return np.asarray(found.value)


class HingeLasso(Sweeps):
    """Sweeps over the columns, for classes y = ±1 and a weight C of each row."""

    PATIENCE: ClassVar[int] = 5

    def __init__(
        self, columns: HingeColumns, y: Array, weight: Array, gap: float, most_sweeps: int, seed: int = 0
    ) -> None:
        self._columns, self._y, self._weight = columns, y, weight
        self.w = np.zeros(columns.n_columns)
        self._damping_helps = True
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

    def _rounding(self) -> float:
        """Of Σ w_j x_j·β, whose terms may be far larger than their sum."""
        sizes = np.asarray(abs(self._columns.X).T @ np.abs(self.beta))
        unit = np.finfo(float).eps * np.sqrt(len(self.beta))
        return float(unit * (np.abs(self.w) @ sizes))

    def _move_together(self) -> bool:
        """A Newton step of all coefficients that are not zero; those that would change their sign end at zero.

        Returns whether another one may be worth its while.
        """
        rows, face = np.flatnonzero(self._y * self._eta < 1), np.flatnonzero(self.w)
        damped = len(face) > len(rows)
        if not (len(face) and len(rows)) or (damped and not self._damping_helps):
            return False
        X, h, w = self._columns.chosen(rows, face), 2 * self._weight[rows], self.w[face]
        slopes = X.transposed_times(h * (self._eta[rows] - self._y[rows])) + np.sign(w)
        direction = _newton_direction(X, h, slopes, DAMPING / np.abs(w) if damped else None)
        before = self._objective(self.w, self._eta)
        for halvings in range(MOST_HALVINGS):
            there = self.w.copy()
            there[face] = w + 0.5**halvings * direction
            there[face] = np.where(there[face] * w < 0, 0.0, there[face])
            eta = np.asarray(self._columns.X @ there)
            if (value := self._objective(there, eta)) < before:
                self.w, self._eta = there, eta
                break
        gain = (before - value) / before
        self._damping_helps = not damped or gain > WORTH_DAMPING
        return gain > WORTH_MORE

    def _sweep(self, seed: int) -> float:
        # all of them come back at the next look, so that coefficients may be left out early
        state = self._order, self._active, seed, self._limit / len(self._y), self.w, self._eta
        self._active, self._limit = loops.sweep(*self._columns.entries, self._y, self._weight, *state)
        return float(self._limit)
