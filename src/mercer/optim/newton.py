"""Newton's method that computes few Hessians: from a fit to a sample, with stale curvature corrected on the way.

A pass over the data for the gradient costs a fraction of one for the Hessian. So the Hessian of a sample, or of an
earlier point, is kept while it serves, and corrected by what the gradients tell of it (Nocedal's two-loop recursion,
started from the factorised Hessian); when a step no longer shortens the gradient as it should, it is computed anew.
Steps are halved until the objective falls by a portion of what the slope promises (Armijo).

The length of the gradient is measured by the curvature itself, λ = √(gᵀH⁻¹g): λ²/2 is the distance to the minimum
of the objective, λ the distance to the minimiser in standard errors (for dispersion one).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from mercer._typing import Array
from mercer.optim.certificate import Certificate, Progress, Solution, gradient_certificate, keep_on_interrupt
from mercer.optim.curvature import Curvature
from mercer.optim.krylov import newton_direction
from mercer.optim.problem import Problem, RowSlopes, Slope, evaluate
from mercer.report.wording import counted
from mercer.stats.quadratic import GRADIENT, HESSIAN

TOLERANCE = 1e-8
MOST_STEPS = 100
#: a sample has this share of the rows, and at least so many rows per column and in all
SAMPLE_SHARE = 1 / 16
SAMPLE_PER_COLUMN = 100
SMALLEST_SAMPLE = 10_000
#: rows from which on a sample is itself begun at the fit to a sample
NESTED = 250_000
#: how closely a sample is fitted, in standard errors of its own
SAMPLE_TOLERANCE = 1e-2
#: rows below which a gradient costs as much as a Hessian
ALWAYS_HESSIAN = 5_000
#: columns up to which reading rows of a source takes longer than their Hessian
STREAMED_HESSIAN = 300
#: a step that leaves more than this share of the gradient was made with a Hessian that no longer serves
POOR_STEP = 0.2
#: pairs of steps and changes of the gradient that correct a stale Hessian
MEMORY = 8
MOST_HALVINGS = 40
#: halvings from which on each is followed by three more: gradients of e²⁰⁰ lead too far by as much
COARSE = 10
#: a step has to lower the objective by this portion of what its slope promises (Armijo)
DECREASE = 1e-4
#: halvings of a step by the expected Hessian after which it is replaced by one that bounds the Hessian from above
FEW_HALVINGS = 6
#: a step by that bound that lowers the objective by this portion of what its slope promises is doubled: 0.5 is what a
#: quadratic has, and an exponential more
NEARLY_STRAIGHT, MOST_DOUBLINGS = 0.6, 12
#: an objective that has fallen to less than this portion is seen from another place
LARGE_FALL = 0.9
#: the Hessian that is not the expected one is solved to this portion, in so many products
ROUGHLY, MOST_PRODUCTS = 0.1, 100
#: an objective that is higher by this portion is not higher
ROUNDING = 1e-13
EPSILON, TINY = float(np.finfo(float).eps), float(np.finfo(float).tiny)
#: steps in a row that neither lower the objective nor all together halve the gradient: rounding is all that is left
MOST_IN_VAIN = 5


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
        Where to begin; by default at the minimiser of a sample of the rows.
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
    with np.errstate(over="ignore", invalid="ignore"):  # of numbers beyond float64, whose certificate is NaN
        descent = NewtonDescent(problem, start, tolerance, progress)
        with keep_on_interrupt(descent.solution):
            descent.run(most_steps)
        return descent.solution()


@dataclass(frozen=True, eq=False)
class NewtonSample:
    """Coefficients that fit a sample of the rows, and the curvature there, blown up to all rows."""

    w: Array
    curvature: Curvature


def sample_start(problem: Problem, tolerance: float = SAMPLE_TOLERANCE) -> NewtonSample | None:
    """The fit to evenly spaced rows; None where the data are too few to gain by it."""
    n = len(problem.observations)
    rows = max(SMALLEST_SAMPLE, SAMPLE_PER_COLUMN * problem.n_columns, int(SAMPLE_SHARE * n))
    some = problem.observations.some(rows, of=4)
    if some is None:
        return None
    share = len(some) / n
    tolerance = tolerance if share < 1 else TOLERANCE
    descent = NewtonDescent(problem.on(some), None if len(some) >= NESTED else problem.start(), tolerance, None)
    descent.run(MOST_STEPS)
    if not (descent.arrived and (descent.fresh or descent.refresh())):
        return None  # separable or otherwise at odds: let all rows speak
    return NewtonSample(descent.w, descent.curvature.scaled_by(1 / share))


def is_hessian_cheap(problem: Problem) -> bool:
    """Whether a Hessian costs no more than the look at the rows that it takes."""
    if problem.observations.streamed:
        return problem.n_columns <= STREAMED_HESSIAN
    return len(problem.observations) < ALWAYS_HESSIAN


class NewtonDescent:
    """Steps down from a start, one at a time, and the best point so far."""

    def __init__(self, problem: Problem, start: Array | None, tolerance: float, progress: Progress | None) -> None:
        self._problem, self._tolerance, self._progress = problem, tolerance, progress
        self._cheap = not is_hessian_cheap(problem)
        self._bounding = self._measured = False
        # a Hessian that is only expected may be off by a factor however near the optimum: what steps tell of it is kept
        self._expected = not getattr(problem, "exact_hessian", True)
        sample = sample_start(problem) if start is None else None
        self._model = CorrectedHessian(Curvature.of(np.eye(problem.n_columns)) if sample is None else sample.curvature)
        begin = problem.start() if start is None else np.array(start, dtype=float)
        self.w = begin if sample is None else sample.w
        # a direction in which no row of the sample moves can only be judged by all rows
        known = sample is not None and sample.curvature.definite
        self._arrive(self._slope(self.w, GRADIENT if known and self._cheap else HESSIAN))
        self.trace = [self.here.value]

    def _slope(self, w: Array, order: int) -> Slope:
        """The problem at `w`; its Hessian is a bound where expected Hessians have led too far."""
        if not (self._bounding and order == HESSIAN):
            return evaluate(self._problem, w, order)
        here = evaluate(self._problem, w, GRADIENT)
        rows = self._problem.row_slopes(w)
        return here._replace(hessian=rows.hessian(rows.bound))

    def _arrive(self, here: Slope) -> None:
        """Make `here` the present point, and if it has a Hessian forget about older ones."""
        self.here, self._measured = here, False
        self.fresh = bool(here.hessian.size and np.isfinite(here.hessian).all())
        if self.fresh:
            self._model = CorrectedHessian(Curvature.of(here.hessian), self._model if self._expected else None)
        with np.errstate(over="ignore", invalid="ignore"):  # where there is next to no curvature
            self._step = self._model.step(here.gradient)
            squared = np.maximum(0.0, -here.gradient @ self._step)  # NaN stays NaN
        self.length = float(np.sqrt(squared)) / self._problem.unit(here.value)

    @property
    def curvature(self) -> Curvature:
        """The Hessian in use: that of the present point if `fresh`."""
        return self._model.curvature

    @property
    def arrived(self) -> bool:
        return self.length <= self._tolerance

    def run(self, most_steps: int) -> None:
        """Step down until there, or until there is no way down; an objective that is not finite has none."""
        if not np.isfinite(self.here.value + self.length):  # rows without weight spoil the gradient alone
            return
        headway = StallMonitor(self.length)
        for number in range(1, most_steps + 1):
            if self._confirmed() or headway.none or not (self._advance() or self.refresh() or self._advance_truly()):
                break
            headway.note(self.trace[-1], self.here.value, self.length)
            self.trace.append(self.here.value)
            if self._progress is not None:
                self._progress(number, self.here.value, self.length)
        self._confirmed()

    def _confirmed(self) -> bool:
        """Whether it has arrived by the Hessian itself, too, where it may be another one than that in use.

        Rows that fit badly may have next to no curvature, however much is expected of them; and where curvatures are
        too far apart for float64, the inverse of the Hessian leaves out directions that the gradient has a part in.
        """
        if self.arrived and not self._measured and self._problem.is_convex:
            if self._expected:
                self._measure_truly()
            elif not self.curvature.definite and hasattr(self._problem, "row_slopes"):
                rounding = self._problem.row_slopes(self.w).gradient_rounding()
                missed = self.curvature.missed(self.here.gradient, rounding)
                self.length = max(self.length, missed / self._problem.unit(self.here.value))
            self._measured = True
        return self.arrived

    def _measure_truly(self) -> None:
        """The step and the length of the gradient by the Hessian itself.

        It is formed where that costs little, or where its products would not do: conjugate gradients need a Hessian
        in use that is close to it.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            rows = self._problem.row_slopes(self.w)
            by_products = self._cheap and self.curvature.definite and not rows.far_apart
            formed = None if by_products else rows.length(self.here.gradient)
            if formed is None:
                length, self._step = self._measured_by_products(rows)
            else:
                length, self._step = formed[0], -formed[1]
        self.length = length / self._problem.unit(self.here.value)

    def _measured_by_products(self, rows: RowSlopes) -> tuple[float, Array]:
        """The same by conjugate gradients, whose first direction is the step by the Hessian in use."""
        step = newton_direction(
            lambda v, _: rows.product(v),
            self.curvature.solve,
            -self.here.gradient,
            tolerance=lambda length: ROUGHLY,
            most_steps=MOST_PRODUCTS,
        )
        if not step.steps and step.left > 0:  # no curvature along the gradient
            return step.left / float(np.sqrt(TINY)), self._step
        return float(np.sqrt(abs(self.here.gradient @ step.value) + step.left)), step.value

    def _advance_truly(self) -> bool:
        """A step by a bound of the Hessian, or by the Hessian itself, where the expected Hessian does not lead down."""
        if not (self._expected and self._problem.is_convex):
            return False
        if not self._bounding and not self._problem.observations.streamed:
            self._bounding, self._cheap = True, False
            self._model = CorrectedHessian(
                self._model.curvature
            )  # what steps of the expected Hessian tell does not correct it
            self._arrive(self._slope(self.w, HESSIAN))
            if self.fresh and self._advance():
                return True
        self._measure_truly()
        return self._advance()

    def _advance(self) -> bool:
        """One step, halved until the objective falls enough; False if it never does."""
        before, length = self.here, self.length
        slope = max(0.0, -float(before.gradient @ self._step))
        rounding = ROUNDING * abs(before.value)
        replaceable = self._expected and self._problem.is_convex and not self._problem.observations.streamed
        most = FEW_HALVINGS if replaceable and not self._bounding and not self._measured else MOST_HALVINGS
        for halvings in range(most):
            share = 0.5 ** (halvings + 3 * max(0, halvings - COARSE))
            step = share * self._step
            there = self._slope(self.w + step, GRADIENT if self._cheap or halvings else HESSIAN)
            if there.value <= before.value - DECREASE * share * slope + rounding:
                break
        else:
            return False
        if self._bounding and not halvings and before.value - there.value > NEARLY_STRAIGHT * slope > rounding:
            step, there = self._prolonged(step, there, slope)
        self.w = self.w + step
        if self._bounding and there.value < LARGE_FALL * before.value:  # what steps from so far away told is no longer true
            self._model = CorrectedHessian(self.curvature)
        else:
            self._model.remember(step, there.gradient - before.gradient)
        self._arrive(there)
        if not self.fresh and not self.arrived and (halvings or self._bounding or self.length > POOR_STEP * length):
            self.refresh()
        return True

    def _prolonged(self, step: Array, there: Slope, slope: float) -> tuple[Array, Slope]:
        """The step doubled for as long as the objective falls almost as its slope says."""
        for doublings in range(1, MOST_DOUBLINGS + 1):
            farther = evaluate(self._problem, self.w + 2 * step, GRADIENT)
            fallen = self.here.value - farther.value
            if not farther.value < there.value:
                break
            step, there = 2 * step, farther
            if not fallen > NEARLY_STRAIGHT * 2.0**doublings * slope and not there.value < 0.5 * self.here.value:
                break
        return step, there

    def refresh(self) -> bool:
        """Compute the Hessian of this point; False if it is the one in use already."""
        if self.fresh:
            return False
        self._arrive(self._slope(self.w, HESSIAN))
        return True

    def solution(self) -> Solution:
        return Solution(self.w, self._certificate(), tuple(self.trace))

    def _certificate(self) -> Certificate:
        how, value = f"√(gᵀH⁻¹g), after {counted(len(self.trace) - 1, 'Newton step')}", self.here.value
        with np.errstate(over="ignore", invalid="ignore"):
            # slopes are known to the rounding of η and of the losses, and the objective to its own
            rounded = EPSILON * np.hypot(self.curvature.norm(self.w), np.sqrt(2 * abs(value)))
            fall = 0.5 * (self.length * self._problem.unit(value) + rounded) ** 2 + EPSILON * abs(value)
        return gradient_certificate(
            self.length, self._tolerance, how, is_convex=self._problem.is_convex, fall=float(fall)
        )


class StallMonitor:
    """Whether steps still lead anywhere, or rounding is all that is left."""

    def __init__(self, length: float) -> None:
        self._shortest, self._lowest, self._in_vain = length, np.inf, 0

    def note(self, before: float, value: float, length: float) -> None:
        """A step has led from one value of the objective to another, and to a gradient of this length.

        What counts is the lowest value yet: one that rounding lets rise and fall again, by turns, leads nowhere.
        """
        lowest = min(self._lowest, before)
        self._lowest = min(lowest, value)
        if lowest - value > ROUNDING * abs(lowest) or length < self._shortest / 2:
            self._shortest, self._in_vain = min(self._shortest, length), 0
        else:
            self._in_vain += 1

    @property
    def none(self) -> bool:
        return self._in_vain >= MOST_IN_VAIN


class CorrectedHessian:
    """H⁻¹ g for a Hessian that was computed once, corrected by the steps since then (L-BFGS)."""

    def __init__(self, curvature: Curvature, before: CorrectedHessian | None = None) -> None:
        self.curvature = curvature
        self._memory: deque[tuple[Array, Array]] = deque(maxlen=MEMORY) if before is None else before._memory

    def remember(self, step: Array, change: Array) -> None:
        """What a step did to the gradient."""
        if step @ change > 0:
            self._memory.append((step, change))

    def step(self, gradient: Array) -> Array:
        """−H⁻¹ g, by the two-loop recursion."""
        q, shares = np.array(gradient), []
        for step, change in reversed(self._memory):
            shares.append((step @ q) / (step @ change))
            q -= shares[-1] * change
        q = self.curvature.solve(q)
        for (step, change), share in zip(self._memory, reversed(shares), strict=True):
            q += (share - (change @ q) / (step @ change)) * step
        return -q
