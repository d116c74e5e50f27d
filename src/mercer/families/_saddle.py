"""Log probabilities as deviations from their peak, so that large counts and shapes keep all digits.

The textbook formulas subtract numbers of size N log N to obtain one of size log N. Written around the peak,

    log Poisson(x; m) = peak(x) − deviance(x, m),

nothing cancels, and the binomial, multinomial, negative binomial, gamma and Dirichlet densities are sums
of the same two functions (C. Loader, "Fast and accurate computation of binomial probabilities", 2000).
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, xlogy

from mercer._typing import Array

#: coefficients of 1/x, 1/x³, … in Stirling's series for log Γ(x+1)
STIRLING_COEFFICIENTS = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)
#: x from which five terms of the series are exact to 16 digits
FIVE_STIRLING_TERMS_FROM = 16.0
#: the sum of two numbers up to this is finite
LARGEST_SUMMAND = np.finfo(float).max / 2


def peak(x: Array) -> Array:
    """log Poisson(x; x) = x log x − x − log Γ(x+1), for x ≥ 0."""
    x = np.asarray(x, dtype=float)
    large = np.maximum(x, FIVE_STIRLING_TERMS_FROM)
    series = np.polynomial.polynomial.polyval(large**-2, STIRLING_COEFFICIENTS) / large
    small = np.minimum(x, FIVE_STIRLING_TERMS_FROM)
    direct = xlogy(small, small) - small - gammaln(small + 1)
    return np.where(x < FIVE_STIRLING_TERMS_FROM, direct, -0.5 * (np.log(2 * np.pi) + np.log(large)) - series)


def deviance(x: Array, mean: Array) -> Array:
    """x log(x/m) + m − x ≥ 0, for x, m ≥ 0, to full relative precision also where x is close to m."""
    x, mean = np.asarray(x, dtype=float), np.asarray(mean, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        unit = np.where(np.maximum(x, mean) > LARGEST_SUMMAND, 0.5, 1.0)
        v = (x * unit - mean * unit) / (x * unit + mean * unit)
        ratio = x / mean
        # x/m may underflow or overflow (1e-200 / 1e200); the difference of the logarithms is finite
        log_ratio = np.where(np.isfinite(ratio) & (ratio > 0), np.log(ratio), np.log(x) - np.log(mean))
        far = np.where(x == 0, mean, x * log_ratio + mean - x)
        # log(x/m) = 2 artanh v; nine terms reach 1e-16 at |v| = 0.1
        tail = np.polynomial.polynomial.polyval(np.square(v), [0.0, *(1 / (2 * j + 1) for j in range(1, 9))])
        near = (x - mean) * v + x * (2 * v * tail)
    return np.where(np.abs(v) < 0.1, near, far)
