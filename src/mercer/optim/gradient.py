"""Batch gradient descent: every step uses every row, w ← w − α ∇ (lecture 2).

`solve` minimises the objective of a conditional model this way; `ErrorSums` is the sum Σ e x of the errors of linear
threshold units over all rows, from which a step w ← w + α Σ e x of any of the four learning rules follows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from mercer._typing import Array
from mercer.engines.reducing import reduce
from mercer.families.losses import NO_WEIGHTS
from mercer.matrices import Matrix
from mercer.optim import _online_loops as loops
from mercer.optim.certificate import Certificate, Solution, gradient_certificate
from mercer.optim.curvature import Curvature
from mercer.optim.descent import Callback, Descent, descend, halve_step, rounding_above
from mercer.optim.learning_rules import LabelledRows, LearningRule
from mercer.optim.problem import Problem, Slope
from mercer.stats.quadratic import GRADIENT, HESSIAN

#: default bound for the distance to the optimum, in standard errors: a rougher one than that of Newton's method
GRADIENT_TOLERANCE = 1e-6
#: default limit for the number of steps along the gradient, which are cheap, and of which many are needed
MAX_GRADIENT_STEPS = 10_000
#: halvings of a step, after which it changes no digit
MAX_GRADIENT_HALVINGS = 60


def solve(
    problem: Problem,
    start: Array | None = None,
    *,
    rate: float | None = None,
    decay: float = 0.0,
    tolerance: float = GRADIENT_TOLERANCE,
    most_steps: int = MAX_GRADIENT_STEPS,
    callback: Callback | None = None,
) -> Solution:
    """Minimise a smooth problem by steps along its gradient.

    Parameters
    ----------
    problem : Problem
        Its penalty must have no absolute values.
    start : array, optional
        Initial coefficients; `problem.start()` by default.
    rate : float, optional
        α of step t is rate / (1 + decay · t), in working coordinates. By default the largest rate that is safe at the
        start, 1/λmax of the Hessian, halved whenever the objective would rise.
    decay : float
        Decay of the rate.
    tolerance : float
        Upper bound for √(gᵀH⁻¹g), the distance to the optimum in standard errors.
    most_steps : int
        Maximum number of steps; beyond it the certificate does not hold.
    callback : callable, optional
        Called with a `Step` at the start and after each iteration.

    Returns
    -------
    solution : Solution
        `coef` has the working coefficients.
    """
    descent = GradientDescent(problem, problem.start() if start is None else start, rate, decay, tolerance)
    return descend(descent, max_iter=most_steps, callback=callback)


class GradientDescent(Descent):
    """Steps along the gradient from a start."""

    patience = np.inf
    point: Slope

    def __init__(self, problem: Problem, start: Array, rate: float | None, decay: float, tolerance: float) -> None:
        self._problem, self._given, self._decay, self.tolerance = problem, rate, decay, tolerance
        self._w = np.array(start, dtype=float)
        self._measure()
        self._rate = self._safe_rate() if rate is None else rate

    @property
    def coef(self) -> Array:
        return self._w

    def _measure(self) -> None:
        """Factorise the Hessian at the present point, which measures gradients until the next call."""
        with np.errstate(all="ignore"):
            self.point = self._problem.at(self._w, HESSIAN)
        hessian = self.point.hessian
        # where the Hessian is not finite the distance is not finite either, and the descent stops
        self._curvature = Curvature.of(hessian if np.isfinite(hessian).all() else np.eye(len(hessian)))
        self.distance = self._measure_by_curvature()

    def _safe_rate(self) -> float:
        """Return 1/λmax of the Hessian."""
        hessian = self.point.hessian
        if not np.isfinite(hessian).all():
            return 1.0  # no step will be taken
        return 1 / (float(np.linalg.eigvalsh(hessian)[-1]) or 1.0)

    def _measure_by_curvature(self) -> float:
        return self._curvature.length(self.point.gradient) / self._problem.unit(self.point.value)

    def has_converged(self) -> bool:
        """Return whether the gradient is short enough, by the Hessian of the present point."""
        if not self.distance <= self.tolerance:
            return False
        self._measure()
        return self.distance <= self.tolerance

    def advance(self) -> bool:
        """Take one step; return False if none lowers the objective."""
        if not np.isfinite(self.distance):
            return False
        rate = self._rate / (1 + self._decay * self.n_iter)
        is_given = self._given is not None
        found = halve_step(
            lambda share: self._evaluate(self._w - share * rate * self.point.gradient),
            np.inf if is_given else rounding_above(self.point.value),
            max_halvings=1 if is_given else MAX_GRADIENT_HALVINGS,
        )
        if found is None or not (np.isfinite(found.point.value) and np.isfinite(found.point.gradient).all()):
            return False
        self.step_length = found.length
        self._rate *= found.length
        self._w, self.point = self._w - found.length * rate * self.point.gradient, found.point
        self.distance = self._measure_by_curvature()
        return True

    def _evaluate(self, w: Array) -> Slope:
        with np.errstate(all="ignore"):
            return self._problem.at(w, GRADIENT)

    def certificate(self) -> Certificate:
        self._measure()
        how = f"√(gᵀH⁻¹g), after {self.n_iter} steps along the gradient"
        return gradient_certificate(self.distance, self.tolerance, how, is_convex=self._problem.is_convex)


@dataclass(frozen=True, eq=False)
class ErrorSums:
    """Summed errors of units with weights `w` (columns, units), the intercept last: a mergeable statistic.

    Attributes
    ----------
    gradient : ndarray of shape (columns, units)
        Σ weight · e · x: minus the gradient of the loss.
    tally : ndarray of shape (units + 1, 3)
        For each unit Σ weight · loss, the number of rows on the wrong side, and their weight; in the last row the
        weight of the misclassified rows.
    """

    labelled: LabelledRows
    rule: LearningRule
    w: Array
    gradient: Array
    tally: Array

    @classmethod
    def of(cls, labelled: LabelledRows, rule: LearningRule, w: Array) -> Self:
        """Sum over all rows."""
        with np.errstate(over="ignore", invalid="ignore"):  # callers check where it matters
            return reduce(cls.at(labelled, rule, w), labelled.observations)

    @classmethod
    def at(cls, labelled: LabelledRows, rule: LearningRule, w: Array) -> Self:
        """Return the statistic of no rows."""
        return cls(labelled, rule, w, np.zeros(w.shape), np.zeros((w.shape[1] + 1, 3)))

    def empty(self) -> Self:
        return self.at(self.labelled, self.rule, self.w)

    def update(self, design: Matrix, codes: Array, weight: Array | None = None, offset: Array | None = None) -> Self:
        gradient, tally, first = self.gradient.copy(), self.tally.copy(), self.labelled.first
        for rows, tile in design.tiles():
            u = np.ascontiguousarray(tile.matvec(self.w))
            each, error = NO_WEIGHTS if weight is None else weight[rows], np.empty_like(u)
            loops.errors_and_losses(self.rule.code, u, codes[rows], first, each, error, tally)
            gradient += tile.rmatvec(error)
        return replace(self, gradient=gradient, tally=tally)

    def merge(self, other: Self) -> Self:
        return replace(self, gradient=self.gradient + other.gradient, tally=self.tally + other.tally)

    @property
    def loss(self) -> Array:
        return np.asarray(self.tally[:-1, 0])

    @property
    def mistakes(self) -> Array:
        return np.asarray(self.tally[:-1, 1])

    @property
    def wrong(self) -> Array:
        return np.asarray(self.tally[:-1, 2])

    @property
    def misclassified(self) -> float:
        return float(self.tally[-1, 0])

    def distance(self) -> float:
        """Return the largest gradient as a cosine: |mean of e x| / √(mean of x²) over the columns x.

        Columns are centred if there is an intercept. The result does not depend on the units of the columns nor, with
        an intercept, on their origin.
        """
        (mean, size), mean_error = self.labelled.spread, self.gradient / self.labelled.total_weight
        varies = size > 0
        slopes = mean_error[: len(mean)]
        if not self.labelled.intercept:
            return _largest_size(slopes[varies] / size[varies, None])
        about = slopes - mean[:, None] * mean_error[-1]
        return max(_largest_size(mean_error[-1]), _largest_size(about[varies] / size[varies, None]))


def _largest_size(values: Array) -> float:
    return float(np.abs(values).max(initial=0.0))
