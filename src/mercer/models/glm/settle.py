"""After the solver: what stands between its answer and the coefficients of the model.

Dependent columns leave the coefficients open: of all that fit as well the smallest are taken. Separated responses have
none that are finite: what to do about it is the user's choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mercer._errors import (
    CollinearWarning,
    FitInterrupted,
    MercerWarning,
    SeparationError,
    SeparationWarning,
    UnsuitableSolverError,
)
from mercer._suggest import listed
from mercer._typing import Array
from mercer.models._progress import Progress
from mercer.models.diagnosis import Finding
from mercer.models.glm.rank import MOST_COLUMNS, find_dependence
from mercer.models.glm.separation import examine, weak_prior
from mercer.models.glm.solve import Limits, Solved, SolveInterrupted, solve
from mercer.solvers.choose import Choice
from mercer.solvers.curvature import Curvature
from mercer.solvers.least_squares.least_squares_problem import LinearSolution
from mercer.solvers.problem import Problem
from mercer.solvers.smooth import firth

#: what the remedies are called in `plan_`
FIRTH = Choice("firth", "the responses are separated")
#: steps that Fisher scoring may take, which converges more slowly than Newton's method
MOST_FIRTH_STEPS = 1000


class Settled(NamedTuple):
    """The answer that was settled on, how many coefficients it has used up, what was found, and what to warn of."""

    solved: Solved
    coefficients: float
    findings: tuple[Finding, ...] = ()
    cautions: tuple[MercerWarning, ...] = ()


def settle(
    solved: Solved, names: Sequence[str], on_separation: str, limits: Limits, progress: Progress | None
) -> Settled:
    """Make the coefficients unique and finite, or say that they are not."""
    settled = _unique(solved, names)
    finding = examine(settled.solved.problem, settled.solved.solution, names)
    if finding is None:
        return settled
    remedy = _firth if on_separation == "firth" else _ridge
    return separated(settled, finding, on_separation, lambda: remedy(settled.solved, limits, progress))


def separated(settled: Settled, finding: Finding, on_separation: str, remedy: Callable[[], Solved]) -> Settled:
    """What the user chose to do about separated responses."""
    findings, message = (*settled.findings, finding), f"{finding.sentence} {finding.remedy}"
    if on_separation == "error":
        raise SeparationError(message)
    if on_separation == "warn":
        return settled._replace(findings=findings, cautions=(*settled.cautions, SeparationWarning(message)))
    return settled._replace(solved=remedy(), findings=findings)


def _firth(solved: Solved, limits: Limits, progress: Progress | None) -> Solved:
    if solved.problem.observations.streamed:
        raise UnsuitableSolverError(
            "the responses look separated, and Firth's penalised likelihood needs all rows together, not those of a "
            'source; use on_separation="ridge", or a penalty.'
        )
    problem = replace(solved.problem, observations=solved.problem.observations.in_memory())
    try:
        solution = firth.solve(problem, tolerance=limits.tolerance, most_steps=MOST_FIRTH_STEPS)
    except FitInterrupted as stop:
        raise SolveInterrupted(str(stop), Solved(problem, stop.solution, FIRTH)) from None
    return Solved(problem, solution, FIRTH)


def _ridge(solved: Solved, limits: Limits, progress: Progress | None) -> Solved:
    problem = replace(solved.problem, strengths=weak_prior(solved.problem.observations))
    return solve(problem, "auto", limits, progress=progress)


def _unique(solved: Solved, names: Sequence[str]) -> Settled:
    problem, solution = solved.problem, solved.solution
    if isinstance(solution, LinearSolution):
        return _unique_least_squares(solved, solution, names)
    dependence = find_dependence(problem.observations, problem.strengths)
    if dependence is None:
        return wide(solved, names) or Settled(solved, used_coefficients(problem, solution.value))
    value = dependence.smallest(solution.value, problem.observations.design.coordinates)
    used = used_coefficients(problem, value, dependence.rank_lost)
    return Settled(solved.with_value(value), used, *dependent(names, dependence.columns(), dependence.constant))


def wide(solved: Solved, names: Sequence[str]) -> Settled | None:
    """Too many columns to look for dependences, which there must be where rows are fewer."""
    observations, strengths = solved.problem.observations, solved.problem.strengths
    rows = observations.heavy
    free = np.flatnonzero((strengths.l1 == 0) & (strengths.l2 == 0))
    if rows >= len(free):
        return None
    return Settled(solved, rows, *dependent(names, free.tolist()))


def _unique_least_squares(solved: Solved, solution: LinearSolution, names: Sequence[str]) -> Settled:
    """The closed form has the smallest coefficients already, and knows the dependent columns."""
    fit, columns = solution.fit, len(solution.fit.coefficients)
    if solved.problem.strengths.any or fit.rank is None or fit.rank == columns:
        return Settled(solved, used_coefficients(solved.problem, solution.value))
    collinear = fit.collinear
    if not collinear and fit.rank < columns - len(fit.constant):
        # with fewer rows than columns, any of them may be said to depend on the others
        collinear = tuple(set(range(columns)) - set(fit.constant))
    return Settled(solved, len(solution.value) - columns + fit.rank, *dependent(names, collinear, fit.constant))


def used_coefficients(problem: Problem, w: Array, rank_lost: int = 0) -> float:
    """How many coefficients the data have determined.

    One that an L1 penalty holds at its mean does not count; those under an L2 penalty count together as
    tr H (H + L2)⁻¹.
    """
    strengths = problem.strengths
    loose = (strengths.l1 == 0) | (w != strengths.mean)
    if not strengths.l2.any() or len(w) > MOST_COLUMNS:
        return float(np.count_nonzero(loose) - rank_lost)
    with np.errstate(over="ignore", invalid="ignore"):
        hessian = problem.at(w).hessian[np.ix_(loose, loose)]
    if not np.isfinite(hessian).all():  # the penalty is nothing beside it
        return float(np.count_nonzero(loose) - rank_lost)
    curvature = Curvature.of(hessian)
    return curvature.rank - curvature.share(strengths.l2[loose])


def dependent(
    names: Sequence[str], columns: Sequence[int], constant_columns: Sequence[int] = ()
) -> tuple[tuple[Finding, ...], tuple[CollinearWarning, ...]]:
    """Which coefficients are not unique, for the diagnosis and as warnings: those of columns that depend on others."""
    constant = tuple(names[column] for column in constant_columns)
    still = set(constant_columns)
    collinear = tuple(names[column] for column in columns if column not in still)
    findings = []
    if constant:
        sentence = f"There is no variation in {listed(list(constant))}: nothing tells the coefficient, and 0 is given."
        findings.append(Finding("constant", "warning", sentence, "Leave the columns out.", constant))
    if collinear:
        sentence = (
            f"The columns of {listed(list(collinear))} depend on each other, so that their coefficients are not "
            "unique: of all that fit equally well, the smallest are given."
        )
        remedy = "Leave columns out, or use a penalty, e.g. penalty=L2(1e-3)."
        findings.append(Finding("collinear", "warning", sentence, remedy, collinear))
    return tuple(findings), tuple(CollinearWarning(f"{finding.sentence} {finding.remedy}") for finding in findings)
