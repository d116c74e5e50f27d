"""Firth's penalised likelihood: finite coefficients even for separable responses.

    minimise  F(w) = Σ weight · loss − ½ log det I(w),        I = Xᵀ diag(h) X,  the Fisher information

(Firth, Biometrika 1993): Jeffreys' prior, which removes the first-order bias of the estimate. For a canonical link its
gradient needs only the leverages q = h · xᵀ I⁻¹ x,

    ∇F = Xᵀ (μ − y) − Xᵀ (q · ½ μ''/μ'),        ½ μ''/μ' = ½ − p  for the logit,  ½  for the logarithm,

as if each row had q more responses, half of them successes. Steps are those of Newton's method for the augmented data:
H = Xᵀ diag(h (1 + q/weight)) X with q held fixed. (Steps by I alone overshoot for few rows, and may not converge.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import solve_triangular

from mercer._errors import SingularCovarianceError, UnsuitableSolverError
from mercer._threads import blas_for
from mercer._typing import Array
from mercer.engines.reducing import reduce
from mercer.families import LOG, LOGIT, Bernoulli, Binomial, Poisson
from mercer.families.multivariate import cholesky
from mercer.families.response import Response
from mercer.matrices import Matrix
from mercer.optim.certificate import LENGTH_TOLERANCE, Certificate, Solution, gradient_certificate
from mercer.optim.curvature import Curvature
from mercer.optim.descent import OBJECTIVE_ROUNDING, Descent, descend, halve_step
from mercer.optim.problem import Problem

#: default limit for the number of steps: Newton steps with leverages held fixed converge linearly
MAX_FIRTH_STEPS = 1000


def solve(
    problem: Problem,
    start: Array | None = None,
    *,
    within: Array | None = None,
    tolerance: float = LENGTH_TOLERANCE,
    most_steps: int = MAX_FIRTH_STEPS,
) -> Solution:
    """Minimise Firth's objective.

    Parameters
    ----------
    problem : Problem
        Bernoulli or binomial responses with the logit link, or Poisson responses with the logarithm, without penalty.
    start : array, optional
        Initial coefficients; the null model by default.
    within : array of shape (p, q), optional
        Basis of the directions that steps may take, all by default; the penalty is that of all coefficients.
    tolerance : float
        Upper bound for √(gᵀH⁻¹g), the distance to the optimum in standard errors.
    most_steps : int
        Maximum number of steps; beyond it the certificate does not hold.

    Returns
    -------
    solution : Solution
        `coef` has the working coefficients.

    Raises
    ------
    SingularCovarianceError
        If columns are collinear.
    """
    begin = problem.start() if start is None else np.array(start, dtype=float)
    try:
        here = evaluate_firth(problem, begin)
    except SingularCovarianceError as singular:
        raise SingularCovarianceError(
            "Firth's penalised likelihood has no maximum if columns are collinear, or constant beside an intercept, "
            f"since some direction then has no information ({singular}) Leave such columns out, or use an L2 "
            "penalty."
        ) from None
    descent = FirthDescent(problem, here, np.eye(len(begin)) if within is None else within, tolerance)
    return descend(descent, max_iter=most_steps)


class FirthPoint(NamedTuple):
    """A point w with F, its gradient and its Hessian for fixed leverages."""

    w: Array
    value: float
    gradient: Array
    hessian: Array


def evaluate_firth(problem: Problem, w: Array) -> FirthPoint:
    """Evaluate F at `w`."""
    loss, slope, information = problem.at(w)
    with blas_for(len(w)):
        factor = cholesky(information)
        root = solve_triangular(factor, np.eye(len(w)), lower=True).T
    prior = reduce(JeffreysPrior.at(problem.response, w, root), problem.observations)
    value = loss - float(np.log(np.diagonal(factor)).sum())
    return FirthPoint(w, value, slope - prior.pull, information + prior.curvature)


class FirthDescent(Descent):
    """Newton steps for the augmented data, each halved until the objective does not rise."""

    patience = np.inf
    point: FirthPoint

    def __init__(self, problem: Problem, here: FirthPoint, within: Array, tolerance: float) -> None:
        self._problem, self._within, self.tolerance = problem, within, tolerance
        self._arrive(here)

    @property
    def coef(self) -> Array:
        return self.point.w

    def _arrive(self, here: FirthPoint) -> None:
        self.point = here
        gradient = self._within.T @ here.gradient
        step = Curvature.of(self._within.T @ here.hessian @ self._within).solve(gradient)
        self._step, self.distance = -self._within @ step, float(np.sqrt(np.maximum(0.0, gradient @ step)))

    def advance(self) -> bool:
        """Take one step; return False if the objective rises for every length."""
        here = self.point
        found = halve_step(
            lambda share: self._try(here.w + share * self._step),
            here.value + OBJECTIVE_ROUNDING * (1 + abs(here.value)),
        )
        if found is None:
            return False
        self._arrive(found.point)
        self.step_length = found.length
        return True

    def _try(self, w: Array) -> FirthPoint | None:
        """Evaluate F at w; None if η is so large that the information vanishes."""
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                return evaluate_firth(self._problem, w)
        except (SingularCovarianceError, np.linalg.LinAlgError):
            return None

    def certificate(self) -> Certificate:
        # Jeffreys' prior is unimodal, but its logarithm is not concave, and neither is the penalised log likelihood
        how = f"√(gᵀH⁻¹g), of Firth's penalised likelihood after {self.n_iter} steps"
        return gradient_certificate(self.distance, self.tolerance, how, is_convex=False)


@dataclass(frozen=True, eq=False)
class JeffreysPrior:
    """Gradient Xᵀ (q ½ μ''/μ') and curvature of Jeffreys' log prior at one point: a mergeable statistic."""

    response: Response
    point: Array
    #: R with R Rᵀ = I⁻¹
    root: Array
    pull: Array
    curvature: Array

    @classmethod
    def at(cls, response: Response, point: Array, root: Array) -> Self:
        """Return the statistic of no rows."""
        p = len(point)
        return cls(response, point, root, np.zeros(p), np.zeros((p, p)))

    def empty(self) -> Self:
        return self.at(self.response, self.point, self.root)

    def update(self, design: Matrix, y: Array, weight: Array | None = None, offset: Array | None = None) -> Self:
        tilt_at, pull, curvature = tilt_of(self.response), self.pull.copy(), self.curvature.copy()
        for rows in design.dense_blocks():
            tile = design.rows(rows).tile()
            eta = tile.matvec(self.point)
            if offset is not None:
                eta += offset[rows]
            information = self.response.slopes(y[rows], eta, None if weight is None else weight[rows]).second
            leverage = information * np.square(tile.matvec(self.root)).sum(axis=1)
            tilt = tilt_at(eta)
            pull += tile.rmatvec(leverage * tilt.value)
            curvature += tile.gram(leverage * tilt.decrease)
        return replace(self, pull=pull, curvature=curvature)

    def merge(self, other: Self) -> Self:
        return replace(self, pull=self.pull + other.pull, curvature=self.curvature + other.curvature)


class Tilt(NamedTuple):
    """½ μ''/μ' of rows, and its negative derivative by η."""

    value: Array
    decrease: Array


def _logistic_tilt(eta: Array) -> Tilt:
    half = 0.5 * np.tanh(eta / 2)  # p − ½
    return Tilt(-half, 0.25 - np.square(half))


def _log_linear_tilt(eta: Array) -> Tilt:
    return Tilt(np.full_like(eta, 0.5), np.zeros_like(eta))


def suits(response: Response) -> bool:
    """Return whether the method applies to the response."""
    return _tilt(response) is not None


def _tilt(response: Response) -> Callable[[Array], Tilt] | None:
    if isinstance(response.family, Bernoulli | Binomial) and response.link == LOGIT:
        return _logistic_tilt
    if isinstance(response.family, Poisson) and response.link == LOG:
        return _log_linear_tilt
    return None


def tilt_of(response: Response) -> Callable[[Array], Tilt]:
    """Return ½ μ''/μ' as a function of η; raise `UnsuitableSolverError` if the method does not apply."""
    if (tilt := _tilt(response)) is not None:
        return tilt
    raise UnsuitableSolverError(
        f"Firth's penalised likelihood is for logistic and log-linear Poisson models, not for {response.family!r} "
        f"with {response.link!r}; use an L2 penalty, which keeps every model finite."
    )
