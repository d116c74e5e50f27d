"""Tweedie distributions of a power between 1 and 2: a Poisson number λ of gamma variables of shape α and scale τ,

    λ = μ²⁻ᵖ/(φ(2−p)),    α = (2−p)/(p−1),    τ = φ(p−1)μᵖ⁻¹.

Density and distribution function are sums over that number. Their terms are as smooth as a normal density whose
standard deviation is √(λ/(1+α)): where that is large, a sum over four terms to each is exact to all digits.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import gammainc

from mercer._jit.families.compound import log_heights
from mercer._typing import Array
from mercer.families._positive_losses import PowerLoss
from mercer.families._quantiles import positive_quantile
from mercer.families._saddle import deviance, peak

#: from here on two terms of Stirling's series have all digits
STIRLING_FROM = 1000.0
#: terms are summed so many standard deviations to each side of the middle, at least so many of them
SPAN, AROUND = 9.0, 24
#: and no more than so many to a standard deviation
FINE = 4.0
#: beyond this number the sum grows like its root, to all digits; far beyond, steps would be lost in rounding
MOST_NUMBER = 1e14
#: values times terms that are worked on at once
BLOCK = 1 << 18


class Compound(NamedTuple):
    """The sum that a Tweedie distribution is, for each value."""

    number: Array
    shape: float
    scale: Array


def compound(mean: Array, dispersion: Array, power: float) -> Compound:
    """λ, α and τ."""
    number = np.power(mean, 2 - power) / (dispersion * (2 - power))
    return Compound(number, (2 - power) / (power - 1), dispersion * (power - 1) * np.power(mean, power - 1))


def log_density(x: Array, mean: Array, dispersion: Array, power: float) -> Array:
    """log p for x ≥ 0: at x = 0 that of the point mass."""
    x, mean, dispersion = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in (x, mean, dispersion)))
    zero = x == 0
    inside = np.where((x > 0) & np.isfinite(x), x, 1.0)
    # p(x; μ) = p(x; x) exp(−d/2φ): the sum is needed at μ = x alone, where nothing in it cancels
    lost = PowerLoss(power).deviance(inside, mean) / (2 * dispersion)
    number, shape, _ = compound(inside, dispersion, power)
    highest = np.empty(number.size)
    log_heights(np.ravel(np.minimum(number, MOST_NUMBER)), shape, _heights(shape), highest)
    best = highest.reshape(x.shape) + 0.5 * np.log(np.maximum(number / MOST_NUMBER, 1.0)) - np.log(inside)
    return np.where(zero, -compound(mean, dispersion, power).number, best - lost)


@functools.lru_cache(maxsize=8)
def _heights(shape: float) -> Array:
    """log jα + peak(j) + peak(jα) for j = 0, 1, …, to where Stirling's series has all digits of both peaks."""
    j = np.arange(1.0, np.ceil(STIRLING_FROM * max(1.0, 1 / shape)) + 1)
    return np.concatenate([[-np.inf], np.log(j * shape) + peak(j) + peak(j * shape)])


def cdf(x: Array, mean: Array, dispersion: Array, power: float) -> Array:
    """P(X ≤ x)."""
    x, mean, dispersion = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in (x, mean, dispersion)))
    number, shape, scale = (np.ravel(part) for part in compound(mean, dispersion, power))
    at = np.ravel(np.maximum(x, 0.0)) / scale

    def terms(j: Array, rows: Array) -> Array:
        weight = np.exp(peak(j) - deviance(j, number[rows, None]))
        return np.asarray(weight * gammainc(j * shape, at[rows, None]))

    total = np.exp(-number) + _sum(terms, number, np.sqrt(number), float(shape[0]))
    return np.where(x < 0, 0.0, np.minimum(total, 1.0).reshape(x.shape))


def _sum(terms: Callable[[Array, Array], Array], middle: Array, deviation: Array, shape: float) -> Array:
    """Σ terms(j) over j = 1, 2, … around `middle`, a block of values at a time."""
    step = np.maximum(1.0, np.floor(np.sqrt(middle / (1 + shape)) / FINE))
    reach = np.where(np.isfinite(deviation), np.ceil(SPAN * deviation / step), 0) + AROUND
    result = np.empty(len(middle))
    order = np.argsort(reach)  # so that values of one block need about as many terms
    start = 0
    while start < len(order):
        # the block ends where its widest value times its length would pass the limit
        stop = start + max(1, int(np.searchsorted(reach[order[start:]] * np.arange(1, len(order) - start + 1), BLOCK)))
        rows = order[start:stop]
        offsets = np.arange(-reach[rows[-1]], reach[rows[-1]] + 1)
        j = np.round(middle[rows])[:, None] + step[rows, None] * offsets
        values = np.where(j >= 1, terms(np.maximum(j, 1.0), rows), 0.0)
        result[rows] = step[rows] * values.sum(axis=1)
        start = stop
    return result


def quantile(q: Array, mean: Array, dispersion: Array, power: float) -> Array:
    """The smallest x with P(X ≤ x) ≥ q: 0 up to the probability of 0."""
    q, mean, dispersion = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in (q, mean, dispersion)))
    result = np.where(q == 1, np.inf, np.where((q >= 0) & (q < 1), 0.0, np.nan))
    above = (q > np.exp(-compound(mean, dispersion, power).number)) & (q < 1)
    m, d = mean[above], dispersion[above]
    result[above] = positive_quantile(
        lambda x, rows: cdf(x, m[rows], d[rows], power),
        lambda x, rows: log_density(x, m[rows], d[rows], power),
        q[above],
        m,
    )
    return result


def sample(mean: Array, dispersion: Array, power: float, n: int, rng: np.random.Generator) -> Array:
    number, shape, scale = compound(mean, dispersion, power)
    count = rng.poisson(number, size=(n, *np.shape(mean)))
    return np.where(count > 0, rng.standard_gamma(np.maximum(count, 1) * shape) * scale, 0.0)
