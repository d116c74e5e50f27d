"""eˣ for x ≤ 0, which most kernels end in: `scalar.exp` without the ends of its range, and in float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._jit import jit, overload
from mercer._jit.scalar import EXACTLY, LOG2_E, LOG_2_HIGH, LOG_2_LOW, SINGLE_WHOLE, WHOLE, exp_rest

#: below this eˣ is not a normal number
LEAST, SINGLE_LEAST = -708.0, np.float32(-87.3)
SINGLE_LOG2_E = np.float32(LOG2_E)
#: log 2 in two parts; the first times a whole number below 2⁹ is exact
SINGLE_LOG_2_HIGH, SINGLE_LOG_2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
C7, C6, C5, C4, C3, HALF = (np.float32(1 / factorial) for factorial in (5040, 720, 120, 24, 6, 2))
ONE, ZERO = np.float32(1), np.float32(0)
#: 2ʳ at Chebyshev points of |r| ≤ ½, and the least power of 2 for which it is asked
E0, E1, E2, E3, E4, E5, E6, E7, E8, E9 = (
    1.0,
    0.693147180559945,
    0.2402265069581303,
    0.055504108664804534,
    0.009618129159385608,
    0.0013333558169377775,
    0.00015403455868891644,
    1.5252693506702297e-05,
    1.32552204902174e-06,
    1.0201702625085915e-07,
)
FEWEST = -1020.0


@jit(**EXACTLY)
def exp_below(x):  # type: ignore[no-untyped-def]
    """eˣ for x ≤ 0: `exp` without what only the ends of its range need; 0 below the normal numbers."""
    kept = x if x > LEAST else LEAST
    shifted = kept * LOG2_E + WHOLE
    n = shifted - WHOLE
    r = (kept - n * LOG_2_HIGH) - n * LOG_2_LOW
    p = 1.0 + (r + r * r * exp_rest(r))
    exponent = (np.float64(shifted).view(np.int64) + 1023) << 52
    value = p * np.int64(exponent).view(np.float64)
    return value if x > LEAST else (0.0 if x <= LEAST else x)


@jit(**EXACTLY)
def exp_single(x):  # type: ignore[no-untyped-def]
    """eˣ of float32 for x ≤ 0, to 1.2e-7 relative; 0 where that is below the normal numbers."""
    kept = x if x > SINGLE_LEAST else SINGLE_LEAST
    shifted = kept * SINGLE_LOG2_E + SINGLE_WHOLE
    n = shifted - SINGLE_WHOLE
    r = (kept - n * SINGLE_LOG_2_HIGH) - n * SINGLE_LOG_2_LOW
    p = C7 * r + C6
    p = p * r + C5
    p = p * r + C4
    p = p * r + C3
    p = p * r + HALF
    p = ONE + (r + r * r * p)
    power = np.int32((np.float32(shifted).view(np.int32) + np.int32(127)) << np.int32(23))
    value = p * power.view(np.float32)
    # a NaN is not above anything: it has to come through
    return value if x > SINGLE_LEAST else (ZERO if x <= SINGLE_LEAST else x)


@jit(**EXACTLY)
def exp2_below(x):  # type: ignore[no-untyped-def]
    """2ˣ for x ≤ 0, to 4e-14 relative; 0 below 2⁻¹⁰²⁰, and 1 where rounding made x more than 0.

    Powers of 2 need no second step to bring x near 0, and the odd and even powers of the polynomial no waiting for each
    other: this is half the work of `exp_below`.
    """
    kept = x if x > FEWEST else FEWEST
    kept = kept if kept < 0.0 else 0.0
    shifted = kept + WHOLE
    r = kept - (shifted - WHOLE)
    z = r * r
    even = E8 * z + E6
    even = even * z + E4
    even = even * z + E2
    even = even * z + E0
    odd = E9 * z + E7
    odd = odd * z + E5
    odd = odd * z + E3
    odd = odd * z + E1
    power = np.float64(shifted).view(np.int64) << 52
    value = np.int64(np.float64(odd * r + even).view(np.int64) + power).view(np.float64)
    return value if x > FEWEST else 0.0


def decay(x: Any) -> Any:
    """eˣ for x ≤ 0, in the precision of x."""
    return exp_single(x) if isinstance(x, np.float32) else exp_below(x)


@overload(decay)
def _decay(x):  # type: ignore[no-untyped-def]
    return (lambda x: exp_single(x)) if str(x) == "float32" else (lambda x: exp_below(x))
