"""Proximal Newton for the rows of a source, with one pass per step.

A pass gives the gradient and the Hessian of the losses; the quadratic model plus the penalty is minimised without the
rows. The start is the fit to the rows in memory, so that few steps are needed. For several classes, the coefficients
are one vector, class after class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.optim import proximal_newton, softmax_lasso
from mercer.optim._working_sets import PenalisedQuadratic
from mercer.optim.certificate import LENGTH_TOLERANCE, Certificate, Solution, subgradient_certificate
from mercer.optim.curvature import Curvature
from mercer.optim.descent import Callback, Descent, descend, halve_step, rounding_above
from mercer.optim.duality import GapPenalty
from mercer.optim.newton import MAX_NEWTON_ITERATIONS
from mercer.optim.problem import Problem
from mercer.optim.scaling import fit_to_sample
from mercer.optim.softmax import SoftmaxProblem
from mercer.report.wording import format_count

#: coefficients up to which their Hessian is formed in each step
MAX_STREAMED_HESSIAN = 2_000
#: a model is minimised to this portion of its gap at the start
STREAMED_MODEL_ACCURACY = 1e-8
#: sweeps for a model
MAX_STREAMED_SWEEPS = 10_000


def suits(problem: Any) -> bool:
    """Return whether a Hessian of all coefficients can be formed."""
    levels = problem.response.levels if isinstance(problem, SoftmaxProblem) else 1
    return int(problem.observations.design.n_columns) * levels <= MAX_STREAMED_HESSIAN


def solve(
    problem: Any,
    start: Array | None = None,
    *,
    tolerance: float = LENGTH_TOLERANCE,
    most_steps: int = MAX_NEWTON_ITERATIONS,
    callback: Callback | None = None,
) -> Solution:
    """Minimise a problem of streamed rows whose penalty may have absolute values.

    Parameters
    ----------
    problem : Problem or SoftmaxProblem
        A problem with streamed observations; classes in the symmetric form.
    start : array, optional
        Initial working coefficients; by default those of the fit to the rows in memory.
    tolerance : float
        Upper bound for the length of the shortest subgradient, in standard errors.
    most_steps : int
        Maximum number of steps; beyond it the certificate does not hold.
    callback : callable, optional
        Called with a `Step` at the start and after each iteration.

    Returns
    -------
    solution : Solution
        `coef` has the working coefficients, for several classes a matrix with a column for each.
    """
    losses = StreamedClassLosses(problem) if isinstance(problem, SoftmaxProblem) else StreamedMeanLosses(problem)
    return descend(StreamedProximalDescent(losses, start, tolerance), max_iter=most_steps, callback=callback)


@dataclass(frozen=True, eq=False)
class StreamedMeanLosses:
    """The losses of one linear predictor as a function of the coefficients less their means."""

    problem: Problem

    @property
    def penalty(self) -> GapPenalty:
        return GapPenalty(self.problem.strengths.l1, self.problem.strengths.l2)

    def at(self, u: Array) -> tuple[float, Array, Array]:
        """Return value, gradient and Hessian of the losses without the penalty, by one pass."""
        value, gradient, hessian = self.problem.at(u + self.problem.strengths.mean)
        l2 = self.penalty.l2
        return value - 0.5 * float(l2 @ np.square(u)), gradient - l2 * u, hessian - np.diag(l2)

    def unit(self, value: float) -> float:
        return self.problem.unit(value)

    def start(self) -> Array:
        found = fit_to_sample(self.problem, proximal_newton.solve)
        return self.from_coefficients(self.problem.start() if found is None else found)

    def from_coefficients(self, w: Array) -> Array:
        return np.asarray(w - self.problem.strengths.mean)

    def coefficients(self, u: Array) -> Array:
        return np.asarray(self.problem.strengths.mean + u)


@dataclass(frozen=True, eq=False)
class StreamedClassLosses:
    """The losses of a linear predictor for each class as a function of the coefficients less their means."""

    problem: SoftmaxProblem

    @property
    def _classes(self) -> int:
        return self.problem.response.levels

    @property
    def penalty(self) -> GapPenalty:
        strengths = self.problem.strengths
        return GapPenalty(np.tile(strengths.l1, self._classes), np.tile(strengths.l2, self._classes))

    def at(self, u: Array) -> tuple[float, Array, Array]:
        sums = self.problem.sums(self.coefficients(u))
        return sums.loss, sums.gradient.T.ravel(), sums.hessian

    def unit(self, value: float) -> float:
        return self.problem.unit(value)

    def start(self) -> Array:
        found = fit_to_sample(self.problem, softmax_lasso.solve)
        return self.from_coefficients(self.problem.matrix(self.problem.start()) if found is None else found)

    def from_coefficients(self, W: Array) -> Array:
        return np.asarray((W - self.problem.strengths.mean[:, None]).T.ravel())

    def coefficients(self, u: Array) -> Array:
        W = self.problem.strengths.mean[:, None] + u.reshape(self._classes, -1).T
        # without a penalty a constant may be added to all classes: the coefficients then sum to zero, as in memory
        free = (self.problem.strengths.l1 == 0) & (self.problem.strengths.l2 == 0)
        W[free] -= W[free].mean(axis=1, keepdims=True)
        return np.asarray(W)


@dataclass(frozen=True, eq=False)
class _StreamedIterate:
    """A point with the objective, the expansion of the losses, and the length of the subgradient."""

    u: Array
    value: float
    loss: float
    #: gradient and Hessian of the losses without the penalty
    gradient: Array
    hessian: Array
    #: length of the shortest subgradient, in standard errors
    length: float


class StreamedProximalDescent(Descent):
    """Proximal Newton steps from a start."""

    point: _StreamedIterate

    def __init__(self, losses: StreamedMeanLosses | StreamedClassLosses, start: Array | None, tolerance: float) -> None:
        self._losses, self._penalty, self.tolerance = losses, losses.penalty, tolerance
        self.point = self._evaluate(losses.start() if start is None else losses.from_coefficients(start))
        self.distance = self.point.length

    @property
    def coef(self) -> Array:
        return self._losses.coefficients(self.point.u)

    def _evaluate(self, u: Array) -> _StreamedIterate:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            loss, gradient, hessian = self._losses.at(u)
            curvature = np.diagonal(hessian) + self._penalty.l2
            away = self._penalty.violations(u, -gradient)
            size = float(np.sum(np.square(away) / np.where(curvature > 0, curvature, 1.0)))
            smooth = loss + 0.5 * float(self._penalty.l2 @ np.square(u))
            value = loss + self._penalty.value(u)
            return _StreamedIterate(u, value, loss, gradient, hessian, float(np.sqrt(size)) / self._losses.unit(smooth))

    def advance(self) -> bool:
        """Take one step, halved until the objective does not rise; return False if it always does."""
        before, step = self.point, self._minimiser() - self.point.u
        found = halve_step(lambda share: self._evaluate(before.u + share * step), rounding_above(before.value))
        if found is None:
            return False
        self.point, self.distance, self.step_length = found.point, found.point.length, found.length
        return True

    def _minimiser(self) -> Array:
        """Return the minimiser of the quadratic model at the present point plus the penalty."""
        here = self.point
        model = PenalisedQuadratic(np.require(here.hessian, np.float64, ["C", "W"]))
        squares = float(here.gradient @ Curvature.of(here.hessian).solve(here.gradient))
        model.load(here.u, -here.gradient, squares)
        model.solve(self._penalty, STREAMED_MODEL_ACCURACY * model.gap(self._penalty), MAX_STREAMED_SWEEPS)
        return model.w

    def certificate(self) -> Certificate:
        steps = f"after {format_count(self.n_iter, 'proximal Newton step')}"
        is_convex = self._losses.problem.is_convex
        return subgradient_certificate(self.point.length, self.tolerance, steps, is_convex=is_convex)
