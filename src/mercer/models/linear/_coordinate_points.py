"""Least squares with absolute values in the penalty, in scikit-learn's units: a mean of losses and an alpha."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._errors import FitInterrupted, NonFiniteError
from mercer._typing import Array
from mercer._warn import warn
from mercer.families.penalties import Strengths
from mercer.models._finite import refuse_spoilt_start
from mercer.models.base import is_sparse
from mercer.solvers.certificate import Certificate, Solution
from mercer.solvers.krylov import TOLERANCE
from mercer.solvers.least_squares.direct import Rows, least_squares, worth_a_square
from mercer.solvers.least_squares.iterative import by_conjugate_gradients
from mercer.solvers.sparse.duality import least_squares_gap
from mercer.solvers.sparse.path import MOST_SWEEPS, LassoFit, solve_path
from mercer.solvers.sparse.regression import Regression

WORKING_SETS = "coordinate descent on working sets"
#: a fit aims closer than it is asked to, where that is not beyond rounding: scikit-learn, too, is closer by its other
#: criterion, that coefficients have come to rest, and a model is compared with others
CLOSER, ROUNDING = 1e-4, 1e-12

NOT_CONVERGED = (
    "Objective did not converge. You might want to increase the number of iterations, check the scale of the features "
    "or consider increasing regularisation. Duality gap: {gap:.6e}, tolerance: {tolerance:.3e}"
)
NO_L1 = (
    "\nLinear regression models with a zero l1 penalization strength are more efficiently fitted using one of the "
    "solvers implemented in sklearn.linear_model.Ridge/RidgeCV instead."
)
TOO_LARGE = (
    "Coordinate descent iterations resulted in non-finite parameter values. The input data may contain large values "
    "and need to be preprocessed. Squares of some are too large for float64: the largest are in column {column} (up to "
    "{largest:.2g}); divide it, or y, by a number."
)


class Point(NamedTuple):
    """The model at one alpha."""

    coefficients: Array
    intercept: float
    gap: float  # of the mean of losses, as scikit-learn gives it
    sweeps: int
    certificate: Certificate
    path: str


@dataclass(frozen=True, eq=False)
class Terms:
    """What is minimised, and how closely."""

    l1_ratio: float
    intercept: bool
    positive: bool
    tolerance: float
    most_sweeps: int | None
    gram: Array | None = None
    screening: bool = True
    closely: bool = False

    @property
    def aim(self) -> float:
        """The gap that the solver is to reach."""
        return min(self.tolerance, max(CLOSER * self.tolerance, ROUNDING)) if self.closely else self.tolerance

    def strengths(self, columns: int) -> Strengths:
        l1, l2, mean = np.zeros((3, columns))
        l1[:], l2[:] = self.l1_ratio, 1 - self.l1_ratio
        return Strengths(l1, l2, mean)


@dataclass(frozen=True, eq=False)
class Task:
    """Rows and one target; the losses are divided by `total`, the sum of the weights unless said otherwise."""

    X: Any
    y: Array
    weight: Array | None
    total: float

    @classmethod
    def of(cls, X: Any, y: Array, weight: Array | None) -> Task:
        total = float(len(y) if weight is None else weight.sum())
        return cls(X, np.asarray(y, dtype=np.float64), weight, total)

    def regression(self, *, intercept: bool) -> Regression:
        return Regression.of(self.X, self.y, self.weight, np.zeros(self.X.shape[1]), intercept=intercept)


def points(task: Task, alphas: Array, terms: Terms, start: Array | None = None) -> list[Point]:
    """The models at the alphas, in their order; a `FitInterrupted` has those found as its `solution`."""
    alphas = np.asarray(alphas, dtype=np.float64)
    if start is not None:
        refuse_spoilt_start(start)
    with naming_the_largest(task.X):
        if not terms.positive and (terms.l1_ratio == 0 or not alphas.any()):
            return [_without_l1(task, float(alpha), terms) for alpha in alphas]
        return _with_l1(task, alphas, terms, start)


@contextmanager
def naming_the_largest(X: Any) -> Iterator[None]:
    """scikit-learn's words for numbers that grow beyond all bounds, and the column that is to blame."""
    try:
        yield
    except NonFiniteError:
        largest = np.asarray(abs(X).max(axis=0).toarray() if is_sparse(X) else np.abs(X).max(axis=0)).ravel()
        column = int(np.argmax(largest))
        raise NonFiniteError(TOO_LARGE.format(column=column, largest=largest[column])) from None


def _with_l1(task: Task, alphas: Array, terms: Terms, start: Array | None) -> list[Point]:
    def point(solution: Solution) -> Point:
        fit: LassoFit = solution.value
        tolerance = solution.certificate.tolerance * (terms.tolerance / terms.aim if terms.aim else 1.0)
        # rounding may leave less than nothing; NaN stays NaN in this order
        certificate = replace(solution.certificate, value=max(solution.certificate.value, 0.0), tolerance=tolerance)
        gap = certificate.value / task.total
        return Point(fit.coefficients, fit.intercept, gap, fit.sweeps, certificate, WORKING_SETS)

    try:
        solutions = solve_path(
            task.X,
            task.y,
            terms.strengths(task.X.shape[1]),
            alphas * task.total,
            weight=task.weight,
            fit_intercept=terms.intercept,
            positive=terms.positive,
            start=start,
            tolerance=terms.aim,
            most_sweeps=MOST_SWEEPS if terms.most_sweeps is None else terms.most_sweeps,
            screening=terms.screening,
            gram=terms.gram,
        )
    except FitInterrupted as stop:
        raise FitInterrupted(str(stop), [point(solution) for solution in stop.solution]) from None
    return [point(solution) for solution in solutions]


def _without_l1(task: Task, alpha: float, terms: Terms) -> Point:
    """What has no absolute values has a closed form."""
    X = task.X.tocsr() if is_sparse(task.X) else task.X
    rows = Rows(X, task.y[:, None], task.weight)
    penalty = np.array([alpha * task.total])
    if worth_a_square(rows):
        solution = least_squares(rows, penalty, intercept=terms.intercept)
    else:
        solution = by_conjugate_gradients(rows, penalty, intercept=terms.intercept, tolerance=TOLERANCE)
    w, b = solution.value.coefficients[:, 0], float(solution.value.intercept[0])
    gap = _gap(task, w, alpha, terms) / task.total
    return Point(w, b, gap, 1, solution.certificate, solution.value.path)


def _gap(task: Task, coefficients: Array, alpha: float, terms: Terms) -> float:
    regression = task.regression(intercept=terms.intercept)
    w = regression.working(coefficients)
    residual = regression.residuals(regression.columns.combination(regression.columns.all_ids(), w[None]))
    c, squares = regression.slopes(residual)[0], float(regression.squares(residual)[0])
    penalty = regression.penalty(terms.strengths(len(w))).times(alpha * task.total)
    return max(least_squares_gap(penalty, w, c, squares), 0.0) * regression.unit**2


def warn_of(found: list[Point], alphas: Array, total: float) -> None:
    """A warning in scikit-learn's words if one of the models is not as close to the optimum as it should be."""
    failed = [(point, alpha) for point, alpha in zip(found, alphas, strict=True) if not point.certificate.holds]
    if not failed:
        return
    worst, alpha = max(failed, key=lambda pair: pair[0].gap)
    message = NOT_CONVERGED.format(gap=worst.gap * total, tolerance=worst.certificate.tolerance)
    if alpha * total < np.finfo(np.float64).eps:
        message += NO_L1
    several = f"\nThis is the worst of {len(failed)} of {len(found)} penalties." if len(found) > 1 else ""
    remedy = f"\nIt made {worst.sweeps} iterations: raise max_iter, or tol if such a gap is small enough."
    warn(message + several + remedy, ConvergenceWarning)
