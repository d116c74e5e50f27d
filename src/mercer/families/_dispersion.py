"""Maximum likelihood dispersion r of a negative binomial, with its mean at the mean of the data.

In θ = 1/r the slope of this profile likelihood has the sign of

    G(θ) = E Σ_{j<x} j/(1+jθ) − μ² φ(μθ),      φ(u) = (u − log(1+u)) / u²,

in which nothing cancels near the Poisson limit θ = 0. There G = (variance − mean)/2, so a finite r exists
if and only if the variance exceeds the mean, and it is then unique (Levin and Reeds, 1977).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer._typing import Array

#: sums over j are computed term by term up to this one; beyond, the Euler–Maclaurin formula is exact to 1e-12
LAST_SUMMED_TERM = 10_000

#: relative excess of the variance over the mean below which the density is a Poisson's to all digits
POISSON_EXCESS = 1e-9

#: log θ below which the sign of a slope that is not positive is due to rounding
SMALLEST_LOG_THETA = -600.0


def dispersion(values: Array, weights: Array) -> float:
    """Maximum likelihood r for counts `values` that occur `weights` times; ∞ where they are not overdispersed."""
    from scipy.optimize import brentq

    values = np.asarray(values, dtype=float)
    mean = float(np.average(values, weights=weights))
    variance = float(np.average(np.square(values - mean), weights=weights))
    if variance <= mean * (1 + POISSON_EXCESS):
        return np.inf
    slope = _slope(values, np.asarray(weights) / np.sum(weights), mean)
    low = high = np.log((variance - mean) / mean**2)  # the moment estimate of log θ
    while slope(np.exp(low)) <= 0:
        low -= 2.0
        if low < SMALLEST_LOG_THETA:
            return np.inf
    while slope(np.exp(high)) >= 0:
        high += 2.0
    return float(np.exp(-brentq(lambda t: slope(np.exp(t)), low, high, xtol=1e-14)))


def _slope(values: Array, shares: Array, mean: float) -> Callable[[float], float]:
    """Return the function G of θ."""
    first = np.minimum(values, LAST_SUMMED_TERM).astype(np.int64)
    beyond = values > LAST_SUMMED_TERM
    j = np.arange(first.max() + 1)
    at = np.bincount(first, shares)
    above = np.cumsum(at[::-1])[::-1] - at
    far_values, far_shares = values[beyond], shares[beyond]

    def slope(theta: float) -> float:
        terms = float(above @ (j / (1 + j * theta)))
        rest = float(far_shares @ (_sum_to(far_values, theta) - _sum_to(np.array(LAST_SUMMED_TERM), theta)))
        return terms + rest - mean**2 * float(_phi(np.array(mean * theta)))

    return slope


def _sum_to(x: Array, theta: float) -> Array:
    """Σ_{j<x} j/(1+jθ) up to a constant, by Euler–Maclaurin: integral − ½ last term + 1/12 of its slope."""
    u = theta * x
    return np.asarray(np.square(x) * _phi(u) - 0.5 * x / (1 + u) + 1 / (12 * np.square(1 + u)))


def _phi(u: Array) -> Array:
    """(u − log(1+u)) / u², by the series ½ − u/3 + u²/4 − … where the difference cancels."""
    large = np.maximum(u, 0.05)
    series = np.polynomial.polynomial.polyval(np.minimum(u, 0.05), (-1.0) ** np.arange(13) / np.arange(2, 15))
    return np.where(u < 0.05, series, (large - np.log1p(large)) / np.square(large))
