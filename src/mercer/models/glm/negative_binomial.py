"""The r of a negative binomial response, found together with the coefficients by maximum likelihood.

For means μ the slope of the log likelihood in θ = 1/r is

    G(θ) = r² Σ w (d − log(1+d) − c(y+r) + c(r)),      d = (y−μ)/(r+μ),      c(z) = ψ(z) − log z,

with the digamma function ψ. Nothing in it cancels, neither for counts of any size nor near the Poisson limit θ = 0,
where it is Σ w ((y−μ)² − y)/2. The coefficients and r are fitted in turn: they are orthogonal parameters, so that a few
rounds suffice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from mercer._errors import NonFiniteError
from mercer._typing import Array
from mercer.families import Family, NegativeBinomial, Poisson
from mercer.families.response import Response
from mercer.models._progress import Progress
from mercer.models.glm.solve import Limits, Solved, solve
from mercer.solvers.certificate import STATIONARY, Certificate
from mercer.solvers.problem import Problem

#: a named tuple with a `solution`
F = TypeVar("F", bound=Any)

#: counts that vary no more than a Poisson's get this r, of no consequence at any mean that float64 can tell apart
NO_DISPERSION = 1e12
#: log θ is known when a round moves it by less
CLOSE = 1e-10
MOST_ROUNDS = 100
#: from here on the digamma function is the first terms of its asymptotic series, to rounding
ASYMPTOTIC = 20.0
#: deviations below this have a logarithm that cancels, and a series
SMALL = 0.05


def estimates_r(family: Family) -> bool:
    """Whether r is to be found together with the coefficients, for which rows are needed together."""
    return isinstance(family, NegativeBinomial) and family.r is None


def solve_with_r(
    problem: Problem, solver: str, limits: Limits, *, start: Array | None = None, progress: Progress | None = None
) -> Solved:
    """Coefficients and r at the maximum of the likelihood."""

    def fitted(family: Family, last: Solved | None) -> Solved:
        current = replace(problem, response=Response(family, problem.response.link))
        begin = start if last is None else last.solution.value
        # from the second family on, which is no longer a Poisson, rounds go on from the last one's minimum
        explore = last is None or isinstance(last.problem.response.family, Poisson)
        return solve(current, solver, limits, start=begin, progress=progress, explore=explore)

    return in_turn(fitted, lambda solved: best_theta(solved.problem, solved.solution.value), "coefficients")


def in_turn(fitted: Callable[[Family, F | None], F], theta_of: Callable[[F], float], what: str) -> F:
    """Fits of a Poisson and then of negative binomials, whose r the fit before makes most likely, until r stays.

    Parameters
    ----------
    fitted : callable
        Takes a family and the last fit, and gives a fit with its `solution`.
    theta_of : callable
        The most likely 1/r for the means of a fit.
    what : str
        What is fitted, for the certificate.
    """
    fit = fitted(Poisson(), None)
    theta, change, trace = 0.0, np.inf, fit.solution.trace
    for _ in range(MOST_ROUNDS):
        before, theta = theta, theta_of(fit)
        fit = fitted(NegativeBinomial(r=1 / max(theta, 1 / NO_DISPERSION)), fit)
        trace += fit.solution.trace[1:]
        change = abs(np.log(theta / before)) if before > 0 and theta > 0 else abs(theta - before)
        if change <= CLOSE:
            break
    certificate = fit.solution.certificate
    if change > CLOSE:
        sentence = f"change of log r in the last of {MOST_ROUNDS} rounds of {what} and r in turn"
        certificate = Certificate(STATIONARY, float(change), CLOSE, sentence)
    else:
        sentence = (
            f"at the r that was found, {certificate.sentence}; {what} and r, each likeliest for the other, were found "
            "in turn, and others may be likelier together"
        )
        certificate = replace(certificate, kind=STATIONARY, sentence=sentence)
    return fit._replace(solution=replace(fit.solution, trace=trace, certificate=certificate))  # type: ignore[no-any-return]


def best_theta(problem: Problem, w: Array) -> float:
    """Maximum likelihood θ = 1/r for the means at `w`; 0 where the counts vary no more than a Poisson's."""
    from scipy.optimize import brentq

    observations = problem.observations
    eta = observations.design.times(w)
    eta = eta if observations.offset is None else eta + observations.offset
    y, mean, weight = observations.y, problem.response.mean(eta), observations.weight
    if not np.isfinite(mean).all():
        raise NonFiniteError("means overflow on the way to r: divide the largest counts by a number, or give r.")
    slope = _slope(y, mean, weight)
    seen = y if weight is None else y[weight > 0]
    if not seen.any() or not slope(0.0) > 0:
        return 0.0
    low, high = 0.0, 1.0
    while slope(high) > 0:
        low, high = high, 4 * high
    while low == 0 and slope(high / 4) <= 0:
        high /= 4
    low = low or high / 4
    return float(np.exp(brentq(lambda t: slope(np.exp(t)), np.log(low), np.log(high), xtol=1e-13)))


def _slope(y: Array, mu: Array, weight: Array | None) -> Callable[[float], float]:
    """G, a function of θ."""
    w = np.ones(len(y)) if weight is None else weight
    counts, places = np.unique(y, return_inverse=True)
    weights = np.bincount(places, w)

    def slope(theta: float) -> float:
        if theta == 0:
            with np.errstate(over="ignore"):  # its sign is what counts
                return 0.5 * float(w @ (np.square(y - mu) - y))
        r = 1 / theta
        return r * r * (float(w @ _beyond_log(y, mu, r)) - float(weights @ _beyond_digamma(counts, r)))

    return slope


def _beyond_log(y: Array, mu: Array, r: float) -> Array:
    """d − log(1+d) for d = (y−μ)/(r+μ), by its series d²/2 − d³/3 + … where the difference cancels."""
    d = (y - mu) / (r + mu)
    small = np.clip(d, -SMALL, SMALL)
    k = np.arange(13)
    series = np.square(small) * np.polynomial.polynomial.polyval(small, (-1.0) ** k / (k + 2))
    # 1 + d may round to 0
    return np.where(np.abs(d) < SMALL, series, d - np.log(r + y) + np.log(r + mu))


def _beyond_digamma(x: Array, r: float) -> Array:
    """c(x+r) − c(r) for c(z) = ψ(z) − log z."""
    from scipy.special import digamma

    if r < ASYMPTOTIC:
        return np.asarray(digamma(x + r) - np.log(x + r) - (digamma(r) - np.log(r)))
    # of −1/2z, the first term of the series, the difference is written out
    return np.asarray(x / (2 * r * (x + r)) + _later_terms(x + r) - _later_terms(r))


def _later_terms(z: Array | float) -> Array:
    inverse = np.square(1 / z)
    return np.asarray(inverse * np.polynomial.polynomial.polyval(inverse, [-1 / 12, 1 / 120, -1 / 252, 1 / 240]))
