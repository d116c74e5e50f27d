"""Kernel ridge regression by conjugate gradients, with half of the kernel matrix kept, in float32 where that will do.

Steps with rough tiles find a correction to a few digits; what it leaves over is computed with float64, and corrected
again. Randomly pivoted Cholesky takes out the large eigenvalues, so that few steps are needed unless alpha is small.
Where half of the matrix is more than there is memory, the tiles there is no room for are made again in every step.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from mercer._errors import FitInterrupted, LongFitWarning
from mercer._memory import available_bytes
from mercer._threads import blas_for, ordered_stream, row_blocks
from mercer._typing import Array
from mercer._warn import warn
from mercer.kernels import Gram
from mercer.kernels.gram import SIDE, Cut, GivenMatrix
from mercer.kernels.pivoted import PivotedCholesky
from mercer.kernels.row_loops import add_both
from mercer.optim.krylov import conjugate_gradient
from mercer.optim.span.system import INSTEAD, KernelMatrix, RidgeSystem

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
#: turns in which the tiles are taken, whatever the number of threads, and tiles that are made in one turn
TURNS, MADE_TOGETHER = 8, 8
#: pivots at most, and the part of the memory left that they may take, where the matrix has no room: each pivot takes
#: as many operations as all before it, and numbers three times as many as rows
MOST_PIVOTS, SHARE_OF_PIVOTS, BYTES_PER_PIVOT = 3000, 0.4, 24.0
#: … and of what is left then that tiles may take
SHARE_OF_TILES = 0.7
#: seconds from which on a warning announces how long it will take
LONG = 3600.0
#: steps that are allowed at least, and compared with those that are expected; vectors of the length of y they need
MOST_STEPS, UNEXPECTED, VECTORS = 1000, 3.0, 12


@dataclass(frozen=True, eq=False)
class KeptTriangle:
    """Tiles on and below the diagonal: half the memory of the matrix, and each is read once for both its products.

    Those of `rest` are not kept, but made again for each product.
    """

    size: int
    dtype: Any
    tiles: list[tuple[slice, slice, Array]]
    rest: list[Cut]
    K: KernelMatrix

    @classmethod
    def of(cls, K: KernelMatrix, room: float = np.inf) -> KeptTriangle:
        """As many tiles as have room, in bytes."""
        if isinstance(K, GivenMatrix) or 0.5 * K.dtype.itemsize * K.shape[0] ** 2 <= room:
            tiles = list(K.lower(lambda rows, columns, tile: (rows, columns, tile)))
            return cls(K.shape[0], tiles[0][2].dtype, tiles, [], K)
        blocks = row_blocks(K.shape[0], SIDE)
        cuts = [(rows, columns) for k, rows in enumerate(blocks) for columns in blocks[: k + 1]]
        many = int(max(0.0, room) // (SIDE**2 * K.dtype.itemsize))
        tiles = list(ordered_stream(lambda cut: (*cut, K.tile(*cut)), cuts[:many]))
        return cls(K.shape[0], K.dtype, tiles, cuts[many:], K)

    @property
    def share(self) -> float:
        """Of the tiles, those that are kept."""
        return len(self.tiles) / (len(self.tiles) + len(self.rest))

    def times(self, v: Array) -> Array:
        """K v, with sums of tiles in float64."""
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

        turns = row_blocks(len(self.tiles), max(1, -(-len(self.tiles) // TURNS)))
        total = np.asarray(sum(ordered_stream(part, turns), start=np.zeros(v.shape)))
        for together in ordered_stream(made, row_blocks(len(self.rest), MADE_TOGETHER)):
            for rows, columns, here, mirrored in together:
                total[rows] += here
                total[columns] += mirrored
        return total


@dataclass(frozen=True, eq=False)
class Deflation:
    """(LLᵀ + alpha)⁻¹, where LLᵀ is close to S K S, and what is left of its diagonal on average."""

    L: Array
    left: float

    @classmethod
    def of(cls, system: RidgeSystem, alpha: float, pivots: int) -> Deflation:
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
class RidgeSteps:
    """What conjugate gradients found: c, how much of y it leaves over, and how many steps it took."""

    value: Array
    error: float
    count: int
    path: str


def solve_by_steps(system: RidgeSystem, alpha: Array, tolerance: float) -> RidgeSteps | None:
    """Solve (S K S + alpha) c = S y; None where that would take, or took, longer than a Cholesky factor."""
    smallest, most = float(alpha.min()), len(system) // ROWS_PER_STEP
    if not _is_definite(system, smallest):
        return None
    deflation = Deflation.of(system, smallest, len(system) // ROWS_PER_PIVOT)
    if deflation.steps(smallest, tolerance) > most:
        return None
    correcting = _IterativeCorrection(system, alpha, KeptTriangle.of(_rough_matrix(system, smallest)), deflation)
    with blas_for(1):  # threads of BLAS would still be spinning when ours multiply
        return correcting.run(tolerance, most)


def solve_beyond_memory(system: RidgeSystem, alpha: Array, tolerance: float) -> RidgeSteps | None:
    """The same with as much of the matrix as has room, where nothing else is possible, however many steps it takes.

    None where these steps are not possible either: alpha is 0, or as good as 0 beside the weights, or a row has no
    k(x, x) above 0.
    """
    n, smallest = len(system), float(alpha.min())
    if not _is_definite(system, smallest) or smallest <= np.finfo(float).eps * float(system.diagonal.min()):
        return None
    pivots = pivots_beyond_memory(n)
    deflation = Deflation.of(system, smallest, pivots)
    room = SHARE_OF_TILES * available_bytes() - 8.0 * n * (deflation.L.shape[1] + VECTORS * system.Y.shape[1])
    kept = KeptTriangle.of(_rough_matrix(system, smallest), room)
    expected = deflation.steps(smallest, tolerance)
    most = int(max(MOST_STEPS, min(UNEXPECTED * expected, n)))  # more than n steps are of rounding errors
    _warn_if_long(kept, min(expected, most))
    with blas_for(1):
        return _IterativeCorrection(system, alpha, kept, deflation, alone=True).run(tolerance, most)


def pivots_beyond_memory(rows: int) -> int:
    """How many pivots have room where the matrix has none."""
    room = SHARE_OF_PIVOTS * available_bytes() / (BYTES_PER_PIVOT * rows)
    return max(1, min(rows // ROWS_PER_PIVOT, MOST_PIVOTS, int(room)))


def _is_definite(system: RidgeSystem, alpha: float) -> bool:
    return alpha > 0 and bool((system.diagonal > 0).all())


def _rough_matrix(system: RidgeSystem, alpha: float) -> KernelMatrix:
    return system.rough(BEARABLE * alpha / (np.sqrt(len(system)) * float(system.diagonal.max())))


def _warn_if_long(kept: KeptTriangle, steps: float) -> None:
    """Warn of hours, by the time that a few tiles take."""
    some = KeptTriangle(kept.size, kept.dtype, [], kept.rest[: MADE_TOGETHER * TURNS], kept.K)
    v, least = np.ones(kept.size), np.inf
    for _ in range(2):  # the first may compile
        began = time.perf_counter()
        some.times(v)
        least = min(least, time.perf_counter() - began)
    seconds = least / max(1, len(some.rest)) * len(kept.rest) * steps
    if seconds > LONG:
        warn(
            f"an exact kernel ridge regression of {kept.size:,} rows, whose matrix has no room, will take about "
            f"{seconds / LONG:.2g} hours: {steps:.0f} steps of conjugate gradients. Raise alpha for fewer steps, or "
            f"{INSTEAD}.",
            LongFitWarning,
        )


class _IterativeCorrection:
    """Corrections until little is left over; `alone` if nobody else could take over where they do not help."""

    def __init__(
        self, system: RidgeSystem, alpha: Array, kept: KeptTriangle, deflation: Deflation, *, alone: bool = False
    ) -> None:
        self._system, self._alpha, self._kept, self._alone = system, alpha, kept, alone
        self._deflation, self._rank = deflation, deflation.L.shape[1]
        self._inverse = deflation.inverse(alpha, kept.dtype)

    def _become_exact(self) -> bool:
        """Go on with tiles of float64, if they were of float32 and nobody else can take over."""
        if not self._alone or self._kept.dtype == np.float64:
            return False
        self._kept = KeptTriangle.of(self._system.K, room=0.0)
        self._inverse = self._deflation.inverse(self._alpha)
        return True

    def run(self, tolerance: float, most: int) -> RidgeSteps | None:
        c, residual, error, count = np.zeros(self._system.Y.shape), self._system.right, 1.0, 0
        steps = self._steps(c, error, count)
        while count < most:
            try:
                found = conjugate_gradient(
                    self._product, residual, precondition=self._inverse, tolerance=CORRECTION, most_steps=most - count
                )
            except FitInterrupted as interruption:
                found = interruption.solution
                interruption.solution = self._looked_at(c + found.value, count + len(found.trace))[0]
                raise
            better, count, before = c + found.value, count + len(found.trace), error
            latest, rest = self._looked_at(better, count)
            if latest.error < error:
                c, residual, steps, error = better, rest, latest, latest.error
            if error <= tolerance:
                return steps
            if latest.error > WORTH_ANOTHER * before and not self._become_exact():
                break
        return steps if self._alone else None

    def _product(self, v: Array) -> Array:
        return np.asarray(self._system.times(v, self._kept) + self._alpha * v)

    def _looked_at(self, c: Array, count: int) -> tuple[RidgeSteps, Array]:
        """What c leaves over, by all of the matrix in float64: Ctrl-C keeps c, but nobody knows how good it is."""
        try:
            error, residual = self._system.left_over(c, self._alpha)
        except KeyboardInterrupt:
            message = "stopped by the user before what is left over was known; the coefficients found so far are kept."
            raise FitInterrupted(message, self._steps(c, np.inf, count)) from None
        return self._steps(c, error, count), residual

    def _steps(self, c: Array, error: float, count: int) -> RidgeSteps:
        kept = self._kept
        path = f"{count} steps of conjugate gradients, {self._rank} pivots, half of the matrix in {kept.dtype}"
        if kept.rest:
            path += f", of which {1 - kept.share:.0%} made again in each step"
        return RidgeSteps(c, error, count, path)
