"""Linear support vector machines by descent of the dual, one row at a time: where columns are many.

Each step finds the best coefficient of one row while all others stay (Hsieh and others 2008); rows that have settled at
a bound, by more than any other row violates its conditions, are left out until the others have settled too (shrinking).
Then w and the gap are computed anew from all rows, so that no rounding piles up.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from mercer._typing import Array
from mercer.optim.certificate import Solution
from mercer.svm import _crammer_singer_loops as crammer_singer_loops
from mercer.svm import _linear_loops as loops
from mercer.svm._crammer_singer import ClassLosses
from mercer.svm._margins import LEAST_GAP, Judgement, MarginPoint, MarginProblem, MarginRows, rounding

#: the gap is looked at when the largest slope has fallen to this portion of that at the last look
LOOK = 0.1
#: … and aimed below what is asked for by this much
BELOW = 0.5
#: numbers that are read in one step, in as many sweeps as it takes
STEP = 1 << 22


class Sweeps(ABC):
    """Passes over rows, or columns, in random order, and a look at the gap now and then."""

    #: sweeps after which to look, whatever the slopes
    PATIENCE: ClassVar[int] = 100

    judgement: Judgement
    w: Array
    beta: Array

    def __init__(self, many: int, numbers: int, gap: float, most_sweeps: int, seed: int) -> None:
        self._asked, self._most_sweeps = max(gap, LEAST_GAP), most_sweeps
        self._at_once = max(1, STEP // max(1, numbers))
        self._seeds = np.random.default_rng(seed)
        self._order = np.arange(many, dtype=np.int32)
        self._aim = 0.0
        self.n_iter = 0
        self._look()
        self.trace = [self.judgement.primal]

    @abstractmethod
    def _sweep(self, seed: int) -> float:
        """Pass once, and return the largest slope met."""

    @abstractmethod
    def _judged(self) -> Judgement:
        """Compute w and both objectives from all of β."""

    @abstractmethod
    def _rounding(self) -> float:
        """By how much rounding may hide a part of the gap."""

    def _look(self) -> None:
        self.judgement = self._judged()
        self._looked, self._looked_at = True, self.n_iter

    @property
    def finished(self) -> bool:
        return self._looked and (self.judgement.share <= self._asked or self.n_iter >= self._most_sweeps)

    def step(self) -> None:
        """Some sweeps, until it is time to look."""
        for _ in range(self._at_once):
            self._looked = False
            largest = self._sweep(int(self._seeds.integers(1, 2**31)))
            self.n_iter += 1
            if self.n_iter == 1:
                self._aim = LOOK * largest
            waited = self.n_iter - self._looked_at >= self.PATIENCE
            if largest <= self._aim or waited or self.n_iter >= self._most_sweeps:
                self._look()
                self._aim = BELOW * largest * max(LOOK, min(1.0, self._asked / max(self.judgement.share, LEAST_GAP)))
                break
        self.trace.append(self.judgement.primal)

    def solution(self) -> Solution:
        if not self._looked:
            self._look()
        certificate = self.judgement.widened(self._rounding()).certificate(self._asked, f"{self.n_iter} sweeps")
        return Solution(MarginPoint(self.w, self.beta, self.n_iter), certificate, tuple(self.trace))


class DualDescent(Sweeps):
    """Of the losses of two classes, or of numbers."""

    def __init__(self, problem: MarginProblem, gap: float, most_sweeps: int, seed: int = 0) -> None:
        self._rows, self._losses = problem.rows, problem.losses
        self.beta = np.zeros(problem.rows.n_rows)
        super().__init__(self._rows.n_rows, self._rows.stored, gap, most_sweeps, seed)

    def _judged(self) -> Judgement:
        self._active, self._limit = len(self._order), np.inf
        self.w = self._rows.transposed_times(self.beta)
        loss, away = self._losses.judged(self._rows.times(self.w), self.beta)
        return Judgement(0.5 * float(self.w @ self.w) + loss, away)

    def _rounding(self) -> float:
        return rounding(self._rows, self._losses, self.w, self._rows.times(self.w), self.beta, 0.0)

    def _sweep(self, seed: int) -> float:
        rows, state = self._rows, (self._order, self._active, seed, self._limit, self.beta, self.w)
        self._active, self._limit = loops.sweep(*rows.entries, rows.constant, rows.squares, *self._losses.box, *state)
        return float(self._limit)


class CrammerSinger(Sweeps):
    """Of the losses of several classes at once: C times how much another class comes near or above a row's own,

        ½ ‖W‖² + Σ C [max_m (x·w_m + 1[m ≠ y]) − x·w_y],

    whose dual has an α for each row and class: Σ_m α_m = 0, α_m ≤ C 1[m = y] and W = Σ x αᵀ.
    """

    def __init__(
        self, rows: MarginRows, codes: Array, weight: Array, n_classes: int, gap: float, most_sweeps: int, seed: int = 0
    ) -> None:
        self._rows, self._codes, self._weight = rows, codes, weight
        self.beta = np.zeros((rows.n_rows, n_classes))
        empty = np.flatnonzero(rows.squares == 0)  # of these every class is as near as any other, whatever W is
        self.beta[empty, codes[empty]] += weight[empty]
        self.beta[empty, (codes[empty] + 1) % n_classes] -= weight[empty]
        super().__init__(rows.n_rows, rows.stored, gap, most_sweeps, seed)

    def _judged(self) -> Judgement:
        self.w = self._rows.transposed_times(self.beta)
        scores = self._rows.times(self.w)
        own = scores[np.arange(len(scores)), self._codes]
        scores += 1.0
        scores[np.arange(len(scores)), self._codes] -= 1.0
        losses = self._weight * (scores.max(axis=1) - own)
        away = losses + np.einsum("ij,ij->i", self.beta, scores)
        return Judgement(0.5 * float(np.square(self.w).sum() + 2 * losses.sum()), float(np.maximum(away, 0.0).sum()))

    def _rounding(self) -> float:
        losses = ClassLosses(self._codes, self._weight, self.beta.shape[1])
        return rounding(self._rows, losses, self.w, self._rows.times(self.w), self.beta, 0.0)

    def _sweep(self, seed: int) -> float:
        rows, state = self._rows, (self._order, seed, self.beta, self.w)
        return float(
            crammer_singer_loops.sweep(*rows.entries, rows.constant, rows.squares, self._codes, self._weight, *state)
        )
