"""The best fit under linear restrictions of the coefficients, by the same solver that found the best of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self, cast

import numpy as np
from scipy.linalg import null_space

from mercer._errors import InferenceError, NotConvergedWarning
from mercer._typing import Array
from mercer._warn import warn
from mercer.designs import Observations
from mercer.families import Family
from mercer.models.glm.negative_binomial import best_theta, in_turn
from mercer.models.inference.bread import Bread
from mercer.models.inference.fitted import Fitted
from mercer.solvers.certificate import Certificate, Solution
from mercer.solvers.problem import Problem, Slope, standard_error
from mercer.solvers.smooth import firth, newton
from mercer.stats.quadratic import GRADIENT, HESSIAN, LOSS

#: restrictions of unit length with a smaller singular value depend on each other
INDEPENDENT = 1e-8
#: a restricted fit so many standard errors from its optimum has a deviance that is right to the square of it
NEAR = 1e-4


@dataclass(frozen=True, eq=False)
class Restricted:
    """The objective of a fit on the points `origin` + `basis` u alone: what Newton's method asks of a problem."""

    fitted: Fitted
    origin: Array
    basis: Array

    @property
    def observations(self) -> Observations:
        return self.fitted.observations

    @property
    def n_columns(self) -> int:
        return int(self.basis.shape[1])

    @property
    def is_convex(self) -> bool:
        return self.fitted.rows.predictors > 1 or self.fitted.problem.is_convex

    def unit(self, value: float) -> float:
        if self.fitted.rows.predictors == 1:
            return self.fitted.problem.unit(value)
        return standard_error(1.0, 2 * np.log(self.fitted.rows.predictors), self.observations.mean_weight)

    def at(self, u: Array, order: int = HESSIAN) -> Slope:
        value, gradient, hessian = self.fitted.at(self.origin + self.basis @ u, order)
        if order >= GRADIENT:
            gradient = self.basis.T @ gradient
        if order == HESSIAN:
            hessian = self.basis.T @ hessian @ self.basis
        return Slope(value, gradient, hessian)

    def solve(self) -> Solution:
        """The best point, as a θ."""
        solution = newton.solve(cast(Problem, self), np.zeros(self.n_columns))
        return replace(solution, value=np.asarray(self.origin + self.basis @ solution.value))


@dataclass(frozen=True, eq=False)
class Face:
    """The parameters θ with `rows` θ = given values: where the nearest one is, and which way others lie.

    Directions are scaled by the bread, so that the curvature along each is about one.
    """

    fitted: Fitted
    rows: Array
    #: I⁻¹ rowsᵀ (rows I⁻¹ rowsᵀ)⁻¹: the move of θ per unit of each value that costs least
    moves: Array
    basis: Array

    @classmethod
    def of(cls, fitted: Fitted, bread: Bread, rows: Array) -> Self:
        root = fitted.free @ bread.root
        seen, size = unit_rows(rows @ root)
        return cls(fitted, rows, root @ np.linalg.pinv(seen) / size, root @ null_space(seen))

    def nearest(self, theta: Array, values: Array) -> Array:
        """The point of the face to begin at."""
        return np.asarray(theta + self.moves @ (values - self.rows @ theta))

    def minimum(self, values: Array, *starts: Array) -> Solution:
        """The best fit on the face: its value is a θ; begun at the best of some points, moved there.

        Parameters of the family that were estimated are found anew there; the trace ends at a value to be compared
        with the objective of the estimate.
        """
        if not self.fitted.family_parameters:
            return self._minimum(values, starts)

        def fitted(family: Family, last: Turn | None) -> Turn:
            face = replace(self, fitted=self.fitted.of_family(family))
            return Turn(face._minimum(values, starts if last is None else (last.solution.value,)), face.fitted)

        solution, there = in_turn(fitted, lambda turn: best_theta(turn.fitted.problem, turn.solution.value), "others")
        gained = there.best_of_all - self.fitted.best_of_all
        return replace(solution, trace=(*solution.trace, there.at(solution.value, LOSS).value - gained))

    def _minimum(self, values: Array, starts: Sequence[Array]) -> Solution:
        moved = [self.nearest(start, values) for start in (self.fitted.theta, *starts)]
        with np.errstate(over="ignore", invalid="ignore"):
            origin = min(moved, key=lambda theta: self.fitted.at(theta, LOSS).value)
        if self.fitted.firth:
            return firth.solve(self.fitted.problem, origin, within=self.basis)
        return Restricted(self.fitted, origin, self.basis).solve()


class Turn(NamedTuple):
    """A restricted fit, and the family that it is of."""

    solution: Solution
    fitted: Fitted


def warn_if_far(certificate: Certificate) -> None:
    """Of a restricted fit so far from its optimum that a test or an interval would show it."""
    if certificate.value <= NEAR:
        return
    warn(
        f"the best fit under the restriction was not found: {certificate}. The χ² of what was found is too large by "
        f"about {certificate.value**2:.1g}; leave out columns that are nearly collinear, or restrict to values nearer "
        "to the estimate.",
        NotConvergedWarning,
    )


def unit_rows(restrictions: Array) -> tuple[Array, Array]:
    """Restrictions of parameters of unit variance, at unit length, and their lengths; an error if they depend."""
    size = np.linalg.norm(restrictions, axis=1)
    unit = restrictions / np.where(size > 0, size, 1.0)[:, None]
    if np.linalg.matrix_rank(unit, tol=INDEPENDENT) < len(unit):
        raise InferenceError(
            "the restrictions repeat or contradict each other, or the data do not determine what they restrict; leave "
            "some of them out."
        )
    return unit, size
