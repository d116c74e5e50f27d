"""Which solver suits a problem, and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mercer._errors import UnsuitableSolverError
from mercer._typing import Array
from mercer.optim import _newton_cg as newton_cg
from mercer.optim import gradient, lbfgs, newton, proximal_newton, row_space, softmax, softmax_lasso, stochastic, streamed_proximal
from mercer.optim.certificate import Progress, Solution
from mercer.optim.least_squares import has_closed_form, solve_least_squares
from mercer.optim.problem import Problem
from mercer.optim.softmax import SoftmaxProblem

AnyProblem = Problem | SoftmaxProblem

#: columns up to which a few Hessians cost less than the many gradients that replace them
NEWTON_COLUMNS = 1000

#: what each solver is made for
SOLVERS = {
    "direct": "least squares with a closed form: a dense matrix of numbers, and one L2 strength for all coefficients",
    "newton": "smooth penalties, up to some thousand columns",
    "newton-cg": "smooth penalties, any number of columns: steps by conjugate gradients",
    "lbfgs": "smooth penalties, any number of columns",
    "gradient": "smooth penalties: the lectures' batch gradient descent, in many steps",
    "online": "smooth penalties: stochastic gradient descent, whose steps are passes over the rows, to a rough optimum",
    "proximal": "penalties with absolute values, which make coefficients exactly zero",
}


SINGLE_PREDICTOR_SOLVERS: dict[str, Callable[..., Solution]] = {
    "newton": newton.solve,
    "row-space": row_space.solve,
    "newton-cg": newton_cg.solve,
    "lbfgs": lbfgs.solve,
    "gradient": gradient.solve,
    "online": stochastic.solve,
    "proximal": proximal_newton.solve,
}


class SolverChoice(NamedTuple):
    """A solver by name, and the reason for it."""

    solver: str
    why: str

    def solve(
        self,
        problem: AnyProblem,
        start: Array | None = None,
        *,
        tolerance: float,
        most_steps: int,
        progress: Progress | None = None,
    ) -> Solution:
        """Minimise the problem by this solver."""
        options: dict[str, Any] = {"tolerance": tolerance, "most_steps": most_steps, "progress": progress}
        if isinstance(problem, SoftmaxProblem):
            return _solve_classes(problem, self.solver, start, options)
        if self.solver == "direct":
            return solve_least_squares(problem)
        if self.solver == "proximal" and problem.observations.streamed:
            return streamed_proximal.solve(problem, start, **options)
        return SINGLE_PREDICTOR_SOLVERS[self.solver](problem, start, **options)

    def __str__(self) -> str:
        return f"{self.solver} ({self.why})"


def choose(problem: AnyProblem, asked: str = "auto") -> SolverChoice:
    """The solver that was asked for, if it suits the problem, or the one that suits it best.

    Parameters
    ----------
    problem : Problem or SoftmaxProblem
        What is to be minimised.
    asked : str
        "auto" or the name of a solver.

    Returns
    -------
    choice : Choice
        The solver and the reason.

    Raises
    ------
    UnsuitableSolverError
        If the solver asked for cannot solve the problem.
    """
    if asked != "auto":
        _check_suitable(problem, asked)
        return SolverChoice(asked, "asked for")
    if not problem.strengths.smooth:
        return SolverChoice("proximal", "the penalty has absolute values")
    if isinstance(problem, SoftmaxProblem):
        many = f"{problem.n_columns} coefficients of all classes"
        if softmax.suits_newton(problem):
            return SolverChoice("newton", f"{many}, few")
        return _row_space_choice(problem) if row_space.suits(problem) else SolverChoice("lbfgs", many)
    if has_closed_form(problem):
        return SolverChoice("direct", "least squares have a closed form")
    if row_space.suits(problem):
        return _row_space_choice(problem)
    if problem.n_columns <= NEWTON_COLUMNS:
        return SolverChoice("newton", f"{problem.n_columns} columns, few enough for Hessians")
    return SolverChoice("lbfgs", f"{problem.n_columns} columns, too many for Hessians")


def _row_space_choice(problem: AnyProblem) -> SolverChoice:
    rows, columns = len(problem.observations), problem.observations.design.n_columns
    return SolverChoice("row-space", f"{rows} rows span the space of the coefficients of {columns} columns")


def _solve_classes(problem: SoftmaxProblem, by: str, start: Array | None, options: dict[str, Any]) -> Solution:
    """Starts and solutions are matrices, with a column for each column of η."""
    if by == "proximal":
        solver: Any = streamed_proximal if problem.observations.streamed else softmax_lasso
        lasso: Solution = solver.solve(problem, start, **options)
        return lasso
    begin = None if start is None else problem.vector(start)
    return softmax.solve_as_matrix(problem, lambda: _solve_for_point(problem, by, begin, options))


def _solve_for_point(problem: SoftmaxProblem, by: str, start: Array | None, options: dict[str, Any]) -> Solution:
    if by == "row-space":
        return row_space.solve(problem, start, **options)
    if by == "lbfgs":
        return softmax.solve_by_lbfgs(problem, start, **options)
    if by == "newton-cg":
        begin = problem.start() if start is None else start
        return newton_cg.descend(problem, begin, problem.scaling(), **options)
    return SINGLE_PREDICTOR_SOLVERS[by](problem, start, **options)


def _check_suitable(problem: AnyProblem, asked: str) -> None:
    if asked not in SOLVERS:
        raise UnsuitableSolverError(f'there is no solver {asked!r}; give "auto" or one of {", ".join(SOLVERS)}.')
    if asked == "direct":
        suits = isinstance(problem, Problem) and has_closed_form(problem)
    else:
        suits = problem.strengths.smooth or asked == "proximal"
    if not suits:
        raise UnsuitableSolverError(
            f'the solver "{asked}" is for {SOLVERS[asked]}; this problem is none of these: use solver="auto".'
        )
