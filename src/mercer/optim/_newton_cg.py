"""Newton's method with steps by conjugate gradients: only products with the Hessian are computed.

A product H v costs as much as a gradient, and no cost grows with the square of the columns. Steps are inexact far from
the optimum and accurate near it (Dembo, Eisenstat and Steihaug 1982). Least squares take one step: they are solved by
conjugate gradients alone.
"""

from __future__ import annotations

import numpy as np

from mercer._typing import Array
from mercer.optim.certificate import LENGTH_TOLERANCE, Certificate, Solution, gradient_certificate
from mercer.optim.descent import Callback, Descent, descend, halve_step, rounding_above
from mercer.optim.krylov import conjugate_gradient
from mercer.optim.newton import MAX_NEWTON_ITERATIONS
from mercer.optim.problem import Problem, Product, Slope, Smooth, evaluate, length_by_rows
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
        Upper bound for √(gᵀH⁻¹g), the distance to the optimum in standard errors.
    most_steps : int
        Maximum number of Newton steps; beyond it the certificate does not hold.
    callback : callable, optional
        Called with a `Step` at the start and after each iteration.

    Returns
    -------
    solution : Solution
        `coef` has the working coefficients.
    """
    begin = problem.start() if start is None else np.array(start, dtype=float)
    scaling = choose_scaling(problem, problem.start())
    return solve_from(problem, begin, scaling, tolerance=tolerance, most_steps=most_steps, callback=callback)


def solve_from(
    problem: Smooth,
    start: Array,
    scaling: Scaling,
    *,
    tolerance: float = LENGTH_TOLERANCE,
    most_steps: int = MAX_NEWTON_ITERATIONS,
    callback: Callback | None = None,
) -> Solution:
    """Minimise a smooth objective from `start`, in the variables of `scaling`; see `solve`."""
    descent = NewtonCGDescent(problem, start, scaling, tolerance)
    return descend(descent, max_iter=most_steps, callback=callback)


class NewtonCGDescent(Descent):
    """Newton steps by conjugate gradients from a start."""

    point: Slope

    def __init__(self, problem: Smooth, start: Array, scaling: Scaling, tolerance: float) -> None:
        self._problem, self._scaling, self.tolerance = problem, scaling, tolerance
        self._w, self.point, self._products = start, evaluate(problem, start, GRADIENT), 0
        # until there is a step, by the curvature of the scaling, SSᵀ = H⁻¹
        self.distance = self._in_errors(float(np.linalg.norm(scaling.apply_transposed(self.point.gradient))))
        self._step = self._find_step()

    @property
    def coef(self) -> Array:
        return self._w

    def _in_errors(self, length: float) -> float:
        return length / self._problem.unit(self.point.value)

    def _find_step(self) -> Array | None:
        """Return −H⁻¹ g, accurately near the optimum; None at the optimum, or if the objective is not finite."""
        if not np.isfinite(self.point.value + self.distance):
            return None
        product = self._problem.hessian_product(self._w)
        step = self._solve_newton(product, min(STEP_RESIDUAL, float(np.sqrt(self.distance))))
        if self.distance <= self.tolerance:
            step = self._solve_newton(product, CERTIFICATE_RESIDUAL)
        if self.distance <= self.tolerance:
            unit = self._problem.unit(self.point.value)
            self.distance = length_by_rows(self._problem, self._w, self.point.gradient, self.distance * unit) / unit
        return None if self.distance <= self.tolerance else step

    def _solve_newton(self, product: Product, precision: float) -> Array:
        """Solve H s = −g in the variables u of s = S u, and measure √(gᵀH⁻¹g); the residual is measured by SSᵀ."""
        forth, back = self._scaling.apply, self._scaling.apply_transposed
        downhill = -back(self.point.gradient)
        found = conjugate_gradient(
            lambda u: back(product(forth(u))), downhill, tolerance=precision, most_steps=MAX_STEP_PRODUCTS
        ).require_completion()
        self._products += found.n_iter
        unsolved = found.certificate.value * np.linalg.norm(downhill)
        self.distance = self._in_errors(float(np.hypot(np.sqrt(max(0.0, downhill @ found.coef)), unsolved)))
        return forth(found.coef)

    def advance(self) -> bool:
        """Take a step, halved until the objective does not rise; return False if it always does."""
        step = self._step
        if step is None:
            return False
        found = halve_step(
            lambda share: evaluate(self._problem, self._w + share * step, GRADIENT), rounding_above(self.point.value)
        )
        if found is None:
            return False
        self.step_length = found.length
        self._w, self.point = self._w + found.length * step, found.point
        self._step = self._find_step()
        return True

    def certificate(self) -> Certificate:
        steps = f"after {format_count(self.n_iter, 'Newton step')} by {self._products} conjugate gradients"
        return gradient_certificate(
            self.distance, self.tolerance, f"√(gᵀH⁻¹g), {steps}", is_convex=self._problem.is_convex
        )
