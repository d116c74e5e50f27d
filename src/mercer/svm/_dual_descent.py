"""Linear support vector machines by descent of the dual, one row at a time, for many columns.

Each step finds the best coefficient of one row while all others stay (Hsieh and others 2008). Rows at a bound whose
slope exceeds the largest violation of any other row become inactive until the others have converged (shrinking). Then w
and the gap are computed again from all rows, so that rounding does not accumulate.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from mercer._typing import Array
from mercer.optim.certificate import History, Solution
from mercer.svm import _linear_loops as loops
from mercer.svm._margins import LEAST_RELATIVE_GAP, MarginObjectives, MarginPoint, MarginProblem, estimate_rounding

#: the gap is computed when the largest slope has fallen to this portion of that at the last check
CHECK_RATIO = 0.1
#: … and the slope expected to give the required gap is reduced by this factor
AIM_RATIO = 0.5
#: values that are read in one step, in as many sweeps as that takes
VALUES_PER_STEP = 1 << 22


class SweepDescent(ABC):
    """Passes over rows, or columns, in random order, with a computation of the gap now and then."""

    #: sweeps after which the gap is computed, whatever the slopes
    PATIENCE: ClassVar[int] = 100

    objectives: MarginObjectives
    w: Array
    beta: Array

    def __init__(
        self,
        many: int,
        numbers: int,
        gap: float,
        most_sweeps: int,
        seed: int,
        values_per_step: int = VALUES_PER_STEP,
    ) -> None:
        self._required, self._most_sweeps = max(gap, LEAST_RELATIVE_GAP), most_sweeps
        self._sweeps_per_step = max(1, values_per_step // max(1, numbers))
        self._seeds = np.random.default_rng(seed)
        self._order = np.arange(many, dtype=np.int32)
        self._aim = 0.0
        self.n_iter = 0
        self._check_gap()
        self.trace = [self.objectives.primal]

    @abstractmethod
    def _sweep(self, seed: int) -> float:
        """Make one pass, and return the largest slope."""

    @abstractmethod
    def _evaluate(self) -> MarginObjectives:
        """Compute w and both objectives from all of β."""

    @abstractmethod
    def _rounding(self) -> float:
        """Return how much of the gap rounding may hide."""

    def _check_gap(self) -> None:
        self.objectives = self._evaluate()
        self._is_checked, self._last_check = True, self.n_iter

    @property
    def finished(self) -> bool:
        return self._is_checked and (self.objectives.share <= self._required or self.n_iter >= self._most_sweeps)

    def step(self) -> None:
        """Make some sweeps, until the gap is due."""
        for _ in range(self._sweeps_per_step):
            self._is_checked = False
            largest = self._sweep(int(self._seeds.integers(1, 2**31)))
            self.n_iter += 1
            if self.n_iter == 1:
                self._aim = CHECK_RATIO * largest
            is_overdue = self.n_iter - self._last_check >= self.PATIENCE
            if largest <= self._aim or is_overdue or self.n_iter >= self._most_sweeps:
                self._check_gap()
                self._aim = (
                    AIM_RATIO
                    * largest
                    * max(CHECK_RATIO, min(1.0, self._required / max(self.objectives.share, LEAST_RELATIVE_GAP)))
                )
                break
        self.trace.append(self.objectives.primal)

    def solution(self) -> Solution:
        if not self._is_checked:
            self._check_gap()
        certificate = self.objectives.add_to_gap(self._rounding()).certificate(self._required, f"{self.n_iter} sweeps")
        return Solution(MarginPoint(self.w, self.beta, self.n_iter), certificate, History.of(self.trace))


class DualDescent(SweepDescent):
    """Dual coordinate descent for the losses of two classes, or of numbers.

    A step makes as many sweeps as read `values_per_step` values, at least one.
    """

    def __init__(
        self,
        problem: MarginProblem,
        gap: float,
        most_sweeps: int,
        seed: int = 0,
        *,
        values_per_step: int = VALUES_PER_STEP,
    ) -> None:
        self._rows, self._losses = problem.rows, problem.losses
        self.beta = np.zeros(problem.rows.n_rows)
        super().__init__(self._rows.n_rows, self._rows.stored, gap, most_sweeps, seed, values_per_step)

    def _evaluate(self) -> MarginObjectives:
        self._active, self._limit = len(self._order), np.inf
        self.w = self._rows.rmatvec(self.beta)
        loss, away = self._losses.measure(self._rows.matvec(self.w), self.beta)
        return MarginObjectives(0.5 * float(self.w @ self.w) + loss, away)

    def _rounding(self) -> float:
        return estimate_rounding(self._rows, self._losses, self.w, self._rows.matvec(self.w), self.beta, 0.0)

    def _sweep(self, seed: int) -> float:
        rows, state = self._rows, (self._order, self._active, seed, self._limit, self.beta, self.w)
        self._active, self._limit = loops.sweep(*rows.entries, rows.constant, rows.squares, *self._losses.box, *state)
        return float(self._limit)
