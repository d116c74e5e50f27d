"""Logistic regression of one data set at one penalty after another: what `LogisticRegression` and its CV share.

scikit-learn's objective, C Σ w · loss + l1_ratio ‖β‖₁ + (1 − l1_ratio)/2 ‖β‖², is ours times C.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from mercer._errors import FitInterrupted
from mercer._gpu import is_tensor
from mercer._stored import stored
from mercer._typing import Array
from mercer.designs import (
    Coordinates,
    DenseDesign,
    Design,
    MixedDesign,
    Observations,
    SparseDesign,
    TensorDesign,
    TensorObservations,
    design_of,
)
from mercer.designs.coordinates import that_count
from mercer.designs.encoded import Encoded
from mercer.families import LOGIT, Bernoulli
from mercer.families.penalties import ElasticNet, Strengths
from mercer.families.response import Response
from mercer.families.softmax import SoftmaxResponse
from mercer.models._progress import Progress
from mercer.models.base import is_sparse
from mercer.models.glm.solve import Limits, certificate_as_published, curvature_along
from mercer.models.logistic._problem import NEWTON, BinaryProblem, MultinomialProblem, solver_for
from mercer.solvers.certificate import Certificate, Solution
from mercer.solvers.smooth.newton import ALWAYS_HESSIAN

#: rounding alone may leave a gradient of this many standard errors, for a weight of one
TIGHTEST = 1e-11
#: Newton's method, which is quick at the end, goes on until the coefficients are this many standard errors off
LOOSEST, LOOSEST_OF_FEW = 1e-2, 1e-6


class Coefficients(NamedTuple):
    """Of each class, or of the second of two, in the units of the data."""

    coef: Array  # (classes, columns)
    intercept: Array  # (classes,)

    def joined(self, *, intercept: bool) -> Array:
        """Side by side, as scikit-learn has them in paths."""
        return np.hstack([self.coef, self.intercept[:, None]]) if intercept else self.coef


@dataclass(frozen=True)
class Point:
    """The fit at one penalty."""

    coefficients: Coefficients
    solution: Solution  # in working coordinates
    path: str
    problem: Any

    @property
    def penalised(self) -> bool:
        return bool(self.problem.strengths.any)

    @property
    def n_iter(self) -> int:
        return len(self.solution.trace) - 1

    @property
    def certificate(self) -> Certificate:
        return self.solution.certificate

    def certificate_as_published(self, coef: Array, intercept: Array) -> Certificate:
        """Return the certificate of the coefficients as they were published, which float32 rows have rounded."""
        problem = self.problem
        change = problem.observations.design.coordinates.from_user(
            (coef.astype(np.float64) - self.coefficients.coef).T,
            intercept.astype(np.float64) - self.coefficients.intercept,
        )
        if not change.any():
            return self.certificate
        value = np.asarray(self.solution.value)
        squares = curvature_along(problem, problem.point(value) if value.ndim == 2 else value, problem.point(change))
        if len(coef) > 1:  # what all classes share is known to the penalty alone
            squares += len(coef) * float(problem.strengths.l2 @ np.square(change.mean(axis=1)))
        return certificate_as_published(problem, self.solution, squares, coef.dtype)


class PathInterrupted(FitInterrupted):
    """Ctrl-C, with the fit so far."""

    def __init__(self, message: str, point: Point) -> None:
        super().__init__(message, point.solution)
        self.point = point


@stored()
class Penalised(NamedTuple):
    """How much, and by which norm."""

    C: float
    l1_ratio: float


@dataclass(frozen=True, eq=False)
class LogisticPath:
    """Rows with their classes, and what is asked of the coefficients but for the penalty's strength."""

    observations: Observations  # y are codes
    n_classes: int
    #: how much the intercept is penalised, compared with a coefficient: not at all but for liblinear
    intercept_scaling: float | None
    limits: Limits

    @classmethod
    def of(cls, model: Any, X: Any, codes: Array, weight: Array | None) -> Self:
        """Rows in memory, or on a device, for a model that has its `classes_`."""
        design = _design(X, weight, intercept=model.fit_intercept, shifted=model.solver != "liblinear")
        of_rows: Any = TensorObservations.of if isinstance(design, TensorDesign) else Observations
        return cls.over(model, of_rows(design, codes, weight))

    @classmethod
    def over(cls, model: Any, observations: Observations) -> Self:
        """What the parameters of such a model ask of observations."""
        scaling = model.intercept_scaling if model.solver == "liblinear" else None
        return cls(observations, len(model.classes_), scaling, Limits(model.tol, model.max_iter))

    def weighted(self, weight: Array) -> Self:
        """The same rows with other weights."""
        return replace(self, observations=replace(self.observations, weight=weight))

    @property
    def _coordinates(self) -> Coordinates:
        return self.observations.design.coordinates

    @property
    def _total(self) -> float:
        return self.observations.total_weight

    def at(
        self,
        C: float,
        l1_ratio: float,
        start: Coefficients | None = None,
        *,
        progress: Progress | None = None,
        told: Callable[[Coefficients], None] | None = None,
    ) -> Point:
        """The fit at one penalty, from the coefficients of another; `told` gets the coefficients after each step."""
        problem = self.problem(C, l1_ratio)
        if told is not None:
            progress = self._telling(problem, told)
        return self._solved(problem, self._begin(problem, start), progress)

    def problem(self, C: float, l1_ratio: float) -> Any:
        """What is minimised at one penalty."""
        strengths = self._strengths(C, l1_ratio)
        if self.n_classes == 2:
            return BinaryProblem(self._second, Response(Bernoulli(), LOGIT), strengths)
        return MultinomialProblem(self.observations, SoftmaxResponse(self.n_classes), strengths)

    def _telling(self, problem: Any, told: Callable[[Coefficients], None]) -> Progress:
        """The point that a solver looked at last is that of its step."""
        return lambda number, value, length: told(self.coefficients(problem.working(problem.seen[-1])))

    def start(self) -> Coefficients:
        """Where a fit begins that is told nothing."""
        problem = self.problem(1.0, 0.0)
        return self.coefficients(problem.working(problem.start()))

    def _strengths(self, C: float, l1_ratio: float) -> Strengths:
        columns = len(self._coordinates.shift)
        strengths = self._coordinates.strengths(ElasticNet(1 / C, l1_ratio=l1_ratio).strengths(columns))
        if self.intercept_scaling is not None and self._coordinates.intercept:
            strengths.l1[-1] = l1_ratio / C / self.intercept_scaling
            strengths.l2[-1] = (1 - l1_ratio) / C / self.intercept_scaling**2
        return strengths

    @cached_property
    def _second(self) -> Observations:
        """With 1 for the second of two classes and 0 for the first."""
        return self.observations.responses_as(np.float64)

    def _begin(self, problem: Any, start: Coefficients | None) -> Array | None:
        if start is None:
            if self.limits.most_steps > 0:
                return None
            # scikit-learn begins at zero, which only a fit without a step can tell
            coef = np.zeros((1 if self.n_classes == 2 else self.n_classes, len(self._coordinates.shift)))
            start = Coefficients(coef, np.zeros(len(coef)))
        with np.errstate(over="ignore", invalid="ignore"):
            working = self._coordinates.from_user(start.coef.T, start.intercept)
        if not np.isfinite(working).all():  # of columns of 1e308, say
            return None
        return working if problem.by_matrix else np.asarray(problem.point(working))

    def _solved(self, problem: Any, start: Array | None, progress: Progress | None) -> Point:
        solver, path = solver_for(problem)
        tolerance = self._tolerance(problem, path)
        try:
            solution = solver.solve(
                problem, start, tolerance=tolerance, most_steps=self.limits.most_steps, progress=progress
            )
        except FitInterrupted as stop:
            raise PathInterrupted(str(stop), self._point(stop.solution, problem, path)) from None
        return self._point(solution, problem, path)

    def _tolerance(self, problem: Any, path: str) -> float:
        """Of distances in standard errors, for one of gradients per row."""
        root = np.sqrt(self._total) / problem.unit(0.0)
        tolerance = self.limits.tolerance * root
        if path == NEWTON:
            tolerance = min(tolerance, LOOSEST if len(self.observations) >= ALWAYS_HESSIAN else LOOSEST_OF_FEW)
        return float(max(tolerance, TIGHTEST * root))

    def _point(self, solution: Solution, problem: Any, path: str) -> Point:
        return Point(self.coefficients(solution.value), solution, path, problem)

    def coefficients(self, working: Array) -> Coefficients:
        """In the units of the data."""
        with np.errstate(over="ignore", invalid="ignore"):  # a column of 1e-310 has a coefficient without float
            coef, intercept = self._coordinates.to_user(working)
        if self.n_classes > 2:  # a constant for all classes changes no probability, and centred ones are easier to read
            intercept = intercept - intercept.mean()
        return Coefficients(np.atleast_2d(coef.T), np.atleast_1d(intercept))


def _design(X: Any, weight: Any, *, intercept: bool, shifted: bool) -> Design:
    """Where the intercept is penalised it must stay the user's: columns are not shifted."""
    movable = shifted or not intercept
    if isinstance(X, Encoded) or (is_sparse(X) and movable):
        return design_of(X, intercept=intercept, weight=weight)[0]
    if is_sparse(X):
        scaled = SparseDesign.of(that_count(X.tocsr(), weight)).coordinates
        return MixedDesign.of(sparse=SparseDesign.within(X, scaled), intercept=True)
    matrix = TensorDesign if is_tensor(X) else DenseDesign
    if movable:
        return matrix.of(X, intercept=intercept, weight=weight)
    plain = matrix.of(X, intercept=False, weight=weight).coordinates
    return matrix(X, replace(plain, intercept=True))
