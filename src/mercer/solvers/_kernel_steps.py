"""Kernel ridge regression by conjugate gradients, with half of the kernel matrix kept, in float32 where that will do.

Steps with rough tiles find a correction to a few digits; what it leaves over is computed with float64, and corrected
again. Randomly pivoted Cholesky takes out the large eigenvalues, so that few steps are needed unless alpha is small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from mercer._errors import FitInterrupted
from mercer._jit.symmetric_products import add_both
from mercer._threads import blas_for, ordered_stream, row_blocks
from mercer.kernels import Gram
from mercer.solvers._kernel_system import KernelMatrix, System
from mercer.kernels.pivoted import PivotedCholesky
from mercer.solvers.krylov import conjugate_gradient

Array = NDArray[Any]

#: rows for each pivot, and what pivots may leave of the diagonal, compared with alpha
ROWS_PER_PIVOT, LEAST_LEFT = 40, 0.01
#: the largest eigenvalue that pivots leave, compared with what they leave of the diagonal on average (measured)
LARGEST_LEFT = 16.0
#: what a correction leaves over of the last one; if it is more than `WORTH_ANOTHER`, rough tiles are too rough
CORRECTION, WORTH_ANOTHER = 1e-5, 0.1
#: rows for each step that takes as long as half a Cholesky factor
ROWS_PER_STEP = 30
#: error of S K S, compared with alpha, that steps with rough tiles bear
BEARABLE = 0.03
#: turns in which the tiles are taken, whatever the number of threads
TURNS = 8


@dataclass(frozen=True, eq=False)
class KeptTriangle:
    """Tiles on and below the diagonal: half the memory of the matrix, and each is read once for both its products."""

    size: int
    tiles: list[tuple[slice, slice, Array]]

    @classmethod
    def of(cls, K: KernelMatrix) -> KeptTriangle:
        return cls(K.shape[0], list(K.lower(lambda rows, columns, tile: (rows, columns, tile))))

    @property
    def dtype(self) -> Any:
        return self.tiles[0][2].dtype

    def times(self, v: Array) -> Array:
        """K v, with sums of tiles in float64."""
        rough = v.astype(self.dtype, copy=False)

        def part(turn: slice) -> Array:
            total = np.zeros(v.shape)
            for rows, columns, tile in self.tiles[turn]:
                if v.ndim == 1 and rows != columns:
                    add_both(tile, rough[columns], rough[rows], total[rows], total[columns])
                    continue
                total[rows] += tile @ rough[columns]
                if rows != columns:
                    total[columns] += tile.T @ rough[rows]
            return total

        turns = row_blocks(len(self.tiles), -(-len(self.tiles) // TURNS))
        return np.asarray(sum(ordered_stream(part, turns), start=np.zeros(v.shape)))


@dataclass(frozen=True, eq=False)
class Deflation:
    """(LLᵀ + alpha)⁻¹, where LLᵀ is close to S K S, and what is left of its diagonal on average."""

    L: Array
    left: float

    @classmethod
    def of(cls, system: System, alpha: float, pivots: int) -> Deflation:
        heaviest = 1.0 if system.weight is None else float(system.weight.max())
        L = system.scaled(PivotedCholesky.of(cast(Gram, system.K), pivots, LEAST_LEFT * alpha / heaviest).L)
        left = system.diagonal - np.einsum("ij,ij->i", L, L)
        return cls(L, max(0.0, float(left.mean())))

    def steps(self, alpha: float, tolerance: float) -> float:
        """About how many steps it will take, by the bound for the condition number that is left."""
        return 0.5 * float(np.log(2 / tolerance) * np.sqrt(1 + LARGEST_LEFT * self.left / alpha))

    def inverse(self, alpha: Array, dtype: Any = np.float64) -> Callable[[Array], Array]:
        """v ↦ (LLᵀ + alpha)⁻¹ v, with the alpha of each column, as precisely as the matrix is kept."""
        gram = self.L.T @ self.L
        with blas_for(len(gram)):
            values, vectors = np.linalg.eigh(gram)
        U, shares = (self.L @ vectors).astype(dtype), 1 / (alpha * (alpha + np.maximum(values, 0.0)[:, None]))
        shares = shares.astype(dtype)
        return lambda v: v / alpha - U @ (shares * (U.T @ v.astype(dtype, copy=False)))


@dataclass(frozen=True, eq=False)
class Steps:
    """What conjugate gradients found: c, how much of y it leaves over, and how many steps it took."""

    value: Array
    error: float
    count: int
    path: str


def by_steps(system: System, alpha: Array, tolerance: float) -> Steps | None:
    """Solve (S K S + alpha) c = S y; None where that would take, or took, longer than a Cholesky factor."""
    smallest, most = float(alpha.min()), len(system) // ROWS_PER_STEP
    if not (smallest > 0 and (system.diagonal > 0).all()):
        return None
    deflation = Deflation.of(system, smallest, len(system) // ROWS_PER_PIVOT)
    if deflation.steps(smallest, tolerance) > most:
        return None
    bearable = BEARABLE * smallest / (np.sqrt(len(system)) * float(system.diagonal.max()))
    correcting = _Correcting(system, alpha, KeptTriangle.of(system.rough(bearable)), deflation)
    with blas_for(1):  # threads of BLAS would still be spinning when ours multiply
        return correcting.run(tolerance, most)


class _Correcting:
    def __init__(self, system: System, alpha: Array, kept: KeptTriangle, deflation: Deflation) -> None:
        self._system, self._alpha, self._kept = system, alpha, kept
        self._inverse, self._rank = deflation.inverse(alpha, kept.dtype), deflation.L.shape[1]

    def run(self, tolerance: float, most: int) -> Steps | None:
        c, residual, error, count = np.zeros(self._system.Y.shape), self._system.right, 1.0, 0
        while count < most:
            try:
                found = conjugate_gradient(
                    self._product, residual, precondition=self._inverse, tolerance=CORRECTION, most_steps=most - count
                )
            except FitInterrupted as interruption:
                interruption.solution = self._steps(c + interruption.solution.value, count)[0]
                raise
            c, count, before = c + found.value, count + len(found.trace), error
            steps, residual = self._steps(c, count)
            if (error := steps.error) <= tolerance:
                return steps
            if error > WORTH_ANOTHER * before:
                return None
        return None

    def _product(self, v: Array) -> Array:
        return np.asarray(self._system.times(v, self._kept) + self._alpha * v)

    def _steps(self, c: Array, count: int) -> tuple[Steps, Array]:
        error, residual = self._system.left_over(c, self._alpha)
        path = f"{count} steps of conjugate gradients, {self._rank} pivots, half of the matrix in {self._kept.dtype}"
        return Steps(c, error, count, path), residual
