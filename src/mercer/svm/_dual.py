"""Support vector machines: the dual problem in a box, by decomposition.

Classification and regression are one problem in the signed coefficients β of f(x) = Σ βᵢ k(xᵢ, x) + b:

    minimise ½ βᵀKβ − tᵀβ + ε Σ|βᵢ|   subject to lower ≤ β ≤ upper, and Σβᵢ = 0 where there is an intercept.

For classes t = y = ±1, β = yα and ε = 0; for numbers t is the response and β = a⁺ − a⁻ (lecture 5). In each round the
rows that violate optimality most join a working set, whose problem is solved in the cache
(`_jit.solvers.box_descent`); whole rows of K are needed only for what has moved.

Steps of two coordinates are short where bounds are decades apart, or far above the optimum of a kernel of low rank:
ten million may leave a gap of 90 %. After `SLOW` steps a row, Newton's method (`feature_machine`) goes on with the
factor of a K that is in memory as a whole; then steps of two coordinates take the rest of the violation away.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._errors import FitInterrupted
from mercer._threads import blas_for
from mercer._typing import Array
from mercer.optim.certificate import Solution
from mercer.optim.span.kernel_rows import KernelMatrixRows
from mercer.svm import feature_machine
from mercer.svm._box_problem import (
    BoxPoint,
    BoxProblem,
    BoxProgress,
    Margins,
    Scores,
    WorkingTile,
    feasible,
    is_free,
    settled,
    working_set,
    working_size,
)
from mercer.svm._dual_loops import pairs, row_scores, singles

__all__ = ["BoxPoint", "BoxProblem", "BoxProgress", "Margins", "solve"]

#: the problem of a working set is solved to this share of the violation it began with, if that is above tolerance
INNER = 0.03
#: steps in one round for each row of a working set
STEPS = 100
#: steps at most, as in libsvm: an indefinite kernel has no optimum to arrive at
MOST_STEPS, MOST_STEPS_A_ROW = 10_000_000, 100
#: share of the tolerance that is left to rounding
ROUNDING = 0.05
#: the least violation that float32 is asked for, relative to the largest target; and the largest target, whose inverse
#: is the smallest, at which squares of slopes are within its range
SINGLE, SINGLE_TARGET = 1e-5, 1e12
#: rounds without progress after which to stop: the dual rose by no more than its rounding, the violation did not fall
IDLE, RISE = 3, 1e-15
#: steps a row after which Newton's method is tried, about as long as it takes; and Newton steps at most
SLOW, MOST_NEWTON_STEPS = 1000, 100
#: rows whose gradient is computed once more in float64
CHECKED = 128


def solve(
    problem: BoxProblem,
    *,
    tolerance: float = 1e-3,
    start: Array | None = None,
    max_iter: int = -1,
    time_limit: float | None = None,
    callback: Callable[[BoxProgress], Any] | None = None,
) -> Solution:
    """The optimum, to a violation of its conditions of at most `tolerance`.

    Parameters
    ----------
    problem : BoxProblem
        What is minimised.
    tolerance : float, default=1e-3
        Largest violation allowed, as in libsvm.
    start : ndarray of shape (n,), default=None
        A feasible β; 0 otherwise.
    max_iter : int, default=-1
        Steps of one or two coordinates at most; −1 for no limit.
    time_limit : float, default=None
        Seconds after which the best feasible β is returned, with a certificate that need not hold.
    callback : callable, default=None
        Called with a `Progress` after each round.

    Returns
    -------
    Solution
        Of a `BoxPoint`, with a certificate of kind "KKT" and the dual objective after each round.

    Raises
    ------
    FitInterrupted
        On Ctrl-C, with the solution so far.
    """
    limits = _DualLimits(tolerance, max_iter, time_limit, len(problem))
    beta = np.zeros(len(problem)) if start is None else np.clip(start, problem.lower, problem.upper)
    descent = _BoxDescent(problem, beta, _gradient(problem, problem.rows, beta), limits)
    try:
        with blas_for(1):  # tiles have a thread each, and in between BLAS's own would go on spinning
            descent.run(callback)
    except KeyboardInterrupt:
        # the gradient may be behind β, or of float32 with an error that has not been measured
        descent.gradient, descent.error = _gradient(problem, problem.rows.exact(), descent.beta), 0.0
        message = f"interrupted after {limits.steps} steps; the best coefficients so far are kept."
        raise FitInterrupted(message, descent.solution()) from None
    if start is not None:
        descent.beta = settled(descent.beta, start, problem)
    return descent.solution()


class _DualLimits:
    """When to stop, and how many steps were taken."""

    def __init__(self, tolerance: float, max_iter: int, time_limit: float | None, n: int) -> None:
        self.tolerance, self._began, self._seconds = tolerance, time.perf_counter(), time_limit
        self.steps, self._most = 0, max_iter if max_iter >= 0 else max(MOST_STEPS, MOST_STEPS_A_ROW * n)

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self._began

    @property
    def seconds_left(self) -> float | None:
        return None if self._seconds is None else self._seconds - self.elapsed

    @property
    def steps_left(self) -> int:
        return self._most - self.steps

    @property
    def reached(self) -> bool:
        return self.steps_left <= 0 or (self._seconds is not None and self.elapsed > self._seconds)


def _gradient(problem: BoxProblem, rows: KernelMatrixRows, beta: Array, numbers: Array | None = None) -> Array:
    """Kβ − t, at some rows or all."""
    support = np.flatnonzero(beta)
    numbers = np.arange(len(beta)) if numbers is None else numbers
    gradient = -problem.target[numbers].astype(float)
    if len(support):
        rows.gram.part(support, numbers).add_rows(np.arange(len(support)), beta[support], gradient)
    return gradient


def _factor(K: Array) -> Array:
    """Ψ with ΨΨᵀ = K but for what is rounding, or negative: with a column for each eigenvalue that is left."""
    values, vectors = np.linalg.eigh(K.astype(float))
    kept = values > len(K) * np.finfo(K.dtype).eps * max(values[-1], 0.0)
    return np.ascontiguousarray(vectors[:, kept] * np.sqrt(values[kept]))


class _BoxDescent:
    """β, and the gradient Kβ − t that goes with it."""

    def __init__(self, problem: BoxProblem, beta: Array, gradient: Array, limits: _DualLimits) -> None:
        self.problem, self.rows, self.limits = problem, problem.rows, limits
        self.beta, self.gradient, self.error = beta, gradient, 0.0
        self.trace: list[float] = []
        self._working: Array = np.zeros(0, dtype=np.intp)
        self._tile = WorkingTile(self.rows.gram)
        self._slow_from: float = SLOW * len(beta)

    @property
    def _at_once(self) -> bool:
        """Whether all rows are in the working set."""
        return working_size(len(self.beta)) == len(self.beta)

    def run(self, callback: Callable[[BoxProgress], Any] | None) -> None:
        """Descend; once more in float64 where float32 was not good enough for the certificate."""
        tolerance = self.limits.tolerance
        if self.rows.gram.dtype == np.float32:
            largest = float(np.abs(self.problem.target).max())
            if 1 / SINGLE_TARGET < largest < SINGLE_TARGET:
                self.descend(max(tolerance * (1 - ROUNDING), SINGLE * largest), callback)
                self._measure_error()
                if self._scores().violation + 2 * self.error <= tolerance or self.limits.reached:
                    return
            self._become_exact()
        self.descend(tolerance, callback)

    def _become_exact(self) -> None:
        """Go on in float64."""
        self.rows.clear()  # or there would be two caches
        self.rows, self.error = self.rows.exact(), 0.0
        self._working, self._tile = self._working[:0], WorkingTile(self.rows.gram)
        self.gradient = _gradient(self.problem, self.rows, self.beta)

    def descend(self, enough: float, callback: Callable[[BoxProgress], Any] | None = None) -> None:
        """Rounds until no violation is larger than that."""
        begun, violations = len(self.trace), []
        while True:
            scores = self._scores()
            self._report(scores, callback)
            violations.append(scores.violation)
            if scores.violation <= enough or self.limits.reached or _is_idle(self.trace[begun:], violations):
                return
            aim = enough if self._at_once else max(0.5 * enough, INNER * scores.violation)
            self._round(scores, aim)

    def _round(self, scores: Scores, aim: float) -> None:
        """Descend on a working set, in the cache."""
        problem = self.problem
        chosen, kept = working_set(scores, self._working)
        K, beta, gradient = self._tile.of(chosen, kept), self.beta[chosen], self.gradient[chosen]
        most = min(STEPS * len(chosen), self.limits.steps_left)
        descend = pairs if problem.intercept else singles
        lower, upper = problem.lower[chosen], problem.upper[chosen]
        self.limits.steps += descend(K, beta, gradient, lower, upper, problem.epsilon, aim, most)
        if self._at_once:
            with np.errstate(over="ignore", invalid="ignore"):  # enormous prices: the violation will say so
                # made anew, as the rounding of many steps piles up in slopes that are only added to
                gradient = K @ beta - problem.target
            self.beta, self.gradient, self._working = beta, gradient, chosen
            if self.limits.steps >= self._slow_from and not self.limits.reached:
                self._take_newton_steps(K)
            return
        change = beta - self.beta[chosen]
        moved = np.flatnonzero(change)
        self.beta[chosen] = beta
        self.rows.add_to(self.gradient, chosen[moved], change[moved], self._free(chosen[moved]))
        self._release(np.setdiff1d(self._working, chosen, assume_unique=True))
        self._working = chosen

    def _take_newton_steps(self, K: Array) -> None:
        """Go to the optimum on the features of which K is made, if the dual is higher there; else not try again."""
        self._slow_from = np.inf
        if not np.isfinite(K).all():
            return
        features = _factor(K)
        if not features.shape[1]:
            return
        found = feature_machine.solve(
            replace(self.problem, rows=feature_machine.FeatureRows.of(features)),
            tolerance=0.0,
            start=self.beta,
            max_iter=min(MOST_NEWTON_STEPS, self.limits.steps_left),
            time_limit=self.limits.seconds_left,
        ).value
        self.limits.steps += found.steps
        before, last = (self.beta, self.gradient), self._dual()
        self.beta = feasible(found.beta, self.problem)
        self.gradient = K @ self.beta - self.problem.target
        if self._dual() > last:
            self._slow_from = self.limits.steps + SLOW * len(self.beta)
        else:
            self.beta, self.gradient = before

    def _release(self, numbers: Array) -> None:
        """Of rows that have left the working set only those off their bounds are likely to come back."""
        self.rows.release(numbers[~self._free(numbers)])

    def _free(self, numbers: Any = slice(None)) -> Array:
        return is_free(self.beta[numbers], self.problem.lower[numbers], self.problem.upper[numbers])

    def _scores(self) -> Scores:
        problem, up, down = self.problem, np.empty(len(self.beta)), np.empty(len(self.beta))
        row_scores(self.beta, self.gradient, problem.lower, problem.upper, problem.epsilon, up, down)
        return Scores(up, down, problem.intercept)

    def _measure_error(self) -> None:
        """The error of the gradient in float32, at the rows that decide about the certificate and at others."""
        scores, n = self._scores(), len(self.beta)
        every = np.arange(0, n, max(1, n // (CHECKED // 2)))
        few = min(CHECKED // 4, n - 1)
        numbers = np.unique(
            np.concatenate([every, np.argpartition(-scores.up, few)[:few], np.argpartition(-scores.down, few)[:few]])
        )
        exact = _gradient(self.problem, self.rows.exact(), self.beta, numbers)
        self.error = float(np.abs(exact - self.gradient[numbers]).max(initial=0.0))

    def _report(self, scores: Scores, callback: Callable[[BoxProgress], Any] | None) -> None:
        self.trace.append(self._dual())
        if callback is not None:
            gap = self._primal(self._intercept(scores)) - self.trace[-1]
            callback(BoxProgress(self.limits.steps, scores.violation, gap, self.limits.elapsed))

    def _half_norm(self) -> float:
        return float(0.5 * self.beta @ (self.gradient + self.problem.target))

    def _dual(self) -> float:
        problem = self.problem
        return float(problem.target @ self.beta - problem.epsilon * np.abs(self.beta).sum() - self._half_norm())

    def _primal(self, intercept: float) -> float:
        """½‖f‖² and the losses: the largest of (t − f)β − ε|β| in the box."""
        residual, problem = -(self.gradient + intercept), self.problem
        with np.errstate(over="ignore", invalid="ignore"):  # no loss costs nothing, also at an infinite price
            above, below = problem.upper * (residual - problem.epsilon), problem.lower * (residual + problem.epsilon)
            return self._half_norm() + float(np.fmax(np.fmax(above, below), 0.0).sum())

    def _intercept(self, scores: Scores) -> float:
        return scores.level(self._free()) if self.problem.intercept else 0.0

    def solution(self) -> Solution:
        scores = self._scores()
        violation = scores.violation + 2 * self.error
        intercept = self._intercept(scores)
        primal, dual = self._primal(intercept), self._dual()
        sentence = (
            f"no coefficient can move and lower the objective by a slope above {violation:.2g}; primal {primal:.8g}, "
            f"dual {dual:.8g}, gap {primal - dual:.2g} after {self.limits.steps} steps"
        )
        certificate = Margins("KKT", violation, self.limits.tolerance, sentence, primal, dual)
        point = BoxPoint(self.beta, intercept, self.gradient + self.problem.target + intercept, self.limits.steps)
        return Solution(point, certificate, tuple(self.trace))


def _is_idle(trace: list[float], violations: list[float]) -> bool:
    # a NaN has not risen or fallen, either
    if len(trace) <= IDLE or trace[-1] - trace[-1 - IDLE] > RISE * abs(trace[-1]):
        return False
    return not min(violations[-IDLE:]) < min(violations[:-IDLE])
