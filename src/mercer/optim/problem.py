"""Problems with one linear predictor: weighted losses of observations plus a penalty, and a feasible start."""

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

Q = TypeVar("Q", bound=Any)
#: v ↦ A v
Product = Callable[[Array], Array]

#: a dispersion below this portion of the spread of the responses is rounding
DISPERSION_ROUNDING = 1e-12
#: rows from which the spread of the responses is estimated
SPREAD_ROWS = 1000
#: ratio of the observed to the expected curvature of a row from which on the two are far apart
FAR_APART = 1e8
#: ratio of their sums, or its inverse, from which on the two are far apart
FAR_APART_IN_SUM = 1e4
#: ratio of the curvatures of two rows below which sums lose the digits of the smaller one
HIDDEN_CURVATURE = 1e-10
#: columns up to which a Hessian is formed because its products lose digits
MAX_FORMED_COLUMNS = 1000
#: rounding error of a gradient, as a portion of the sum of the sizes of its terms
GRADIENT_ROUNDING = 64 * float(np.finfo(float).eps)


class Slope(NamedTuple):
    """The objective at a point, with its gradient and Hessian (empty if not computed)."""

    value: float
    gradient: Array
    hessian: Array


class Smooth(Protocol):
    """A smooth objective: value and gradient at each point, and products with the Hessian there."""

    @property
    def is_convex(self) -> bool: ...

    def at(self, w: Array, order: int) -> Slope: ...

    def unit(self, value: float) -> float: ...

    def hessian_product(self, w: Array) -> Product: ...


class RowSlopes(NamedTuple):
    """Slope, observed and expected curvature of the loss of each row in memory at a point: arrays or tensors.

    If the rows are a sample of a source, `problem` is that of the sample, and the source has `matvec` as many rows.
    """

    problem: Problem
    w: Array
    first: Any
    observed: Any
    expected: Any
    times: float = 1.0

    @property
    def bound(self) -> Any:
        """Return the larger of the two curvatures, by which a step stays where the quadratic model of the row holds."""
        return like(np.maximum(to_numpy(self.observed), to_numpy(self.expected)), self.observed)

    @property
    def is_far_apart(self) -> bool:
        """True if the expected Hessian is a poor preconditioner for the observed one."""
        observed, expected = to_numpy(self.observed), to_numpy(self.expected)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            ratio = observed.sum() / expected.sum()
            close = (observed <= FAR_APART * expected).all()
        return not (close and 1 / FAR_APART_IN_SUM < ratio < FAR_APART_IN_SUM)

    @property
    def hides_some(self) -> bool:
        """True if rows with a slope have so little curvature compared with others that sums lose its digits."""
        observed, sloping = to_numpy(self.observed), to_numpy(self.first) != 0
        return bool((observed[sloping] <= HIDDEN_CURVATURE * observed.max(initial=0.0)).any())

    def hessian(self, curvatures: Any) -> Array:
        """Return Xᵀ diag(curvatures) X with the curvature of the penalty."""
        gram = self.problem.observations.design.gram(curvatures)
        return np.asarray(self.times * (gram + np.diag(self.problem.strengths.l2)))

    def product(self, v: Array) -> Array:
        """Return H v for the observed Hessian, which is not formed."""
        design, l2 = self.problem.observations.design, self.problem.strengths.l2
        return np.asarray(self.times * (design.rmatvec(self.observed * design.matvec(v)) + l2 * v))

    def length(self, gradient: Array) -> tuple[float, Array] | None:
        """Return √(gᵀH⁻¹g) and H⁻¹g for the observed Hessian, formed and factorised.

        If H has no curvature in a direction in which the gradient has a part, the first is only a lower bound. None if
        H overflows.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            hessian = self.hessian(self.observed)
            if not np.isfinite(hessian).all():
                return None
            curvature = Curvature.of(hessian)
            step = curvature.solve(gradient)
            missed = 0.0 if curvature.definite else curvature.length_outside_range(gradient, self.gradient_rounding())
            return max(float(np.sqrt(abs(gradient @ step))), missed), step

    def gradient_rounding(self) -> Array:
        """Return a bound of the rounding error of each entry of the gradient.

        Σ |first| |x| ≤ √(Σ |first| · Σ |first| x²); shifts may be subtracted from the products after summation.
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
    """Return √(gᵀH⁻¹g), given its value by products with H, or by H itself where products lose a part of it.

    Products lose the curvature of a row next to rows with 1e16 times that curvature.
    """
    slopes_of = getattr(problem, "row_slopes", None)  # problems with one predictor
    if slopes_of is None or not problem.is_convex or problem.n_columns > MAX_FORMED_COLUMNS or not np.isfinite(length):
        return length
    rows: RowSlopes = slopes_of(w)
    formed = rows.length(gradient) if rows.hides_some else None
    return length if formed is None else max(length, formed[0])


def evaluate(problem: Smooth, w: Array, order: int) -> Slope:
    """Evaluate the problem at w, without warnings if the objective overflows or is undefined there."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return problem.at(w, order)


def standard_error(dispersion: float, spread: float, weight: float) -> float:
    """Return √φ for responses of that spread and rows of that weight, the unit for lengths of gradients.

    φ has a lower bound: with responses that are fitted exactly, or rows of very large weight, rounding errors would
    never be small compared with the noise.
    """
    return float(np.sqrt(max(dispersion * min(weight, 1.0), DISPERSION_ROUNDING * spread * weight))) or 1.0


def reduce_cached(statistic: Q, observations: Observations) -> Q:
    """Reduce a statistic over the observations; for a source, reuse the last result if it covers the request."""
    if not observations.streamed:
        return reduce(statistic, observations)
    cache: list[Any] = observations.last_pass  # type: ignore[attr-defined]
    if not (cache and _covers(cache[-1], statistic)):
        cache[:] = [reduce(statistic, observations)]
    result: Q = cache[-1]
    return result


def _covers(last: Any, requested: Any) -> bool:
    """Return whether a statistic is of the same response and point, with at least the requested derivatives."""
    same = type(last) is type(requested) and last.response == requested.response and last.order >= requested.order
    return same and np.array_equal(last.point, requested.point)


def sampled_product(problem: Any, w: Array) -> Product:
    """Return products with the Hessian, estimated from the rows of a source that are in memory."""
    return product_of_rows(problem, problem.observations.some(len(problem.observations)), w)


def product_of_rows(problem: Any, some: Observations, w: Array) -> Product:
    """Return products with the Hessian, estimated from some of the rows."""
    product, times = problem.on(some).hessian_product(w), len(problem.observations) / len(some)
    return lambda v: times * product(v)


@dataclass(frozen=True, eq=False)
class Problem:
    """Minimise Σ weight · loss(y, X w + offset) + Σ l1 |w − mean| + ½ Σ l2 (w − mean)² over w, in working coordinates.

    `at` has the smooth part only; the proximal solvers add the absolute values.
    """

    observations: Observations
    response: Response
    strengths: Strengths

    @property
    def n_columns(self) -> int:
        return self.observations.design.n_columns

    def on(self, some: Observations) -> Self:
        """Return the same problem for some of the rows, with their share of the penalty."""
        return replace(self, observations=some, strengths=self.strengths.times(len(some) / len(self.observations)))

    @property
    def is_convex(self) -> bool:
        """True if every stationary point is a minimum; penalties are convex."""
        return self.response.is_convex

    @property
    def exact_hessian(self) -> bool:
        """True if the expected Hessian is the observed one, as for the canonical link."""
        return self.response.link == self.response.family.response_link

    def start(self) -> Array:
        """Return the prior means, with the intercept that is optimal alone, or that of the mean response."""
        w = np.array(self.strengths.mean)
        if self.observations.design.coordinates.intercept:
            level = self._level_with_offsets
            if not np.isfinite(level):
                with np.errstate(divide="ignore", invalid="ignore"):
                    mean = self.response.predictor(np.asarray(self.observations.mean_response))
                level = float(mean) - self.observations.mean_offset
            w[-1] = level if np.isfinite(level) else 0.0
        return w

    @cached_property
    def _level_with_offsets(self) -> float:
        """Return the optimal intercept without other columns, given offsets; for a source, by its rows in memory."""
        if not self.observations.has_offset:
            return np.nan
        rows: Any = self.observations
        rows = rows.some(len(rows)) if rows.streamed else rows
        weight = None if rows.weight is None else to_numpy(rows.weight)
        return self.response.family.row_loss.level(to_numpy(rows.y), to_numpy(rows.offset), weight, self.response.link)

    def unit(self, value: float) -> float:
        """Return √φ at that value of the objective, the unit in which lengths of gradients are standard errors.

        It is smaller if rows weigh less than 1, or if the responses vary less than φ implies (rates of 1e-9 under a
        Poisson family): else errors of any size would be small in units of it. It is NaN if the objective is not
        finite, so that no certificate holds there.
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
        """Return the mean deviance of a sample of the responses from their mean."""
        y = self.observations.some_responses(SPREAD_ROWS)
        with np.errstate(all="ignore"):
            spread = float(np.mean(self.response.family.unit_deviance(y, np.full(len(y), y.mean()))))
        return spread if np.isfinite(spread) else 0.0

    def at(self, w: Array, order: int = HESSIAN) -> Slope:
        """Evaluate the smooth part at `w`: value, and depending on `order` gradient and expected Hessian."""
        sums = reduce_cached(QuadraticExpansion.at(self.response, w, order), self.observations)
        pull = self.strengths.l2 * (w - self.strengths.mean)
        value = sums.loss + 0.5 * float(pull @ (w - self.strengths.mean))
        gradient = sums.gradient + pull if order >= GRADIENT else sums.gradient
        hessian = sums.hessian + np.diag(self.strengths.l2) if order == HESSIAN else sums.hessian
        return Slope(value, gradient, hessian)

    def row_slopes(self, w: Array) -> RowSlopes:
        """Return slopes and curvatures of the rows at `w`, for a source those of its rows in memory.

        If observed curvatures may be negative, the expected ones replace them.
        """
        if self.observations.streamed:
            some: Any = self.observations.some(len(self.observations))
            return self.on(some).row_slopes(w)._replace(times=len(self.observations) / len(some))
        design, y, weight, offset = self.observations.batch(slice(None))
        eta = design.matvec(w)
        eta = eta if offset is None else eta + offset
        _, first, expected = self.response.slopes(y, eta, weight)
        observed = expected
        if self.is_convex and not self.exact_hessian:
            observed = self.response.curvature(y, eta, weight)
        return RowSlopes(self, w, first, observed, expected)

    def row_curvatures(self, w: Array) -> Any:
        """Return the curvature of the loss of each row in memory at `w`; the expected one if it may be negative."""
        design, y, weight, offset = self.observations.batch(slice(None))
        eta = design.matvec(w)
        eta = eta if offset is None else eta + offset
        if self.is_convex and not self.exact_hessian:
            return self.response.curvature(y, eta, weight)
        return self.response.slopes(y, eta, weight).second

    def hessian_product(self, w: Array) -> Product:
        """Return v ↦ H v at `w` without forming H; for a source, estimated from its rows in memory."""
        if self.observations.streamed:
            return sampled_product(self, w)
        design, h = self.observations.design, self.row_curvatures(w)
        return lambda v: design.rmatvec(h * design.matvec(v)) + self.strengths.l2 * v

    def gradient_of_rows(self, w: Array, X: Array, y: Array, weight: Array | None, offset: Array | None) -> Array:
        """Return the gradient for a few rows, given as a matrix, with their share of the penalty."""
        eta = X @ w
        slopes = self.response.slopes(y, eta if offset is None else eta + offset, weight)
        share = len(X) / len(self.observations)
        return np.asarray(X.T @ slopes.first + share * self.strengths.l2 * (w - self.strengths.mean))


#: halvings of the way from a constant mean to the fit that may have no mean in some rows
MAX_START_HALVINGS = 30


@stored()
@dataclass(frozen=True)
class MidwayResponse(Response):
    """Squared losses of η − Xw, where η belongs to the mean halfway between y and the mean of all responses."""

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
    """Return a start at which every row has a mean, for links such as the inverse, the root, or the identity.

    It is the least squares fit to `MidwayResponse`, moved towards a constant mean until every row has a mean.
    """
    plain = problem.start()
    fitted = _fit_midway(problem)
    for share in (*(0.5**k for k in range(MAX_START_HALVINGS)), 0.0):
        start = share * fitted + (1 - share) * plain
        with np.errstate(all="ignore"):
            if np.isfinite(problem.at(start, LOSS).value):
                return start
    if not all(np.isfinite(part).all() for part in (problem.observations.mean_response, fitted)):
        return plain  # not finite for another reason, which the caller detects
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
