"""Newton's method with steps by conjugate gradients: only products with the Hessian are computed.

A product H v costs as much as a gradient, and no cost grows with the square of the columns. Steps are inexact far from
the optimum and accurate near it (Dembo, Eisenstat and Steihaug 1982). Least squares take one step: they are solved by
conjugate gradients alone.
"""

from __future__ import annotations

import numpy as np

from mercer._typing import Array
from mercer.optim.certificate import LENGTH_TOLERANCE, Progress, Solution, gradient_certificate, keep_on_interrupt
from mercer.optim.krylov import conjugate_gradient
from mercer.optim.newton import MAX_NEWTON_ITERATIONS, MAX_STEP_HALVINGS, OBJECTIVE_ROUNDING, StallMonitor
from mercer.optim.problem import Problem, Product, Smooth, evaluate, length_by_rows
from mercer.optim.scaling import Scaling, choose_scaling
from mercer.report.wording import format_count
from mercer.stats.quadratic import GRADIENT

#: products with the Hessian for one step
MAX_STEP_PRODUCTS = 1000
#: largest relative residual of a step
STEP_RESIDUAL = 0.1
#: relative residual of the step from which the certificate is computed
CERTIFICATE_RESIDUAL = 1e-6


def solve(
    problem: Problem,
    start: Array | None = None,
    *,
    tolerance: float = LENGTH_TOLERANCE,
    most_steps: int = MAX_NEWTON_ITERATIONS,
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
        Upper bound for √(gᵀH⁻¹g), the distance to the optimum in standard errors.
    most_steps : int
        Maximum number of Newton steps; beyond it the certificate does not hold.
    progress : callable, optional
        Called after each step with its number, the objective and the distance.

    Returns
    -------
    solution : Solution
        `value` has the working coefficients; `trace` has the objective after each step.

    Raises
    ------
    FitInterrupted
        On Ctrl-C, with the best solution so far.
    """
    begin = problem.start() if start is None else np.array(start, dtype=float)
    scaling = choose_scaling(problem, problem.start())
    return descend(problem, begin, scaling, tolerance=tolerance, most_steps=most_steps, progress=progress)


def descend(
    problem: Smooth,
    start: Array,
    scaling: Scaling,
    *,
    tolerance: float = LENGTH_TOLERANCE,
    most_steps: int = MAX_NEWTON_ITERATIONS,
    progress: Progress | None = None,
) -> Solution:
    """Minimise a smooth objective from `start`, in the variables of `scaling`; see `solve`."""
    descent = _NewtonCGDescent(problem, start, scaling, tolerance, progress)
    with keep_on_interrupt(descent.solution):
        descent.run(most_steps)
    return descent.solution()


class _NewtonCGDescent:
    """Newton steps from a start; the last point is the best so far."""

    def __init__(
        self, problem: Smooth, start: Array, scaling: Scaling, tolerance: float, progress: Progress | None
    ) -> None:
        self._problem, self._scaling, self._tolerance, self._progress = problem, scaling, tolerance, progress
        self._w, self._here, self._products = start, evaluate(self._problem, start, GRADIENT), 0
        self._trace = [self._here.value]
        # until there is a step, by the curvature of the scaling, SSᵀ = H⁻¹
        self._length = self._in_errors(float(np.linalg.norm(scaling.apply_transposed(self._here.gradient))))
        self._step = self._find_step()

    def _in_errors(self, length: float) -> float:
        return length / self._problem.unit(self._here.value)

    def run(self, most_steps: int) -> None:
        """Step until the gradient is short enough or no step lowers the objective."""
        monitor = StallMonitor(self._length)
        for number in range(1, most_steps + 1):
            if self._step is None or monitor.is_stalled or not self._advance(self._step):
                return
            monitor.note(self._trace[-1], self._here.value, self._length)
            self._trace.append(self._here.value)
            if self._progress is not None:
                self._progress(number, self._here.value, self._length)

    def _find_step(self) -> Array | None:
        """Return −H⁻¹ g, accurately near the optimum; None at the optimum, or if the objective is not finite."""
        if not np.isfinite(self._here.value + self._length):
            return None
        product = self._problem.hessian_product(self._w)
        step = self._solve_newton(product, min(STEP_RESIDUAL, float(np.sqrt(self._length))))
        if self._length <= self._tolerance:
            step = self._solve_newton(product, CERTIFICATE_RESIDUAL)
        if self._length <= self._tolerance:
            unit = self._problem.unit(self._here.value)
            self._length = length_by_rows(self._problem, self._w, self._here.gradient, self._length * unit) / unit
        return None if self._length <= self._tolerance else step

    def _solve_newton(self, product: Product, precision: float) -> Array:
        """Solve H s = −g in the variables u of s = S u, and measure √(gᵀH⁻¹g); the residual is measured by SSᵀ."""
        forth, back = self._scaling.apply, self._scaling.apply_transposed
        downhill = -back(self._here.gradient)
        found = conjugate_gradient(
            lambda u: back(product(forth(u))), downhill, tolerance=precision, most_steps=MAX_STEP_PRODUCTS
        )
        self._products += len(found.trace)
        unsolved = found.certificate.value * np.linalg.norm(downhill)
        self._length = self._in_errors(float(np.hypot(np.sqrt(max(0.0, downhill @ found.value)), unsolved)))
        return forth(found.value)

    def _advance(self, step: Array) -> bool:
        """Take a step, halved until the objective does not rise; return False if it always does."""
        highest = self._here.value + OBJECTIVE_ROUNDING * abs(self._here.value)
        for halvings in range(MAX_STEP_HALVINGS):
            w = self._w + step * 0.5**halvings
            there = evaluate(self._problem, w, GRADIENT)
            if there.value <= highest:
                self._w, self._here = w, there
                self._step = self._find_step()
                return True
        return False

    def solution(self) -> Solution:
        steps = f"after {format_count(len(self._trace) - 1, 'Newton step')} by {self._products} conjugate gradients"
        certificate = gradient_certificate(
            self._length, self._tolerance, f"√(gᵀH⁻¹g), {steps}", is_convex=self._problem.is_convex
        )
        return Solution(self._w, certificate, tuple(self._trace))
