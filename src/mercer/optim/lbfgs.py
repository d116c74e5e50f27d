"""L-BFGS, in variables that make the objective round where it begins.

A Hessian is never formed in full: of up to some thousand columns a sample of the rows tells enough of it, of more
columns their means and spreads (`sampled_scaling`). As with Newton's method, the length of the gradient is measured in
standard errors, λ = √(gᵀH⁻¹g): on the way with that Hessian of the start, but where the search is to end with the one
that is there, by a few of its products. It may have fallen far (classes that are nearly separable, a weak penalty):
then the gradient has more to go than it seemed to, and the search goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from mercer._threads import blas_for
from mercer._typing import Array
from mercer.optim.certificate import LengthMeasure, Progress, Solution, gradient_certificate, keep_on_interrupt
from mercer.optim.krylov import newton_direction
from mercer.optim.newton import CorrectedHessian
from mercer.optim.problem import Problem, Smooth, length_by_rows, product_of_rows
from mercer.optim.scaling import Scaling, fit_to_sample, sample_size, choose_scaling
from mercer.stats.quadratic import GRADIENT

TOLERANCE = 1e-8
MOST_STEPS = 1000
#: halvings and doublings of a step
MOST_LOOKS = 50
#: the objective falls by at least this share of what its slope promises, and at most this share of the slope is left
LEAST_FALL, MOST_SLOPE_LEFT = 1e-4, 0.9
#: an objective that falls by no more than this portion may not fall at all
ROUNDING = 1e-14
#: steps without progress after which to stop
PATIENCE = 10
#: what may be left of λ when it is measured, and products with the Hessian after which it is taken as it is
ROUGHLY, MOST_PRODUCTS = 0.1, 50


def solve(
    problem: Problem,
    start: Array | None = None,
    *,
    tolerance: float = TOLERANCE,
    most_steps: int = MOST_STEPS,
    progress: Progress | None = None,
) -> Solution:
    """Minimise a smooth problem.

    Parameters
    ----------
    problem : Problem
        Its penalty must have no absolute values.
    start : array, optional
        Where to begin; by default where no column has an effect.
    tolerance : float
        How small λ has to become, in standard errors.
    most_steps : int
        Steps after which to give up; the certificate then does not hold.
    progress : callable, optional
        Called after each step with its number, the objective and λ.

    Returns
    -------
    solution : Solution
        `value` are the working coefficients; `trace` has the objective after each step.

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
    tolerance: float = TOLERANCE,
    most_steps: int = MOST_STEPS,
    progress: Progress | None = None,
) -> Solution:
    """Minimise anything smooth from `start`, in the variables u of w = start + S u; see `solve`."""
    descent = LBFGSDescent(problem, start, scaling, tolerance, progress)
    # threads of BLAS would gain little on vectors, and go on spinning while ours work
    with keep_on_interrupt(descent.solution), blas_for(1):
        descent.run(most_steps)
    return descent.solution()


@dataclass(frozen=True, eq=False)
class LBFGSPoint:
    """A point that was looked at: w, the objective, and its gradient in the variables u and in those of w (`slope`)."""

    w: Array
    value: float
    gradient: Array
    slope: Array


class IdentityCurvature:
    """A Hessian that is a multiple of the identity: as much as the last step found, or 1."""

    def __init__(self) -> None:
        self._inverse = 1.0

    def learn(self, step: Array, change: Array) -> None:
        if (along := step @ change) > 0:
            self._inverse = along / (change @ change)

    def solve(self, gradient: Array) -> Array:
        return self._inverse * gradient


class LBFGSDescent:
    """Steps down from a start, and the best point so far."""

    def __init__(
        self, problem: Smooth, start: Array, scaling: Scaling, tolerance: float, progress: Progress | None
    ) -> None:
        self._problem, self._scaling, self._tolerance, self._progress = problem, scaling, tolerance, progress
        self._round = IdentityCurvature()
        self._model = CorrectedHessian(cast(Any, self._round))
        self.here = self._look(start)
        self._measured = LengthMeasure(self._measure)
        self.trace = [self.here.value]

    def _look(self, w: Array) -> LBFGSPoint:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            slope = self._problem.at(w, GRADIENT)
            return LBFGSPoint(w, slope.value, self._scaling.back(slope.gradient), slope.gradient)

    def _length_at_first(self) -> float:
        """λ by the curvature of the start."""
        return float(np.linalg.norm(self.here.gradient)) / self._problem.unit(self.here.value)

    @property
    def length(self) -> float:
        """λ by the curvature of the start, or by what the last steps have told of it since, whichever is longer."""
        gradient = self.here.gradient
        squared = max(gradient @ gradient, -gradient @ self._model.step(gradient))
        return float(np.sqrt(squared)) / self._problem.unit(self.here.value)

    def measured(self) -> float:
        """λ by the Hessian that is here, in the variables u."""
        return self._measured.at(self.here)

    def _measure(self) -> float:
        if not np.isfinite(self.length):
            return self.length
        forth, back, gradient = self._scaling.forth, self._scaling.back, self.here.gradient
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            some, w = _sample_for_hessian(self._problem), self.here.w
            product = self._problem.hessian_product(w) if some is None else product_of_rows(self._problem, some, w)
            step = newton_direction(
                lambda u, _: back(product(forth(u))),
                lambda r: r,
                -gradient,
                tolerance=lambda length: ROUGHLY,
                most_steps=MOST_PRODUCTS,
            )
        length = float(np.sqrt(abs(gradient @ step.value) + step.left))
        if some is None and length <= self._tolerance * self._problem.unit(self.here.value):
            length = length_by_rows(self._problem, w, self.here.slope, length)
        return length / self._problem.unit(self.here.value)

    def run(self, most_steps: int) -> None:
        """Step down until there, or until there is no way down.

        What has arrived by the curvature of the start need not have arrived by that of the point it has come to. Then
        the search goes on, but stops one step short of the limit: one that made all its steps did not get through the
        first stretch.
        """
        aim: float | None = self._tolerance
        if not self._descend(self._length_at_first, self._tolerance, most_steps):
            return
        while aim is not None and self._descend(lambda: self.length, aim, most_steps - 1):
            aim = self._measured.aim(self.here, self.length, self._tolerance)

    def _descend(self, length: Callable[[], float], aim: float, most_steps: int) -> bool:
        """Whether a `length` has come down to the aim; an objective that is not finite has no way down."""
        idle, now = 0, length()
        shortest = now
        while now > aim and len(self.trace) <= most_steps and idle < PATIENCE:
            if not np.isfinite(shortest) or not self._advance():
                return False
            now = length()
            fallen = self.trace[-2] - self.trace[-1] > ROUNDING * abs(self.here.value) or now < 0.9 * shortest
            idle, shortest = 0 if fallen else idle + 1, min(shortest, now)
        return now <= aim

    def _advance(self) -> bool:
        """One step; False if none was found that goes down."""
        before = self.here
        direction = self._model.step(before.gradient)
        found = self._search(before, direction)
        if found is None:
            return False
        size, there = found
        change = there.gradient - before.gradient
        self._round.learn(size * direction, change)
        self._model.remember(size * direction, change)
        self.here = there
        self.trace.append(there.value)
        if self._progress is not None:
            self._progress(len(self.trace) - 1, there.value, self.length)
        return True

    def _search(self, before: LBFGSPoint, direction: Array) -> tuple[float, LBFGSPoint] | None:
        """A step that is neither too long nor too short (Wolfe's conditions), by doubling and halving."""
        slope = float(before.gradient @ direction)
        along = self._scaling.forth(direction)
        low, high, size = 0.0, np.inf, 1.0
        for _ in range(MOST_LOOKS):
            there = self._look(before.w + size * along)
            slope_there = float(there.gradient @ direction)
            if _is_too_long(before.value, slope, there.value, slope_there, size):
                high = size
            elif slope_there < MOST_SLOPE_LEFT * slope:
                low = size
            else:
                return size, there
            size = 0.5 * (low + high) if np.isfinite(high) else 2 * size
        return None

    def solution(self) -> Solution:
        told = "" if _sample_for_hessian(self._problem) is None else " with H as some of the rows tell it"
        steps = f"after {len(self.trace) - 1} steps of L-BFGS"
        certificate = gradient_certificate(
            self.measured(), self._tolerance, f"√(gᵀH⁻¹g){told}, {steps}", is_convex=self._problem.is_convex
        )
        return Solution(self.here.w, certificate, tuple(self.trace))


def _sample_for_hessian(problem: Smooth) -> Any:
    """Rows that tell enough of the Hessian for a length; None where all do, or where a source has its own way."""
    observations: Any = getattr(problem, "observations", None)
    if observations is None or observations.streamed:
        return None
    return observations.some(sample_size(observations.design.n_columns), of=2)


def _is_too_long(value: float, slope: float, value_there: float, slope_there: float, size: float) -> bool:
    """Whether the objective falls too little for the length of the step.

    Near the optimum, where rounding hides by how much it falls, its slope tells instead (Hager and Zhang, 2005).
    """
    if value_there <= value + LEAST_FALL * size * slope:
        return False
    hidden = value_there <= value + ROUNDING * abs(value)
    return not (hidden and slope_there <= (2 * LEAST_FALL - 1) * slope)
