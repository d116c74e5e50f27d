"""exp, log and the logistic function as polynomials: loops over them vectorise, numba's own are a call for each number.

Good to 4e-16, relative, for every float: infinite, missing and subnormal ones too. Not compiled with reordered sums:
the tricks below add a number to take it away again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._jit import IN_ORDER, jit

#: a call in a loop keeps it from being vectorised
EXACTLY: dict[str, Any] = {**IN_ORDER, "forceinline": True}

LOG2_E = 1.4426950408889634
#: log 2 in two parts; the first times a whole number below 2¹¹ is exact
LOG_2_HIGH, LOG_2_LOW = 0.6931471805598903, 5.497923018708371e-14
#: a number added to this is rounded to a whole one, found in its last bits
WHOLE, SINGLE_WHOLE = 1.5 * 2.0**52, np.float32(1.5 * 2.0**23)
#: beyond these the result is ∞ or 0, or on the way there
FAR, EDGE = 800.0, 690.0
STEP_UP, STEP_DOWN = 2.0**200, 2.0**-200

#: bits of √½, of the mantissa, and of 2⁵²
ROOT_HALF, MANTISSA, BIG = 0x3FE6A09E667F3BCD, 0x000FFFFFFFFFFFFF, 0x4330000000000000
ONE_LESS_ROOT_HALF = 0x3FF0000000000000 - ROOT_HALF
BIG_AND_BIAS = 2.0**52 + 1023.0
SMALLEST_NORMAL = 2.2250738585072014e-308


@jit(**EXACTLY)
def exp_rest(r):  # type: ignore[no-untyped-def]
    """(eʳ − 1 − r)/r² at Chebyshev points, for |r| ≤ ½ log 2."""
    p = 2.510039581085093e-08
    p = p * r + 2.7620088709317853e-07
    p = p * r + 2.755726843071169e-06
    p = p * r + 2.4801521295225714e-05
    p = p * r + 0.0001984126986308324
    p = p * r + 0.0013888888917214326
    p = p * r + 0.00833333333333005
    p = p * r + 0.04166666666662413
    p = p * r + 0.16666666666666669
    return p * r + 0.5


@jit(**EXACTLY)
def exp(x):  # type: ignore[no-untyped-def]
    """eˣ = 2ⁿ eʳ with |r| ≤ ½ log 2."""
    x = FAR if x > FAR else x
    x = -FAR if x < -FAR else x
    shifted = x * LOG2_E + WHOLE
    n = shifted - WHOLE
    r = (x - n * LOG_2_HIGH) - n * LOG_2_LOW
    p = 1.0 + (r + r * r * exp_rest(r))
    # 2ⁿ in two steps where it alone would leave the range of normal numbers
    last = STEP_UP if x > EDGE else (STEP_DOWN if x < -EDGE else 1.0)
    back = -200 if x > EDGE else (200 if x < -EDGE else 0)
    exponent = (np.float64(shifted).view(np.int64) + (1023 + back)) << 52
    return p * np.int64(exponent).view(np.float64) * last


@jit(**EXACTLY)
def artanh_rest(z):  # type: ignore[no-untyped-def]
    """(artanh(s)/s − 1)/s² at z = s², for |s| ≤ 0.1719."""
    p = 0.07310824989599904
    p = p * z + 0.07665650025885948
    p = p * z + 0.09091450916336644
    p = p * z + 0.11111105480011799
    p = p * z + 0.14285714313524242
    p = p * z + 0.19999999999948567
    return p * z + 0.3333333333333335


@jit(**EXACTLY)
def log_near_one(f):  # type: ignore[no-untyped-def]
    """log(1 + f) = 2 artanh f/(2+f), for √½ − 1 ≤ f ≤ √2 − 1."""
    s = f / (2.0 + f)
    z = s * s
    return 2.0 * (s + s * (z * artanh_rest(z)))


@jit(**EXACTLY)
def logistic(x):  # type: ignore[no-untyped-def]
    """p = 1/(1 + e⁻ˣ), 1 − p and −log p, for x ≥ 0, with one division."""
    e = exp(-x)
    above = e > 0.41421356237309503
    # log(1 + e) is log 2 + log(1 + f) or log(1 + f), and that 2 artanh f/(2+f)
    f = 0.5 * (e - 1.0) if above else e
    rest = 1.0 / ((1.0 + e) * (2.0 + f))
    p = (2.0 + f) * rest
    s = f * (1.0 + e) * rest
    z = s * s
    minus_log = 2.0 * (s + s * (z * artanh_rest(z)))
    return p, e * p, minus_log + (LOG_2_LOW + LOG_2_HIGH) if above else minus_log


@jit(**EXACTLY)
def log(x):  # type: ignore[no-untyped-def]
    """log x = k log 2 + log m with √½ ≤ m < √2."""
    tiny = x < SMALLEST_NORMAL
    scaled = x * 2.0**54 if tiny else x
    bits = np.float64(scaled).view(np.int64) + ONE_LESS_ROOT_HALF
    m = np.int64((bits & MANTISSA) + ROOT_HALF).view(np.float64)
    k = np.int64(((bits >> 52) & 0xFFF) | BIG).view(np.float64) - BIG_AND_BIAS
    k = k - 54.0 if tiny else k
    value = k * LOG_2_HIGH + (log_near_one(m - 1.0) + k * LOG_2_LOW)
    value = x if x == np.inf else value
    value = -np.inf if x == 0.0 else value
    return value if x >= 0.0 else np.nan


@jit(**EXACTLY)
def deviance(x, mean, log_ratio):  # type: ignore[no-untyped-def]
    """x log(x/m) + m − x ≥ 0 for x, m ≥ 0, given log(x/m), with all digits also where x is close to m."""
    v = (x - mean) / (x + mean)
    z = v * v
    near = (x - mean) * v + 2.0 * x * v * (z * artanh_rest(z))
    far = mean if x == 0.0 else x * log_ratio + (mean - x)
    return near if z < 0.028 else far
