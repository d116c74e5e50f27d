"""Norm-regularised models in the span of their rows: Newton's method for functions f(x) = Σ αᵢ k(x, xᵢ) (lecture 1).

    min over f and b of  Σ weight · loss(y, f(x) + b + offset) + λ/2 ‖f‖²

By the representer theorem the minimiser is such a sum, with ‖f‖² = αᵀKα. In the inner product of these functions the
gradient is ρ = λα + g, where g are the slopes of the losses, and the Hessian λI + WK, where W is their curvature: at
the optimum α = −g/λ, for ridge regression (y − f)/λ. The intercept is not penalised; that of the best step is linear in
f and put in, which leaves λI + W̃K with W̃ = W − W1(1ᵀW1)⁻¹1ᵀW. Steps are found by conjugate gradients, whose
preconditioner is the inverse itself at an earlier point (`kernel_products`), and halved until the objective falls: the
values of f on the rows move along a line, so that trying costs no product with K.

The length of the gradient is measured by the Hessian, in standard errors, as in `newton`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import DegenerateDataError
from mercer._threads import blas_for
from mercer._typing import Array
from mercer.optim.certificate import Progress, Solution, gradient_certificate, keep_on_interrupt
from mercer.optim.krylov import NewtonDirection, newton_direction
from mercer.optim.newton import MOST_HALVINGS, MOST_STEPS, ROUNDING, TOLERANCE, StallMonitor
from mercer.optim.span.losses import ArrayLosses, LossCurvature, ResponseLosses
from mercer.optim.span.products import KernelProducts, Preconditioner
from mercer.report.wording import counted

#: what may be left of a Newton step when conjugate gradients stop, in its own length
INEXACT = 0.1
#: rounding of an objective whose values are sums of many terms
COARSE = 1e-10
#: if a preconditioner made at the current point needs more steps than this, a better kind is worth its cost
POOR = 50
#: rows below which a factor costs no more than a few steps
ALWAYS_FACTOR = 500
#: rows below which BLAS has one thread: on busy cores two wait for each other (1,000 rows: 1.3 s a factor, not 0.03)
WORTH_THREADS = 2000


@dataclass(frozen=True, eq=False)
class KernelProblem:
    """What is minimised: losses of rows, and λ/2 times the square of the norm of f."""

    products: KernelProducts
    losses: ArrayLosses
    strength: float
    intercept: bool = True


class KernelExpansion(NamedTuple):
    """f(x) + b = Σ αᵢ k(x, xᵢ) + b, for each output, and its values on the rows."""

    alpha: Array  # (n, outputs)
    intercept: Array  # (outputs,)
    values: Array  # (n, outputs)


def solve(
    problem: KernelProblem,
    start: KernelExpansion | None = None,
    *,
    tolerance: float = TOLERANCE,
    most_steps: int = MOST_STEPS,
    progress: Progress | None = None,
) -> Solution:
    """Minimise a problem.

    Parameters
    ----------
    problem : KernelProblem
        Its strength must be above 0.
    start : Expansion, optional
        Where to begin, if that is better than f = 0, the default.
    tolerance : float
        How small the gradient has to become, in standard errors.
    most_steps : int
        Steps after which to give up; the certificate then does not hold.
    progress : callable, optional
        Called after each step with its number, the objective and the length of the gradient.

    Returns
    -------
    solution : Solution
        `value` is an `Expansion`; `trace` has the objective after each step.

    Raises
    ------
    FitInterrupted
        On Ctrl-C, with the best solution so far.
    """
    with threads_for(problem.products):
        descent = KernelNewtonDescent(problem, start, tolerance, progress)
        with keep_on_interrupt(descent.solution, "the best function found so far is kept"):
            descent.run(most_steps)
        return descent.solution()


def threads_for(products: KernelProducts) -> AbstractContextManager[None]:
    """Threads of BLAS for steps with so many rows: one for few."""
    return blas_for(1) if len(products) < WORTH_THREADS else nullcontext()


class KernelStep(NamedTuple):
    """A way to go, what it does to the values, and how long the gradient is."""

    alpha: Array
    values: Array  # of f
    intercept: Array
    squared_length: float
    cg_steps: int


class KernelNewtonDescent:
    """Steps down from a start, one at a time."""

    def __init__(
        self, problem: KernelProblem, start: KernelExpansion | None, tolerance: float, progress: Progress | None
    ) -> None:
        self._problem, self._tolerance, self._progress = problem, tolerance, progress
        shape = len(problem.products), problem.losses.outputs
        level = problem.losses.start() if problem.intercept else np.zeros(shape[1])
        self.alpha, self.intercept, self._f = np.zeros(shape), level, np.zeros(shape)
        self._preconditioner: Preconditioner | None = None
        self._fresh = self._better = False
        self.length = np.inf
        self.trace = [self._objective(self._f, self.intercept, 0.0)]
        if start is not None:
            self._begin_at(start)
        if np.isinf(self.trace[0]):
            self._begin_midway()

    def _begin_at(self, start: KernelExpansion) -> None:
        """At a start that is given, unless f = 0 is better: from far above it Newton's steps may not come down."""
        f = self._problem.products.times(start.alpha)
        value = self._objective(f, start.intercept, np.vdot(start.alpha, f))
        if value <= self.trace[0]:
            self.alpha, self.intercept, self._f = np.array(start.alpha), np.array(start.intercept), f
            self.trace = [value]

    def _begin_midway(self) -> None:
        """Where not every η has a mean, and 0 has none: from a least squares fit to means that there are."""
        problem, losses = self._problem, self._problem.losses
        if isinstance(losses, ResponseLosses):
            g, bend = losses.midway().slopes(self.eta)
            if np.isfinite(g).all() and np.isfinite(bend.typical).all():
                step = newton_step(problem, self.alpha, g, bend, self._current(bend))
                self.alpha, self._f = self.alpha + step.alpha, self._f + step.values
                self.intercept = self.intercept + step.intercept
                self.trace = [self._objective(self._f, self.intercept, np.vdot(self.alpha, self._f))]
        self._preconditioner = None
        if np.isinf(self.trace[0]):
            raise DegenerateDataError(
                "no start was found from which every row has a mean under this link. Use link='log', or fit an "
                "intercept."
            )

    @property
    def eta(self) -> Array:
        """The values on the rows, without offset."""
        return self._f + self.intercept

    def _objective(self, f: Array, intercept: Array, squared_norm: Any) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            return self._problem.losses.value(f + intercept) + 0.5 * self._problem.strength * float(squared_norm)

    @property
    def arrived(self) -> bool:
        return self.length <= self._tolerance

    def run(self, most_steps: int) -> None:
        """Step down until there, or until there is no way down."""
        if not np.isfinite(self.trace[0]):
            return
        step = self._look()
        headway = StallMonitor(self.length)
        for number in range(1, most_steps + 1):
            if self.arrived:
                self._recompute()
                step = self._look()
                if self.arrived:
                    return
            if headway.none or not self._advance(step):
                break
            if number % 10 == 0 or self._problem.losses.quadratic:
                self._recompute()
            step = self._look()
            headway.note(self.trace[-2], self.trace[-1], self.length)
            if self._progress is not None:
                self._progress(number, self.trace[-1], self.length)
        self._recompute()
        self._look()
        if not self.arrived:
            self._settle()

    def _settle(self) -> None:
        """Try α = −g/λ, as at the optimum: of a ρ that K makes 0, rounding of ρᵀKρ may be all of its length."""
        before = self.alpha, self._f, self.trace[-1], self.length
        g, _ = self._problem.losses.slopes(self.eta)
        alpha = -g / self._problem.strength
        self.alpha, self._f = alpha, self._problem.products.times(alpha)
        self.trace[-1] = self._objective(self._f, self.intercept, np.vdot(self.alpha, self._f))
        self._look()
        if not self.length < before[-1]:
            self.alpha, self._f, self.trace[-1], self.length = before

    def _recompute(self) -> None:
        """The values that the coefficients have: sums of steps drift away from them by and by."""
        self._f = self._problem.products.times(self.alpha)
        self.trace[-1] = self._objective(self._f, self.intercept, np.vdot(self.alpha, self._f))

    def _look(self) -> KernelStep:
        problem = self._problem
        g, bend = problem.losses.slopes(self.eta)
        step = newton_step(problem, self.alpha, g, bend, self._current(bend))
        if step.cg_steps > problem.products.worth_steps() / 2:
            self._better = self._better or (self._fresh and step.cg_steps > POOR)
            self._preconditioner = None
        self.length = float(np.sqrt(step.squared_length)) / problem.losses.unit(self.trace[-1])
        return step

    def _current(self, bend: LossCurvature) -> Preconditioner:
        few = len(self.alpha) < ALWAYS_FACTOR and not self._problem.losses.quadratic
        self._fresh = self._preconditioner is None or few
        if self._preconditioner is None or few:
            self._preconditioner = self._problem.products.preconditioner(
                bend, self._problem.strength, intercept=self._problem.intercept, better=self._better
            )
        return self._preconditioner

    def _advance(self, step: KernelStep) -> bool:
        """One step, halved until the objective does not rise; False if it always does."""
        before = self.trace[-1]
        # where a step cannot lower the objective by more than rounding, rounding must not forbid it
        slack = (COARSE if step.squared_length < COARSE * abs(before) else ROUNDING) * abs(before)
        norm, along, across = (float(np.vdot(*pair)) for pair in (
            (self.alpha, self._f), (step.alpha, self._f), (step.alpha, step.values)
        ))  # fmt: skip
        for share in 0.5 ** np.arange(MOST_HALVINGS):
            f, intercept = self._f + share * step.values, self.intercept + share * step.intercept
            value = self._objective(f, intercept, norm + 2 * share * along + share**2 * across)
            if value <= before + slack:
                break
        else:
            return False
        # all at once: an interruption between them would leave values that are not those of the coefficients
        self.alpha, self.intercept, self._f = self.alpha + share * step.alpha, intercept, f
        self.trace.append(value)
        return True

    def solution(self) -> Solution:
        how = f"√(ρᵀK(λI + WK)⁻¹ρ) with ρ = λα + slopes, after {counted(len(self.trace) - 1, 'Newton step')}"
        is_convex = self._problem.losses.is_convex
        certificate = gradient_certificate(self.length, self._tolerance, how, is_convex=is_convex)
        return Solution(KernelExpansion(self.alpha, self.intercept, self.eta), certificate, tuple(self.trace))


def newton_step(
    problem: KernelProblem, alpha: Array, g: Array, bend: LossCurvature, preconditioner: Preconditioner
) -> KernelStep:
    """Solve (λI + WK)Δα + W1Δb = −ρ, 1ᵀ(g + W(KΔα + 1Δb)) = 0 by conjugate gradients in the inner product uᵀKv."""
    rho, sums = problem.strength * alpha + g, g.sum(axis=0)
    intercept = -bend.level(sums) if problem.intercept else np.zeros(g.shape[1])
    residual = -(rho + bend.times(np.broadcast_to(intercept, g.shape)))
    D, KD, left, steps = conjugate_gradient(problem, bend, preconditioner, residual)
    if problem.intercept:
        intercept = intercept - bend.level(bend.times(KD).sum(axis=0))
    squared = -float(np.vdot(rho, KD)) - float(sums @ intercept if problem.intercept else 0.0)
    return KernelStep(D, KD, intercept, abs(squared) + left, steps)


def conjugate_gradient(
    problem: KernelProblem, bend: LossCurvature, preconditioner: Preconditioner, residual: Array, tolerance: float = INEXACT
) -> NewtonDirection:
    """D with (λI + W̃K) D = residual, in the inner product uᵀKv."""

    def product(V: Array, KV: Array) -> Array:
        if problem.intercept:
            KV = KV - bend.level(bend.times(KV).sum(axis=0))
        return problem.strength * V + bend.times(KV)

    return newton_direction(
        product, preconditioner.times, residual, metric=problem.products.times, tolerance=lambda length: tolerance
    )
