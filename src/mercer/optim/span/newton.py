"""Newton's method for norm-regularised functions in the span of the rows, f(x) = Σ αᵢ k(x, xᵢ) (lecture 1).

    min over f and b of  Σ weight · loss(y, f(x) + b + offset) + λ/2 ‖f‖²

By the representer theorem the minimiser is such a sum, with ‖f‖² = αᵀKα. In the inner product of these functions the
gradient is ρ = λα + g, where g are the slopes of the losses, and the Hessian λI + WK, where W is their curvature: at
the optimum α = −g/λ, for ridge regression (y − f)/λ. The intercept is not penalised; that of the optimal step is linear
in f and eliminated, which leaves λI + W̃K with W̃ = W − W1(1ᵀW1)⁻¹1ᵀW. Each iteration:

1. Find the step by conjugate gradients, preconditioned by the inverse at an earlier point (`span.products`); the same
   solution measures the length of the gradient by the Hessian, in standard errors, as in `newton`.
2. Halve the step until the objective does not rise: the values of f on the rows are linear in its length, so that a
   trial costs no product with K.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import DegenerateDataError
from mercer._threads import blas_for
from mercer._typing import Array
from mercer.optim.certificate import LENGTH_TOLERANCE, Certificate, Solution, gradient_certificate
from mercer.optim.descent import OBJECTIVE_ROUNDING, Callback, Descent, descend, halve_step
from mercer.optim.krylov import NewtonDirection, newton_direction
from mercer.optim.newton import MAX_NEWTON_ITERATIONS
from mercer.optim.span.losses import ArrayLosses, LossCurvature, ResponseLosses
from mercer.optim.span.products import KernelProducts, Preconditioner
from mercer.report.wording import format_count

#: relative error of a Newton step at which conjugate gradients stop
STEP_ERROR = 0.1
#: relative rounding error of an objective that sums many terms
SUM_OBJECTIVE_ROUNDING = 1e-10
#: conjugate gradient steps above which a preconditioner of the present point is replaced by a better kind
POOR_PRECONDITIONER_STEPS = 50
#: rows below which a factorisation costs no more than a few steps
ALWAYS_FACTOR = 500
#: rows below which BLAS uses one thread: on busy cores two wait for each other (1,000 rows: 1.3 s a factor, not 0.03)
MIN_ROWS_FOR_BLAS_THREADS = 2000


@dataclass(frozen=True, eq=False)
class KernelProblem:
    """Minimise Σ weight · loss(y, f(x) + b + offset) + λ/2 ‖f‖² over f and b."""

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
    tolerance: float = LENGTH_TOLERANCE,
    most_steps: int = MAX_NEWTON_ITERATIONS,
    callback: Callback | None = None,
    always_factor: int = ALWAYS_FACTOR,
    poor: int = POOR_PRECONDITIONER_STEPS,
) -> Solution:
    """Minimise a problem.

    Parameters
    ----------
    problem : KernelProblem
        Its strength must be above 0.
    start : KernelExpansion, optional
        Initial function, used if it is better than f = 0.
    tolerance : float
        Upper bound for the length of the gradient, in standard errors.
    most_steps : int
        Maximum number of steps; beyond it the certificate does not hold.
    callback : callable, optional
        Called with a `Step` at the start and after each iteration.
    always_factor : int
        Rows below which every step has a preconditioner of its own.
    poor : int
        Conjugate gradient steps above which a preconditioner of the present point is replaced by a better kind.

    Returns
    -------
    solution : Solution
        `coef` is a `KernelExpansion`.
    """
    with threads_for(problem.products):
        descent = KernelNewtonDescent(problem, start, tolerance, always_factor=always_factor, poor=poor)
        return descend(descent, max_iter=most_steps, callback=callback)


def threads_for(products: KernelProducts) -> AbstractContextManager[None]:
    """Return a context with one thread of BLAS for few rows."""
    return blas_for(1) if len(products) < MIN_ROWS_FOR_BLAS_THREADS else nullcontext()


class KernelStep(NamedTuple):
    """A step, its change of the values, and the length of the gradient."""

    alpha: Array
    values: Array  # of f
    intercept: Array
    squared_length: float
    cg_steps: int


class KernelTrial(NamedTuple):
    """The values of f, the intercept and the objective for a portion of a step."""

    f: Array
    intercept: Array
    value: float


class KernelNewtonDescent(Descent):
    """Newton steps from a start."""

    def __init__(
        self,
        problem: KernelProblem,
        start: KernelExpansion | None,
        tolerance: float,
        *,
        always_factor: int,
        poor: int,
    ) -> None:
        self._problem, self.tolerance = problem, tolerance
        self._always_factor, self._poor = always_factor, poor
        shape = len(problem.products), problem.losses.outputs
        level = problem.losses.start() if problem.intercept else np.zeros(shape[1])
        self.alpha, self.intercept, self._f = np.zeros(shape), level, np.zeros(shape)
        self._preconditioner: Preconditioner | None = None
        self._fresh = self._better = False
        self.distance = np.inf
        self.value = self._evaluate(self._f, self.intercept, 0.0)
        if start is not None:
            self._begin_at(start)
        if np.isinf(self.value):
            self._begin_midway()

    @property
    def coef(self) -> KernelExpansion:
        return KernelExpansion(self.alpha, self.intercept, self.eta)

    @property
    def objective(self) -> float:
        return self.value

    def _begin_at(self, start: KernelExpansion) -> None:
        """Begin at a given start unless f = 0 is better: far above it, Newton steps may not converge."""
        f = self._problem.products.matvec(start.alpha)
        value = self._evaluate(f, start.intercept, np.vdot(start.alpha, f))
        if value <= self.value:
            self.alpha, self.intercept, self._f = np.array(start.alpha), np.array(start.intercept), f
            self.value = value

    def _begin_midway(self) -> None:
        """Begin at a least squares fit to feasible means, if η = 0 has no mean under the link."""
        problem, losses = self._problem, self._problem.losses
        if isinstance(losses, ResponseLosses):
            g, curvature = losses.midway().slopes(self.eta)
            if np.isfinite(g).all() and np.isfinite(curvature.typical).all():
                step = newton_step(problem, self.alpha, g, curvature, self._current(curvature))
                self.alpha, self._f = self.alpha + step.alpha, self._f + step.values
                self.intercept = self.intercept + step.intercept
                self.value = self._evaluate(self._f, self.intercept, np.vdot(self.alpha, self._f))
        self._preconditioner = None
        if np.isinf(self.value):
            raise DegenerateDataError(
                "no start was found from which every row has a mean under this link. Use link='log', or fit an "
                "intercept."
            )

    @property
    def eta(self) -> Array:
        """Return the values on the rows, without offset."""
        return self._f + self.intercept

    def _evaluate(self, f: Array, intercept: Array, squared_norm: Any) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            return self._problem.losses.value(f + intercept) + 0.5 * self._problem.strength * float(squared_norm)

    @property
    def is_short(self) -> bool:
        """True if the gradient is short enough."""
        return self.distance <= self.tolerance

    def begin(self) -> None:
        if np.isfinite(self.value):
            self._step = self._find_step()

    def has_converged(self) -> bool:
        if self.is_short:
            self._recompute()
            self._step = self._find_step()
        return self.is_short

    def advance(self) -> bool:
        """Take one step, halved until the objective does not rise; return False if it always does."""
        if not self._search_along(self._step):
            return False
        if (self.n_iter + 1) % 10 == 0 or self._problem.losses.quadratic:
            self._recompute()
        self._step = self._find_step()
        return True

    def finish(self) -> None:
        if not np.isfinite(self.value):
            return
        self._recompute()
        self._find_step()
        if not self.is_short:
            self._try_stationary()

    def _try_stationary(self) -> None:
        """Try α = −g/λ, as at the optimum: if Kρ is almost 0, the length may consist of the rounding of ρᵀKρ."""
        before = self.alpha, self._f, self.value, self.distance
        g, _ = self._problem.losses.slopes(self.eta)
        alpha = -g / self._problem.strength
        self.alpha, self._f = alpha, self._problem.products.matvec(alpha)
        self.value = self._evaluate(self._f, self.intercept, np.vdot(self.alpha, self._f))
        self._find_step()
        if not self.distance < before[-1]:
            self.alpha, self._f, self.value, self.distance = before

    def _recompute(self) -> None:
        """Compute the values from the coefficients: sums of steps gradually drift away from them."""
        self._f = self._problem.products.matvec(self.alpha)
        self.value = self._evaluate(self._f, self.intercept, np.vdot(self.alpha, self._f))

    def _find_step(self) -> KernelStep:
        """Return the Newton step at the present point, and measure the length of the gradient."""
        problem = self._problem
        g, curvature = problem.losses.slopes(self.eta)
        step = newton_step(problem, self.alpha, g, curvature, self._current(curvature))
        if step.cg_steps > problem.products.worth_steps() / 2:
            self._better = self._better or (self._fresh and step.cg_steps > self._poor)
            self._preconditioner = None
        self.distance = float(np.sqrt(step.squared_length)) / problem.losses.unit(self.value)
        return step

    def _current(self, curvature: LossCurvature) -> Preconditioner:
        """Return the preconditioner in use, or a new one for the present point."""
        few = len(self.alpha) < self._always_factor and not self._problem.losses.quadratic
        self._fresh = self._preconditioner is None or few
        if self._preconditioner is None or few:
            self._preconditioner = self._problem.products.preconditioner(
                curvature, self._problem.strength, intercept=self._problem.intercept, better=self._better
            )
        return self._preconditioner

    def _search_along(self, step: KernelStep) -> bool:
        """Take the step or, if the objective rises, a portion of it; return False if it always rises."""
        before = self.value
        # a step that lowers the objective by less than rounding must not be rejected because of rounding
        is_hidden = step.squared_length < SUM_OBJECTIVE_ROUNDING * abs(before)
        slack = (SUM_OBJECTIVE_ROUNDING if is_hidden else OBJECTIVE_ROUNDING) * abs(before)
        norm, along, across = (float(np.vdot(*pair)) for pair in (
            (self.alpha, self._f), (step.alpha, self._f), (step.alpha, step.values)
        ))  # fmt: skip

        def try_portion(share: float) -> KernelTrial:
            f, intercept = self._f + share * step.values, self.intercept + share * step.intercept
            return KernelTrial(f, intercept, self._evaluate(f, intercept, norm + 2 * share * along + share**2 * across))

        found = halve_step(try_portion, before + slack)
        if found is None:
            return False
        (f, intercept, value), self.step_length = found
        # in one statement: an interruption between two would leave values of other coefficients
        self.alpha, self.intercept, self._f, self.value = self.alpha + found.length * step.alpha, intercept, f, value
        return True

    def certificate(self) -> Certificate:
        how = f"√(ρᵀK(λI + WK)⁻¹ρ) with ρ = λα + slopes, after {format_count(self.n_iter, 'Newton step')}"
        return gradient_certificate(self.distance, self.tolerance, how, is_convex=self._problem.losses.is_convex)


def newton_step(
    problem: KernelProblem, alpha: Array, g: Array, curvature: LossCurvature, preconditioner: Preconditioner
) -> KernelStep:
    """Solve (λI + WK)Δα + W1Δb = −ρ, 1ᵀ(g + W(KΔα + 1Δb)) = 0 by conjugate gradients in the inner product uᵀKv."""
    rho, sums = problem.strength * alpha + g, g.sum(axis=0)
    intercept = -curvature.level(sums) if problem.intercept else np.zeros(g.shape[1])
    residual = -(rho + curvature.matvec(np.broadcast_to(intercept, g.shape)))
    D, KD, left, steps = conjugate_gradient(problem, curvature, preconditioner, residual)
    if problem.intercept:
        intercept = intercept - curvature.level(curvature.matvec(KD).sum(axis=0))
    squared = -float(np.vdot(rho, KD)) - float(sums @ intercept if problem.intercept else 0.0)
    return KernelStep(D, KD, intercept, abs(squared) + left, steps)


def conjugate_gradient(
    problem: KernelProblem,
    curvature: LossCurvature,
    preconditioner: Preconditioner,
    residual: Array,
    tolerance: float = STEP_ERROR,
) -> NewtonDirection:
    """Return D with (λI + W̃K) D = residual, by conjugate gradients in the inner product uᵀKv."""

    def product(V: Array, KV: Array) -> Array:
        if problem.intercept:
            KV = KV - curvature.level(curvature.matvec(KV).sum(axis=0))
        return problem.strength * V + curvature.matvec(KV)

    return newton_direction(
        product, preconditioner.matvec, residual, metric=problem.products.matvec, tolerance=lambda length: tolerance
    )
