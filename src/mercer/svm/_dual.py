"""Support vector machines: the dual problem in a box, by decomposition.

Classification and regression are one problem in the signed coefficients β of f(x) = Σ βᵢ k(xᵢ, x) + b:

    minimise ½ βᵀKβ − tᵀβ + ε Σ|βᵢ|   subject to lower ≤ β ≤ upper, and Σβᵢ = 0 where there is an intercept.

For classes t = y = ±1, β = yα and ε = 0; for numbers t is the response and β = a⁺ − a⁻ (lecture 5). In each round the
rows that violate optimality most join a working set (`_working_set`), whose problem is solved in the cache
(`_smo_loops`); whole rows of K are needed only for coefficients that have moved.

Steps of two coordinates are short where bounds are decades apart, or far above the optimum of a kernel of low rank:
ten million may leave a gap of 90 %. After `SLOW_STEPS_PER_ROW` steps per row, Newton's method (`feature_machine`)
continues with the factor of a K that is in memory as a whole; then steps of two coordinates remove the remaining
violation.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from math import isfinite
from typing import Any

import numpy as np

from mercer._threads import blas_for
from mercer._typing import Array
from mercer.optim.certificate import History, Solution
from mercer.optim.span.kernel_rows import KernelMatrixRows
from mercer.svm import feature_machine
from mercer.svm._box_problem import (
    BoxPoint,
    BoxProblem,
    BoxProgress,
    BoxScores,
    Margins,
    is_free,
    make_feasible,
    snap_to_bounds,
)
from mercer.svm._smo_loops import compute_scores, descend_pairs, descend_singles
from mercer.svm._working_set import WorkingTile, choose_working_set, working_size

#: the problem of a working set is solved to this share of its initial violation, if that is above the tolerance
INNER_SHARE = 0.03
#: steps of a round, for each row of the working set
STEPS_PER_ROW = 100
#: steps of a fit at most, as in libsvm: with an indefinite kernel the descent may never end
MAX_PAIR_STEPS = 10_000_000
#: … or this many for each row, if that is more
MAX_PAIR_STEPS_PER_ROW = 100
#: share of the tolerance that is reserved for the rounding of float32
ROUNDING_SHARE = 0.05
#: least violation, relative to the largest target, that can be reached in float32
FLOAT32_VIOLATION = 1e-5
#: largest target, and the inverse of the smallest, at which squares of slopes do not leave the range of float32
FLOAT32_TARGET = 1e12
#: rounds without progress after which to stop: the dual rose by no more than its rounding, the violation did not fall
IDLE_ROUNDS = 3
#: relative rounding of the dual objective
IDLE_RISE = 1e-15
#: steps per row after which Newton's method is tried; they take about as long as it does
SLOW_STEPS_PER_ROW = 1000
#: Newton steps of one trial
MAX_NEWTON_STEPS = 100
#: rows whose gradient is computed again in float64 to measure the error of float32
CHECKED_GRADIENT_ROWS = 128


def solve(
    problem: BoxProblem,
    *,
    tolerance: float = 1e-3,
    start: Array | None = None,
    max_iter: int = -1,
    time_limit: float | None = None,
    callback: Callable[[BoxProgress], Any] | None = None,
    working_rows: int | None = None,
) -> Solution:
    """Solve a box problem to a violation of its optimality conditions of at most `tolerance`.

    Parameters
    ----------
    problem : BoxProblem
        Problem to solve.
    tolerance : float, default=1e-3
        Largest violation allowed, as in libsvm.
    start : ndarray of shape (n,), default=None
        Feasible β to start from; 0 by default.
    max_iter : int, default=-1
        Steps of one or two coordinates at most; −1 for no limit.
    time_limit : float, default=None
        Seconds after which the best feasible β is returned; its certificate need not hold.
    callback : callable, default=None
        Called with a `BoxProgress` after each round.
    working_rows : int, default=None
        Rows of a working set; by default a tenth of all rows, between 512 and 1536, and all of up to 1024 rows.

    Returns
    -------
    Solution
        A `BoxPoint`, with a certificate of kind "KKT" and the dual objective after each round.
    """
    limits = _StoppingRules(tolerance, max_iter, time_limit, len(problem))
    beta = np.zeros(len(problem)) if start is None else np.clip(start, problem.lower, problem.upper)
    descent = _BoxDescent(problem, beta, limits, working_rows or working_size(len(problem)))
    try:
        with blas_for(1):  # each tile has a thread, and BLAS's own threads would spin in between
            descent.run(callback)
    except KeyboardInterrupt:
        # the gradient may lag behind β, or be in float32 with an error that has not been measured
        descent.gradient, descent.error = _compute_gradient(problem, problem.rows.exact(), descent.beta), 0.0
        solution = descent.solution()
        return replace(solution, certificate=solution.certificate.after_interruption(), interrupted=True)
    if start is not None:
        descent.beta = snap_to_bounds(descent.beta, start, problem)
    return descent.solution()


class _StoppingRules:
    """Limits of steps and seconds, and the steps taken."""

    def __init__(self, tolerance: float, max_iter: int, time_limit: float | None, n: int) -> None:
        self.tolerance, self._began, self._seconds = tolerance, time.perf_counter(), time_limit
        self.steps, self._most = 0, max_iter if max_iter >= 0 else max(MAX_PAIR_STEPS, MAX_PAIR_STEPS_PER_ROW * n)

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
    def is_reached(self) -> bool:
        return self.steps_left <= 0 or (self._seconds is not None and self.elapsed > self._seconds)


def _compute_gradient(problem: BoxProblem, rows: KernelMatrixRows, beta: Array, numbers: Array | None = None) -> Array:
    """Return Kβ − t, at some rows or all."""
    support = np.flatnonzero(beta)
    numbers = np.arange(len(beta)) if numbers is None else numbers
    gradient = -problem.target[numbers].astype(float)
    if len(support):
        rows.gram.part(support, numbers).add_rows(np.arange(len(support)), beta[support], gradient)
    return gradient


def _factorize(K: Array) -> Array:
    """Return Ψ with ΨΨᵀ = K but for rounding and negative eigenvalues; a column for each eigenvalue that remains."""
    values, vectors = np.linalg.eigh(K.astype(float))
    kept = values > len(K) * np.finfo(K.dtype).eps * max(values[-1], 0.0)
    return np.ascontiguousarray(vectors[:, kept] * np.sqrt(values[kept]))


class _BoxDescent:
    """Decomposition: β and its gradient Kβ − t."""

    def __init__(self, problem: BoxProblem, beta: Array, limits: _StoppingRules, working_rows: int) -> None:
        self.problem, self.rows, self.limits = problem, problem.rows, limits
        self.beta, self.gradient, self.error = beta, _compute_gradient(problem, problem.rows, beta), 0.0
        self.trace: list[float] = []
        self._working: Array = np.zeros(0, dtype=np.intp)
        self._working_rows = working_rows
        self._tile = WorkingTile(self.rows.gram, working_rows)
        self._slow_from: float = SLOW_STEPS_PER_ROW * len(beta)

    @property
    def _is_whole(self) -> bool:
        """Return whether the working set has all rows."""
        return self._working_rows >= len(self.beta)

    def run(self, callback: Callable[[BoxProgress], Any] | None) -> None:
        """Descend; repeat in float64 if float32 was not accurate enough for the certificate."""
        tolerance = self.limits.tolerance
        if self.rows.gram.dtype == np.float32:
            largest = float(np.abs(self.problem.target).max())
            if 1 / FLOAT32_TARGET < largest < FLOAT32_TARGET:
                self.descend(max(tolerance * (1 - ROUNDING_SHARE), FLOAT32_VIOLATION * largest), callback)
                self._measure_error()
                if self._scores().violation + 2 * self.error <= tolerance or self.limits.is_reached:
                    return
            self._switch_to_float64()
        self.descend(tolerance, callback)

    def _switch_to_float64(self) -> None:
        """Continue in float64."""
        self.rows.clear()  # so that there is only one cache in memory
        self.rows, self.error = self.rows.exact(), 0.0
        self._working, self._tile = self._working[:0], WorkingTile(self.rows.gram, self._working_rows)
        self.gradient = _compute_gradient(self.problem, self.rows, self.beta)

    def descend(self, target_violation: float, callback: Callable[[BoxProgress], Any] | None = None) -> None:
        """Make rounds until no violation is larger than `target_violation`."""
        first, violations = len(self.trace), []
        while True:
            scores = self._scores()
            self._report(scores, callback)
            violations.append(scores.violation)
            if (
                scores.violation <= target_violation
                or self.limits.is_reached
                or _is_idle(self.trace[first:], violations)
            ):
                return
            aim = target_violation if self._is_whole else max(0.5 * target_violation, INNER_SHARE * scores.violation)
            self._make_round(scores, aim)

    def _make_round(self, scores: BoxScores, aim: float) -> None:
        """Solve the problem of a working set, in the cache."""
        problem = self.problem
        chosen, kept = choose_working_set(scores, self._working, self._working_rows)
        K, beta, gradient = self._tile.compute(chosen, kept), self.beta[chosen], self.gradient[chosen]
        most = min(STEPS_PER_ROW * len(chosen), self.limits.steps_left)
        descend = descend_pairs if problem.intercept else descend_singles
        lower, upper = problem.lower[chosen], problem.upper[chosen]
        self.limits.steps += descend(K, beta, gradient, lower, upper, problem.epsilon, aim, most)
        if self._is_whole:
            with np.errstate(over="ignore", invalid="ignore"):  # with an enormous C, the violation is not finite
                # computed again, since the rounding of many steps accumulates in the gradient
                gradient = K @ beta - problem.target
            self.beta, self.gradient, self._working = beta, gradient, chosen
            if self.limits.steps >= self._slow_from and not self.limits.is_reached:
                self._take_newton_steps(K)
            return
        change = beta - self.beta[chosen]
        moved = np.flatnonzero(change)
        self.beta[chosen] = beta
        self.rows.add_to(self.gradient, chosen[moved], change[moved], self._free(chosen[moved]))
        # rows that left the working set, except those off their bounds, which may return
        left = np.setdiff1d(self._working, chosen, assume_unique=True)
        self.rows.release(left[~self._free(left)])
        self._working = chosen

    def _take_newton_steps(self, K: Array) -> None:
        """Continue by Newton's method on features that make up K, if that raises the dual; otherwise stop trying."""
        self._slow_from = np.inf
        if not np.isfinite(K).all():
            return
        features = _factorize(K)
        if not features.shape[1]:
            return
        solution = feature_machine.solve(
            replace(self.problem, rows=feature_machine.FeatureRows.of(features)),
            tolerance=0.0,
            start=self.beta,
            max_iter=min(MAX_NEWTON_STEPS, self.limits.steps_left),
            time_limit=self.limits.seconds_left,
        )
        found = solution.require_completion().coef
        self.limits.steps += found.steps
        before, last = (self.beta, self.gradient), self._dual()
        self.beta = make_feasible(found.beta, self.problem)
        self.gradient = K @ self.beta - self.problem.target
        if self._dual() > last:
            self._slow_from = self.limits.steps + SLOW_STEPS_PER_ROW * len(self.beta)
        else:
            self.beta, self.gradient = before

    def _free(self, numbers: Any = slice(None)) -> Array:
        return is_free(self.beta[numbers], self.problem.lower[numbers], self.problem.upper[numbers])

    def _scores(self) -> BoxScores:
        problem, up, down = self.problem, np.empty(len(self.beta)), np.empty(len(self.beta))
        compute_scores(self.beta, self.gradient, problem.lower, problem.upper, problem.epsilon, up, down)
        return BoxScores(up, down, problem.intercept)

    def _measure_error(self) -> None:
        """Measure the error of the gradient in float32, at the rows that determine the certificate and at others."""
        scores, n = self._scores(), len(self.beta)
        every = np.arange(0, n, max(1, n // (CHECKED_GRADIENT_ROWS // 2)))
        few = min(CHECKED_GRADIENT_ROWS // 4, n - 1)
        numbers = np.unique(
            np.concatenate([every, np.argpartition(-scores.up, few)[:few], np.argpartition(-scores.down, few)[:few]])
        )
        exact = _compute_gradient(self.problem, self.rows.exact(), self.beta, numbers)
        self.error = float(np.abs(exact - self.gradient[numbers]).max(initial=0.0))

    def _report(self, scores: BoxScores, callback: Callable[[BoxProgress], Any] | None) -> None:
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
        """Return ½‖f‖² plus the losses, each the largest (t − f)β − ε|β| in the box."""
        residual, problem = -(self.gradient + intercept), self.problem
        with np.errstate(over="ignore", invalid="ignore"):  # 0 · ∞, a row without loss and an infinite C, is 0
            above, below = problem.upper * (residual - problem.epsilon), problem.lower * (residual + problem.epsilon)
            return self._half_norm() + float(np.fmax(np.fmax(above, below), 0.0).sum())

    def _intercept(self, scores: BoxScores) -> float:
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
        if isfinite(certificate.gap) and not certificate.has_small_gap:
            share = certificate.gap / abs(primal) if primal else np.inf
            gap = (
                f"the objective may be {certificate.gap:.2g} above its minimum, which is {share:.2g} of it; {sentence}"
            )
            certificate = replace(certificate, sentence=gap)
        point = BoxPoint(self.beta, intercept, self.gradient + self.problem.target + intercept, self.limits.steps)
        return Solution(point, certificate, History.of(self.trace))


def _is_idle(trace: list[float], violations: list[float]) -> bool:
    """Return whether neither the dual nor the violation made progress; NaN counts as none."""
    if len(trace) <= IDLE_ROUNDS or trace[-1] - trace[-1 - IDLE_ROUNDS] > IDLE_RISE * abs(trace[-1]):
        return False
    return not min(violations[-IDLE_ROUNDS:]) < min(violations[:-IDLE_ROUNDS])
