"""Steps of proximal Newton, one at a time, and the best point so far: see `mercer.solvers.sparse.proximal`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._threads import blas_for
from mercer._typing import Array
from mercer.designs.squares import column_squares
from mercer.families.response import Slopes
from mercer.report.wording import counted
from mercer.solvers.certificate import Certificate, Progress, Solution, subgradient_certificate
from mercer.solvers.curvature import Curvature
from mercer.solvers.problem import Problem
from mercer.solvers.smooth.newton import ALWAYS_HESSIAN, MOST_HALVINGS, ROUNDING
from mercer.solvers.sparse._proximal_losses import Losses
from mercer.solvers.sparse.duality import Penalty, gap
from mercer.solvers.sparse.proximal_model import Model
from mercer.stats.quadratic import LOSS

#: gaps below this portion of the objective may be rounding
LEAST_GAP = 1e-13
#: of few rows the gap is brought down to this portion, whatever was asked for: steps cost little
GAP_OF_FEW = 1e-8
#: a penalty of this portion of a slope's scale, or less, is lost in the rounding of slopes
NOTHING = 1e-11
#: free coefficients up to which all products between their columns are looked at
MOST_FREE = 1_000
#: steps without progress after which to give up
IN_VAIN = 3


@dataclass(frozen=True, eq=False)
class Point:
    """Coefficients less their means, with the objective, and the losses of rows."""

    u: Array
    value: float
    #: without the absolute values
    smooth: float
    eta: Array
    slopes: Slopes


@dataclass(frozen=True, eq=False)
class Place(Point):
    """A point whose columns have been looked at too."""

    #: slopes of the coefficients, downhill, without the penalty's
    c: Array
    #: from the minimum of the objective, how near was asked for, and how near is near enough
    distance: float
    asked: float
    near: float
    #: whether the coefficients too are as near as `newton` would have them
    settled: bool

    @property
    def arrived(self) -> bool:
        return self.distance <= self.near and self.settled


class ProximalDescent:
    """Steps down from a start, one at a time, and the best point so far."""

    def __init__(self, problem: Problem, start: Array | None, tolerance: float, progress: Progress | None) -> None:
        self._problem, self._tolerance, self._progress = problem, tolerance, progress
        self._design, self._mean = problem.observations.design, problem.strengths.mean
        self._losses = Losses(problem.observations, problem.response)
        self._penalty = Penalty(problem.strengths.l1, problem.strengths.l2)
        self._model = Model(self._design, self._penalty)
        begin = problem.start() if start is None else np.array(start, dtype=float)
        first = self._look(begin - self._mean)
        #: as slopes can be told to obey it
        self._felt = self._penalty_felt(first)
        self._free = np.flatnonzero(self._felt.free)
        self.here = self._arrive(first)
        self.trace = [self.here.value]

    @property
    def w(self) -> Array:
        return np.asarray(self._mean + self.here.u)

    # Looking.

    def _look(self, u: Array) -> Point:
        offset = self._problem.observations.offset
        with blas_for(1), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            eta = self._design.times(self._mean + u)
            if offset is not None:
                eta += offset
            slopes = self._losses.slopes(eta)
            smooth = slopes.loss + 0.5 * float(self._penalty.l2 @ np.square(u))
            return Point(u, smooth + float(self._penalty.l1 @ np.abs(u)), smooth, eta, slopes)

    def _penalty_felt(self, there: Point) -> Penalty:
        """None where it is less than the rounding of slopes: a dual point could not be told to be feasible."""
        l1, l2, _ = self._penalty
        with np.errstate(over="ignore", invalid="ignore"):
            curvature = column_squares(self._design, there.slopes.second)
            lost = (l1 <= NOTHING * np.sqrt(curvature * abs(there.value))) & (l2 <= NOTHING * curvature)
        return Penalty(np.where(lost, 0.0, l1), np.where(lost, 0.0, l2))

    def _arrive(self, there: Point) -> Place:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            c = -self._design.transposed_times(there.slopes.first)
            unit = self._problem.unit(there.smooth)
            near = 0.5 * (self._tolerance * unit) ** 2
            if not self._losses.dual:
                distance = self._of_violations(there, c)
                return Place(**vars(there), c=c, distance=distance, asked=near, near=near, settled=True)
            move = self._move_of_free(there, c)
            free = 0.5 * float(c[self._free] @ move)
            asked, aim = self._gaps(there, unit, near)
            distance = free + self._gap(there, c)
            if distance <= aim and move.any():
                distance = free + self._gap(there, self._slopes_after(there, c, move))
            settled = distance <= aim and free <= near and self._of_violations(there, c) <= near
            return Place(**vars(there), c=c, distance=distance, asked=asked, near=aim, settled=settled)

    def _gap(self, there: Point, c: Array) -> float:
        """Of the coefficients with a penalty."""
        return gap(self._felt, there.u, c, self._losses.lost(there.eta))

    def _gaps(self, there: Point, unit: float, near: float) -> tuple[float, float]:
        """The gap asked for, λ/√n of the objective for a tolerance of λ standard errors, and the one to stop at."""
        value, dispersion = abs(there.value), self._problem.response.family.known_dispersion
        deviance = 2 * there.smooth if dispersion is None else dispersion * self._losses.total
        asked = max(LEAST_GAP, self._tolerance * unit / np.sqrt(max(deviance, np.finfo(float).tiny))) * value
        aim = asked if len(there.eta) >= ALWAYS_HESSIAN else min(asked, GAP_OF_FEW * value)
        if self._problem.strengths.smooth:  # then the gap falls as the square of what coefficients are off by
            aim = min(aim, max(near, LEAST_GAP * value))
        return asked, aim

    def _move_of_free(self, there: Point, c: Array) -> Array:
        """Where coefficients without a penalty would go, s = H⁻¹g; they lower the objective by ½ gᵀs, where H stays."""
        free, h = self._free, there.slopes.second
        if not len(free) or not np.isfinite(there.value):
            return np.zeros(len(free))
        if len(free) > MOST_FREE:
            return _divided(c[free], self._model.columns.squares(free, h))
        return Curvature.of(self._model.columns.gram(free, free, h)).solve(c[free])

    def _slopes_after(self, there: Point, c: Array, move: Array) -> Array:
        """The slopes once the coefficients without a penalty have moved: what they do to those of the others."""
        step = np.zeros(len(c))
        step[self._free] = move
        return np.asarray(c - self._design.transposed_times(there.slopes.second * self._design.times(step)))

    def _of_violations(self, there: Point, c: Array) -> float:
        """½ gᵀD⁻¹g of the shortest subgradient, with D the diagonal of H."""
        curvature = column_squares(self._design, there.slopes.second) + self._penalty.l2
        return _half_squares(self._penalty.violations(there.u, c), curvature)

    # Moving.

    def run(self, most_steps: int) -> None:
        """Step down until there, or until there is no way down; an objective that is not finite has none."""
        if not (np.isfinite(self.here.value) and np.isfinite(self.here.c).all()):
            return
        vain = 0
        for _ in range(most_steps):
            if self.here.arrived:
                break
            before = self.here
            moved = self._advance()
            vain = 0 if moved and self._has_gained(before) else vain + 1
            if moved:
                self.trace.append(self.here.value)
                self._tell()
            elif not self._model.refine():
                break
            if vain >= IN_VAIN and not self._model.refine():
                break

    def _has_gained(self, before: Place) -> bool:
        lower = before.value - self.here.value > ROUNDING * abs(before.value)
        return lower or self.here.distance < 0.5 * before.distance

    def _advance(self) -> bool:
        """One step, halved until the objective does not rise; False if it always does."""
        before = self.here
        step = self._model.minimiser(before) - before.u
        for halvings in range(MOST_HALVINGS):
            there = self._look(before.u + 0.5**halvings * step)
            if there.value <= before.value + ROUNDING * abs(before.value):
                break
        else:
            return False
        if halvings:
            self._model.forget()
        self.here = self._arrive(there)
        return True

    def _tell(self) -> None:
        if self._progress is None:
            return
        self._problem.at(self.w, LOSS)  # whoever watches may ask the problem where it was looked at last
        self._progress(len(self.trace) - 1, self.here.value, self._certificate().value)

    # Results.

    def solution(self) -> Solution:
        return Solution(self.w, self._certificate(), tuple(self.trace))

    def _certificate(self) -> Certificate:
        here, steps = self.here, f"after {counted(len(self.trace) - 1, 'proximal Newton step')}"
        if not self._losses.dual:
            length = float(np.sqrt(2 * here.distance)) / self._problem.unit(here.smooth)
            return subgradient_certificate(length, self._tolerance, steps, is_convex=self._problem.is_convex)
        size = max(abs(here.value), np.finfo(float).tiny)
        sentence = f"the objective, {here.value:.10g}, can fall by no more than this portion of it, {steps}"
        if len(self._free):
            sentence += " (by coefficients without a penalty: as far as its curvature tells)"
        return Certificate("duality gap", here.distance / size, here.asked / size, sentence)


def _half_squares(g: Array, curvature: Array) -> float:
    return 0.5 * float(g @ _divided(g, curvature))


def _divided(g: Array, curvature: Array) -> Array:
    """By the curvature, where there is any."""
    return np.asarray(g / np.where(curvature > 0, curvature, 1.0))
