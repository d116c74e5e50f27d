"""Proximal Newton: any smooth response with a penalty of absolute values, which makes coefficients exactly their mean.

Each step minimises the quadratic model of the losses plus the penalty itself, by coordinate descent over the columns
that matter: those whose coefficients are away from their means, and those whose slopes pull harder than the penalty
holds. Few columns are multiplied with each other once per step; of many sparse ones, each row's slope is kept. Steps
are halved until the objective does not rise.

How far the objective is from its minimum is bounded by the duality gap, where the loss has a conjugate that is known
(`_proximal_losses`). `tolerance` is that of `newton`, in standard errors: the shortest subgradient has to be as small.
Slopes that are λ standard errors off, about λ √n, leave the objective ½ λ² from its minimum, but a gap of λ/√n of the
objective: that is the gap that has to be reached. For other losses the subgradient has to do alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.special import expit, kl_div

from mercer._threads import blas_for, ordered_map, row_blocks
from mercer._typing import Array
from mercer.families import loss_loops
from mercer.families.response import Response, Slopes
from mercer.matrices import Design, Observations
from mercer.matrices.squares import column_squares
from mercer.optim._proximal_columns import DesignColumns
from mercer.optim._working_sets import GramWorkingSet
from mercer.optim.certificate import Certificate, Progress, Solution, keep_on_interrupt, subgradient_certificate
from mercer.optim.curvature import Curvature
from mercer.optim.duality import GapPenalty, duality_gap, squares_lost
from mercer.optim.newton import ALWAYS_HESSIAN, MOST_HALVINGS, MOST_STEPS, ROUNDING, TOLERANCE
from mercer.optim.problem import Problem
from mercer.optim.squared_hinge import SquaredHinge
from mercer.report.wording import counted
from mercer.stats.quadratic import LOSS

# Losses of rows at a linear predictor, and how much they lose by a share of their slopes: see `duality`.
#
# By the definition of the conjugate, D(s) = f(η) − f(η') − f'(η') (η − η') at the η' where f'(η') = s f'(η): Bregman's
# divergence. For the losses below it is one of Kullback and Leibler's, K(a, b) = a log(a/b) − a + b:
#
#     Bernoulli, logit            K(p', p) + K(1 − p', 1 − p)           p' = y + s (p − y)
#     negative binomial, log      the same of y + r trials              the share of successes is μ/(μ + r)
#     Poisson, log                K(μ', μ)                              μ' = y + s (μ − y)
#     gamma, log                  K(z', z) at z = y/μ                   z' = 1 − s (1 − z)
#
# and of squared hinge losses it is (1 − s)² (1 − yη)₊², as for least squares.

#: rows that a thread takes at a time
BLOCK = 1 << 14


@dataclass(frozen=True, eq=False)
class ProximalLosses:
    """Of all rows, as functions of their linear predictors."""

    observations: Observations
    response: Response

    def slopes(self, eta: Array) -> Slopes:
        """Σ weight · loss, and for each row its slope and expected curvature."""
        y, weight = self.observations.y, self.observations.weight

        def of_block(rows: slice) -> Slopes:
            return self.response.slopes(y[rows], eta[rows], None if weight is None else weight[rows])

        parts = ordered_map(of_block, row_blocks(len(eta), BLOCK))
        first, second = (np.concatenate([part[k] for part in parts]) for k in (1, 2))
        return Slopes(sum(part.loss for part in parts), first, second)

    @property
    def total(self) -> float:
        """Σ weight."""
        weight = self.observations.weight
        return float(len(self.observations) if weight is None else weight.sum())

    @property
    def dual(self) -> bool:
        """Whether D(s) is known."""
        return type(self.response.lower()) in DIVERGENCES

    def lost(self, eta: Array) -> Callable[[float], float]:
        """D(s)."""
        y, weight, loss = self.observations.y, self.observations.weight, self.response.lower()
        if isinstance(loss, loss_loops.GaussianIdentity):
            squares = np.square(y - eta)
            return squares_lost(float(squares.sum() if weight is None else weight @ squares))

        def divergence(share: float) -> float:
            if share == 1:
                return 0.0
            return sum(ordered_map(lambda block: of_block(block, share), row_blocks(len(eta), BLOCK)))

        def of_block(block: slice, share: float) -> float:
            rows: Array = DIVERGENCES[type(loss)](loss, y[block], eta[block], share)
            return float(rows.sum() if weight is None else weight[block] @ rows)

        return divergence


def _binomial_divergence(y: Array, eta: Array, share: float) -> Array:
    p, q = expit(eta), expit(-eta)
    return np.asarray(kl_div((1 - share) * y + share * p, p) + kl_div((1 - share) * (1 - y) + share * q, q))


def _bernoulli(loss: loss_loops.BernoulliLogit, y: Array, eta: Array, share: float) -> Array:
    return _binomial_divergence(y, eta, share)


def _negative_binomial(loss: loss_loops.NegativeBinomialLog, y: Array, eta: Array, share: float) -> Array:
    trials = y + loss.r
    return np.asarray(trials * _binomial_divergence(y / trials, eta - loss.log_r, share))


def _poisson(loss: loss_loops.PoissonLog, y: Array, eta: Array, share: float) -> Array:
    mean = np.exp(eta)
    return np.asarray(kl_div((1 - share) * y + share * mean, mean))


def _gamma(loss: loss_loops.GammaLog, y: Array, eta: Array, share: float) -> Array:
    ratio = y * np.exp(-eta)
    return np.asarray(kl_div((1 - share) + share * ratio, ratio))


def _squared_hinge(loss: SquaredHinge, y: Array, eta: Array, share: float) -> Array:
    return np.asarray(np.square((1 - share) * np.maximum(1 - y * eta, 0.0)))


DIVERGENCES: dict[type[Any], Any] = {
    loss_loops.GaussianIdentity: None,
    loss_loops.BernoulliLogit: _bernoulli,
    loss_loops.NegativeBinomialLog: _negative_binomial,
    loss_loops.PoissonLog: _poisson,
    loss_loops.GammaLog: _gamma,
    SquaredHinge: _squared_hinge,
}


# The quadratic model of weighted losses plus a penalty, and its minimum over the columns that matter.

#: columns up to which all of them matter, and are multiplied by the design
FULL_COLUMNS = 200
#: columns that matter at first at most, if they have numbers in every row; they may double each time
FIRST_COLUMNS = 100
#: columns up to which products between them are computed, and stored entries per row
MOST_GRAM, MOST_STORED = 2_000, 10
#: products are kept while curvatures have changed by no more than this portion
STALE = 0.02
#: models are minimised to this portion of the distance that there is
CLOSER, MOST_SWEEPS = 1e-4, 1_000
#: sweeps over rows end when one gains no more than this portion of the first
LAST_GAIN = 0.1
MOST_ROW_SWEEPS = 30
#: a sweep that gains more than this portion of the one before is one of many to come
SLOW = 0.15
#: conjugate gradients end at these portions of the residual: the latter is for a distance of as much as the objective
LEAST_RESIDUAL, RESIDUAL = 0.01, 0.1
MOST_CONJUGATE = 30


class ProximalExpansion(Protocol):
    """Where a model is made: see `_proximal_descent.Place`."""

    @property
    def u(self) -> Array: ...
    @property
    def slopes(self) -> Slopes: ...
    @property
    def c(self) -> Array: ...
    @property
    def value(self) -> float: ...
    @property
    def distance(self) -> float: ...


class ProximalModel:
    """Columns, and what is known of the products between them."""

    def __init__(self, design: Design, penalty: GapPenalty) -> None:
        self._design, self._penalty = design, penalty
        self._exact = False
        self._set: GramWorkingSet | None = None
        self._h = np.zeros(0)
        #: whether products were computed at the present curvatures
        self._fresh = False

    @cached_property
    def columns(self) -> DesignColumns:
        return DesignColumns(self._design, exact=self._exact)

    def forget(self) -> None:
        """Compute products anew."""
        self._set = None

    def refine(self) -> bool:
        """Compute more exactly than so far; False if that is impossible."""
        if self._set is not None and not self._fresh:
            self.forget()
            return True
        if self.columns.dtype == np.float64:
            return False
        self._exact = True
        del self.columns
        return True

    def minimiser(self, place: ProximalExpansion) -> Array:
        """Of the model made at a place."""
        u, h = place.u, place.slopes.second
        ids = self._that_matter(place)
        if not self._by_gram(ids):
            with blas_for(1):  # products of vectors gain nothing by threads
                return self._by_rows(place, ids)
        self._prepare(ids, h)
        chosen = self._set
        assert chosen is not None
        first = place.slopes.first
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = np.where(h > 0, first * (first / h), 0.0).sum()
        chosen.load(u, place.c, float(squares))
        chosen.solve(self._penalty, CLOSER * place.distance, MOST_SWEEPS)
        there = u.copy()
        there[chosen.ids] = chosen.quadratic.w
        return there

    def _that_matter(self, place: ProximalExpansion) -> Array:
        """Columns away from their means or free, and those that pull hardest."""
        if self._design.n_columns <= FULL_COLUMNS:
            return np.arange(self._design.n_columns)
        away = (place.u != 0) | self._penalty.free
        pull = np.where(away, 0.0, self._penalty.violations(place.u, place.c))
        new = np.flatnonzero(pull > 0)
        most = max(FIRST_COLUMNS, int(away.sum()))
        if self.columns.numbers(new)[0] > most:
            new = new[np.argpartition(-pull[new], most)[:most]]
        away[new] = True
        return np.flatnonzero(away)

    # By products between columns.

    def _by_gram(self, ids: Array) -> bool:
        if self._design.n_columns <= FULL_COLUMNS:
            return True
        return len(ids) <= MOST_GRAM and self.columns.numbers(ids)[1] <= MOST_STORED * self._design.n_rows

    def _prepare(self, ids: Array, h: Array) -> None:
        """Have products between these columns, at curvatures near h."""
        change = float(np.abs(h - self._h).sum()) if self._set is not None else np.inf
        new = ids if self._set is None else ids[~self._set.member[ids]]
        if self._set is None or change > STALE * self._h.sum() or len(self._set) + len(new) > MOST_GRAM:
            self._h, change = h, 0.0
            self._set = self._gram_set(ids)
        else:
            self._set.grow(new)
        self._fresh = change == 0.0

    def _gram_set(self, ids: Array) -> GramWorkingSet:
        columns: Any = self.columns
        if self._design.n_columns <= FULL_COLUMNS:
            return GramWorkingSet.of_gram(columns, self._design.gram(self._h))
        made = GramWorkingSet(columns, self._h)
        made.grow(ids)
        return made

    # By the slopes of rows.

    def _by_rows(self, place: ProximalExpansion, ids: Array) -> Array:
        """Sweeps; where they turn slow, among coefficients that keep their signs by conjugate gradients."""
        self.forget()
        h = place.slopes.second.astype(self.columns.dtype)
        penalty, curvature = self._penalty.of(ids), self.columns.squares(ids, h)
        w, v, c = place.u[ids], np.zeros(len(h), dtype=h.dtype), place.c[ids]
        gains = [np.inf]
        for _ in range(MOST_ROW_SWEEPS):
            gains.append(self.columns.sweep(ids, c, h, curvature, penalty, w, v))
            if gains[-1] <= LAST_GAIN * max(gains[1:]):
                break
            if gains[-1] > SLOW * gains[-2]:
                face = np.flatnonzero((w != 0) & (curvature > 0))
                slopes = c[face] + self.columns.products(ids[face], v)
                w[face] = self._polished(ids[face], w[face], slopes, h, curvature[face], _forcing_portion(place))
                break
        there = place.u.copy()
        there[ids] = w
        return there

    def _polished(self, face: Array, w: Array, c: Array, h: Array, curvature: Array, portion: float) -> Array:
        """Towards the minimum of the model for the present signs; coefficients that would change theirs end at zero."""
        few = self._penalty.of(face)
        bend = curvature + few.l2
        residual = c - few.l2 * w - few.l1 * np.sign(w)
        step, direction = np.zeros((2, len(w)))
        size = begin = 0.0
        for _ in range(MOST_CONJUGATE):
            scaled = residual / bend
            before, size = size, float(residual @ scaled)
            begin = begin or size
            if size <= portion**2 * begin:
                break
            direction = scaled + (size / before if before else 0.0) * direction
            product = self.columns.curved(face, h, direction) + few.l2 * direction
            length = size / float(direction @ product)
            step += length * direction
            residual -= length * product
        there = w + step
        return np.where((there * w < 0) & (few.l1 > 0), 0.0, there)


def _forcing_portion(place: ProximalExpansion) -> float:
    """How exactly a model is worth solving: to a digit at first, to more near the end (Dembo and others 1982)."""
    return float(np.clip(RESIDUAL * np.sqrt(place.distance / abs(place.value)), LEAST_RESIDUAL, RESIDUAL))


# Steps of proximal Newton, one at a time, and the best point so far: see `mercer.optim.proximal_newton`.

#: gaps below this portion of the objective may be rounding
LEAST_GAP = 1e-13
#: of few rows the gap is brought down to this portion, whatever was asked for: steps cost little
GAP_OF_FEW = 1e-8
#: a penalty of this portion of a slope's scale, or less, is lost in the rounding of slopes
NEGLIGIBLE_PENALTY = 1e-11
#: free coefficients up to which all products between their columns are looked at
MOST_FREE = 1_000
#: steps without progress after which to give up
MOST_VAIN_STEPS = 3


@dataclass(frozen=True, eq=False)
class ProximalPoint:
    """Coefficients less their means, with the objective, and the losses of rows."""

    u: Array
    value: float
    #: without the absolute values
    smooth: float
    eta: Array
    slopes: Slopes


@dataclass(frozen=True, eq=False)
class ProximalIterate(ProximalPoint):
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
        self._losses = ProximalLosses(problem.observations, problem.response)
        self._penalty = GapPenalty(problem.strengths.l1, problem.strengths.l2)
        self._model = ProximalModel(self._design, self._penalty)
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

    def _look(self, u: Array) -> ProximalPoint:
        offset = self._problem.observations.offset
        with blas_for(1), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            eta = self._design.times(self._mean + u)
            if offset is not None:
                eta += offset
            slopes = self._losses.slopes(eta)
            smooth = slopes.loss + 0.5 * float(self._penalty.l2 @ np.square(u))
            return ProximalPoint(u, smooth + float(self._penalty.l1 @ np.abs(u)), smooth, eta, slopes)

    def _penalty_felt(self, there: ProximalPoint) -> GapPenalty:
        """None where it is less than the rounding of slopes: a dual point could not be told to be feasible."""
        l1, l2, _ = self._penalty
        with np.errstate(over="ignore", invalid="ignore"):
            curvature = column_squares(self._design, there.slopes.second)
            lost = (l1 <= NEGLIGIBLE_PENALTY * np.sqrt(curvature * abs(there.value))) & (l2 <= NEGLIGIBLE_PENALTY * curvature)
        return GapPenalty(np.where(lost, 0.0, l1), np.where(lost, 0.0, l2))

    def _arrive(self, there: ProximalPoint) -> ProximalIterate:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            c = -self._design.transposed_times(there.slopes.first)
            unit = self._problem.unit(there.smooth)
            near = 0.5 * (self._tolerance * unit) ** 2
            if not self._losses.dual:
                distance = self._of_violations(there, c)
                return ProximalIterate(**vars(there), c=c, distance=distance, asked=near, near=near, settled=True)
            move = self._move_of_free(there, c)
            free = 0.5 * float(c[self._free] @ move)
            asked, aim = self._gaps(there, unit, near)
            distance = free + self._gap(there, c)
            if distance <= aim and move.any():
                distance = free + self._gap(there, self._slopes_after(there, c, move))
            settled = distance <= aim and free <= near and self._of_violations(there, c) <= near
            return ProximalIterate(**vars(there), c=c, distance=distance, asked=asked, near=aim, settled=settled)

    def _gap(self, there: ProximalPoint, c: Array) -> float:
        """Of the coefficients with a penalty."""
        return duality_gap(self._felt, there.u, c, self._losses.lost(there.eta))

    def _gaps(self, there: ProximalPoint, unit: float, near: float) -> tuple[float, float]:
        """The gap asked for, λ/√n of the objective for a tolerance of λ standard errors, and the one to stop at."""
        value, dispersion = abs(there.value), self._problem.response.family.known_dispersion
        deviance = 2 * there.smooth if dispersion is None else dispersion * self._losses.total
        asked = max(LEAST_GAP, self._tolerance * unit / np.sqrt(max(deviance, np.finfo(float).tiny))) * value
        aim = asked if len(there.eta) >= ALWAYS_HESSIAN else min(asked, GAP_OF_FEW * value)
        if self._problem.strengths.smooth:  # then the gap falls as the square of what coefficients are off by
            aim = min(aim, max(near, LEAST_GAP * value))
        return asked, aim

    def _move_of_free(self, there: ProximalPoint, c: Array) -> Array:
        """Where coefficients without a penalty would go, s = H⁻¹g; they lower the objective by ½ gᵀs, where H stays."""
        free, h = self._free, there.slopes.second
        if not len(free) or not np.isfinite(there.value):
            return np.zeros(len(free))
        if len(free) > MOST_FREE:
            return _divide_by_curvature(c[free], self._model.columns.squares(free, h))
        return Curvature.of(self._model.columns.gram(free, free, h)).solve(c[free])

    def _slopes_after(self, there: ProximalPoint, c: Array, move: Array) -> Array:
        """The slopes once the coefficients without a penalty have moved: what they do to those of the others."""
        step = np.zeros(len(c))
        step[self._free] = move
        return np.asarray(c - self._design.transposed_times(there.slopes.second * self._design.times(step)))

    def _of_violations(self, there: ProximalPoint, c: Array) -> float:
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
            if vain >= MOST_VAIN_STEPS and not self._model.refine():
                break

    def _has_gained(self, before: ProximalIterate) -> bool:
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
    return 0.5 * float(g @ _divide_by_curvature(g, curvature))


def _divide_by_curvature(g: Array, curvature: Array) -> Array:
    """By the curvature, where there is any."""
    return np.asarray(g / np.where(curvature > 0, curvature, 1.0))


def solve(
    problem: Problem,
    start: Array | None = None,
    *,
    tolerance: float = TOLERANCE,
    most_steps: int = MOST_STEPS,
    progress: Progress | None = None,
) -> Solution:
    """Minimise a problem whose penalty may have absolute values.

    Parameters
    ----------
    problem : Problem
        Any response, any design, any penalty.
    start : array, optional
        The working coefficients to begin with; by default every one at its prior mean.
    tolerance : float
        How short the shortest subgradient has to become, in standard errors; the duality gap has to be at most
        tolerance/√n of the objective.
    most_steps : int
        Newton steps after which to give up; the certificate then does not hold.
    progress : callable, optional
        Called after each step with its number, the objective, and the duality gap as a portion of it.

    Returns
    -------
    solution : Solution
        `value` are the working coefficients; `trace` has the objective after each step.

    Raises
    ------
    FitInterrupted
        On Ctrl-C, with the best solution so far.
    """
    descent = ProximalDescent(problem, start, tolerance, progress)
    with keep_on_interrupt(descent.solution):
        descent.run(most_steps)
    return descent.solution()
