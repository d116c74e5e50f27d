"""Compiled loops of random Fourier features: cosines of angles, and Hadamard transforms.

An angle counted in half turns is reduced by subtracting a whole number, which is exact: no digits are lost, however
many turns there are, and the last bit of that number is the sign. cos πt and sin πt are then polynomials that
vectorise, with absolute errors of 4e-16, and of 1e-7 in float32.

Products with H D₁ H D₂ H D₃ take O(d log d) per row: H is Hadamard's matrix of signs, each D a diagonal of signs. A
group of rows is transformed side by side, so that every step adds and subtracts whole vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._jit import jit, overload, wide_vectors
from mercer._jit.decay import SINGLE_ZERO
from mercer._jit.scalar import INLINE_IN_ORDER, INTEGER_BITS, SINGLE_INTEGER_BITS

#: half turns above which neighbouring floats are so far apart that the angle is undefined
MAX_TURNS = 2.0**51
#: … and neighbouring numbers of float32
MAX_TURNS_SINGLE = np.float32(2.0**22)
#: position of the sign bit of float32
SIGN_SHIFT = np.int32(31)
#: coefficients of cos πr in powers of r², interpolated at Chebyshev points of |r| ≤ ½
COS_0 = 1.0
COS_1 = -4.934802200544676
COS_2 = 4.058712126416497
COS_3 = -1.335262768843447
COS_4 = 0.23533063012953284
COS_5 = -0.025806888737002202
COS_6 = 0.0019295562724817132
COS_7 = -0.00010456655338748738
COS_8 = 4.149564353942586e-06
#: coefficients of (sin πr)/r likewise
SIN_0 = 3.1415926535897927
SIN_1 = -5.1677127800497855
SIN_2 = 2.5501640398618677
SIN_3 = -0.599264528825224
SIN_4 = 0.08214587881631043
SIN_5 = -0.0073703643265304155
SIN_6 = 0.0004659870158043378
SIN_7 = -2.113362735205297e-05
#: coefficients of cos πr in float32
COS_SINGLE_0 = np.float32(0.999999999779154)
COS_SINGLE_1 = np.float32(-4.934802136928946)
COS_SINGLE_2 = np.float32(4.058709154763134)
COS_SINGLE_3 = np.float32(-1.3352119493905503)
COS_SINGLE_4 = np.float32(0.2349370685950865)
COS_SINGLE_5 = np.float32(-0.024395932097550446)
#: coefficients of (sin πr)/r in float32
SIN_SINGLE_0 = np.float32(3.1415926400772034)
SIN_SINGLE_1 = np.float32(-5.167710076668315)
SIN_SINGLE_2 = np.float32(2.550077386528912)
SIN_SINGLE_3 = np.float32(-0.5982904112834275)
SIN_SINGLE_4 = np.float32(0.07765591227601387)


@jit(**INLINE_IN_ORDER)
def reduce_turns(t):  # type: ignore[no-untyped-def]
    """Return r and the sign bit, (−1)ⁿ, for t = n + r with |r| ≤ ½; 0 where t has no fractional digits, NaN for NaN."""
    kept = t if abs(t) < MAX_TURNS else 0.0 * t
    shifted = kept + INTEGER_BITS
    return kept - (shifted - INTEGER_BITS), np.float64(shifted).view(np.int64) << 63


@jit(**INLINE_IN_ORDER)
def reduce_turns_single(t):  # type: ignore[no-untyped-def]
    """Return r and the sign bit in float32; see `reduce_turns`."""
    kept = t if abs(t) < MAX_TURNS_SINGLE else SINGLE_ZERO * t
    shifted = kept + SINGLE_INTEGER_BITS
    return kept - (shifted - SINGLE_INTEGER_BITS), np.int32(np.float32(shifted).view(np.int32) << SIGN_SHIFT)


@jit(**INLINE_IN_ORDER)
def apply_sign(value, sign):  # type: ignore[no-untyped-def]
    """Return a value with its sign bit flipped by `sign`."""
    return np.int64(np.float64(value).view(np.int64) ^ sign).view(np.float64)


@jit(**INLINE_IN_ORDER)
def apply_sign_single(value, sign):  # type: ignore[no-untyped-def]
    """Return a value of float32 with its sign bit flipped by `sign`."""
    return np.int32(np.float32(value).view(np.int32) ^ sign).view(np.float32)


@jit(**INLINE_IN_ORDER)
def cos_turns(t):  # type: ignore[no-untyped-def]
    """Return cos πt."""
    r, sign = reduce_turns(t)
    z = r * r
    p = COS_8 * z + COS_7
    p = p * z + COS_6
    p = p * z + COS_5
    p = p * z + COS_4
    p = p * z + COS_3
    p = p * z + COS_2
    p = p * z + COS_1
    return apply_sign(p * z + COS_0, sign)


@jit(**INLINE_IN_ORDER)
def sin_turns(t):  # type: ignore[no-untyped-def]
    """Return sin πt."""
    r, sign = reduce_turns(t)
    z = r * r
    p = SIN_7 * z + SIN_6
    p = p * z + SIN_5
    p = p * z + SIN_4
    p = p * z + SIN_3
    p = p * z + SIN_2
    p = p * z + SIN_1
    return apply_sign((p * z + SIN_0) * r, sign)


@jit(**INLINE_IN_ORDER)
def cos_turns_single(t):  # type: ignore[no-untyped-def]
    """Return cos πt in float32."""
    r, sign = reduce_turns_single(t)
    z = r * r
    p = COS_SINGLE_5 * z + COS_SINGLE_4
    p = p * z + COS_SINGLE_3
    p = p * z + COS_SINGLE_2
    p = p * z + COS_SINGLE_1
    return apply_sign_single(p * z + COS_SINGLE_0, sign)


@jit(**INLINE_IN_ORDER)
def sin_turns_single(t):  # type: ignore[no-untyped-def]
    """Return sin πt in float32."""
    r, sign = reduce_turns_single(t)
    z = r * r
    p = SIN_SINGLE_4 * z + SIN_SINGLE_3
    p = p * z + SIN_SINGLE_2
    p = p * z + SIN_SINGLE_1
    return apply_sign_single((p * z + SIN_SINGLE_0) * r, sign)


def cos_half_turns(t: Any) -> Any:
    """Return cos πt in the precision of t."""
    return cos_turns_single(t) if isinstance(t, np.float32) else cos_turns(t)


def sin_half_turns(t: Any) -> Any:
    """Return sin πt in the precision of t."""
    return sin_turns_single(t) if isinstance(t, np.float32) else sin_turns(t)


@overload(cos_half_turns)
def _cos(t):  # type: ignore[no-untyped-def]
    return (lambda t: cos_turns_single(t)) if str(t) == "float32" else (lambda t: cos_turns(t))


@overload(sin_half_turns)
def _sin(t):  # type: ignore[no-untyped-def]
    return (lambda t: sin_turns_single(t)) if str(t) == "float32" else (lambda t: sin_turns(t))


@jit
def put_cosines(tile, offset, scale):  # type: ignore[no-untyped-def]
    """Replace every t by scale · cos π(t + b), with a b for every column."""
    wide_vectors()
    for i in range(tile.shape[0]):
        for j in range(tile.shape[1]):
            tile[i, j] = scale * cos_half_turns(tile[i, j] + offset[j])


@jit
def put_pairs(angles, out, scale):  # type: ignore[no-untyped-def]
    """Put scale · cos πt of every t into the first half of a row, and scale · sin πt into the second."""
    wide_vectors()
    half = angles.shape[1]
    for i in range(angles.shape[0]):
        row, first, second = angles[i], out[i, :half], out[i, half:]
        for j in range(half):
            first[j] = scale * cos_half_turns(row[j])
        for j in range(half):
            second[j] = scale * sin_half_turns(row[j])


#: rows that are transformed side by side: two vectors of float64, or one of float32
GROUP = 16
#: least length of a transform
MIN_LENGTH = 8


@jit
def transform_eights(flat, signs):  # type: ignore[no-untyped-def]
    """Multiply by D, and make the first three steps, whose constant distances let them vectorise."""
    wide_vectors()
    for start in range(0, len(flat), MIN_LENGTH * GROUP):
        part, at = flat[start : start + MIN_LENGTH * GROUP], start // GROUP
        p, q, r, s = signs[at], signs[at + 1], signs[at + 2], signs[at + 3]
        t, u, v, w = signs[at + 4], signs[at + 5], signs[at + 6], signs[at + 7]
        for j in range(GROUP):
            a, b, c, d = p * part[j], q * part[j + GROUP], r * part[j + 2 * GROUP], s * part[j + 3 * GROUP]
            e, f = t * part[j + 4 * GROUP], u * part[j + 5 * GROUP]
            g, h = v * part[j + 6 * GROUP], w * part[j + 7 * GROUP]
            a, b, c, d, e, f, g, h = a + b, a - b, c + d, c - d, e + f, e - f, g + h, g - h
            a, b, c, d, e, f, g, h = a + c, b + d, a - c, b - d, e + g, f + h, e - g, f - h
            part[j], part[j + GROUP], part[j + 2 * GROUP], part[j + 3 * GROUP] = a + e, b + f, c + g, d + h
            part[j + 4 * GROUP], part[j + 5 * GROUP] = a - e, b - f
            part[j + 6 * GROUP], part[j + 7 * GROUP] = c - g, d - h


@jit
def combine_four(a, b, c, d):  # type: ignore[no-untyped-def]
    """Make two steps at once."""
    wide_vectors()
    for j in range(len(a)):
        e, f, g, h = a[j] + b[j], a[j] - b[j], c[j] + d[j], c[j] - d[j]
        a[j], b[j], c[j], d[j] = e + g, f + h, e - g, f - h


@jit
def combine_two(a, b):  # type: ignore[no-untyped-def]
    """Make one step."""
    wide_vectors()
    for j in range(len(a)):
        a[j], b[j] = a[j] + b[j], a[j] - b[j]


@jit
def transform(flat, signs):  # type: ignore[no-untyped-def]
    """Multiply GROUP vectors side by side by H D, in place; their length is a power of two, `MIN_LENGTH` or more."""
    transform_eights(flat, signs)
    step, end = MIN_LENGTH * GROUP, len(flat)
    while 4 * step <= end:
        for i in range(0, end, 4 * step):
            j, k, m = i + step, i + 2 * step, i + 3 * step
            combine_four(flat[i:j], flat[j:k], flat[k:m], flat[m : m + step])
        step *= 4
    if step < end:
        combine_two(flat[:step], flat[step:])


@jit
def scatter_rows(flat, scales, out):  # type: ignore[no-untyped-def]
    """Write vectors side by side into rows, some at a time so that the values read stay in the cache."""
    rows, count = out.shape
    for first in range(0, count, GROUP):
        for i in range(rows):
            for k in range(first, min(first + GROUP, count)):
                out[i, k] = flat[k * GROUP + i] * scales[k]


@jit
def put_hadamard_products(X, signs, scales, out):  # type: ignore[no-untyped-def]
    """Compute out = X W for W = [H D₁ H D₂ H D₃ …]ᵀ · scales, with one block of signs (3, length) after the other."""
    rows, columns = X.shape
    count, length = out.shape[1], signs.shape[2]
    given, flat = np.zeros(length * GROUP, X.dtype), np.empty(length * GROUP, X.dtype)
    for first in range(0, rows, GROUP):
        last = min(first + GROUP, rows)
        for i in range(last - first):
            for k in range(columns):
                given[k * GROUP + i] = X[first + i, k]
        for block in range(signs.shape[0]):
            flat[:] = given
            for k in range(2, -1, -1):
                transform(flat, signs[block, k])
            start = block * length
            end = min(start + length, count)
            scatter_rows(flat, scales[start:end], out[first:last, start:end])
