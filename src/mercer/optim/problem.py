"""Where to begin where not every η has a mean: a start from which each row has one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from mercer._errors import DegenerateDataError
from mercer._gpu import is_tensor, like, to_numpy
from mercer._stored import stored
from mercer._typing import Array
from mercer.engines.reducing import reduce
from mercer.families.penalties import Strengths
from mercer.families.response import Response, Slopes, in_memory
from mercer.matrices import Observations
from mercer.optim.curvature import Curvature
from mercer.stats.quadratic import GRADIENT, HESSIAN, LOSS, QuadraticExpansion

# What there is to minimise: weighted losses of observations, plus a penalty of the coefficients.

Q = TypeVar("Q", bound=Any)
#: a matrix that is known by its products
Product = Callable[[Array], Array]

#: a dispersion below this portion of the spread of the responses is rounding
EXACT = 1e-12
#: rows that tell the spread of the responses well enough
SOME_ROWS = 1000
#: observed curvatures of rows this many times the expected ones, or the reverse in all, are far apart
LARGEST_RATIO, LARGEST_RATIO_IN_ALL = 1e8, 1e4
#: the same of the rows of one Hessian: with fewer digits it is not known in all directions
SMALLEST_RATIO = 1e-10
#: columns up to which a Hessian is formed for that reason
MOST_FORMED = 1000
#: of a gradient, as a portion of the sum of the sizes of what is added up in it
GRADIENT_ROUNDING = 64 * float(np.finfo(float).eps)


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


class RowSlopes(NamedTuple):
    """Slope, observed and expected curvature of the loss of each row in memory at a point: arrays or tensors.

    Where the rows are some of a source, `problem` is theirs, and the source has `times` as many.
    """

    problem: Problem
    w: Array
    first: Any
    observed: Any
    expected: Any
    times: float = 1.0

    @property
    def bound(self) -> Any:
        """The larger one of the two curvatures: with it a step ends where what is known of the row still holds."""
        return like(np.maximum(to_numpy(self.observed), to_numpy(self.expected)), self.observed)

    @property
    def far_apart(self) -> bool:
        """Whether the expected Hessian is of little use for the observed one."""
        observed, expected = to_numpy(self.observed), to_numpy(self.expected)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            ratio = observed.sum() / expected.sum()
            close = (observed <= LARGEST_RATIO * expected).all()
        return not (close and 1 / LARGEST_RATIO_IN_ALL < ratio < LARGEST_RATIO_IN_ALL)

    @property
    def hides_some(self) -> bool:
        """Whether rows with a slope have next to no curvature beside others, so that sums lose what they have."""
        observed, sloping = to_numpy(self.observed), to_numpy(self.first) != 0
        return bool((observed[sloping] <= SMALLEST_RATIO * observed.max(initial=0.0)).any())

    def hessian(self, curvatures: Any) -> Array:
        """Return Xᵀ diag(curvatures) X with the curvature of the penalty."""
        gram = self.problem.observations.design.gram(curvatures)
        return np.asarray(self.times * (gram + np.diag(self.problem.strengths.l2)))

    def product(self, v: Array) -> Array:
        """Return H v for the observed Hessian, which is not formed."""
        design, l2 = self.problem.observations.design, self.problem.strengths.l2
        return np.asarray(self.times * (design.transposed_times(self.observed * design.times(v)) + l2 * v))

    def length(self, gradient: Array) -> tuple[float, Array] | None:
        """Return √(gᵀH⁻¹g) and H⁻¹g for the observed Hessian, formed and factorised.

        Where H has no curvature in a direction of which the gradient has a part, the first is only a lower bound. None
        where H is beyond float64.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            hessian = self.hessian(self.observed)
            if not np.isfinite(hessian).all():
                return None
            curvature = Curvature.of(hessian)
            step = curvature.solve(gradient)
            missed = 0.0 if curvature.definite else curvature.missed(gradient, self.gradient_rounding())
            return max(float(np.sqrt(abs(gradient @ step))), missed), step

    def gradient_rounding(self) -> Array:
        """Return a bound of the rounding error of each entry of the gradient.

        Σ |first| |x| ≤ √(Σ |first| · Σ |first| x²); shifts may be taken out of the products after they were summed.
        """
        design, strengths = self.problem.observations.design, self.problem.strengths
        size = abs(self.first)
        total = float(size.sum())
        sums = np.sqrt(total) * np.sqrt(np.maximum(0.0, np.diagonal(design.gram(size))))
        coordinates = design.coordinates
        sums[: len(coordinates.shift)] += total * np.abs(coordinates.shift / coordinates.scale)
        pull = strengths.l2 * (np.abs(self.w) + np.abs(strengths.mean))
        return np.asarray(self.times * GRADIENT_ROUNDING * (sums + pull))


def length_by_rows(problem: Any, w: Array, gradient: Array, length: float) -> float:
    """Return √(gᵀH⁻¹g) as it was found by products with H, or where these hide a part of H by H itself.

    Products hide what a row has next to others of 1e16 times its curvature.
    """
    slopes_of = getattr(problem, "row_slopes", None)  # of one predictor
    if slopes_of is None or not problem.is_convex or problem.n_columns > MOST_FORMED or not np.isfinite(length):
        return length
    rows: RowSlopes = slopes_of(w)
    formed = rows.length(gradient) if rows.hides_some else None
    return length if formed is None else max(length, formed[0])


def evaluate(problem: Smooth, w: Array, order: int) -> Slope:
    """The problem at w, which may be so far away that it has no value there."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return problem.at(w, order)


def standard_error(dispersion: float, spread: float, weight: float) -> float:
    """√φ for responses of that spread and rows of that weight, in which lengths of gradients are measured.

    Responses that are fitted exactly have no noise to compare with, and neither have rows of enormous weight: rounding
    would never be small enough.
    """
    return float(np.sqrt(max(dispersion * min(weight, 1.0), EXACT * spread * weight))) or 1.0


def reduce_cached(statistic: Q, observations: Observations) -> Q:
    """`reduce`, which makes no pass over a source for what the last one has told."""
    if not observations.streamed:
        return reduce(statistic, observations)
    seen: list[Any] = observations.seen  # type: ignore[attr-defined]
    if seen and _covers(seen[-1], statistic):
        last: Q = seen[-1]
        return last
    seen[:] = [reduce(statistic, observations)]
    made: Q = seen[-1]
    return made


def _covers(last: Any, asked: Any) -> bool:
    same = type(last) is type(asked) and last.response == asked.response and last.order >= asked.order
    return same and np.array_equal(last.point, asked.point)


def sampled_product(problem: Any, w: Array) -> Product:
    """Products with the Hessian of the rows at hand of a source."""
    return product_of_rows(problem, problem.observations.some(len(problem.observations)), w)


def product_of_rows(problem: Any, some: Observations, w: Array) -> Product:
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
        sums = reduce_cached(QuadraticExpansion.at(self.response, w, order), self.observations)
        pull = self.strengths.l2 * (w - self.strengths.mean)
        value = sums.loss + 0.5 * float(pull @ (w - self.strengths.mean))
        gradient = sums.gradient + pull if order >= GRADIENT else sums.gradient
        hessian = sums.hessian + np.diag(self.strengths.l2) if order == HESSIAN else sums.hessian
        return Slope(value, gradient, hessian)

    def row_slopes(self, w: Array) -> RowSlopes:
        """Slopes and curvatures of the rows in memory at `w`; observed are expected ones where others may be negative.

        Of a source, those of the rows at hand.
        """
        if self.observations.streamed:
            some: Any = self.observations.some(len(self.observations))
            return self.on(some).row_slopes(w)._replace(times=len(self.observations) / len(some))
        design, y, weight, offset = self.observations.batch(slice(None))
        eta = design.times(w)
        eta = eta if offset is None else eta + offset
        _, first, expected = self.response.slopes(y, eta, weight)
        observed = expected
        if self.is_convex and not self.exact_hessian:
            observed = self.response.curvature(y, eta, weight)
        return RowSlopes(self, w, first, observed, expected)

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
            return sampled_product(self, w)
        design, h = self.observations.design, self.row_curvatures(w)
        return lambda v: design.transposed_times(h * design.times(v)) + self.strengths.l2 * v

    def gradient_of_rows(self, w: Array, X: Array, y: Array, weight: Array | None, offset: Array | None) -> Array:
        """Of few rows, given as a matrix, with their share of the penalty."""
        eta = X @ w
        slopes = self.response.slopes(y, eta if offset is None else eta + offset, weight)
        share = len(X) / len(self.observations)
        return np.asarray(X.T @ slopes.first + share * self.strengths.l2 * (w - self.strengths.mean))


MOST_HALVINGS = 30


@stored()
@dataclass(frozen=True)
class MidwayResponse(Response):
    """Squares of η − Xw, where η belongs to the mean halfway between y and the mean of all responses."""

    centre: float

    def slopes(self, y: Array, eta: Array, weight: Array | None = None) -> Slopes:
        if is_tensor(eta):
            return in_memory(self.slopes, y, eta, weight)
        mean = (y + self.centre) / 2
        wanted = self.predictor(mean)
        bend = self.whole * self.link.slope(wanted)
        second = np.square(bend) / self.family.unit_variance(mean)
        second = second if weight is None else weight * second
        return Slopes(0.0, second * (eta - wanted), second)


def feasible_start(problem: Problem) -> Array:
    """A start for links such as the inverse, the root, or the identity of a positive mean.

    The least squares fit to Midway, drawn back towards a constant mean until every row has a mean.
    """
    plain = problem.start()
    fitted = _fit_midway(problem)
    for share in (*(0.5**k for k in range(MOST_HALVINGS)), 0.0):
        start = share * fitted + (1 - share) * plain
        with np.errstate(all="ignore"):
            if np.isfinite(problem.at(start, LOSS).value):
                return start
    if not all(np.isfinite(part).all() for part in (problem.observations.mean_response, fitted)):
        return plain  # not finite for another reason: for the caller to find
    raise DegenerateDataError(
        f"no start was found from which every row has a mean under {problem.response.link!r}: the linear predictor "
        "has to be above 0 in all rows. Use link='log', or fit an intercept."
    )


def _fit_midway(problem: Problem) -> Array:
    observations = problem.observations
    response = MidwayResponse(problem.response.family, problem.response.link, observations.mean_response)
    with np.errstate(all="ignore"):
        slope = replace(problem, response=response).at(np.zeros(problem.n_columns))
    if not np.isfinite(slope.hessian).all():
        return np.full(problem.n_columns, np.nan)
    return -Curvature.of(slope.hessian).solve(slope.gradient)
