"""Tests of hypotheses about coefficients: Wald's, by the likelihood ratio, and by the score.

With the estimate β̂, the restricted one β̃, and a hypothesis R β = v of q rows,

    Wald                (Rβ̂ − v)ᵀ (R V Rᵀ)⁻¹ (Rβ̂ − v)
    likelihood ratio    (deviance(β̃) − deviance(β̂)) / φ
    score               gᵀ I⁻¹ g / φ,   gradient and information at β̃

are each about χ² with q degrees of freedom; where the dispersion φ is estimated, the first two over q are about F.
Parameters of the family that were estimated, the r of a negative binomial, are found anew at β̃.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self, cast

import numpy as np
from scipy.linalg import null_space
from scipy.stats import chi2, f

from mercer._errors import InferenceError, NotConvergedWarning
from mercer._suggest import did_you_mean
from mercer._typing import Array
from mercer._warn import warn
from mercer.families import Family
from mercer.inference._covariance import Bread, Covariance, bread_of, dispersion_of
from mercer.inference._fitted import FittedModel
from mercer.linear_model.glm_solve import best_theta, in_turn
from mercer.matrices import Observations
from mercer.optim import firth, newton
from mercer.optim.certificate import Certificate, Solution
from mercer.optim.problem import Problem, Slope, standard_error
from mercer.report.wording import counted
from mercer.stats.quadratic import GRADIENT, HESSIAN, LOSS

# The best fit under linear restrictions of the coefficients, by the same solver that found the best of all.

#: restrictions of unit length with a smaller singular value depend on each other
INDEPENDENT = 1e-8
#: a restricted fit so many standard errors from its optimum has a deviance that is right to the square of it
NEAR = 1e-4


@dataclass(frozen=True, eq=False)
class Restricted:
    """The objective of a fit on the points `origin` + `basis` u alone: what Newton's method asks of a problem."""

    fitted: FittedModel
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

    fitted: FittedModel
    rows: Array
    #: I⁻¹ rowsᵀ (rows I⁻¹ rowsᵀ)⁻¹: the move of θ per unit of each value that costs least
    moves: Array
    basis: Array

    @classmethod
    def of(cls, fitted: FittedModel, bread: Bread, rows: Array) -> Self:
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
    fitted: FittedModel


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


class HypothesisTest(NamedTuple):
    """How far the data are from a hypothesis, and how often they would be as far if it were true.

    `statistic` is χ² with `freedom` degrees of freedom, or, if `residual_freedom` is a number, F with both.
    """

    kind: str
    hypothesis: str
    statistic: float
    freedom: int
    residual_freedom: float | None
    p_value: float

    def __str__(self) -> str:
        law = (
            f"χ²({self.freedom})" if self.residual_freedom is None else f"F({self.freedom}, {self.residual_freedom:g})"
        )
        return f"{self.kind} test of {self.hypothesis}: {law} = {self.statistic:.4g}, p = {self.p_value:.4g}"


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """`matrix` β = `values`, for the coefficients as the user has them."""

    matrix: Array
    values: Array
    words: str

    @property
    def size(self) -> int:
        return len(self.values)


def hypothesis_of(names: Sequence[str], about: str | Sequence[str] | Array, values: float | Array = 0.0) -> Hypothesis:
    """That the coefficients named are `values`, or that a matrix of q rows times all coefficients is."""
    if isinstance(about, str):
        about = [about]
    if all(isinstance(name, str) for name in about):
        positions = [position_of(name, names) for name in about]
        matrix, told = np.eye(len(names))[positions], ", ".join(about)
    else:
        matrix = np.atleast_2d(np.asarray(about, dtype=float))
        told = counted(len(matrix), "linear combination")
    if matrix.shape[1] != len(names) or not len(matrix):
        raise InferenceError(
            f"each row of a hypothesis has one number per coefficient, {len(names)}; this one has shape {matrix.shape}."
        )
    values = np.asarray(values, dtype=float)
    if values.ndim > 1 or values.size not in (1, len(matrix)):
        raise InferenceError(
            f"a hypothesis of {counted(len(matrix), 'row')} has one value, or one for each; got {values.size}."
        )
    if not (np.isfinite(matrix).all() and np.isfinite(values).all()):
        raise InferenceError("a hypothesis is of finite numbers only; correct those that are NaN or infinite.")
    values = np.broadcast_to(values, len(matrix))
    return Hypothesis(matrix, values, f"{told} = {', '.join(f'{value:g}' for value in np.unique(values))}")


def position_of(name: str, names: Sequence[str]) -> int:
    """Where a coefficient is."""
    if name not in names:
        raise InferenceError(f"no coefficient is called {name!r}. {did_you_mean(name, names)}")
    return list(names).index(name)


def wald_test(fitted: FittedModel, covariance: Covariance, hypothesis: Hypothesis) -> HypothesisTest:
    away = hypothesis.matrix @ fitted.coefficients - hypothesis.values
    used = hypothesis.matrix.any(axis=0)
    if not covariance.determined[used].all():
        raise InferenceError(
            "the data do not determine all of these coefficients; leave out those without standard error."
        )
    unit, size = unit_rows(hypothesis.matrix @ fitted.to_user @ covariance.spread)
    # the length of what it takes of each independent error to be so far away, with no product formed
    whitened = np.linalg.lstsq(unit, away / size, rcond=None)[0]
    return _verdict("Wald", hypothesis, float(whitened @ whitened), covariance.freedom)


def likelihood_ratio_test(fitted: FittedModel, covariance: Covariance, hypothesis: Hypothesis) -> HypothesisTest:
    objective = _restricted(fitted, covariance.bread, hypothesis).trace[-1]
    # a difference below 0 is rounding
    drop = max(0.0, 2 * (objective - fitted.objective) / covariance.dispersion)
    return _verdict("likelihood ratio", hypothesis, drop, _residual_freedom(fitted, covariance))


def score_test(fitted: FittedModel, covariance: Covariance, hypothesis: Hypothesis) -> HypothesisTest:
    theta = _restricted(fitted, covariance.bread, hypothesis).value
    there = fitted.moved(theta)
    root = fitted.free @ bread_of(there).root
    pull = root.T @ there.score_at(theta)
    dispersion = dispersion_of(there, covariance.effective - hypothesis.size)
    return _verdict("score", hypothesis, float(pull @ pull) / dispersion, None)


def _restricted(fitted: FittedModel, bread: Bread, hypothesis: Hypothesis) -> Solution:
    """The best fit under the hypothesis."""
    face = Face.of(fitted, bread, hypothesis.matrix @ fitted.to_user)
    solution = face.minimum(hypothesis.values)
    warn_if_far(solution.certificate)
    return solution


def _residual_freedom(fitted: FittedModel, covariance: Covariance) -> float | None:
    """The likelihood knows of no clusters: the dispersion has the freedom of the rows."""
    return None if covariance.freedom is None else fitted.n - covariance.effective


def _verdict(kind: str, hypothesis: Hypothesis, statistic: float, freedom: float | None) -> HypothesisTest:
    q = hypothesis.size
    if freedom is None:
        return HypothesisTest(kind, hypothesis.words, statistic, q, None, float(chi2.sf(statistic, q)))
    return HypothesisTest(kind, hypothesis.words, statistic / q, q, freedom, float(f.sf(statistic / q, q, freedom)))
