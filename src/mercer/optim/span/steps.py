"""Kernel ridge regression by conjugate gradients with half of the kernel matrix in memory, in float32 if that suffices.

1. Precondition by randomly pivoted Cholesky, which removes the large eigenvalues (`Deflation`), so that few steps are
   needed unless alpha is small.
2. Find a correction to a few digits by conjugate gradients with tiles of float32.
3. Compute the residual with float64, and repeat from 2 until it is small enough.

If half of the matrix does not fit in memory, the tiles that do not fit are recomputed in every step.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from mercer._errors import LongFitWarning
from mercer._memory import available_bytes
from mercer._threads import blas_for, ordered_stream, row_blocks
from mercer._typing import Array
from mercer._warn import warn
from mercer.kernels import Gram
from mercer.kernels.gram import GRAM_TILE_SIDE, Cut, GivenMatrix
from mercer.kernels.pivoted import PivotedCholesky
from mercer.kernels.row_loops import add_both
from mercer.optim.krylov import conjugate_gradient
from mercer.optim.span.system import FEWER_ROWS_REMEDY, KernelMatrix, RidgeSystem

#: rows per pivot
ROWS_PER_PIVOT = 40
#: remaining diagonal at which no more pivots are added, in units of alpha
STEPS_LEAST_LEFT = 0.01
#: largest eigenvalue after deflation, in units of the mean remaining diagonal (measured)
LARGEST_LEFT_EIGENVALUE = 16.0
#: relative residual of a correction
CORRECTION_RESIDUAL = 1e-5
#: a correction that leaves more than this of the last residual shows that float32 is not precise enough
WORTH_ANOTHER = 0.1
#: rows per step: n / this many steps take as long as half of a Cholesky factorisation
ROWS_PER_STEP = 30
#: error of S K S, in units of alpha, up to which tiles of float32 are used
TILE_ERROR = 0.03
#: partial sums over the tiles, independent of the number of threads
PARTIAL_SUMS = 8
#: tiles that are recomputed by one thread at a time
TILES_TOGETHER = 8
#: pivots if the matrix does not fit in memory: each costs as much as all before it together
MAX_PIVOTS_BEYOND_MEMORY = 3000
#: share of the free memory for these pivots
SHARE_OF_PIVOTS = 0.4
#: memory of a pivot per row: three numbers
BYTES_PER_PIVOT = 24.0
#: share of the memory left by the pivots for tiles
SHARE_OF_TILES = 0.7
#: expected seconds from which on a warning is given
LONG_SECONDS = 3600.0
#: smallest limit for the number of steps
LEAST_STEP_LIMIT = 1000
#: limit for the number of steps as a multiple of the expected number
UNEXPECTED_STEPS = 3.0
#: vectors of the length of y that the steps need
STEP_VECTORS = 12


@dataclass(frozen=True, eq=False)
class KeptTriangle:
    """Tiles on and below the diagonal, half the memory of the matrix; each is read once for both of its products.

    The tiles of `rest` are not stored, but recomputed for each product.
    """

    size: int
    dtype: Any
    tiles: list[tuple[slice, slice, Array]]
    rest: list[Cut]
    K: KernelMatrix

    @classmethod
    def of(cls, K: KernelMatrix, available: float = np.inf) -> KeptTriangle:
        """Store as many tiles as fit in `available` bytes."""
        if isinstance(K, GivenMatrix) or 0.5 * K.dtype.itemsize * K.shape[0] ** 2 <= available:
            tiles = list(K.lower(lambda rows, columns, tile: (rows, columns, tile)))
            return cls(K.shape[0], tiles[0][2].dtype, tiles, [], K)
        blocks = row_blocks(K.shape[0], GRAM_TILE_SIDE)
        cuts = [(rows, columns) for k, rows in enumerate(blocks) for columns in blocks[: k + 1]]
        many = int(max(0.0, available) // (GRAM_TILE_SIDE**2 * K.dtype.itemsize))
        tiles = list(ordered_stream(lambda cut: (*cut, K.tile(*cut)), cuts[:many]))
        return cls(K.shape[0], K.dtype, tiles, cuts[many:], K)

    @property
    def share(self) -> float:
        """Return the share of the tiles that are stored."""
        return len(self.tiles) / (len(self.tiles) + len(self.rest))

    def matvec(self, v: Array) -> Array:
        """Return K v, with sums over tiles in float64."""
        rough = v.astype(self.dtype, copy=False)

        def add(rows: slice, columns: slice, tile: Array, here: Array, mirrored: Array) -> None:
            if v.ndim == 1 and rows != columns:
                add_both(tile, rough[columns], rough[rows], here, mirrored)
                return
            here += tile @ rough[columns]
            if rows != columns:
                mirrored += tile.T @ rough[rows]

        def part(turn: slice) -> Array:
            total = np.zeros(v.shape)
            for rows, columns, tile in self.tiles[turn]:
                add(rows, columns, tile, total[rows], total[columns])
            return total

        def made(turn: slice) -> list[tuple[slice, slice, Array, Array]]:
            found = []
            for rows, columns in self.rest[turn]:
                tile = self.K.tile(rows, columns)
                here, mirrored = (np.zeros((size, *v.shape[1:])) for size in tile.shape)
                add(rows, columns, tile, here, mirrored)
                found.append((rows, columns, here, mirrored))
            return found

        turns = row_blocks(len(self.tiles), max(1, -(-len(self.tiles) // PARTIAL_SUMS)))
        total = np.asarray(sum(ordered_stream(part, turns), start=np.zeros(v.shape)))
        for together in ordered_stream(made, row_blocks(len(self.rest), TILES_TOGETHER)):
            for rows, columns, here, mirrored in together:
                total[rows] += here
                total[columns] += mirrored
        return total


@dataclass(frozen=True, eq=False)
class Deflation:
    """The preconditioner (LLᵀ + alpha)⁻¹ with LLᵀ close to S K S, and the mean remaining diagonal."""

    L: Array
    left: float

    @classmethod
    def of(cls, system: RidgeSystem, alpha: float, pivots: int) -> Deflation:
        heaviest = 1.0 if system.weight is None else float(system.weight.max())
        L = system.apply_roots(PivotedCholesky.of(cast(Gram, system.K), pivots, STEPS_LEAST_LEFT * alpha / heaviest).L)
        left = system.diagonal - np.einsum("ij,ij->i", L, L)
        return cls(L, max(0.0, float(left.mean())))

    def steps(self, alpha: float, tolerance: float) -> float:
        """Estimate the number of steps by the bound for the remaining condition number."""
        return 0.5 * float(np.log(2 / tolerance) * np.sqrt(1 + LARGEST_LEFT_EIGENVALUE * self.left / alpha))

    def inverse(self, alpha: Array, dtype: Any = np.float64) -> Callable[[Array], Array]:
        """Return v ↦ (LLᵀ + alpha)⁻¹ v, with the alpha of each column, in the precision of the matrix."""
        gram = self.L.T @ self.L
        with blas_for(len(gram)):
            values, vectors = np.linalg.eigh(gram)
        U, shares = (self.L @ vectors).astype(dtype), 1 / (alpha * (alpha + np.maximum(values, 0.0)[:, None]))
        shares = shares.astype(dtype)
        return lambda v: v / alpha - U @ (shares * (U.T @ v.astype(dtype, copy=False)))


@dataclass(frozen=True, eq=False)
class RidgeSteps:
    """Result of conjugate gradients: c, its relative residual, the number of steps and the path."""

    value: Array
    error: float
    count: int
    path: str
    interrupted: bool = False


def solve_by_steps(
    system: RidgeSystem,
    alpha: Array,
    tolerance: float,
    *,
    rows_per_step: int = ROWS_PER_STEP,
    tile_error: float = TILE_ERROR,
    worth_another: float = WORTH_ANOTHER,
) -> RidgeSteps | None:
    """Solve (S K S + alpha) c = S y; None if that would take, or took, longer than a Cholesky factorisation.

    Parameters
    ----------
    system : RidgeSystem
        The equations.
    alpha : array of shape (targets,)
        The penalty of each target.
    tolerance : float
        Relative residual at which to stop.
    rows_per_step : int
        The number of steps is at most the number of rows divided by this.
    tile_error : float
        Error of S K S, in units of alpha, up to which tiles of float32 are used.
    worth_another : float
        A correction that leaves more than this portion of the last residual is the last one.
    """
    smallest, most = float(alpha.min()), len(system) // rows_per_step
    if not _is_definite(system, smallest):
        return None
    deflation = Deflation.of(system, smallest, len(system) // ROWS_PER_PIVOT)
    if deflation.steps(smallest, tolerance) > most:
        return None
    kept = KeptTriangle.of(_rough_matrix(system, smallest, tile_error))
    correcting = _IterativeCorrection(system, alpha, kept, deflation, worth_another=worth_another)
    with blas_for(1):  # BLAS threads would keep spinning while our threads multiply
        return correcting.run(tolerance, most)


def solve_beyond_memory(
    system: RidgeSystem,
    alpha: Array,
    tolerance: float,
    *,
    tile_error: float = TILE_ERROR,
    worth_another: float = WORTH_ANOTHER,
    long_seconds: float = LONG_SECONDS,
) -> RidgeSteps | None:
    """Solve with as much of the matrix as fits in memory, if nothing else is possible, however many steps it takes.

    Return None if that is not possible either: alpha is 0 up to rounding, or k(x, x) is 0 for a row.

    Parameters
    ----------
    system : RidgeSystem
        The equations.
    alpha : array of shape (targets,)
        The penalty of each target.
    tolerance : float
        Relative residual at which to stop.
    tile_error : float
        Error of S K S, in units of alpha, up to which tiles of float32 are used.
    worth_another : float
        After a correction that leaves more than this portion of the last residual, tiles of float64 are used.
    long_seconds : float
        Expected seconds from which on a warning is given.
    """
    n, smallest = len(system), float(alpha.min())
    if not _is_definite(system, smallest) or smallest <= np.finfo(float).eps * float(system.diagonal.min()):
        return None
    pivots = pivots_beyond_memory(n)
    deflation = Deflation.of(system, smallest, pivots)
    available = SHARE_OF_TILES * available_bytes() - 8.0 * n * (deflation.L.shape[1] + STEP_VECTORS * system.Y.shape[1])
    kept = KeptTriangle.of(_rough_matrix(system, smallest, tile_error), available)
    expected = deflation.steps(smallest, tolerance)
    most = int(
        max(LEAST_STEP_LIMIT, min(UNEXPECTED_STEPS * expected, n))
    )  # more than n steps are due to rounding errors
    _warn_if_long(kept, min(expected, most), long_seconds)
    correcting = _IterativeCorrection(system, alpha, kept, deflation, worth_another=worth_another, alone=True)
    with blas_for(1):
        return correcting.run(tolerance, most)


def pivots_beyond_memory(rows: int) -> int:
    """Return the number of pivots that fit in memory if the matrix does not."""
    available = SHARE_OF_PIVOTS * available_bytes() / (BYTES_PER_PIVOT * rows)
    return max(1, min(rows // ROWS_PER_PIVOT, MAX_PIVOTS_BEYOND_MEMORY, int(available)))


def _is_definite(system: RidgeSystem, alpha: float) -> bool:
    return alpha > 0 and bool((system.diagonal > 0).all())


def _rough_matrix(system: RidgeSystem, alpha: float, tile_error: float) -> KernelMatrix:
    return system.rough(tile_error * alpha / (np.sqrt(len(system)) * float(system.diagonal.max())))


def _warn_if_long(kept: KeptTriangle, steps: float, long_seconds: float) -> None:
    """Warn if the expected time, by that of a few tiles, is long."""
    some = KeptTriangle(kept.size, kept.dtype, [], kept.rest[: TILES_TOGETHER * PARTIAL_SUMS], kept.K)
    v, least = np.ones(kept.size), np.inf
    for _ in range(2):  # the first may compile
        began = time.perf_counter()
        some.matvec(v)
        least = min(least, time.perf_counter() - began)
    seconds = least / max(1, len(some.rest)) * len(kept.rest) * steps
    if seconds > long_seconds:
        warn(
            f"an exact kernel ridge regression of {kept.size:,} rows, whose matrix does not fit in memory, will take "
            f"about {seconds / 3600:.2g} hours: {steps:.0f} steps of conjugate gradients. Raise alpha for fewer steps, "
            f"or {FEWER_ROWS_REMEDY}.",
            LongFitWarning,
        )


class _IterativeCorrection:
    """Corrections until the residual is small; `alone` if there is no other method to fall back on."""

    def __init__(
        self,
        system: RidgeSystem,
        alpha: Array,
        kept: KeptTriangle,
        deflation: Deflation,
        *,
        worth_another: float,
        alone: bool = False,
    ) -> None:
        self._system, self._alpha, self._kept, self._alone = system, alpha, kept, alone
        self._worth_another = worth_another
        self._deflation, self._rank = deflation, deflation.L.shape[1]
        self._inverse = deflation.inverse(alpha, kept.dtype)

    def _become_exact(self) -> bool:
        """Continue with tiles of float64 instead of float32 if there is no other method; return whether it does."""
        if not self._alone or self._kept.dtype == np.float64:
            return False
        self._kept = KeptTriangle.of(self._system.K, available=0.0)
        self._inverse = self._deflation.inverse(self._alpha)
        return True

    def run(self, tolerance: float, most: int) -> RidgeSteps | None:
        """Correct until the relative residual is at most `tolerance`; None if that fails and not `alone`."""
        c, residual, error, count = np.zeros(self._system.Y.shape), self._system.right, 1.0, 0
        steps = self._steps(c, error, count)
        while count < most:
            found = conjugate_gradient(
                self._product,
                residual,
                precondition=self._inverse,
                tolerance=CORRECTION_RESIDUAL,
                most_steps=most - count,
            )
            better, count, before = c + found.coef, count + found.n_iter, error
            latest, rest = self._check_residual(better, count)
            if found.interrupted or latest.interrupted:
                return replace(latest, interrupted=True)
            if latest.error < error:
                c, residual, steps, error = better, rest, latest, latest.error
            if error <= tolerance:
                return steps
            if latest.error > self._worth_another * before and not self._become_exact():
                break
        return steps if self._alone else None

    def _product(self, v: Array) -> Array:
        return np.asarray(self._system.matvec(v, self._kept) + self._alpha * v)

    def _check_residual(self, c: Array, count: int) -> tuple[RidgeSteps, Array]:
        """Compute the residual of c with the matrix in float64; after Ctrl-C it is unknown."""
        try:
            error, residual = self._system.compute_residual(c, self._alpha)
        except KeyboardInterrupt:
            return replace(self._steps(c, np.inf, count), interrupted=True), np.full(c.shape, np.nan)
        return self._steps(c, error, count), residual

    def _steps(self, c: Array, error: float, count: int) -> RidgeSteps:
        kept = self._kept
        path = f"{count} steps of conjugate gradients, {self._rank} pivots, half of the matrix in {kept.dtype}"
        if kept.rest:
            path += f", of which {1 - kept.share:.0%} made again in each step"
        return RidgeSteps(c, error, count, path)
