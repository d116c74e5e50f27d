"""Newton's method whose steps are found by conjugate gradients: the Hessian is known by its products alone.

A product H v costs as much as a gradient, so that nothing grows with the square of the columns. Far from the optimum
steps are found roughly, near it exactly (Dembo, Eisenstat and Steihaug 1982). Least squares need one step: they are
solved by conjugate gradients alone.
"""

from __future__ import annotations

import numpy as np

from mercer._typing import Array
from mercer.optim.certificate import Progress, Solution, gradient_certificate, keep_on_interrupt
from mercer.optim.krylov import conjugate_gradient
from mercer.optim.newton import StallMonitor
from mercer.optim.problem import Problem, Product, Smooth, length_by_rows, evaluate
from mercer.optim.scaling import Scaling, choose_scaling
from mercer.report.wording import counted
from mercer.stats.quadratic import GRADIENT

TOLERANCE = 1e-8
MOST_STEPS = 100
#: products of the Hessian for one step
MOST_PRODUCTS = 1000
#: the largest portion of the gradient that a step leaves unsolved, and that of the one that the certificate is from
ROUGHLY, EXACTLY = 0.1, 1e-6
MOST_HALVINGS = 40
#: an objective that is higher by this portion is not higher
ROUNDING = 1e-13


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
        How small √(gᵀH⁻¹g) has to become: the distance to the optimum in standard errors.
    most_steps : int
        Newton steps after which to give up; the certificate then does not hold.
    progress : callable, optional
        Called after each step with its number, the objective and the distance.

    Returns
    -------
    solution : Solution
        `value` are the working coefficients; `trace` has the objective after each step.

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
    tolerance: float = TOLERANCE,
    most_steps: int = MOST_STEPS,
    progress: Progress | None = None,
) -> Solution:
    """Minimise anything smooth from `start`, in variables that make it round; see `solve`."""
    descent = _NewtonCGDescent(problem, start, scaling, tolerance, progress)
    with keep_on_interrupt(descent.solution):
        descent.run(most_steps)
    return descent.solution()


class _NewtonCGDescent:
    """Steps down from a start, and the best point so far."""

    def __init__(
        self, problem: Smooth, start: Array, scaling: Scaling, tolerance: float, progress: Progress | None
    ) -> None:
        self._problem, self._scaling, self._tolerance, self._progress = problem, scaling, tolerance, progress
        self._w, self._here, self._products = start, evaluate(self._problem, start, GRADIENT), 0
        self._trace = [self._here.value]
        # until a step is known, by the curvature that the scaling stands for
        self._length = self._in_errors(float(np.linalg.norm(scaling.back(self._here.gradient))))
        self._step = self._find_step()

    def _in_errors(self, length: float) -> float:
        return length / self._problem.unit(self._here.value)

    def run(self, most_steps: int) -> None:
        """Step down until there, or until there is no way down."""
        headway = StallMonitor(self._length)
        for number in range(1, most_steps + 1):
            if self._step is None or headway.none or not self._advance(self._step):
                return
            headway.note(self._trace[-1], self._here.value, self._length)
            self._trace.append(self._here.value)
            if self._progress is not None:
                self._progress(number, self._here.value, self._length)

    def _find_step(self) -> Array | None:
        """−H⁻¹ g, as well as it is worth knowing; None at the optimum, or where nothing is finite."""
        if not np.isfinite(self._here.value + self._length):
            return None
        product = self._problem.hessian_product(self._w)
        step = self._towards(product, min(ROUGHLY, float(np.sqrt(self._length))))
        if self._length <= self._tolerance:
            step = self._towards(product, EXACTLY)
        if self._length <= self._tolerance:
            unit = self._problem.unit(self._here.value)
            self._length = length_by_rows(self._problem, self._w, self._here.gradient, self._length * unit) / unit
        return None if self._length <= self._tolerance else step

    def _towards(self, product: Product, precision: float) -> Array:
        """Solve H s = −g in the variables u of s = S u, and measure √(gᵀH⁻¹g): what is unsolved counts with SSᵀ."""
        forth, back = self._scaling.forth, self._scaling.back
        downhill = -back(self._here.gradient)
        found = conjugate_gradient(
            lambda u: back(product(forth(u))), downhill, tolerance=precision, most_steps=MOST_PRODUCTS
        )
        self._products += len(found.trace)
        unsolved = found.certificate.value * np.linalg.norm(downhill)
        self._length = self._in_errors(float(np.hypot(np.sqrt(max(0.0, downhill @ found.value)), unsolved)))
        return forth(found.value)

    def _advance(self, step: Array) -> bool:
        """Take a step, halved until the objective does not rise; False if it always does."""
        highest = self._here.value + ROUNDING * abs(self._here.value)
        for halvings in range(MOST_HALVINGS):
            w = self._w + step * 0.5**halvings
            there = evaluate(self._problem, w, GRADIENT)
            if there.value <= highest:
                self._w, self._here = w, there
                self._step = self._find_step()
                return True
        return False

    def solution(self) -> Solution:
        steps = f"after {counted(len(self._trace) - 1, 'Newton step')} by {self._products} conjugate gradients"
        certificate = gradient_certificate(
            self._length, self._tolerance, f"√(gᵀH⁻¹g), {steps}", is_convex=self._problem.is_convex
        )
        return Solution(self._w, certificate, tuple(self._trace))
