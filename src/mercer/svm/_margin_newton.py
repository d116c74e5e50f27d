"""Linear support vector machines by Newton's method: where rows or columns are few, or losses smooth.

Squared hinge losses have a slope everywhere and a curvature almost everywhere: Newton's method finds their rows with a
margin below 1, and then ends in one step. Other losses have corners. Holding the dual coefficients to a centre, by
½ δ/C (β − centre)², rounds them off by a width of δ (Rockafellar's proximal points); then the centre moves to the β
that was found, and δ shrinks, so that the minimum of the rounded losses becomes that of the losses themselves. Few rows
lie on a corner: their products are all that a step costs beside two passes over the data.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from mercer._typing import Array
from mercer.optim.certificate import Solution
from mercer.optim.curvature import Curvature
from mercer.optim.krylov import newton_direction
from mercer.report.wording import counted
from mercer.svm._margins import (
    LEAST_GAP,
    LEAST_WEIGHT,
    Answers,
    Judgement,
    MarginPoint,
    MarginRows,
    RoundedLosses,
    rounding,
)

#: δ of a round, compared with that of the one before
NARROWER = 0.5
#: a round ends when what is left of the gradient counts less than this many times the distance to the true losses
ROUNDED = 1.0
#: rows times columns up to which the gap is brought down as far as it will go: steps cost little
FEW, GAP_OF_FEW = 1 << 16, 1e-15
#: columns, or rows, up to which Hessians are factorised
MOST_FACTORISED = 1_000
#: steps that neither lower the objective nor narrow the gap: rounding is all that is left
MOST_IN_VAIN = 5
MOST_HALVINGS, ENOUGH, ROUNDING = 40, 1e-4, 1e-13
#: conjugate gradients end at this portion of the gradient at most, and after so many products
RESIDUAL, MOST_PRODUCTS = 0.1, 300


def half_square(w: Array) -> float:
    """½ ‖w‖², of one class or of several."""
    return 0.5 * float(np.vdot(w, w))


def newton_step(hessian: Array, gradient: Array) -> Array:
    """−H⁻¹ g; NaN where H has no value."""
    if not np.isfinite(hessian).all():
        return np.full_like(gradient, np.nan)
    return -Curvature.of(hessian).solve(gradient)


class MarginPlace(NamedTuple):
    """Coefficients, and all that is known there."""

    w: Array
    eta: Array
    answers: Answers
    #: of the rounded objective
    gradient: Array
    value: float
    judgement: Judgement

    @property
    def left(self) -> float:
        """What the gradient adds to the gap."""
        return half_square(self.gradient)


class CornerProblem(Protocol):
    """½ ‖w‖² + Σ ℓ(x·w) for losses with corners."""

    @property
    def rows(self) -> MarginRows: ...
    @property
    def losses(self) -> RoundedLosses: ...


class MarginNewton:
    """Newton steps, one at a time."""

    def __init__(self, problem: CornerProblem, gap: float, most_steps: int, start: Array | None = None) -> None:
        """`start` is a β to begin with, 0 otherwise."""
        rows, losses = self._rows, self._losses = problem.rows, problem.losses
        self._asked, self._most_steps = max(gap, LEAST_GAP), most_steps
        self._aim = min(self._asked, GAP_OF_FEW) if rows.n_rows * rows.n_columns <= FEW else self._asked
        self._width, self._most = losses.width, losses.most
        self._centre = np.zeros((rows.n_rows, *losses.many)) if start is None else start
        w = np.zeros((rows.n_columns, *losses.many)) if start is None else rows.transposed_times(start)
        eta = np.zeros(self._centre.shape) if start is None else rows.times(w)
        self.here = self._place(w, eta, self._answers(eta))
        self._nearest = self.judgement.gap
        self.n_iter, self._in_vain = 0, 0
        self.trace = [self.judgement.primal]

    @property
    def judgement(self) -> Judgement:
        return self.here.judgement

    def _answers(self, eta: Array) -> Answers:
        """Held to the centre, though not where there are no bounds; where bounds leave no choice, anything will do."""
        hold = np.where(self._most > 0, self._width / np.maximum(self._most, LEAST_WEIGHT), 1.0)
        return self._losses.answers(eta, self._centre, hold)

    def _place(self, w: Array, eta: Array, answers: Answers) -> MarginPlace:
        gradient = w - self._rows.transposed_times(answers.beta)
        penalty = half_square(w)
        judgement = Judgement(penalty + answers.loss, half_square(gradient) + answers.away)
        return MarginPlace(w, eta, answers, gradient, penalty + answers.held, judgement)

    @property
    def finished(self) -> bool:
        arrived = self.judgement.share <= self._aim
        return arrived or self.n_iter >= self._most_steps or self._in_vain >= MOST_IN_VAIN

    def step(self) -> None:
        """One Newton step, in a new round if the last has come far enough."""
        here = self.here
        if not self._losses.smooth and here.left <= ROUNDED * here.answers.away:
            here = self._new_round(here)
        direction = self._direction(here)
        self.n_iter += 1
        if not np.isfinite(direction).all():  # corners so sharp that their curvature is no number
            self.here, self._in_vain = here, MOST_IN_VAIN
            return
        self.here = self._moved(here, direction)
        self.trace.append(self.judgement.primal)
        lower = here.value - self.here.value > ROUNDING * abs(here.value)
        nearer = self.judgement.gap < 0.5 * self._nearest
        self._nearest = self.judgement.gap if nearer else self._nearest
        self._in_vain = 0 if lower or nearer else self._in_vain + 1

    def _new_round(self, here: MarginPlace) -> MarginPlace:
        """The same place, seen with sharper corners around the β found, and without the rounding of many steps."""
        self._width *= NARROWER
        self._centre = here.answers.beta
        eta = self._rows.times(here.w)
        return self._place(here.w, eta, self._answers(eta))

    def _moved(self, here: MarginPlace, direction: Array) -> MarginPlace:
        """Along a direction, half as far until the rounded objective falls as it should."""
        along, slope = self._rows.times(direction), float(np.vdot(here.gradient, direction))
        for halvings in range(MOST_HALVINGS):
            length = 0.5**halvings
            w, eta = here.w + length * direction, here.eta + length * along
            answers = self._answers(eta)
            value = half_square(w) + answers.held
            if value <= here.value + ENOUGH * length * slope + ROUNDING * abs(here.value):
                break
        return self._place(w, eta, answers)

    def _direction(self, here: MarginPlace) -> Array:
        """−H⁻¹ g with H = 1 + Xᵀ diag(curvature) X, where most rows may have no curvature."""
        rows, h = self._rows, here.answers.curvature
        curved = np.flatnonzero(h)
        if len(curved) <= max(0.5 * rows.n_rows, rows.n_columns - 1):
            rows, h = rows.take(curved), h[curved]
        if min(rows.n_rows, rows.n_columns) > MOST_FACTORISED:
            return self._by_conjugate_gradients(rows, h, here)
        if rows.n_rows < rows.n_columns:  # by the identity of Woodbury, in the space of the rows
            between = rows.outer()
            between[np.diag_indices(len(between))] += 1.0 / h
            inner = Curvature.of(between).solve(rows.times(here.gradient))
            return rows.transposed_times(inner) - here.gradient
        hessian = rows.gram(h)
        hessian[np.diag_indices(len(hessian))] += 1.0
        return newton_step(hessian, here.gradient)

    def _by_conjugate_gradients(self, rows: MarginRows, h: Array, here: MarginPlace) -> Array:
        """To a digit at first, to more near the end (Dembo and others 1982)."""
        bend = 1.0 + rows.column_squares(h)
        portion = min(RESIDUAL, here.judgement.share**0.25)
        return newton_direction(
            lambda v, _: v + rows.transposed_times(h * rows.times(v)),
            lambda r: np.asarray(r / bend),
            -here.gradient,
            tolerance=lambda length: portion,
            most_steps=MOST_PRODUCTS,
        ).value

    def solution(self) -> Solution:
        here = self.here
        rounded = rounding(self._rows, self._losses, here.w, here.eta, here.answers.beta, np.sqrt(2 * here.left))
        judgement = self.judgement.widened(rounded)
        certificate = judgement.certificate(self._asked, counted(self.n_iter, "Newton step"))
        return Solution(MarginPoint(self.here.w, self.here.answers.beta, self.n_iter), certificate, tuple(self.trace))
