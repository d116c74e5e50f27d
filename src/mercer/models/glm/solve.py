"""From a problem to its solution: which solver, from where, and what to say if it did not get there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import FitInterrupted, NonFiniteError, NotConvergedWarning
from mercer._typing import Array
from mercer.models._progress import Progress
from mercer.solvers import several_starts
from mercer.solvers.certificate import Certificate, Solution
from mercer.solvers.choose import AnyProblem, Choice, choose
from mercer.solvers.problem import Problem, Smooth, look
from mercer.solvers.start import feasible_start
from mercer.stats.quadratic import LOSS

#: standard errors from a minimum at which one of several starts is known to lead there
ROUGH = 1e-3


class Limits(NamedTuple):
    """When to stop."""

    tolerance: float
    most_steps: int


class Solved(NamedTuple):
    """A problem, with its response as it was estimated, and the solution by the solver chosen."""

    problem: Any  # a Problem or a SoftmaxProblem
    solution: Solution
    choice: Choice

    def with_value(self, w: Array) -> Solved:
        """The same with other coefficients that are as good."""
        return self._replace(solution=replace(self.solution, value=w))


class SolveInterrupted(FitInterrupted):
    """Ctrl-C, with what had been solved."""

    def __init__(self, message: str, solved: Solved) -> None:
        super().__init__(message, solved.solution)
        self.solved = solved


@contextmanager
def keeping_solved(solved: Solved) -> Iterator[None]:
    """On Ctrl-C after the search, `SolveInterrupted` with its solution: only what is computed from it is missing."""
    try:
        yield
    except FitInterrupted:
        raise
    except KeyboardInterrupt:
        raise SolveInterrupted("stopped by the user after the search; its coefficients are kept.", solved) from None


def solve(
    problem: AnyProblem,
    solver: str,
    limits: Limits,
    *,
    start: Array | None = None,
    progress: Progress | None = None,
    explore: bool = True,
) -> Solved:
    """Minimise a problem by the solver asked for, or the one that suits it.

    One that is not convex is minimised from several starts, unless the one given is enough (`explore`).
    """
    choice = choose(problem, solver)

    def descend(rows: AnyProblem, begin: Array | None, rough: bool = False) -> Solution:
        tolerance, shown = (max(ROUGH, limits.tolerance), None) if rough else (limits.tolerance, progress)
        return choice.solve(rows, begin, tolerance=tolerance, most_steps=limits.most_steps, progress=shown)

    if isinstance(problem, Problem):
        start = _begin(problem, start)
    try:
        if isinstance(problem, Problem) and explore and not problem.is_convex:
            solution = several_starts.solve(problem, descend, [*([] if start is None else [start]), problem.start()])
        else:
            solution = descend(problem, start)
    except FitInterrupted as stop:
        raise SolveInterrupted(str(stop), Solved(problem, stop.solution, choice)) from None
    if not np.isfinite(solution.certificate.value):
        raise NonFiniteError(
            "the objective is not finite: the data are not, or their sums are too large for float64; divide the "
            "largest columns, or the responses, by a number."
        )
    return Solved(problem, solution, choice)


def _begin(problem: Problem, start: Array | None) -> Array | None:
    """The start that was given, unless some row has no mean there, or a constant mean for all rows would be better.

    That far from the optimum there may be neither slope nor curvature to lead back.
    """
    if start is not None:
        value, plain = (look(problem, w, LOSS).value for w in (start, problem.start()))
        if np.isfinite(value) and not value > plain:
            return start
    return None if problem.response.unbounded else feasible_start(problem)


def certificate_as_published(problem: Any, solution: Solution, squares: float, dtype: Any) -> Certificate:
    """Return the certificate of coefficients that were rounded to `dtype`; `squares` is Δᵀ H Δ for what that changed.

    By half of it the objective rises, as far as its curvature H tells.
    """
    if solution.certificate.kind == "closed form":  # of which portion of y is left
        size = np.sqrt(2 * look(problem, np.zeros(problem.n_columns), LOSS).value)
        share = float(np.sqrt(squares) / (size or 1.0))
        return solution.certificate.after_rounding(dtype, lambda left: left + share)
    value = float(solution.trace[-1])
    if solution.certificate.kind == "duality gap":
        far = np.sqrt(0.5 * squares / max(abs(value), np.finfo(float).tiny))
        return solution.certificate.after_rounding(dtype, lambda gap: (np.sqrt(gap) + far) ** 2)
    far = np.sqrt(squares) / problem.unit(value)
    return solution.certificate.after_rounding(dtype, lambda length: length + far)


def curvature_along(problem: Smooth, w: Array, change: Array) -> float:
    """Return Δᵀ H Δ for a change of the coefficients and the Hessian at `w`."""
    with np.errstate(over="ignore", invalid="ignore"):
        return max(float(np.vdot(change, problem.hessian_product(w)(change))), 0.0)


def unfinished(solved: Solved, limits: Limits) -> tuple[NotConvergedWarning, ...]:
    """Which condition failed, the evidence, and one thing to do; nothing if the certificate holds."""
    certificate = solved.solution.certificate
    if certificate.holds:
        return ()
    message = f"the {solved.choice.solver} solver has not converged: {certificate}. {_remedy(solved, limits)}"
    return (NotConvergedWarning(message),)


def _remedy(solved: Solved, limits: Limits) -> str:
    steps = len(solved.solution.trace) - 1
    if steps >= limits.most_steps:
        return f"It was stopped after {steps} steps; allow more of them (max_iter={10 * limits.most_steps})."
    return (
        "No step lowers the objective any further in float64; divide columns of very different size by their spread, "
        f"or ask for less (tol={10 * solved.solution.certificate.value:.0e})."
    )
