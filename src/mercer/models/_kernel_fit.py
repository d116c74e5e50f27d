"""A model with a kernel instead of features: from rows and responses to f(x) + b = Σ αᵢ k(x, xᵢ) + b."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer._errors import FitInterrupted, NotConvergedWarning, PenaltyError
from mercer.designs import Coordinates, DenseDesign, Observations
from mercer.families import IDENTITY, Gaussian, NegativeBinomial
from mercer.families.penalties import Strengths
from mercer.families.response import Response
from mercer.kernels import Gram, Kernel
from mercer.models._comparisons import count, take
from mercer.models._glm_classes import Classes
from mercer.models._glm_kind import Kind
from mercer.models._glm_negative_binomial import CLOSE, MOST_ROUNDS, NO_DISPERSION, best_theta
from mercer.models._glm_one_mean import OneMean
from mercer.models._glm_solve import Limits
from mercer.models._kernel_function import KernelFunction
from mercer.models._kernel_least_squares import least_squares
from mercer.models._progress import Progress
from mercer.solvers._kernel_losses import Losses, OfClasses, OfResponse
from mercer.solvers._kernel_products import Products, products_of
from mercer.solvers.certificate import Certificate, Solution
from mercer.solvers.kernel_newton import Expansion, KernelProblem, solve

Array = NDArray[Any]

#: which solvers of GLMs have a kernel form, and whether K is in memory
SOLVERS = {"auto": None, "newton": True, "newton-cg": False}


@dataclass(frozen=True, eq=False)
class Data:
    """Responses of the rows: numbers, codes, or a column for each target."""

    y: Array
    weight: Array | None = None
    offset: Array | None = None

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(len(self.y) if self.weight is None else self.weight.sum())

    def take(self, rows: Array) -> Data:
        weight, offset = (None if part is None else part[rows] for part in (self.weight, self.offset))
        return Data(self.y[rows], weight, offset)


@dataclass(frozen=True, eq=False)
class Machine:
    """A norm-regularised model: responses of some kind, and λ/2 ‖f‖², one λ or one for each target."""

    kernel: Kernel
    kind: Kind
    strength: Array | float
    intercept: bool
    limits: Limits
    solver: str = "auto"


class Fit(NamedTuple):
    """A fitted function, its proof, and the kind of response with what was estimated of it."""

    function: KernelFunction
    solution: Solution
    kind: Kind
    path: str
    #: what was minimised over rows of weight above 0, and their responses
    problem: Callable[[], KernelProblem]
    data: Data
    intercept: bool

    def as_column(self) -> tuple[Any, Array]:
        """A GLM with f itself for a column, and its coefficient of 1: what figures of any GLM are computed from."""
        eta, intercept, data = self.solution.value.values, self.intercept, self.data
        outputs = eta.shape[1]
        design = DenseDesign(eta, Coordinates.plain(outputs, intercept=intercept))
        problem = self.kind.problem(
            Observations(design, data.y, data.weight, data.offset), Strengths.none(outputs + intercept)
        )
        ones = np.eye(outputs + intercept, outputs)
        return problem, ones if isinstance(self.kind, Classes) else ones[:, 0]


class KernelFitInterrupted(FitInterrupted):
    """Ctrl-C, with the fit so far."""

    def __init__(self, message: str, fit: Fit) -> None:
        super().__init__(message, fit.solution)
        self.fit = fit


def fit_kernel(
    machine: Machine, X: Any, data: Data, *, start: KernelFunction | None = None, progress: Progress | None = None
) -> Fit:
    """Fit a machine to rows; those of weight 0 are left out."""
    refuse_no_penalty(machine.strength)
    seen = np.arange(len(data.y)) if data.weight is None else np.flatnonzero(data.weight)
    rows = X if len(seen) == len(data.y) else take(X, seen)
    fitting = _Fitting(machine, X, rows, data.take(seen), seen, progress)
    begin = None if start is None else Expansion(start.alpha[seen], start.intercept, np.zeros(0))
    return fitting.fit(begin)


@dataclass(frozen=True, eq=False)
class _Fitting:
    """A machine and rows, of which those of weight above 0 count."""

    machine: Machine
    X: Any
    rows: Any
    data: Data
    seen: Array
    progress: Progress | None

    @cached_property
    def products(self) -> Products:
        return products_of(Gram(self.machine.kernel, self.rows), in_memory=SOLVERS[self.machine.solver])

    def fit(self, start: Expansion | None) -> Fit:
        kind = self.machine.kind
        if isinstance(kind, Classes):
            losses = OfClasses(kind.response, self.data.y.astype(np.int64), self.data.weight)
            return self._solved(kind, losses, start)
        assert isinstance(kind, OneMean)
        family = kind.response.family
        if isinstance(family, Gaussian) and kind.response.link == IDENTITY and self.machine.solver == "auto":
            return self._least_squares(kind)
        if isinstance(family, NegativeBinomial) and family.r is None:
            return self._with_r(kind.response, start)
        return self._solved(kind, self._losses(kind.response), start)

    def _losses(self, response: Response) -> OfResponse:
        return OfResponse(response, self.data.y[:, None].astype(float), self.data.weight, self.data.offset)

    def _solved(self, kind: Kind, losses: Losses, start: Expansion | None) -> Fit:
        problem = KernelProblem(self.products, losses, float(self.machine.strength), self.machine.intercept)
        tolerance, most_steps = self.machine.limits
        path = f"Newton's method in the span of {len(self.seen)} rows, by {self.products.name}"
        try:
            solution = solve(problem, start, tolerance=tolerance, most_steps=most_steps, progress=self.progress)
        except FitInterrupted as stop:
            raise KernelFitInterrupted(str(stop), self._as_fit(kind, lambda: problem, stop.solution, path)) from None
        return self._as_fit(kind, lambda: problem, solution, path)

    def _least_squares(self, kind: OneMean) -> Fit:
        """Every target and its λ, in closed form."""
        data, intercept = self.data, self.machine.intercept
        Y = np.asarray(data.y.reshape(len(data.y), -1), dtype=float)
        Y = Y if data.offset is None else Y - data.offset[:, None]
        strengths = np.array(np.broadcast_to(np.asarray(self.machine.strength, dtype=float), Y.shape[1]))

        def problem() -> KernelProblem:
            losses = OfResponse(kind.response, Y, data.weight)
            return KernelProblem(self.products, losses, float(strengths[0]), intercept)

        span = f"least squares in the span of {len(self.seen)} rows"
        try:
            found = least_squares(self.machine.kernel, self.rows, Y, data.weight, strengths, intercept=intercept)
        except FitInterrupted as stop:
            raise KernelFitInterrupted(str(stop), self._as_fit(kind, problem, stop.solution, span)) from None
        return self._as_fit(kind, problem, found[0], f"{span}, by {found[1]}")

    def _as_fit(self, kind: Kind, problem: Callable[[], KernelProblem], solution: Solution, path: str) -> Fit:
        found: Expansion = solution.value
        alpha = np.zeros((count(self.X), found.alpha.shape[1]))
        alpha[self.seen] = found.alpha
        function = KernelFunction(self.machine.kernel, self.X, alpha, found.intercept)
        return Fit(function, solution, kind, path, problem, self.data, self.machine.intercept)

    def _with_r(self, response: Response, start: Expansion | None) -> Fit:
        """f and the r of a negative binomial in turn, as `solve_with_r` does with coefficients."""
        theta, change, trace = 0.0, np.inf, list[float]()
        for _ in range(MOST_ROUNDS):
            current = Response(NegativeBinomial(r=1 / max(theta, 1 / NO_DISPERSION)), response.link)
            fit = self._solved(OneMean(current), self._losses(current), start)
            start, trace = fit.solution.value, trace + list(fit.solution.trace)
            if change <= CLOSE:
                break
            before, theta = theta, best_theta(*fit.as_column())
            change = abs(np.log(theta / before)) if before > 0 and theta > 0 else abs(theta - before)
        solution = replace(fit.solution, trace=tuple(trace))
        if change > CLOSE:
            sentence = f"change of log r in the last of {MOST_ROUNDS} rounds of the function and r in turn"
            solution = replace(solution, certificate=Certificate("gradient norm", change, CLOSE, sentence))
        return fit._replace(solution=solution)


def refuse_no_penalty(strength: Array | float) -> None:
    """`PenaltyError` unless every λ is above 0."""
    given = np.atleast_1d(np.asarray(strength, dtype=float))
    if (wrong := ~(np.isfinite(given) & (given > 0))).any():
        raise PenaltyError(
            f"a model with a kernel needs a penalty above 0, but its strength is {given[np.argmax(wrong)]:g}. Without "
            "one, nothing ties the function to the span of the rows: where the kernel matrix is singular there is no "
            "unique optimum, and else every row is fitted exactly. Give a small one, such as 1e-6."
        )


def not_converged(fit: Fit, limits: Limits) -> tuple[NotConvergedWarning, ...]:
    """Which condition failed, the evidence, and one thing to do; nothing if the certificate holds."""
    certificate = fit.solution.certificate
    if certificate.holds:
        return ()
    if len(fit.solution.trace) > limits.most_steps:
        remedy = (
            f"It was stopped after {limits.most_steps} steps; allow more of them (max_iter={10 * limits.most_steps})."
        )
    else:
        remedy = (
            "Rounding leaves no way on: bring the columns to mean 0 and spread 1, e.g. with StandardScaler, raise the "
            "penalty, or ask for less (a larger tol)."
        )
    return (NotConvergedWarning(f"the fit with {fit.function.kernel!r} has not converged: {certificate}. {remedy}"),)
