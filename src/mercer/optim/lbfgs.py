"""L-BFGS in variables in which the Hessian at the start is close to the identity.

The Hessian of all rows is never formed: for up to some thousand columns the scaling comes from a sample of the rows,
for more columns from their means and spreads (`scaling.choose_scaling`). As with Newton's method, the length of the
gradient is measured in standard errors, λ = √(gᵀH⁻¹g): during the search with the Hessian of the start, at its end with
the Hessian of the last point, by a few products with it. That may be much smaller (nearly separable classes, a weak
penalty): then λ is longer than estimated, and the search continues.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from mercer._threads import blas_for
from mercer._typing import Array
from mercer.optim.certificate import LENGTH_TOLERANCE, Certificate, LengthMeasure, Solution, gradient_certificate
from mercer.optim.descent import Callback, Descent, descend
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
    callback: Callback | None = None,
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
    callback : callable, optional
        Called with a `Step` at the start and after each iteration.

    Returns
    -------
    solution : Solution
        `coef` has the working coefficients.
    """
    if start is None and problem.observations.streamed:
        start = fit_to_sample(problem, solve)
    begin = problem.start() if start is None else np.array(start, dtype=float)
    scaling = choose_scaling(problem, begin if problem.observations.streamed else problem.start())
    return solve_from(problem, begin, scaling, tolerance=tolerance, most_steps=most_steps, callback=callback)


def solve_from(
    problem: Smooth,
    start: Array,
    scaling: Scaling,
    *,
    tolerance: float = LENGTH_TOLERANCE,
    most_steps: int = MAX_LBFGS_STEPS,
    callback: Callback | None = None,
) -> Solution:
    """Minimise a smooth objective from `start`, in the variables u of w = start + S u; see `solve`."""
    descent = LBFGSDescent(problem, start, scaling, tolerance)
    # BLAS threads gain little on vectors, and keep spinning while our threads work
    with blas_for(1):
        return descend(descent, max_iter=most_steps, callback=callback)


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


class LBFGSDescent(Descent):
    """Steps of L-BFGS from a start.

    1. Descend until λ by the curvature of the start is small enough.
    2. Measure λ by the Hessian of the point reached. If it is too long, descend to a smaller aim, by the curvature of
       the last steps, and repeat.
    """

    patience = MAX_IDLE_LBFGS_STEPS

    point: LBFGSPoint

    def __init__(self, problem: Smooth, start: Array, scaling: Scaling, tolerance: float) -> None:
        self._problem, self._scaling, self.tolerance = problem, scaling, tolerance
        self._initial = IdentityCurvature()
        self._model = CorrectedHessian(cast(Any, self._initial))
        self.point = self._evaluate(start)
        self._length_measure = LengthMeasure(self._measure)
        #: whether λ is measured by the curvature of the last steps, too, and the λ to descend to
        self._is_corrected, self._aim = False, tolerance
        self.distance = self._estimate(self.point)

    @property
    def coef(self) -> Array:
        return self.point.w

    def _evaluate(self, w: Array) -> LBFGSPoint:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            slope = self._problem.at(w, GRADIENT)
            return LBFGSPoint(w, slope.value, self._scaling.apply_transposed(slope.gradient), slope.gradient)

    def _estimate(self, there: LBFGSPoint) -> float:
        """Return λ by the curvature of the start or by its correction from the last steps, whichever is longer."""
        gradient = there.gradient
        squared = gradient @ gradient
        if self._is_corrected:
            squared = max(squared, -gradient @ self._model.step(gradient))
        return float(np.sqrt(squared)) / self._problem.unit(there.value)

    def measure_length(self) -> float:
        """Return λ by the Hessian at the present point."""
        return self._length_measure.at(self.point)

    def _measure(self) -> float:
        if not np.isfinite(length := self._estimate(self.point)):
            return length
        forth, back, gradient = self._scaling.apply, self._scaling.apply_transposed, self.point.gradient
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            sample, w = _sample_for_hessian(self._problem), self.point.w
            product = self._problem.hessian_product(w) if sample is None else product_of_rows(self._problem, sample, w)
            step = newton_direction(
                lambda u, _: back(product(forth(u))),
                lambda r: r,
                -gradient,
                tolerance=lambda length: LENGTH_ERROR,
                most_steps=MAX_LENGTH_PRODUCTS,
            )
        length = float(np.sqrt(abs(gradient @ step.value) + step.left))
        if sample is None and length <= self.tolerance * self._problem.unit(self.point.value):
            length = length_by_rows(self._problem, w, self.point.slope, length)
        return length / self._problem.unit(self.point.value)

    def has_converged(self) -> bool:
        return self._is_corrected and self.distance <= self._aim and self.measure_length() <= self.tolerance

    def advance(self) -> bool:
        """Take one step; return False at the aim, or if the line search fails."""
        if self.distance <= self._aim or not np.isfinite(self.distance):
            return False
        before = self.point
        direction = self._model.step(before.gradient)
        found = self._search(before, direction)
        if found is None:
            return False
        self.step_length, there = found
        change = there.gradient - before.gradient
        self._initial.update(self.step_length * direction, change)
        self._model.remember(self.step_length * direction, change)
        self.point, self.distance = there, self._estimate(there)
        return True

    def refine(self) -> bool:
        """Measure λ at the aim by the curvature of the last steps, too; if that is at the aim, reduce the aim."""
        if not self.distance <= self._aim:
            return False
        if not self._is_corrected:
            self._is_corrected = True
            self.distance = self._estimate(self.point)
            return True
        aim = self._length_measure.aim(self.point, self.distance, self.tolerance)
        self._aim = self._aim if aim is None else aim
        return aim is not None

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

    def certificate(self) -> Certificate:
        hessian = "" if _sample_for_hessian(self._problem) is None else " with H of a sample of the rows"
        how = f"√(gᵀH⁻¹g){hessian}, after {self.n_iter} steps of L-BFGS"
        self.distance = self.measure_length()
        return gradient_certificate(self.distance, self.tolerance, how, is_convex=self._problem.is_convex)


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
