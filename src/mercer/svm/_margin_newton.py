"""Linear support vector machines by Newton's method, for few rows or columns, or smooth losses.

Squared hinge losses have a slope everywhere and a curvature almost everywhere: Newton's method finds their rows with a
margin below 1, and then ends in one step. Other losses have corners. Holding the dual coefficients to a centre, by ½
δ/C (β − centre)², rounds the corners off by a width of δ (Rockafellar's proximal points). Then the centre moves to the
β of this problem, and δ shrinks, so that the minimum of the rounded losses becomes that of the losses themselves. Few
rows lie on a corner, and a step costs no more than their products and two passes over the data.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from mercer._typing import Array
from mercer.optim.certificate import History, Solution
from mercer.optim.curvature import Curvature
from mercer.optim.krylov import newton_direction
from mercer.report.wording import format_count
from mercer.svm._margins import (
    LEAST_RELATIVE_GAP,
    LEAST_WEIGHT,
    LossResponse,
    MarginObjectives,
    MarginPoint,
    MarginRows,
    RoundedLosses,
    estimate_rounding,
)

#: δ of a round, relative to that of the round before
WIDTH_RATIO = 0.5
#: a round ends when the gradient contributes less than this many times the distance to the true losses to the gap
ROUND_END_RATIO = 1.0
#: rows times columns up to which the gap is reduced as far as rounding allows, since steps cost little
SMALL_SIZE = 1 << 16
#: gap that is attempted for such data, as a portion of the objective
SMALL_GAP = 1e-15
#: columns, or rows, up to which Hessians are factorised
MAX_FACTORIZED = 1_000
#: steps in a row that lower neither the objective nor the gap, after which only rounding is left
MAX_IDLE_NEWTON_STEPS = 5
#: halvings of a step in the line search
MAX_NEWTON_STEP_HALVINGS = 40
#: portion of the decrease promised by the slope that a step has to achieve (Armijo)
SUFFICIENT_NEWTON_DECREASE = 1e-4
#: relative rounding of the objective
VALUE_ROUNDING = 1e-13
#: residual at which conjugate gradients end, as a portion of the gradient
NEWTON_STEP_RESIDUAL = 0.1
#: products with the Hessian in one run of conjugate gradients
MAX_NEWTON_STEP_PRODUCTS = 300


def half_square(w: Array) -> float:
    """Return ½ ‖w‖², for one class or several."""
    return 0.5 * float(np.vdot(w, w))


def newton_step(hessian: Array, gradient: Array) -> Array:
    """Return −H⁻¹ g; NaN where H is not finite."""
    if not np.isfinite(hessian).all():
        return np.full_like(gradient, np.nan)
    return -Curvature.of(hessian).solve(gradient)


class NewtonPoint(NamedTuple):
    """Coefficients with their predictors, losses, gradient and objectives."""

    w: Array
    eta: Array
    response: LossResponse
    #: gradient of the rounded objective
    gradient: Array
    value: float
    objectives: MarginObjectives

    @property
    def gradient_gap(self) -> float:
        """Contribution of the gradient to the gap."""
        return half_square(self.gradient)


class CornerProblem(Protocol):
    """Minimise ½ ‖w‖² + Σ ℓ(x·w) for losses with corners."""

    @property
    def rows(self) -> MarginRows: ...
    @property
    def losses(self) -> RoundedLosses: ...


class MarginNewton:
    """Newton's method, one step at a time."""

    def __init__(
        self,
        problem: CornerProblem,
        gap: float,
        most_steps: int,
        start: Array | None = None,
        *,
        max_factorized: int = MAX_FACTORIZED,
    ) -> None:
        """Start at the β in `start`, 0 by default.

        Hessians of up to `max_factorized` columns, or rows, are factorised.
        """
        self._max_factorized = max_factorized
        rows, losses = self._rows, self._losses = problem.rows, problem.losses
        self._required, self._most_steps = max(gap, LEAST_RELATIVE_GAP), most_steps
        self._aim = min(self._required, SMALL_GAP) if rows.n_rows * rows.n_columns <= SMALL_SIZE else self._required
        self._width, self._most = losses.width, losses.most
        self._centre = np.zeros((rows.n_rows, *losses.many)) if start is None else start
        w = np.zeros((rows.n_columns, *losses.many)) if start is None else rows.rmatvec(start)
        eta = np.zeros(self._centre.shape) if start is None else rows.matvec(w)
        self.point = self._evaluate(w, eta, self._respond(eta))
        self._nearest = self.objectives.gap
        self.n_iter, self._idle_steps = 0, 0
        self.trace = [self.objectives.primal]

    @property
    def objectives(self) -> MarginObjectives:
        return self.point.objectives

    @property
    def w(self) -> Array:
        return self.point.w

    def _respond(self, eta: Array) -> LossResponse:
        """Return the losses at predictors η, with β held to the centre where its bounds leave a choice."""
        hold = np.where(self._most > 0, self._width / np.maximum(self._most, LEAST_WEIGHT), 1.0)
        return self._losses.respond(eta, self._centre, hold)

    def _evaluate(self, w: Array, eta: Array, response: LossResponse) -> NewtonPoint:
        gradient = w - self._rows.rmatvec(response.beta)
        penalty = half_square(w)
        objectives = MarginObjectives(penalty + response.loss, half_square(gradient) + response.away)
        return NewtonPoint(w, eta, response, gradient, penalty + response.held, objectives)

    @property
    def finished(self) -> bool:
        arrived = self.objectives.share <= self._aim
        return arrived or self.n_iter >= self._most_steps or self._idle_steps >= MAX_IDLE_NEWTON_STEPS

    def step(self) -> None:
        """Make one Newton step, in a new round if the last one has come far enough."""
        point = self.point
        if not self._losses.smooth and point.gradient_gap <= ROUND_END_RATIO * point.response.away:
            point = self._new_round(point)
        direction = self._direction(point)
        self.n_iter += 1
        if not np.isfinite(direction).all():  # corners so sharp that their curvature overflows
            self.point, self._idle_steps = point, MAX_IDLE_NEWTON_STEPS
            return
        self.point = self._search_along(point, direction)
        self.trace.append(self.objectives.primal)
        lower = point.value - self.point.value > VALUE_ROUNDING * abs(point.value)
        nearer = self.objectives.gap < 0.5 * self._nearest
        self._nearest = self.objectives.gap if nearer else self._nearest
        self._idle_steps = 0 if lower or nearer else self._idle_steps + 1

    def _new_round(self, point: NewtonPoint) -> NewtonPoint:
        """Evaluate the same point with sharper corners around its β, and without the rounding of many steps."""
        self._width *= WIDTH_RATIO
        self._centre = point.response.beta
        eta = self._rows.matvec(point.w)
        return self._evaluate(point.w, eta, self._respond(eta))

    def _search_along(self, point: NewtonPoint, direction: Array) -> NewtonPoint:
        """Return the point along a direction; the step is halved until the rounded objective falls sufficiently."""
        along, slope = self._rows.matvec(direction), float(np.vdot(point.gradient, direction))
        for halvings in range(MAX_NEWTON_STEP_HALVINGS):
            length = 0.5**halvings
            w, eta = point.w + length * direction, point.eta + length * along
            response = self._respond(eta)
            value = half_square(w) + response.held
            if value <= point.value + SUFFICIENT_NEWTON_DECREASE * length * slope + VALUE_ROUNDING * abs(point.value):
                break
        return self._evaluate(w, eta, response)

    def _direction(self, point: NewtonPoint) -> Array:
        """Return −H⁻¹ g with H = 1 + Xᵀ diag(curvature) X, where most rows may have no curvature."""
        rows, h = self._rows, point.response.curvature
        curved = np.flatnonzero(h)
        if len(curved) <= max(0.5 * rows.n_rows, rows.n_columns - 1):
            rows, h = rows.take(curved), h[curved]
        if min(rows.n_rows, rows.n_columns) > self._max_factorized:
            return self._solve_iteratively(rows, h, point)
        if rows.n_rows < rows.n_columns:  # by Woodbury's identity, in the space of the rows
            between = rows.outer()
            between[np.diag_indices(len(between))] += 1.0 / h
            inner = Curvature.of(between).solve(rows.matvec(point.gradient))
            return rows.rmatvec(inner) - point.gradient
        hessian = rows.gram(h)
        hessian[np.diag_indices(len(hessian))] += 1.0
        return newton_step(hessian, point.gradient)

    def _solve_iteratively(self, rows: MarginRows, h: Array, point: NewtonPoint) -> Array:
        """Return the direction to one digit at first, and to more near the end (Dembo and others 1982)."""
        bend = 1.0 + rows.column_squares(h)
        portion = min(NEWTON_STEP_RESIDUAL, point.objectives.share**0.25)
        return newton_direction(
            lambda v, _: v + rows.rmatvec(h * rows.matvec(v)),
            lambda r: np.asarray(r / bend),
            -point.gradient,
            tolerance=lambda length: portion,
            most_steps=MAX_NEWTON_STEP_PRODUCTS,
        ).value

    def solution(self) -> Solution:
        point = self.point
        rounded = estimate_rounding(
            self._rows, self._losses, point.w, point.eta, point.response.beta, np.sqrt(2 * point.gradient_gap)
        )
        objectives = self.objectives.add_to_gap(rounded)
        certificate = objectives.certificate(self._required, format_count(self.n_iter, "Newton step"))
        return Solution(MarginPoint(point.w, point.response.beta, self.n_iter), certificate, History.of(self.trace))
