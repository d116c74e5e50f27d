"""L-BFGS in variables in which the Hessian at the start is close to the identity.

The Hessian of all rows is never formed: for up to some thousand columns the scaling comes from a sample of the rows,
for more columns from their means and spreads (`scaling.choose_scaling`). As with Newton's method, the length of the
gradient is measured in standard errors, λ = √(gᵀH⁻¹g): during the search with the Hessian of the start, at its end with
the Hessian of the last point, by a few products with it. That may be much smaller (nearly separable classes, a weak
penalty): then λ is longer than estimated, and the search continues.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from mercer._threads import blas_for
from mercer._typing import Array
from mercer.optim.certificate import (
    LENGTH_TOLERANCE,
    LengthMeasure,
    Progress,
    Solution,
    gradient_certificate,
    keep_on_interrupt,
)
from mercer.optim.krylov import newton_direction
from mercer.optim.newton import LENGTH_ERROR, CorrectedHessian
from mercer.optim.problem import Problem, Smooth, length_by_rows, product_of_rows
from mercer.optim.scaling import Scaling, choose_scaling, fit_to_sample, sample_size
from mercer.stats.quadratic import GRADIENT

#: default limit for the number of steps of L-BFGS
MAX_LBFGS_STEPS = 1000
#: evaluations in a line search, which doubles and halves the step
MOST_EVALUATIONS = 50
#: Wolfe's first condition: the fall of the objective is at least this share of its linear prediction
WOLFE_FALL = 1e-4
#: Wolfe's second condition: the slope is at most this share of the slope before
WOLFE_SLOPE = 0.9
#: a fall of the objective by this portion may be rounding
FALL_ROUNDING = 1e-14
#: consecutive steps without progress
MAX_IDLE_LBFGS_STEPS = 10
#: products with the Hessian for a measurement of λ
MAX_LENGTH_PRODUCTS = 50


def solve(
    problem: Problem,
    start: Array | None = None,
    *,
    tolerance: float = LENGTH_TOLERANCE,
    most_steps: int = MAX_LBFGS_STEPS,
    progress: Progress | None = None,
) -> Solution:
    """Minimise a smooth problem.

    Parameters
    ----------
    problem : Problem
        Its penalty must have no absolute values.
    start : array, optional
        Initial coefficients; no column has an effect by default.
    tolerance : float
        Upper bound for λ, in standard errors.
    most_steps : int
        Maximum number of steps; beyond it the certificate does not hold.
    progress : callable, optional
        Called after each step with its number, the objective and λ.

    Returns
    -------
    solution : Solution
        `value` has the working coefficients; `trace` has the objective after each step.

    Raises
    ------
    FitInterrupted
        On Ctrl-C, with the best solution so far.
    """
    if start is None and problem.observations.streamed:
        start = fit_to_sample(problem, solve)
    begin = problem.start() if start is None else np.array(start, dtype=float)
    scaling = choose_scaling(problem, begin if problem.observations.streamed else problem.start())
    return descend(problem, begin, scaling, tolerance=tolerance, most_steps=most_steps, progress=progress)


def descend(
    problem: Smooth,
    start: Array,
    scaling: Scaling,
    *,
    tolerance: float = LENGTH_TOLERANCE,
    most_steps: int = MAX_LBFGS_STEPS,
    progress: Progress | None = None,
) -> Solution:
    """Minimise a smooth objective from `start`, in the variables u of w = start + S u; see `solve`."""
    descent = LBFGSDescent(problem, start, scaling, tolerance, progress)
    # BLAS threads gain little on vectors, and keep spinning while our threads work
    with keep_on_interrupt(descent.solution), blas_for(1):
        descent.run(most_steps)
    return descent.solution()


@dataclass(frozen=True, eq=False)
class LBFGSPoint:
    """A point w with the objective, its gradient by the variables u, and its gradient by w (`slope`)."""

    w: Array
    value: float
    gradient: Array
    slope: Array


class IdentityCurvature:
    """A Hessian that is a multiple of the identity: 1, or the curvature along the last step."""

    def __init__(self) -> None:
        self._inverse = 1.0

    def update(self, step: Array, change: Array) -> None:
        """Set H⁻¹ to sᵀy/yᵀy for a step s and the change y of the gradient, if that is positive."""
        if (along := step @ change) > 0:
            self._inverse = along / (change @ change)

    def solve(self, gradient: Array) -> Array:
        """Return H⁻¹ g."""
        return self._inverse * gradient


class LBFGSDescent:
    """Steps of L-BFGS from a start; the last point is the best so far."""

    def __init__(
        self, problem: Smooth, start: Array, scaling: Scaling, tolerance: float, progress: Progress | None
    ) -> None:
        self._problem, self._scaling, self._tolerance, self._progress = problem, scaling, tolerance, progress
        self._initial = IdentityCurvature()
        self._model = CorrectedHessian(cast(Any, self._initial))
        self.here = self._evaluate(start)
        self._length_measure = LengthMeasure(self._measure)
        self.trace = [self.here.value]

    def _evaluate(self, w: Array) -> LBFGSPoint:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            slope = self._problem.at(w, GRADIENT)
            return LBFGSPoint(w, slope.value, self._scaling.apply_transposed(slope.gradient), slope.gradient)

    def _length_at_first(self) -> float:
        """Return λ by the curvature of the start."""
        return float(np.linalg.norm(self.here.gradient)) / self._problem.unit(self.here.value)

    @property
    def length(self) -> float:
        """Return λ by the curvature of the start or by its correction from the last steps, whichever is longer."""
        gradient = self.here.gradient
        squared = max(gradient @ gradient, -gradient @ self._model.step(gradient))
        return float(np.sqrt(squared)) / self._problem.unit(self.here.value)

    def measure_length(self) -> float:
        """Return λ by the Hessian at the present point."""
        return self._length_measure.at(self.here)

    def _measure(self) -> float:
        if not np.isfinite(self.length):
            return self.length
        forth, back, gradient = self._scaling.apply, self._scaling.apply_transposed, self.here.gradient
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            sample, w = _sample_for_hessian(self._problem), self.here.w
            product = self._problem.hessian_product(w) if sample is None else product_of_rows(self._problem, sample, w)
            step = newton_direction(
                lambda u, _: back(product(forth(u))),
                lambda r: r,
                -gradient,
                tolerance=lambda length: LENGTH_ERROR,
                most_steps=MAX_LENGTH_PRODUCTS,
            )
        length = float(np.sqrt(abs(gradient @ step.value) + step.left))
        if sample is None and length <= self._tolerance * self._problem.unit(self.here.value):
            length = length_by_rows(self._problem, w, self.here.slope, length)
        return length / self._problem.unit(self.here.value)

    def run(self, most_steps: int) -> None:
        """Step until λ is small enough or no step lowers the objective.

        1. Descend until λ by the curvature of the start is small enough.
        2. Measure λ by the Hessian of the point reached. If it is too long, descend to a smaller aim, and repeat. This
           stops one step short of the limit: only a search that ends in step 1 makes all steps.
        """
        aim: float | None = self._tolerance
        if not self._descend(self._length_at_first, self._tolerance, most_steps):
            return
        while aim is not None and self._descend(lambda: self.length, aim, most_steps - 1):
            aim = self._length_measure.aim(self.here, self.length, self._tolerance)

    def _descend(self, length: Callable[[], float], aim: float, most_steps: int) -> bool:
        """Step until `length` is at most the aim; return whether it is. Do nothing if the objective is not finite."""
        idle, now = 0, length()
        shortest = now
        while now > aim and len(self.trace) <= most_steps and idle < MAX_IDLE_LBFGS_STEPS:
            if not np.isfinite(shortest) or not self._advance():
                return False
            now = length()
            fallen = self.trace[-2] - self.trace[-1] > FALL_ROUNDING * abs(self.here.value) or now < 0.9 * shortest
            idle, shortest = 0 if fallen else idle + 1, min(shortest, now)
        return now <= aim

    def _advance(self) -> bool:
        """Take one step; return False if the line search fails."""
        before = self.here
        direction = self._model.step(before.gradient)
        found = self._search(before, direction)
        if found is None:
            return False
        size, there = found
        change = there.gradient - before.gradient
        self._initial.update(size * direction, change)
        self._model.remember(size * direction, change)
        self.here = there
        self.trace.append(there.value)
        if self._progress is not None:
            self._progress(len(self.trace) - 1, there.value, self.length)
        return True

    def _search(self, before: LBFGSPoint, direction: Array) -> tuple[float, LBFGSPoint] | None:
        """Find a step that satisfies Wolfe's conditions, by doubling and halving; None if that fails."""
        slope = float(before.gradient @ direction)
        along = self._scaling.apply(direction)
        low, high, size = 0.0, np.inf, 1.0
        for _ in range(MOST_EVALUATIONS):
            there = self._evaluate(before.w + size * along)
            slope_there = float(there.gradient @ direction)
            if _is_too_long(before.value, slope, there.value, slope_there, size):
                high = size
            elif slope_there < WOLFE_SLOPE * slope:
                low = size
            else:
                return size, there
            size = 0.5 * (low + high) if np.isfinite(high) else 2 * size
        return None

    def solution(self) -> Solution:
        hessian = "" if _sample_for_hessian(self._problem) is None else " with H of a sample of the rows"
        steps = f"after {len(self.trace) - 1} steps of L-BFGS"
        certificate = gradient_certificate(
            self.measure_length(), self._tolerance, f"√(gᵀH⁻¹g){hessian}, {steps}", is_convex=self._problem.is_convex
        )
        return Solution(self.here.w, certificate, tuple(self.trace))


def _sample_for_hessian(problem: Smooth) -> Any:
    """Return the rows whose Hessian measures λ; None for all rows, or for a source, which samples by itself."""
    observations: Any = getattr(problem, "observations", None)
    if observations is None or observations.streamed:
        return None
    return observations.some(sample_size(observations.design.n_columns), of=2)


def _is_too_long(value: float, slope: float, value_there: float, slope_there: float, size: float) -> bool:
    """Return whether the objective falls too little for the length of the step.

    Near the optimum, where the fall is lost in rounding, the slope decides (Hager and Zhang 2005).
    """
    if value_there <= value + WOLFE_FALL * size * slope:
        return False
    hidden = value_there <= value + FALL_ROUNDING * abs(value)
    return not (hidden and slope_there <= (2 * WOLFE_FALL - 1) * slope)
