"""What there is to minimise: weighted losses of observations, plus a penalty of the coefficients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from mercer._gpu import to_numpy
from mercer._typing import Array
from mercer.designs import Observations
from mercer.engines.reducing import reduce
from mercer.families.penalties import Strengths
from mercer.families.response import Response
from mercer.stats.quadratic import GRADIENT, HESSIAN, Quadratic

Q = TypeVar("Q", bound=Any)
#: a matrix that is known by its products
Product = Callable[[Array], Array]

#: a dispersion below this portion of the spread of the responses is rounding
EXACT = 1e-12
#: rows that tell the spread of the responses well enough
SOME_ROWS = 1000


class Slope(NamedTuple):
    """The objective at a point, with its gradient and Hessian (empty if not asked for)."""

    value: float
    gradient: Array
    hessian: Array


class Smooth(Protocol):
    """What can be minimised: a value and a gradient at each point, and products with the Hessian there."""

    @property
    def is_convex(self) -> bool: ...

    def at(self, w: Array, order: int) -> Slope: ...

    def unit(self, value: float) -> float: ...

    def hessian_product(self, w: Array) -> Product: ...


def look(problem: Smooth, w: Array, order: int) -> Slope:
    """The problem at w, which may be so far away that it has no value there."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return problem.at(w, order)


def standard_error(dispersion: float, spread: float, weight: float) -> float:
    """√φ for responses of that spread and rows of that weight, in which lengths of gradients are measured.

    Responses that are fitted exactly have no noise to compare with, and neither have rows of enormous weight: rounding
    would never be small enough.
    """
    return float(np.sqrt(max(dispersion * min(weight, 1.0), EXACT * spread * weight))) or 1.0


def summed(statistic: Q, observations: Observations) -> Q:
    """`reduce`, which makes no pass over a source for what the last one has told."""
    if not observations.streamed:
        return reduce(statistic, observations)
    seen: list[Any] = observations.seen  # type: ignore[attr-defined]
    if seen and _tells(seen[-1], statistic):
        last: Q = seen[-1]
        return last
    seen[:] = [reduce(statistic, observations)]
    made: Q = seen[-1]
    return made


def _tells(last: Any, asked: Any) -> bool:
    same = type(last) is type(asked) and last.response == asked.response and last.order >= asked.order
    return same and np.array_equal(last.point, asked.point)


def product_at_hand(problem: Any, w: Array) -> Product:
    """Products with the Hessian of the rows at hand of a source."""
    return product_of_some(problem, problem.observations.some(len(problem.observations)), w)


def product_of_some(problem: Any, some: Observations, w: Array) -> Product:
    """Products with the Hessian of some of the rows, times how many more there are."""
    product, times = problem.on(some).hessian_product(w), len(problem.observations) / len(some)
    return lambda v: times * product(v)


@dataclass(frozen=True, eq=False)
class Problem:
    """min over w of  Σ weight · loss(y, X w + offset) + Σ l1 |w − mean| + ½ Σ l2 (w − mean)², in working coordinates.

    `at` has the smooth part only; the absolute values are the proximal solver's.
    """

    observations: Observations
    response: Response
    strengths: Strengths

    @property
    def n_columns(self) -> int:
        return self.observations.design.n_columns

    def on(self, some: Observations) -> Self:
        """The same problem for some of the rows, with their share of the penalty."""
        return replace(self, observations=some, strengths=self.strengths.times(len(some) / len(self.observations)))

    @property
    def is_convex(self) -> bool:
        """Whether a point without a gradient is known to be the minimum; penalties are convex."""
        return self.response.is_convex

    @property
    def exact_hessian(self) -> bool:
        """Whether the expected Hessian is the Hessian itself: that of the canonical link."""
        return self.response.link == self.response.family.response_link

    def start(self) -> Array:
        """Every coefficient at its prior mean, and the intercept where it is best alone, or the mean has it."""
        w = np.array(self.strengths.mean)
        if self.observations.design.coordinates.intercept:
            level = self._level_beside_offsets
            if not np.isfinite(level):
                with np.errstate(divide="ignore", invalid="ignore"):
                    mean = self.response.predictor(np.asarray(self.observations.mean_response))
                level = float(mean) - self.observations.mean_offset
            w[-1] = level if np.isfinite(level) else 0.0
        return w

    @cached_property
    def _level_beside_offsets(self) -> float:
        """Where the intercept is best alone, as the largest offsets may decide; of a source, for the rows at hand."""
        if not self.observations.has_offset:
            return np.nan
        rows: Any = self.observations
        rows = rows.some(len(rows)) if rows.streamed else rows
        weight = None if rows.weight is None else to_numpy(rows.weight)
        return self.response.family.row_loss.level(to_numpy(rows.y), to_numpy(rows.offset), weight, self.response.link)

    def unit(self, value: float) -> float:
        """√φ at that value of the objective: what makes lengths of gradients standard errors.

        Less where rows weigh less than 1, or responses are spread less than φ says (rates of 1e-9 as a Poisson's):
        errors of any size would be small beside those standard errors. NaN where the objective is no number, so that
        no certificate holds there.
        """
        if not np.isfinite(value):
            return np.nan
        mean, known = self.observations.mean_weight, self.response.family.known_dispersion
        if not mean > 0:
            return 1.0
        phi = 2 * value / (mean * len(self.observations)) if known is None else min(known, self._spread or known)
        return standard_error(phi, self._spread, mean)

    @cached_property
    def _spread(self) -> float:
        """Mean deviance of some of the rows from their mean."""
        y = self.observations.some_responses(SOME_ROWS)
        with np.errstate(all="ignore"):
            spread = float(np.mean(self.response.family.unit_deviance(y, np.full(len(y), y.mean()))))
        return spread if np.isfinite(spread) else 0.0

    def at(self, w: Array, order: int = HESSIAN) -> Slope:
        """The smooth part at `w`: its value, and if `order` says so its gradient and its expected Hessian."""
        sums = summed(Quadratic.at(self.response, w, order), self.observations)
        pull = self.strengths.l2 * (w - self.strengths.mean)
        value = sums.loss + 0.5 * float(pull @ (w - self.strengths.mean))
        gradient = sums.gradient + pull if order >= GRADIENT else sums.gradient
        hessian = sums.hessian + np.diag(self.strengths.l2) if order == HESSIAN else sums.hessian
        return Slope(value, gradient, hessian)

    def row_curvatures(self, w: Array) -> Any:
        """The curvature of the loss of each row in memory, at `w`: where it may be negative, the expected one."""
        design, y, weight, offset = self.observations.batch(slice(None))
        eta = design.times(w)
        eta = eta if offset is None else eta + offset
        if self.is_convex and not self.exact_hessian:
            return self.response.curvature(y, eta, weight)
        return self.response.slopes(y, eta, weight).second

    def hessian_product(self, w: Array) -> Product:
        """v ↦ H v at `w`, by `row_curvatures`: H is never formed; of a source, as the rows at hand tell it."""
        if self.observations.streamed:
            return product_at_hand(self, w)
        design, h = self.observations.design, self.row_curvatures(w)
        return lambda v: design.transposed_times(h * design.times(v)) + self.strengths.l2 * v

    def gradient_of_rows(self, w: Array, X: Array, y: Array, weight: Array | None, offset: Array | None) -> Array:
        """Of few rows, given as a matrix, with their share of the penalty."""
        eta = X @ w
        slopes = self.response.slopes(y, eta if offset is None else eta + offset, weight)
        share = len(X) / len(self.observations)
        return np.asarray(X.T @ slopes.first + share * self.strengths.l2 * (w - self.strengths.mean))
