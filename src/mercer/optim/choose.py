"""The choice of a solver: `choose` has the rules for GLMs, `choose_for_logistic` those for logistic regression."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from mercer._errors import UnsuitableSolverError
from mercer._typing import Array
from mercer.optim import _newton_cg as newton_cg
from mercer.optim import (
    gradient,
    lbfgs,
    newton,
    proximal_newton,
    row_space,
    scaling,
    softmax,
    softmax_lasso,
    stochastic,
    streamed_proximal,
)
from mercer.optim.certificate import Solution
from mercer.optim.descent import Callback
from mercer.optim.least_squares import has_closed_form, solve_least_squares
from mercer.optim.problem import Problem
from mercer.optim.softmax import SoftmaxProblem

AnyProblem = Problem | SoftmaxProblem

#: columns up to which a few Hessians cost less than many gradients
MAX_NEWTON_COLUMNS = 1000

#: the same for logistic losses, whose gradients are faster
MAX_LOGISTIC_NEWTON_COLUMNS = 300
#: rows per column from which on Newton's method for logistic losses, with Hessians of a sample, is faster than L-BFGS
ROWS_PER_COLUMN_OF_SAMPLED_HESSIANS = 500
#: name of Newton's method in `plan_`
NEWTON = "Newton's method"

#: the problems that each solver is for
SOLVER_PURPOSES = {
    "direct": "least squares with a closed form: a dense matrix of numbers, and one L2 strength for all coefficients",
    "newton": "smooth penalties, up to some thousand columns",
    "newton-cg": "smooth penalties, any number of columns: steps by conjugate gradients",
    "lbfgs": "smooth penalties, any number of columns",
    "gradient": "smooth penalties: batch gradient descent, in many steps",
    "online": "smooth penalties: stochastic gradient descent, whose steps are passes over the rows, to a rough optimum",
    "proximal": "penalties with absolute values, which make coefficients exactly zero",
}


#: solvers of problems with one linear predictor; the row space is chosen by "auto" only
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
    """A solver's name, and the reason for the choice."""

    solver: str
    why: str

    def solve(
        self,
        problem: AnyProblem,
        start: Array | None = None,
        *,
        tolerance: float,
        most_steps: int,
        callback: Callback | None = None,
    ) -> Solution:
        """Minimise the problem by this solver."""
        options: dict[str, Any] = {"tolerance": tolerance, "most_steps": most_steps, "callback": callback}
        if isinstance(problem, SoftmaxProblem):
            return _solve_classes(problem, self.solver, start, options)
        if self.solver == "direct":
            return solve_least_squares(problem)
        if self.solver == "proximal" and problem.observations.streamed:
            return streamed_proximal.solve(problem, start, **options)
        return SINGLE_PREDICTOR_SOLVERS[self.solver](problem, start, **options)

    def __str__(self) -> str:
        return f"{self.solver} ({self.why})"


def choose(problem: AnyProblem, requested: str = "auto") -> SolverChoice:
    """Return the requested solver if it suits the problem, or for "auto" the one that suits it best.

    The first rule that applies decides:

    1. absolute values in the penalty: proximal Newton;
    2. several classes with at most `softmax.MAX_CLASS_HESSIAN` coefficients: Newton;
    3. one predictor with squared losses in closed form: direct;
    4. fewer rows than columns, all penalised by squares: Newton in the space of the rows (`row_space.suits`);
    5. one predictor with at most `MAX_NEWTON_COLUMNS` columns: Newton;
    6. else L-BFGS.

    Parameters
    ----------
    problem : Problem or SoftmaxProblem
        The problem to minimise.
    requested : str
        "auto" or the name of a solver.

    Returns
    -------
    choice : SolverChoice
        The solver and the reason.

    Raises
    ------
    UnsuitableSolverError
        If the requested solver cannot solve the problem.
    """
    if requested != "auto":
        _check_suitable(problem, requested)
        return SolverChoice(requested, "requested")
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
    if problem.n_columns <= MAX_NEWTON_COLUMNS:
        return SolverChoice("newton", f"{problem.n_columns} columns, few enough for Hessians")
    return SolverChoice("lbfgs", f"{problem.n_columns} columns, too many for Hessians")


def _row_space_choice(problem: AnyProblem) -> SolverChoice:
    rows, columns = len(problem.observations), problem.observations.design.n_columns
    return SolverChoice("row-space", f"{rows} rows span the space of the coefficients of {columns} columns")


def _solve_classes(problem: SoftmaxProblem, by: str, start: Array | None, options: dict[str, Any]) -> Solution:
    """Minimise a problem of classes; starts and solutions are matrices with a column for each column of η."""
    if by == "proximal":
        solver: Any = streamed_proximal if problem.observations.streamed else softmax_lasso
        lasso: Solution = solver.solve(problem, start, **options)
        return lasso
    return softmax.solve_as_matrix(problem, start, partial(_solve_for_point, by=by), **options)


def _solve_for_point(problem: SoftmaxProblem, start: Array | None, *, by: str, **options: Any) -> Solution:
    if by == "row-space":
        return row_space.solve(problem, start, **options)
    if by == "lbfgs":
        return softmax.solve_by_lbfgs(problem, start, **options)
    if by == "newton-cg":
        begin = problem.start() if start is None else start
        return newton_cg.solve_from(problem, begin, problem.scaling(), **options)
    return SINGLE_PREDICTOR_SOLVERS[by](problem, start, **options)


def choose_for_logistic(problem: Problem | SoftmaxProblem) -> tuple[Any, str]:
    """Return the module of the fastest solver for logistic regression, and its name.

    All of them minimise the same objective. The first rule that applies decides:

    1. absolute values in the penalty: proximal Newton, or L-BFGS-B for several classes in memory;
    2. several classes with at most `softmax.MAX_CLASS_HESSIAN` coefficients: Newton;
    3. fewer rows than columns, all penalised by squares: Newton in the space of the rows (`row_space.suits`);
    4. two classes with at most `MAX_LOGISTIC_NEWTON_COLUMNS` columns, or with at most `scaling.MAX_FACTORISED_COLUMNS`
       columns and `ROWS_PER_COLUMN_OF_SAMPLED_HESSIANS` rows for each of them: Newton;
    5. else L-BFGS.

    Parameters
    ----------
    problem : Problem or SoftmaxProblem
        The problem to minimise.

    Returns
    -------
    solver : module
        Its `solve` minimises the problem.
    path : str
        Name of the solver for `plan_`.
    """
    if not problem.strengths.smooth and problem.observations.streamed:
        return streamed_proximal, "proximal Newton"
    if isinstance(problem, SoftmaxProblem):
        if not problem.strengths.smooth:
            return softmax_lasso, "L-BFGS-B"
        if softmax.suits_newton(problem):
            return softmax, NEWTON
        return softmax, row_space.ROW_SPACE_PATH if row_space.suits(problem) else "L-BFGS"
    if not problem.strengths.smooth:
        return proximal_newton, "proximal Newton"
    if row_space.suits(problem):
        return row_space, row_space.ROW_SPACE_PATH
    n, p = len(problem.observations), problem.n_columns
    if p <= MAX_LOGISTIC_NEWTON_COLUMNS or (
        p <= scaling.MAX_FACTORISED_COLUMNS and n >= ROWS_PER_COLUMN_OF_SAMPLED_HESSIANS * p
    ):
        return newton, NEWTON
    return lbfgs, "L-BFGS"


def _check_suitable(problem: AnyProblem, requested: str) -> None:
    if requested not in SOLVER_PURPOSES:
        raise UnsuitableSolverError(
            f'there is no solver {requested!r}; give "auto" or one of {", ".join(SOLVER_PURPOSES)}.'
        )
    if requested == "direct":
        is_suitable = isinstance(problem, Problem) and has_closed_form(problem)
    else:
        is_suitable = problem.strengths.smooth or requested == "proximal"
    if not is_suitable:
        raise UnsuitableSolverError(
            f'the solver "{requested}" is for {SOLVER_PURPOSES[requested]}; this problem is none of these: '
            'use solver="auto".'
        )
