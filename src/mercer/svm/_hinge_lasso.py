"""Squared hinge losses with an L1 penalty, ‖w‖₁ + Σ C (1 − y x·w)₊², for many columns.

One coefficient at a time makes a Newton step (Yuan and others 2010), and between sweeps the nonzero ones move together.
The quadratic model of `proximal_newton` does not help here: rows beyond their margins have no curvature, and the others
are too few to distinguish that many columns. The dual is to maximise Σ yβ − β²/4C with |Xᵀβ| ≤ 1 and yβ ≥ 0: the slopes
2C y (1 − y x·w)₊ of the rows, shrunk until they are feasible, give a gap.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from mercer._typing import Array
from mercer.matrices import Coordinates, DenseMatrix, Matrix, SparseMatrix
from mercer.matrices.entries import Entries
from mercer.optim.curvature import Curvature
from mercer.optim.krylov import conjugate_gradient
from mercer.svm import _hinge_lasso_loops as loops
from mercer.svm._dual_descent import SweepDescent
from mercer.svm._margin_newton import MAX_FACTORIZED
from mercer.svm._margins import MarginObjectives, MarginRows

#: residual at which conjugate gradients end, as a portion of the gradient
JOINT_STEP_RESIDUAL = 1e-3
#: products with the Hessian in one run of conjugate gradients
MAX_JOINT_STEP_PRODUCTS = 100
#: joint steps between two sweeps
MAX_FACE_STEPS = 3
#: gain of a joint step, as a portion of the objective, after which another one is made
WORTHWHILE_GAIN = 1e-9
#: halvings of a joint step
MAX_JOINT_STEP_HALVINGS = 10
#: where nonzero coefficients outnumber the rows short of their margins, |w| gets this portion of the curvature of
#: w² / 2|w₀|, a parabola above it
FACE_DAMPING = 0.1
#: gain of a damped step, as a portion of the objective, below which no more of them are made
WORTHWHILE_DAMPED_GAIN = 1e-7


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

    def select(self, rows: Array, columns: Array) -> Matrix:
        """Return some columns of some rows."""
        part = self.X[:, columns]
        plain = Coordinates.plain(len(columns), intercept=False)
        if isinstance(part, np.ndarray):
            return DenseMatrix(np.ascontiguousarray(part[rows]), plain)
        return SparseMatrix.of_matrix(part.tocsr()[rows], plain)


def _newton_direction(X: Matrix, h: Array, slopes: Array, damping: Array | None, max_factorized: int) -> Array:
    """Return −(Xᵀ diag(h) X + diag(damping))⁻¹ times the slopes."""
    if damping is None and X.n_columns <= max_factorized:
        return -Curvature.of(X.gram(h)).solve(slopes)
    ridge = np.zeros(X.n_columns) if damping is None else damping
    scale = np.maximum(X.squares(h) + ridge, np.finfo(float).tiny)
    found = conjugate_gradient(
        lambda v: X.rmatvec(h * X.matvec(v)) + ridge * v,
        -slopes,
        precondition=lambda r: r / scale,
        tolerance=JOINT_STEP_RESIDUAL,
        most_steps=MAX_JOINT_STEP_PRODUCTS,
    )
    return np.asarray(found.require_completion().coef)


class HingeLasso(SweepDescent):
    """Sweeps over the columns, for classes y = ±1 and a weight C of each row.

    The Hessian of a joint step of up to `max_factorized` coefficients is factorised.
    """

    PATIENCE: ClassVar[int] = 5

    def __init__(
        self,
        columns: HingeColumns,
        y: Array,
        weight: Array,
        gap: float,
        most_sweeps: int,
        seed: int = 0,
        *,
        max_factorized: int = MAX_FACTORIZED,
    ) -> None:
        self._columns, self._y, self._weight = columns, y, weight
        self._max_factorized = max_factorized
        self.w = np.zeros(columns.n_columns)
        self._damping_helps = True
        super().__init__(columns.n_columns, columns.entries.values.size, gap, most_sweeps, seed)

    def _objective(self, w: Array, eta: Array) -> float:
        return float(np.abs(w).sum() + self._weight @ np.square(np.maximum(1 - self._y * eta, 0.0)))

    def _evaluate(self) -> MarginObjectives:
        self._active, self._limit = len(self._order), np.inf
        self._eta = np.asarray(self._columns.X @ self.w)
        for _ in range(MAX_FACE_STEPS):
            if not self._move_together():
                break
        short = np.maximum(1 - self._y * self._eta, 0.0)
        slopes = 2 * self._weight * self._y * short
        share = 1 / max(1.0, float(np.abs(self._columns.X.T @ slopes).max(initial=0.0)))
        self.beta = share * slopes
        # the loss by the share, and by coefficients that are not complementary to their slopes
        gap = (1 - share) ** 2 * float(self._weight @ np.square(short))
        gap += float(np.abs(self.w).sum() - self.w @ (self._columns.X.T @ self.beta))
        return MarginObjectives(self._objective(self.w, self._eta), max(gap, 0.0))

    def _rounding(self) -> float:
        """Return the rounding of Σ w_j x_j·β, whose terms may be far larger than their sum."""
        sizes = np.asarray(abs(self._columns.X).T @ np.abs(self.beta))
        unit = np.finfo(float).eps * np.sqrt(len(self.beta))
        return float(unit * (np.abs(self.w) @ sizes))

    def _move_together(self) -> bool:
        """Make a Newton step of all nonzero coefficients; those that would change their sign become zero.

        Returns whether another step may be worthwhile.
        """
        rows, face = np.flatnonzero(self._y * self._eta < 1), np.flatnonzero(self.w)
        damped = len(face) > len(rows)
        if not (len(face) and len(rows)) or (damped and not self._damping_helps):
            return False
        X, h, w = self._columns.select(rows, face), 2 * self._weight[rows], self.w[face]
        slopes = X.rmatvec(h * (self._eta[rows] - self._y[rows])) + np.sign(w)
        damping = FACE_DAMPING / np.abs(w) if damped else None
        direction = _newton_direction(X, h, slopes, damping, self._max_factorized)
        before = self._objective(self.w, self._eta)
        for halvings in range(MAX_JOINT_STEP_HALVINGS):
            moved = self.w.copy()
            moved[face] = w + 0.5**halvings * direction
            moved[face] = np.where(moved[face] * w < 0, 0.0, moved[face])
            eta = np.asarray(self._columns.X @ moved)
            if (value := self._objective(moved, eta)) < before:
                self.w, self._eta = moved, eta
                break
        gain = (before - value) / before
        self._damping_helps = not damped or gain > WORTHWHILE_DAMPED_GAIN
        return gain > WORTHWHILE_GAIN

    def _sweep(self, seed: int) -> float:
        # all coefficients return when the gap is computed, so that they may be dropped early
        state = self._order, self._active, seed, self._limit / len(self._y), self.w, self._eta
        self._active, self._limit = loops.sweep(*self._columns.entries, self._y, self._weight, *state)
        return float(self._limit)
