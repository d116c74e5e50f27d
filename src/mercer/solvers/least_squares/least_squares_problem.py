"""A problem with squared losses, handed to the closed form of least squares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.designs import DenseDesign, TensorDesign
from mercer.families import IDENTITY, Gaussian
from mercer.solvers.certificate import Solution
from mercer.solvers.least_squares.direct import LinearFit, least_squares
from mercer.solvers.least_squares.tensor_rows import rows_of_design
from mercer.solvers.problem import Problem


@dataclass(frozen=True)
class LinearSolution(Solution):
    """With what was found out about the columns."""

    fit: LinearFit


def has_closed_form(problem: Problem) -> bool:
    """Whether the losses are squares, of a plain matrix, with one strength for all coefficients and no prior mean."""
    squares = isinstance(problem.response.family, Gaussian) and problem.response.link == IDENTITY
    plain = isinstance(problem.observations.design, DenseDesign | TensorDesign)
    if not (squares and plain and problem.strengths.smooth):
        return False
    strengths = _strengths(problem)
    same = len(strengths) == 0 or bool((strengths == strengths[0]).all() and np.isfinite(strengths[0]))
    return same and (len(strengths) == 0 or not problem.strengths.mean.any())


def solve_least_squares(problem: Problem) -> LinearSolution:
    """The solution in closed form, as working coefficients."""
    y, weight, offset = problem.observations.y, problem.observations.weight, problem.observations.offset
    design = problem.observations.design
    assert isinstance(design, DenseDesign | TensorDesign)
    rows = rows_of_design(design, (y if offset is None else y - offset)[:, None], weight)
    alpha = np.append(_strengths(problem), 0.0)[:1]
    solution = least_squares(rows, alpha, intercept=design.coordinates.intercept)
    fit: LinearFit = solution.value
    w = design.coordinates.from_user(fit.coefficients[:, 0], fit.intercept[0])
    return LinearSolution(w, solution.certificate, (), fit)


def _strengths(problem: Problem) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Of the penalty on each coefficient in the units of the data."""
    scale = problem.observations.design.coordinates.scale
    # the strength for a column so large that this overflows was raised to a bound, and cannot be told any more
    with np.errstate(over="ignore"):
        return np.asarray(problem.strengths.l2[: len(scale)] * scale * scale)
