"""Proximal Newton: smooth losses with a penalty of absolute values, which sets coefficients exactly to their means.

Each step:

1. Choose the columns that matter: those whose coefficients differ from their means, and those whose slopes exceed the
   penalty (`ProximalModel._select_columns`).
2. Minimise the quadratic model of the losses plus the penalty over these columns, by coordinate descent: with the Gram
   matrix of few columns, or with the slope of each row for many sparse ones.
3. Halve the step until the objective does not rise.
4. Stop if the duality gap and the shortest subgradient are small enough (`ProximalDescent._arrive`).

The duality gap needs a loss whose conjugate is known (`DIVERGENCES`); for other losses the subgradient alone decides.
`tolerance` is that of `newton`, in standard errors, for the shortest subgradient. Slopes with errors of λ standard
errors, about λ √n, leave the objective ½ λ² above its minimum, but a gap of λ/√n of the objective: that is the bound
for the gap.
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
from mercer.matrices import Matrix, Observations
from mercer.matrices.working_columns import MANY_STORED_ENTRIES, WorkingColumns
from mercer.optim._working_sets import GramWorkingSet
from mercer.optim.certificate import LENGTH_TOLERANCE, Certificate, Solution, subgradient_certificate
from mercer.optim.curvature import Curvature
from mercer.optim.descent import Callback, Descent, descend, halve_step, rounding_above
from mercer.optim.duality import GapPenalty, duality_gap, squares_lost
from mercer.optim.newton import ALWAYS_HESSIAN, MAX_NEWTON_ITERATIONS
from mercer.optim.problem import Problem
from mercer.optim.squared_hinge import SquaredHinge
from mercer.report.wording import format_count

# Losses

#: rows that a thread takes at a time
ROWS_PER_LOSS_BLOCK = 1 << 14


@dataclass(frozen=True, eq=False)
class ProximalLosses:
    """Losses of all rows as functions of their linear predictors η, and their part D(s) of the duality gap.

    By the definition of the conjugate, D(s) = f(η) − f(η') − f'(η') (η − η') at the η' where f'(η') = s f'(η): a
    Bregman divergence. For the losses below it is that of Kullback and Leibler, K(a, b) = a log(a/b) − a + b:

        Bernoulli, logit            K(p', p) + K(1 − p', 1 − p)           p' = y + s (p − y)
        negative binomial, log      the same for y + r trials             the share of successes is μ/(μ + r)
        Poisson, log                K(μ', μ)                              μ' = y + s (μ − y)
        gamma, log                  K(z', z) at z = y/μ                   z' = 1 − s (1 − z)

    and for squared hinge losses (1 − s)² (1 − yη)₊², as for least squares.
    """

    observations: Observations
    response: Response

    def slopes(self, eta: Array) -> Slopes:
        """Return Σ weight · loss, and the slope and expected curvature of each row."""
        y, weight = self.observations.y, self.observations.weight

        def of_block(rows: slice) -> Slopes:
            return self.response.slopes(y[rows], eta[rows], None if weight is None else weight[rows])

        parts = ordered_map(of_block, row_blocks(len(eta), ROWS_PER_LOSS_BLOCK))
        first, second = (np.concatenate([part[k] for part in parts]) for k in (1, 2))
        return Slopes(sum(part.loss for part in parts), first, second)

    @property
    def total(self) -> float:
        """Return Σ weight."""
        weight = self.observations.weight
        return float(len(self.observations) if weight is None else weight.sum())

    @property
    def has_gap(self) -> bool:
        """True if D(s) is known for the loss."""
        return type(self.response.lower()) in DIVERGENCES

    def dual_part(self, eta: Array) -> Callable[[float], float]:
        """Return s ↦ D(s) at η."""
        y, weight, loss = self.observations.y, self.observations.weight, self.response.lower()
        if isinstance(loss, loss_loops.GaussianIdentity):
            squares = np.square(y - eta)
            return squares_lost(float(squares.sum() if weight is None else weight @ squares))

        def divergence(share: float) -> float:
            if share == 1:
                return 0.0
            return sum(ordered_map(lambda block: of_block(block, share), row_blocks(len(eta), ROWS_PER_LOSS_BLOCK)))

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


# The quadratic model

#: columns up to which all of them are in the model, with products by the design
FULL_MODEL_COLUMNS = 200
#: dense columns that the first model may add; later ones may double their number
FIRST_MODEL_COLUMNS = 100
#: columns up to which their Gram matrix is computed
MAX_MODEL_GRAM = 2_000
#: stored entries per row up to which it is computed
MAX_STORED_PER_ROW = 10
#: a Gram matrix is kept while curvatures have changed by no more than this portion
STALE_CURVATURE = 0.02
#: models are minimised to this portion of the present distance from the minimum
MODEL_ACCURACY = 1e-4
#: sweeps over the coefficients of a model with a Gram matrix
MAX_MODEL_SWEEPS = 1_000
#: sweeps over rows end when one gains no more than this portion of the largest gain
LAST_GAIN = 0.1
#: sweeps over rows
MAX_ROW_SWEEPS = 30
#: sweeps converge slowly if one gains more than this portion of the one before
SLOW_GAIN = 0.15
#: smallest relative residual at which conjugate gradients end
LEAST_RESIDUAL = 0.01
#: relative residual at which they end if the distance is as large as the objective
FIRST_RESIDUAL = 0.1
#: steps of conjugate gradients
MAX_CONJUGATE_STEPS = 30


class ProximalExpansion(Protocol):
    """A point about which a model is expanded, such as `ProximalIterate`."""

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
    """Quadratic models of the losses plus the penalty, with a Gram matrix that is kept between them.

    Parameters
    ----------
    design : Matrix
        The columns.
    penalty : GapPenalty
        The penalty of their coefficients.
    full_columns : int
        Number of columns up to which all of them are in the model, with products by the design.
    first_columns : int
        Number of dense columns that the first model may add; later ones may double their number.
    max_gram : int
        Number of columns up to which their Gram matrix is computed.
    many : int
        Number of stored entries from which on they are copied in float32.
    """

    def __init__(
        self,
        design: Matrix,
        penalty: GapPenalty,
        *,
        full_columns: int = FULL_MODEL_COLUMNS,
        first_columns: int = FIRST_MODEL_COLUMNS,
        max_gram: int = MAX_MODEL_GRAM,
        many: int = MANY_STORED_ENTRIES,
    ) -> None:
        self._design, self._penalty = design, penalty
        self._first_columns, self._max_gram, self._many = first_columns, max_gram, many
        self._is_full = design.n_columns <= full_columns
        self._exact = False
        self._set: GramWorkingSet | None = None
        self._h = np.zeros(0)
        #: whether the Gram matrix has the present curvatures
        self._fresh = False

    @cached_property
    def columns(self) -> WorkingColumns:
        """Return the columns of the design, in float32 if there are many and that is precise enough."""
        return WorkingColumns(self._design, exact=self._exact, many=self._many)

    def forget(self) -> None:
        """Drop the Gram matrix."""
        self._set = None

    def refine(self) -> bool:
        """Make later models more precise; return False if that is impossible."""
        if self._set is not None and not self._fresh:
            self.forget()
            return True
        if self.columns.dtype == np.float64:
            return False
        self._exact = True
        del self.columns
        return True

    def minimiser(self, place: ProximalExpansion) -> Array:
        """Return the minimiser of the model about a point."""
        u, h = place.u, place.slopes.second
        ids = self._select_columns(place)
        if not self._uses_gram(ids):
            with blas_for(1):  # products of vectors gain nothing from threads
                return self._minimise_by_rows(place, ids)
        self._prepare(ids, h)
        chosen = self._set
        assert chosen is not None
        first = place.slopes.first
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = np.where(h > 0, first * (first / h), 0.0).sum()
        chosen.load(u, place.c, float(squares))
        chosen.solve(self._penalty, MODEL_ACCURACY * place.distance, MAX_MODEL_SWEEPS)
        there = u.copy()
        there[chosen.ids] = chosen.quadratic.w
        return there

    def _select_columns(self, place: ProximalExpansion) -> Array:
        """Return unpenalised columns, those away from their means, and those with the steepest slopes."""
        if self._is_full:
            return np.arange(self._design.n_columns)
        away = (place.u != 0) | self._penalty.free
        pull = np.where(away, 0.0, self._penalty.violations(place.u, place.c))
        new = np.flatnonzero(pull > 0)
        most = max(self._first_columns, int(away.sum()))
        if self.columns.numbers(new)[0] > most:
            new = new[np.argpartition(-pull[new], most)[:most]]
        away[new] = True
        return np.flatnonzero(away)

    def _uses_gram(self, ids: Array) -> bool:
        """Return whether a Gram matrix of the columns is worth its cost."""
        if self._is_full:
            return True
        return len(ids) <= self._max_gram and self.columns.numbers(ids)[1] <= MAX_STORED_PER_ROW * self._design.n_rows

    def _prepare(self, ids: Array, h: Array) -> None:
        """Provide the Gram matrix of these columns, at curvatures near h."""
        change = float(np.abs(h - self._h).sum()) if self._set is not None else np.inf
        new = ids if self._set is None else ids[~self._set.member[ids]]
        if self._set is None or change > STALE_CURVATURE * self._h.sum() or len(self._set) + len(new) > self._max_gram:
            self._h, change = h, 0.0
            self._set = self._gram_set(ids)
        else:
            self._set.grow(new)
        self._fresh = change == 0.0

    def _gram_set(self, ids: Array) -> GramWorkingSet:
        if self._is_full:
            return GramWorkingSet.of_gram(self.columns, self._design.gram(self._h))
        made = GramWorkingSet(self.columns, self._h)
        made.grow(ids)
        return made

    def _minimise_by_rows(self, place: ProximalExpansion, ids: Array) -> Array:
        """Minimise by sweeps, and where these become slow by conjugate gradients for fixed signs."""
        self.forget()
        h = place.slopes.second.astype(self.columns.dtype)
        penalty, curvature = self._penalty.select(ids), self.columns.squares(ids, h)
        w, v, c = place.u[ids], np.zeros(len(h), dtype=h.dtype), place.c[ids]
        gains = [np.inf]
        for _ in range(MAX_ROW_SWEEPS):
            gains.append(self.columns.sweep(ids, h, curvature, penalty, w, v, c))
            if gains[-1] <= LAST_GAIN * max(gains[1:]):
                break
            if gains[-1] > SLOW_GAIN * gains[-2]:
                face = np.flatnonzero((w != 0) & (curvature > 0))
                slopes = c[face] + self.columns.products(v[None], ids[face])[0]
                w[face] = self._polish(ids[face], w[face], slopes, h, curvature[face], _forcing_portion(place))
                break
        there = place.u.copy()
        there[ids] = w
        return there

    def _polish(self, face: Array, w: Array, c: Array, h: Array, curvature: Array, portion: float) -> Array:
        """Approach the minimum of the model for the present signs; coefficients that would change sign become zero."""
        few = self._penalty.select(face)
        bend = curvature + few.l2
        residual = c - few.l2 * w - few.l1 * np.sign(w)
        step, direction = np.zeros((2, len(w)))
        size = begin = 0.0
        for _ in range(MAX_CONJUGATE_STEPS):
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
    """Return the relative residual for a model: a digit at first, more near the end (Dembo and others 1982)."""
    return float(np.clip(FIRST_RESIDUAL * np.sqrt(place.distance / abs(place.value)), LEAST_RESIDUAL, FIRST_RESIDUAL))


# The descent

#: gaps below this portion of the objective may be rounding
GAP_ROUNDING = 1e-13
#: for few rows the gap is reduced to this portion of the objective, whatever the tolerance: steps are cheap
GAP_OF_FEW = 1e-8
#: a penalty below this portion of a slope's scale is lost in the rounding of slopes
NEGLIGIBLE_PENALTY = 1e-11
#: unpenalised coefficients up to which their Hessian is formed
MAX_FREE_HESSIAN = 1_000
#: consecutive steps without progress, after which models are made more precise
MAX_VAIN_STEPS = 3


@dataclass(frozen=True, eq=False)
class ProximalPoint:
    """Coefficients less their means, the objective, and the losses of rows."""

    u: Array
    value: float
    #: the objective without the absolute values
    smooth: float
    eta: Array
    slopes: Slopes


@dataclass(frozen=True, eq=False)
class ProximalIterate(ProximalPoint):
    """A point with the slopes of its coefficients, and its distance from the minimum."""

    #: negative gradient of the losses
    c: Array
    #: bound for the distance of the objective from its minimum
    distance: float
    #: the distance that the tolerance requires
    required: float
    #: the distance at which to stop, at most `required`
    target: float
    #: whether the subgradient is as short as the tolerance of `newton` requires
    has_short_subgradient: bool

    @property
    def has_converged(self) -> bool:
        """True if both criteria are met."""
        return self.distance <= self.target and self.has_short_subgradient


class ProximalDescent(Descent):
    """Proximal Newton steps from a start."""

    patience = MAX_VAIN_STEPS
    point: ProximalIterate

    def __init__(
        self,
        problem: Problem,
        start: Array | None,
        tolerance: float,
        *,
        model: ProximalModel | None,
        max_free: int,
    ) -> None:
        self._problem, self.tolerance, self._max_free = problem, tolerance, max_free
        self._design, self._mean = problem.observations.design, problem.strengths.mean
        self._losses = ProximalLosses(problem.observations, problem.response)
        self._penalty = GapPenalty(problem.strengths.l1, problem.strengths.l2)
        self._model = ProximalModel(self._design, self._penalty) if model is None else model
        begin = problem.start() if start is None else np.array(start, dtype=float)
        first = self._evaluate(begin - self._mean)
        #: the penalty without strengths that are lost in the rounding of slopes
        self._effective = self._effective_penalty(first)
        self._free = np.flatnonzero(self._effective.free)
        self.point = self._arrive(first)
        self.distance = self._distance_of(self.point)

    @property
    def coef(self) -> Array:
        return np.asarray(self._mean + self.point.u)

    def _evaluate(self, u: Array) -> ProximalPoint:
        offset = self._problem.observations.offset
        with blas_for(1), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            eta = self._design.matvec(self._mean + u)
            if offset is not None:
                eta += offset
            slopes = self._losses.slopes(eta)
            smooth = slopes.loss + 0.5 * float(self._penalty.l2 @ np.square(u))
            return ProximalPoint(u, smooth + float(self._penalty.l1 @ np.abs(u)), smooth, eta, slopes)

    def _effective_penalty(self, there: ProximalPoint) -> GapPenalty:
        """Return the penalty, 0 where it is below the rounding of slopes, since dual feasibility is undecidable."""
        l1, l2, _ = self._penalty
        with np.errstate(over="ignore", invalid="ignore"):
            curvature = self._design.squares(there.slopes.second)
            lost = (l1 <= NEGLIGIBLE_PENALTY * np.sqrt(curvature * abs(there.value))) & (
                l2 <= NEGLIGIBLE_PENALTY * curvature
            )
        return GapPenalty(np.where(lost, 0.0, l1), np.where(lost, 0.0, l2))

    def _arrive(self, there: ProximalPoint) -> ProximalIterate:
        """Return the point with its slopes and the criteria of convergence."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            c = -self._design.rmatvec(there.slopes.first)
            unit = self._problem.unit(there.smooth)
            near = 0.5 * (self.tolerance * unit) ** 2  # ½ λ²
            if not self._losses.has_gap:
                distance = self._half_squared_subgradient(there, c)
                return ProximalIterate(
                    **vars(there), c=c, distance=distance, required=near, target=near, has_short_subgradient=True
                )
            move = self._move_of_free(there, c)
            free = 0.5 * float(c[self._free] @ move)
            required, target = self._gap_targets(there, unit, near)
            distance = free + self._gap(there, c)
            if distance <= target and move.any():
                distance = free + self._gap(there, self._slopes_after(there, c, move))
            is_short = distance <= target and free <= near and self._half_squared_subgradient(there, c) <= near
            return ProximalIterate(
                **vars(there), c=c, distance=distance, required=required, target=target, has_short_subgradient=is_short
            )

    def _gap(self, there: ProximalPoint, c: Array) -> float:
        """Return the duality gap of the penalised coefficients."""
        return duality_gap(self._effective, there.u, c, self._losses.dual_part(there.eta))

    def _gap_targets(self, there: ProximalPoint, unit: float, near: float) -> tuple[float, float]:
        """Return the required gap, λ/√n of the objective for a tolerance of λ, and the gap at which to stop."""
        value, dispersion = abs(there.value), self._problem.response.family.known_dispersion
        deviance = 2 * there.smooth if dispersion is None else dispersion * self._losses.total
        required = max(GAP_ROUNDING, self.tolerance * unit / np.sqrt(max(deviance, np.finfo(float).tiny))) * value
        target = required if len(there.eta) >= ALWAYS_HESSIAN else min(required, GAP_OF_FEW * value)
        if self._problem.strengths.smooth:  # the gap falls as the square of the error of the coefficients
            target = min(target, max(near, GAP_ROUNDING * value))
        return required, target

    def _move_of_free(self, there: ProximalPoint, c: Array) -> Array:
        """Return the Newton step s = H⁻¹g of unpenalised coefficients; for constant H the objective falls by ½ gᵀs."""
        free, h = self._free, there.slopes.second
        if not len(free) or not np.isfinite(there.value):
            return np.zeros(len(free))
        if len(free) > self._max_free:
            return _divide_by_curvature(c[free], self._model.columns.squares(free, h))
        return Curvature.of(self._model.columns.gram(free, free, h)).solve(c[free])

    def _slopes_after(self, there: ProximalPoint, c: Array, move: Array) -> Array:
        """Return the slopes after the step of the unpenalised coefficients."""
        step = np.zeros(len(c))
        step[self._free] = move
        return np.asarray(c - self._design.rmatvec(there.slopes.second * self._design.matvec(step)))

    def _half_squared_subgradient(self, there: ProximalPoint, c: Array) -> float:
        """Return ½ gᵀD⁻¹g of the shortest subgradient, with D the diagonal of H."""
        curvature = self._design.squares(there.slopes.second) + self._penalty.l2
        g = self._penalty.violations(there.u, c)
        return 0.5 * float(g @ _divide_by_curvature(g, curvature))

    def has_converged(self) -> bool:
        return self.point.has_converged

    def advance(self) -> bool:
        """Take one step, halved until the objective does not rise; return False if it always does."""
        before = self.point
        step = self._model.minimiser(before) - before.u
        found = halve_step(lambda share: self._evaluate(before.u + share * step), rounding_above(before.value))
        if found is None:
            return False
        if found.length < 1:
            self._model.forget()
        point = self._arrive(found.point)
        self.point, self.distance, self.step_length = point, self._distance_of(point), found.length
        return True

    def refine(self) -> bool:
        return self._model.refine()

    def _distance_of(self, point: ProximalIterate) -> float:
        return self._measure(point) if np.isfinite(point.c).all() else np.nan

    def _measure(self, point: ProximalIterate) -> float:
        """Return the gap as a portion of the objective, or the length of the subgradient in standard errors."""
        if self._losses.has_gap:
            return point.distance / max(abs(point.value), np.finfo(float).tiny)
        return float(np.sqrt(2 * point.distance)) / self._problem.unit(point.smooth)

    def certificate(self) -> Certificate:
        here, steps = self.point, f"after {format_count(self.n_iter, 'proximal Newton step')}"
        if not self._losses.has_gap:
            return subgradient_certificate(
                self._measure(here), self.tolerance, steps, is_convex=self._problem.is_convex
            )
        sentence = f"the objective, {here.value:.10g}, can fall by no more than this portion of it, {steps}"
        if len(self._free):
            sentence += " (by coefficients without a penalty: as far as its curvature tells)"
        required = here.required / max(abs(here.value), np.finfo(float).tiny)
        return Certificate("duality gap", self._measure(here), required, sentence)


def _divide_by_curvature(g: Array, curvature: Array) -> Array:
    """Return g / curvature, or g where the curvature is 0."""
    return np.asarray(g / np.where(curvature > 0, curvature, 1.0))


def solve(
    problem: Problem,
    start: Array | None = None,
    *,
    tolerance: float = LENGTH_TOLERANCE,
    most_steps: int = MAX_NEWTON_ITERATIONS,
    callback: Callback | None = None,
    model: ProximalModel | None = None,
    max_free: int = MAX_FREE_HESSIAN,
) -> Solution:
    """Minimise a problem whose penalty may have absolute values.

    Parameters
    ----------
    problem : Problem
        With any response, design and penalty.
    start : array, optional
        Initial working coefficients; the prior means by default.
    tolerance : float
        Upper bound for the length of the shortest subgradient, in standard errors; the bound for the duality gap is
        tolerance/√n of the objective.
    most_steps : int
        Maximum number of Newton steps; beyond it the certificate does not hold.
    callback : callable, optional
        Called with a `Step` at the start and after each iteration.
    model : ProximalModel, optional
        The quadratic model of each step; one with default options by default.
    max_free : int
        Unpenalised coefficients up to which their Hessian is formed.

    Returns
    -------
    solution : Solution
        `coef` has the working coefficients.
    """
    descent = ProximalDescent(problem, start, tolerance, model=model, max_free=max_free)
    return descend(descent, max_iter=most_steps, callback=callback)
