"""eˣ for x ≤ 0, as most kernels need it: `scalar.exp` without overflow handling, and in float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._jit import jit, overload
from mercer._jit.scalar import (
    INLINE_IN_ORDER,
    INTEGER_BITS,
    LOG2_E,
    LOG_2_HIGH,
    LOG_2_LOW,
    SINGLE_INTEGER_BITS,
    exp_rest,
)

#: x below which eˣ is not a normal float64
SMALLEST_EXPONENT = -708.0
#: x below which eˣ is not a normal float32
SINGLE_SMALLEST_EXPONENT = np.float32(-87.3)
SINGLE_LOG2_E = np.float32(LOG2_E)
#: first part of log 2 in float32; its product with an integer below 2⁹ is exact
SINGLE_LOG_2_HIGH = np.float32(0.693359375)
#: log 2 − SINGLE_LOG_2_HIGH
SINGLE_LOG_2_LOW = np.float32(-2.12194440e-4)
# coefficients 1/7!, 1/6!, …, 1/2! of eʳ
C7, C6, C5, C4, C3, HALF = (np.float32(1 / factorial) for factorial in (5040, 720, 120, 24, 6, 2))
SINGLE_ONE = np.float32(1)
SINGLE_ZERO = np.float32(0)
# coefficients of the polynomial through 2ʳ at Chebyshev points of |r| ≤ ½
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
#: x below which `exp2_below` is 0
SMALLEST_BINARY_EXPONENT = -1020.0


@jit(**INLINE_IN_ORDER)
def exp_below(x):  # type: ignore[no-untyped-def]
    """eˣ for x ≤ 0, without the steps of `exp` that only extreme x need; 0 below the normal numbers."""
    kept = x if x > SMALLEST_EXPONENT else SMALLEST_EXPONENT
    shifted = kept * LOG2_E + INTEGER_BITS
    n = shifted - INTEGER_BITS
    r = (kept - n * LOG_2_HIGH) - n * LOG_2_LOW
    p = 1.0 + (r + r * r * exp_rest(r))
    exponent = (np.float64(shifted).view(np.int64) + 1023) << 52
    value = p * np.int64(exponent).view(np.float64)
    return value if x > SMALLEST_EXPONENT else (0.0 if x <= SMALLEST_EXPONENT else x)


@jit(**INLINE_IN_ORDER)
def exp_single(x):  # type: ignore[no-untyped-def]
    """eˣ in float32 for x ≤ 0, with relative error 1.2e-7; 0 below the normal numbers."""
    kept = x if x > SINGLE_SMALLEST_EXPONENT else SINGLE_SMALLEST_EXPONENT
    shifted = kept * SINGLE_LOG2_E + SINGLE_INTEGER_BITS
    n = shifted - SINGLE_INTEGER_BITS
    r = (kept - n * SINGLE_LOG_2_HIGH) - n * SINGLE_LOG_2_LOW
    p = C7 * r + C6
    p = p * r + C5
    p = p * r + C4
    p = p * r + C3
    p = p * r + HALF
    p = SINGLE_ONE + (r + r * r * p)
    power = np.int32((np.float32(shifted).view(np.int32) + np.int32(127)) << np.int32(23))
    value = p * power.view(np.float32)
    # both comparisons are False for NaN, which is returned
    return value if x > SINGLE_SMALLEST_EXPONENT else (SINGLE_ZERO if x <= SINGLE_SMALLEST_EXPONENT else x)


@jit(**INLINE_IN_ORDER)
def exp2_below(x):  # type: ignore[no-untyped-def]
    """2ˣ for x ≤ 0, with relative error 4e-14; 0 below 2⁻¹⁰²⁰, and 1 where rounding made x positive.

    The argument is reduced in one step, and the odd and even powers of the polynomial are independent of each other:
    this is half the work of `exp_below`.
    """
    kept = x if x > SMALLEST_BINARY_EXPONENT else SMALLEST_BINARY_EXPONENT
    kept = kept if kept < 0.0 else 0.0
    shifted = kept + INTEGER_BITS
    r = kept - (shifted - INTEGER_BITS)
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
    return value if x > SMALLEST_BINARY_EXPONENT else 0.0


def decay(x: Any) -> Any:
    """eˣ for x ≤ 0, in the precision of x."""
    return exp_single(x) if isinstance(x, np.float32) else exp_below(x)


@overload(decay)
def _decay(x):  # type: ignore[no-untyped-def]
    return (lambda x: exp_single(x)) if str(x) == "float32" else (lambda x: exp_below(x))
