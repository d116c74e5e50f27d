"""Tests of hypotheses about coefficients: the Wald, likelihood ratio and score tests.

With the estimate β̂, the restricted one β̃, and a hypothesis R β = v of q rows,

    Wald                (Rβ̂ − v)ᵀ (R V Rᵀ)⁻¹ (Rβ̂ − v)
    likelihood ratio    (deviance(β̃) − deviance(β̂)) / φ
    score               gᵀ I⁻¹ g / φ,   gradient and information at β̃

are each approximately χ² with q degrees of freedom; if the dispersion φ is estimated, the first two over q are
approximately F. Estimated parameters of the family, the r of a negative binomial, are estimated anew at β̃.
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
from mercer.inference._covariance import Bread, Covariance, compute_bread, dispersion_of
from mercer.inference._fitted import FittedModel
from mercer.linear_model.glm_solve import alternate_with_r, estimate_theta
from mercer.matrices import Observations
from mercer.optim import firth, newton
from mercer.optim.certificate import Certificate, History, Solution
from mercer.optim.problem import Problem, Slope, standard_error
from mercer.report.wording import format_count
from mercer.stats.quadratic import GRADIENT, HESSIAN, LOSS

#: singular value of restrictions of unit length below which they depend on each other
SMALLEST_SINGULAR_VALUE = 1e-8
#: maximum number of Newton steps of a restricted fit, the default of `GLM`
MOST_RESTRICTED_STEPS = 100
#: allowed distance of a restricted fit from its optimum in standard errors; its deviance is right to the square of it
NEAR_OPTIMUM = 1e-4


@dataclass(frozen=True, eq=False)
class RestrictedProblem:
    """Objective of a fit restricted to the points `origin` + `basis` u, as Newton's method needs it."""

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

    def solve(self, most_steps: int = MOST_RESTRICTED_STEPS) -> Solution:
        """Return the minimum, as a θ, after at most `most_steps` Newton steps."""
        solution = newton.solve(
            cast(Problem, self), np.zeros(self.n_columns), most_steps=most_steps
        ).require_completion()
        return replace(solution, coef=np.asarray(self.origin + self.basis @ solution.coef))


@dataclass(frozen=True, eq=False)
class RestrictedSet:
    """Parameters θ with `rows` θ = given values, for the best fit under linear restrictions.

    The directions in `basis` are scaled by the bread, so that the curvature along each is about one.
    """

    fitted: FittedModel
    rows: Array
    #: I⁻¹ rowsᵀ (rows I⁻¹ rowsᵀ)⁻¹: the move of θ per unit of each value that increases the objective least
    moves: Array
    basis: Array
    #: maximum number of Newton steps of a restricted fit
    most_steps: int = MOST_RESTRICTED_STEPS

    @classmethod
    def of(cls, fitted: FittedModel, bread: Bread, rows: Array, *, most_steps: int = MOST_RESTRICTED_STEPS) -> Self:
        root = fitted.free @ bread.root
        unit, size = unit_rows(rows @ root)
        return cls(fitted, rows, root @ np.linalg.pinv(unit) / size, root @ null_space(unit), most_steps)

    def minimum(self, values: Array, *starts: Array) -> Solution:
        """Return the best restricted fit, whose value is a θ; it begins at the best of the starts, moved into the set.

        Estimated parameters of the family are estimated anew. The history ends at a value that can be compared with the
        objective of the estimate.
        """
        if not self.fitted.family_parameters:
            return self._minimum(values, starts)

        def fitted(family: Family, last: RestrictedFit | None) -> RestrictedFit:
            current = replace(self, fitted=self.fitted.with_family(family))
            begin = starts if last is None else (last.solution.coef,)
            return RestrictedFit(current._minimum(values, begin), current.fitted)

        solution, restricted = alternate_with_r(
            fitted, lambda fit: estimate_theta(fit.fitted.problem, fit.solution.coef), "others"
        )
        gain = restricted.best_of_all - self.fitted.best_of_all
        comparable = History.of([np.nan, restricted.at(solution.coef, LOSS).value - gain])
        return replace(solution, history=solution.history.followed_by(comparable))

    def _minimum(self, values: Array, starts: Sequence[Array]) -> Solution:
        moved = [start + self.moves @ (values - self.rows @ start) for start in (self.fitted.theta, *starts)]
        with np.errstate(over="ignore", invalid="ignore"):
            origin = min(moved, key=lambda theta: self.fitted.at(theta, LOSS).value)
        if self.fitted.firth:
            return firth.solve(self.fitted.problem, origin, within=self.basis).require_completion()
        return RestrictedProblem(self.fitted, origin, self.basis).solve(self.most_steps)


class RestrictedFit(NamedTuple):
    """Restricted fit, and the model with its family."""

    solution: Solution
    fitted: FittedModel


def warn_if_far(certificate: Certificate) -> None:
    """Warn of a restricted fit so far from its optimum that a test or an interval is inaccurate."""
    if certificate.value <= NEAR_OPTIMUM:
        return
    warn(
        f"the best fit under the restriction was not found: {certificate}. The χ² of what was found is too large by "
        f"about {certificate.value**2:.1g}; leave out columns that are nearly collinear, or restrict to values nearer "
        "to the estimate.",
        NotConvergedWarning,
    )


def unit_rows(restrictions: Array) -> tuple[Array, Array]:
    """Return restrictions of parameters of unit variance at unit length, and their lengths.

    Raise an error if the restrictions depend on each other.
    """
    size = np.linalg.norm(restrictions, axis=1)
    unit = restrictions / np.where(size > 0, size, 1.0)[:, None]
    if np.linalg.matrix_rank(unit, tol=SMALLEST_SINGULAR_VALUE) < len(unit):
        raise InferenceError(
            "the restrictions repeat or contradict each other, or the data do not determine what they restrict; leave "
            "some of them out."
        )
    return unit, size


class HypothesisTest(NamedTuple):
    """Distance of the data from a hypothesis, and the probability of a distance as large under the hypothesis.

    `statistic` is χ² with `freedom` degrees of freedom or, if `residual_freedom` is a number, F with both.

    Examples
    --------
    >>> from mercer import LinearRegression, summary
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 2.0, 2.0, 4.0]
    >>> test = summary(LinearRegression().fit(X, y), X, y).wald_test(["x0"])
    >>> round(test.statistic, 2), test.freedom, round(test.p_value, 3)
    (11.57, 1, 0.077)
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
    """Hypothesis `matrix` β = `values` about the user's coefficients."""

    matrix: Array
    values: Array
    words: str

    @property
    def size(self) -> int:
        return len(self.values)


def parse_hypothesis(
    names: Sequence[str], about: str | Sequence[str] | Array, values: float | Array = 0.0
) -> Hypothesis:
    """Return the hypothesis that named coefficients, or a matrix of q rows times all coefficients, are `values`."""
    if isinstance(about, str):
        about = [about]
    if all(isinstance(name, str) for name in about):
        positions = [find_position(name, names) for name in about]
        matrix, subject = np.eye(len(names))[positions], ", ".join(about)
    else:
        matrix = np.atleast_2d(np.asarray(about, dtype=float))
        subject = format_count(len(matrix), "linear combination")
    if matrix.shape[1] != len(names) or not len(matrix):
        raise InferenceError(
            f"each row of a hypothesis has one number per coefficient, {len(names)}; this one has shape {matrix.shape}."
        )
    values = np.asarray(values, dtype=float)
    if values.ndim > 1 or values.size not in (1, len(matrix)):
        raise InferenceError(
            f"a hypothesis of {format_count(len(matrix), 'row')} has one value, or one for each; got {values.size}."
        )
    if not (np.isfinite(matrix).all() and np.isfinite(values).all()):
        raise InferenceError("a hypothesis is of finite numbers only; correct those that are NaN or infinite.")
    values = np.broadcast_to(values, len(matrix))
    return Hypothesis(matrix, values, f"{subject} = {', '.join(f'{value:g}' for value in np.unique(values))}")


def find_position(name: str, names: Sequence[str]) -> int:
    """Return the position of a coefficient, or raise an error with a suggestion."""
    if name not in names:
        raise InferenceError(f"no coefficient is called {name!r}. {did_you_mean(name, names)}")
    return list(names).index(name)


def wald_test(fitted: FittedModel, covariance: Covariance, hypothesis: Hypothesis) -> HypothesisTest:
    distance = hypothesis.matrix @ fitted.coefficients - hypothesis.values
    used = hypothesis.matrix.any(axis=0)
    if not covariance.determined[used].all():
        raise InferenceError(
            "the data do not determine all of these coefficients; leave out those without standard error."
        )
    unit, size = unit_rows(hypothesis.matrix @ fitted.to_user @ covariance.spread)
    # the shortest combination of independent errors with this distance, without forming a product of matrices
    whitened = np.linalg.lstsq(unit, distance / size, rcond=None)[0]
    return _make_test("Wald", hypothesis, float(whitened @ whitened), covariance.freedom)


def likelihood_ratio_test(fitted: FittedModel, covariance: Covariance, hypothesis: Hypothesis) -> HypothesisTest:
    objective = _restricted(fitted, covariance.bread, hypothesis).objective
    # a negative difference is rounding
    drop = max(0.0, 2 * (objective - fitted.objective) / covariance.dispersion)
    return _make_test("likelihood ratio", hypothesis, drop, _residual_freedom(fitted, covariance))


def score_test(fitted: FittedModel, covariance: Covariance, hypothesis: Hypothesis) -> HypothesisTest:
    theta = _restricted(fitted, covariance.bread, hypothesis).coef
    restricted = fitted.with_parameters(theta)
    root = fitted.free @ compute_bread(restricted).root
    pull = root.T @ restricted.score_at(theta)
    dispersion = dispersion_of(restricted, covariance.effective - hypothesis.size)
    return _make_test("score", hypothesis, float(pull @ pull) / dispersion, None)


def _restricted(fitted: FittedModel, bread: Bread, hypothesis: Hypothesis) -> Solution:
    """Return the best fit under the hypothesis."""
    solution = RestrictedSet.of(fitted, bread, hypothesis.matrix @ fitted.to_user).minimum(hypothesis.values)
    warn_if_far(solution.certificate)
    return solution


def _residual_freedom(fitted: FittedModel, covariance: Covariance) -> float | None:
    """Return the degrees of freedom of the dispersion, by the rows even if the covariance is by clusters."""
    return None if covariance.freedom is None else fitted.n - covariance.effective


def _make_test(kind: str, hypothesis: Hypothesis, statistic: float, freedom: float | None) -> HypothesisTest:
    q = hypothesis.size
    if freedom is None:
        return HypothesisTest(kind, hypothesis.words, statistic, q, None, float(chi2.sf(statistic, q)))
    return HypothesisTest(kind, hypothesis.words, statistic / q, q, freedom, float(f.sf(statistic / q, q, freedom)))
