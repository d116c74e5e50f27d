"""`minimize` solves any problem of linear predictors by the solver that suits it best, or by a given one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import UnsuitableSolverError
from mercer._typing import Array
from mercer.families.loss_loops import BernoulliLogit
from mercer.optim import _newton_cg as newton_cg
from mercer.optim import (
    gradient,
    lbfgs,
    newton,
    proximal_newton,
    row_space,
    scaling,
    several_starts,
    softmax,
    softmax_lasso,
    stochastic,
    streamed_proximal,
)
from mercer.optim.certificate import LENGTH_TOLERANCE, Solution
from mercer.optim.descent import Callback
from mercer.optim.least_squares import has_closed_form, solve_least_squares
from mercer.optim.problem import Problem, evaluate, feasible_start
from mercer.optim.softmax import SoftmaxProblem
from mercer.stats.quadratic import LOSS

AnyProblem = Problem | SoftmaxProblem

#: coefficients of all classes up to which their Hessian is formed
MAX_CLASS_HESSIAN = 300
#: columns up to which a few Hessians cost less than many gradients
MAX_NEWTON_COLUMNS = 1000
#: the same for logistic losses with a penalty
MAX_LOGISTIC_NEWTON_COLUMNS = 300
#: rows per column from which on Newton's method for logistic losses, with Hessians of a sample, is faster than L-BFGS
ROWS_PER_COLUMN_OF_SAMPLED_HESSIANS = 500
#: tolerance, in standard errors, of descents from several starts: close enough to determine the minimum of each
ROUGH_TOLERANCE = 1e-3

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

#: iterative solvers of smooth problems with one linear predictor; "auto" alone chooses the row space
SOLVERS: dict[str, Callable[..., Solution]] = {
    "newton": newton.solve,
    "row-space": row_space.solve,
    "newton-cg": newton_cg.solve,
    "lbfgs": lbfgs.solve,
    "gradient": gradient.solve,
    "online": stochastic.solve,
}
#: the same for points of several classes
CLASS_SOLVERS = {**SOLVERS, "newton-cg": softmax.solve_by_newton_cg, "lbfgs": softmax.solve_by_lbfgs}


class SolverChoice(NamedTuple):
    """A solver's name, and the reason for the choice."""

    solver: str
    why: str

    def __str__(self) -> str:
        return f"{self.solver} ({self.why})"


def minimize(
    problem: AnyProblem,
    *,
    solver: str | SolverChoice = "auto",
    start: Array | None = None,
    tol: float = LENGTH_TOLERANCE,
    max_iter: int = lbfgs.MAX_LBFGS_STEPS,
    callback: Callback | None = None,
    explore: bool = True,
) -> Solution:
    """Minimise a problem by the given solver, or by the one that suits it best.

    For "auto" the first rule that applies decides, by the problem and the tolerance alone:

    1. absolute values in the penalty: proximal Newton; L-BFGS-B for several classes in memory;
    2. squared losses of one predictor with a closed form: direct;
    3. several classes with at most `MAX_CLASS_HESSIAN` coefficients: Newton;
    4. fewer rows than columns, all penalised by squares (`row_space.suits`): Newton in the space of the rows;
    5. several classes: L-BFGS;
    6. logistic losses (Bernoulli responses with a logit link), at most `scaling.MAX_FACTORISED_COLUMNS` columns and
       `ROWS_PER_COLUMN_OF_SAMPLED_HESSIANS` rows for each of them: Newton, with Hessians of samples;
    7. logistic losses with a penalty, more than `MAX_LOGISTIC_NEWTON_COLUMNS` columns, and a tolerance above
       `LENGTH_TOLERANCE`: L-BFGS;
    8. at most `MAX_NEWTON_COLUMNS` columns: Newton;
    9. else L-BFGS.

    Rule 7 is for logistic losses alone, since their gradients are faster than those of others. At smaller tolerances
    L-BFGS needs hundreds of steps for classes that are nearly separable, and may end by rounding. Without a penalty,
    its less precise optimum makes it expensive to prove that the classes are not separated.

    A start of one predictor is used unless a constant mean for all rows has a lower loss, or some row has no mean
    there. Without a start, solvers have their own; links under which not every predictor has a mean begin at a
    `feasible_start`. A problem that is not convex is minimised from several starts.

    Parameters
    ----------
    problem : Problem or SoftmaxProblem
        The problem to minimise.
    solver : str or SolverChoice
        "auto", the name of a solver, or the result of `choose_solver`.
    start : array, optional
        Initial coefficients, with a column for each column of η if there are several classes.
    tol : float
        Upper bound for the measure of the certificate.
    max_iter : int
        Maximum number of iterations; beyond it the certificate does not hold.
    callback : callable, optional
        Called with a `Step` at the start and after each iteration.
    explore : bool
        Whether to check the start, and to add others if the problem is not convex; False for a start that is to be used
        as it is, such as the minimum of a similar problem.

    Returns
    -------
    solution : Solution
        `coef` has the working coefficients.

    Raises
    ------
    UnsuitableSolverError
        If the requested solver cannot solve the problem.
    """
    by = (solver if isinstance(solver, SolverChoice) else choose_solver(problem, solver, tol=tol)).solver

    def descend(rows: AnyProblem, begin: Array | None, rough: bool = False) -> Solution:
        tolerance = max(ROUGH_TOLERANCE, tol) if rough else tol
        return _descend(rows, by, begin, tolerance=tolerance, most_steps=max_iter, callback=None if rough else callback)

    if isinstance(problem, SoftmaxProblem):
        return descend(problem, start)
    if start is None or explore:
        start = _start_near_data(problem, start)
    if problem.is_convex or not explore:
        return descend(problem, start)
    return several_starts.solve(problem, descend, [*([] if start is None else [start]), problem.start()])


def choose_solver(problem: AnyProblem, requested: str = "auto", *, tol: float = LENGTH_TOLERANCE) -> SolverChoice:
    """Return the solver of `minimize` for a problem and a tolerance, by the rules there, and the reason."""
    if requested != "auto":
        _check_suitable(problem, requested)
        return SolverChoice(requested, "requested")
    if not problem.strengths.smooth:
        return SolverChoice("proximal", "the penalty has absolute values")
    if isinstance(problem, Problem) and has_closed_form(problem):
        return SolverChoice("direct", "least squares have a closed form")
    n, p = len(problem.observations), problem.n_columns
    if isinstance(problem, SoftmaxProblem) and p <= MAX_CLASS_HESSIAN:
        return SolverChoice("newton", f"{p} coefficients of all classes, few")
    if row_space.suits(problem):
        columns = problem.observations.design.n_columns
        return SolverChoice("row-space", f"{n} rows span the space of the coefficients of {columns} columns")
    if isinstance(problem, SoftmaxProblem):
        return SolverChoice("lbfgs", f"{p} coefficients of all classes")
    most = MAX_NEWTON_COLUMNS
    if _is_logistic(problem):
        if n >= ROWS_PER_COLUMN_OF_SAMPLED_HESSIANS * p:
            most = scaling.MAX_FACTORISED_COLUMNS
        elif problem.strengths.any and tol > LENGTH_TOLERANCE:
            most = MAX_LOGISTIC_NEWTON_COLUMNS
    if p <= most:
        return SolverChoice("newton", f"{p} columns, few enough for Hessians")
    return SolverChoice("lbfgs", f"{p} columns, too many for Hessians")


def _is_logistic(problem: Problem) -> bool:
    return isinstance(problem.response.lower(), BernoulliLogit)


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


def _descend(problem: AnyProblem, solver: str, start: Array | None, **options: Any) -> Solution:
    """Minimise a problem by a solver, from one start."""
    if isinstance(problem, Problem) and solver == "direct":
        return solve_least_squares(problem)
    if solver == "proximal":
        if problem.observations.streamed:
            return streamed_proximal.solve(problem, start, **options)
        if isinstance(problem, SoftmaxProblem):
            return softmax_lasso.solve(problem, start, **options)
        return proximal_newton.solve(problem, start, **options)
    if isinstance(problem, SoftmaxProblem):
        return softmax.solve_as_matrix(problem, start, CLASS_SOLVERS[solver], **options)
    return SOLVERS[solver](problem, start, **options)


def _start_near_data(problem: Problem, start: Array | None) -> Array | None:
    """Return the given start, unless some row has no mean there, or a constant mean for all rows has a lower loss.

    So far from the optimum the gradient and the Hessian may vanish.
    """
    if start is not None:
        value, plain = (evaluate(problem, w, LOSS).value for w in (start, problem.start()))
        if np.isfinite(value) and not value > plain:
            return start
    return None if problem.response.unbounded else feasible_start(problem)
