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
from mercer.optim.certificate import LENGTH_TOLERANCE, Solution, gradient_certificate, keep_on_interrupt
from mercer.optim.curvature import Curvature
from mercer.optim.newton import MAX_STEP_HALVINGS, OBJECTIVE_ROUNDING
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
        `value` has the working coefficients; `trace` has the objective after each step.

    Raises
    ------
    FitInterrupted
        On Ctrl-C, with the best solution so far.
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
    descent = FirthDescent(problem, here, np.eye(len(begin)) if within is None else within)
    with keep_on_interrupt(lambda: descent.solution(tolerance)):
        descent.run(tolerance, most_steps)
    return descent.solution(tolerance)


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


class FirthDescent:
    """Newton steps for the augmented data, each halved until the objective does not rise."""

    def __init__(self, problem: Problem, here: FirthPoint, within: Array) -> None:
        self._problem, self._within = problem, within
        self._arrive(here)
        self._trace = [here.value]

    def _arrive(self, here: FirthPoint) -> None:
        self._here = here
        gradient = self._within.T @ here.gradient
        step = Curvature.of(self._within.T @ here.hessian @ self._within).solve(gradient)
        self._step, self._length = -self._within @ step, float(np.sqrt(np.maximum(0.0, gradient @ step)))

    def run(self, tolerance: float, most_steps: int) -> None:
        """Step until the gradient is short enough or no step lowers the objective."""
        for _ in range(most_steps):
            if self._length <= tolerance or not self._advance():
                break
            self._trace.append(self._here.value)

    def _advance(self) -> bool:
        """Take one step; return False if the objective rises for every length."""
        for halvings in range(MAX_STEP_HALVINGS):
            there = self._try(self._here.w + self._step * 0.5**halvings)
            if there is not None and there.value <= self._here.value + OBJECTIVE_ROUNDING * (1 + abs(self._here.value)):
                self._arrive(there)
                return True
        return False

    def _try(self, w: Array) -> FirthPoint | None:
        """Evaluate F at w; None if η is so large that the information vanishes."""
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                return evaluate_firth(self._problem, w)
        except (SingularCovarianceError, np.linalg.LinAlgError):
            return None

    def solution(self, tolerance: float) -> Solution:
        # Jeffreys' prior is unimodal, but its logarithm is not concave, and neither is the penalised log likelihood
        how = f"√(gᵀH⁻¹g), of Firth's penalised likelihood after {len(self._trace) - 1} steps"
        certificate = gradient_certificate(self._length, tolerance, how, is_convex=False)
        return Solution(self._here.w, certificate, tuple(self._trace))


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
