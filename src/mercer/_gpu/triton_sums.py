"""Σ_j f(‖x − z_j‖²) v_j in one Triton kernel: distances from tensor cores, f, and the sum stay on the chip.

A float32 number is the sum of two halves of 11 bits each; three products of halves, accumulated in float32 by
tensor cores, are as precise as one of float32 and twice as fast as three of tf32. Coordinates are scaled so that f has
no rate: a gaussian is 2^(−t). Sums over blocks of points are compensated (Kahan), as a sum of a million terms in
float32 would otherwise lose digits.
"""

from __future__ import annotations

import triton
import triton.language as tl

#: columns of V up to which sums are computed column by column
SINGLE_COLUMNS = 2
#: columns of V in a product by tensor cores
TENSOR_CORE_COLUMNS = 16
TRITON_LOG2_E = tl.constexpr(1.4426950408889634)
#: distance at which the exponential is 0 and its polynomial factor is finite
FARTHEST = tl.constexpr(1e4)
HALF_PI = tl.constexpr(1.5707963267948966)


@triton.jit  # type: ignore[untyped-decorator]
def _exp2(x, ON_CARD: tl.constexpr):  # type: ignore[no-untyped-def]
    """2^x by the special function unit; 0 below the normal numbers."""
    if ON_CARD:
        y = tl.inline_asm_elementwise("ex2.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)
    else:
        y = tl.exp2(x)
    return y


@triton.jit  # type: ignore[untyped-decorator]
def _sqrt(x, ON_CARD: tl.constexpr):  # type: ignore[no-untyped-def]
    if ON_CARD:
        y = tl.inline_asm_elementwise(
            "sqrt.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
        )
    else:
        y = tl.sqrt(x)
    return y


@triton.jit  # type: ignore[untyped-decorator]
def _log2(x, ON_CARD: tl.constexpr):  # type: ignore[no-untyped-def]
    if ON_CARD:
        y = tl.inline_asm_elementwise("lg2.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)
    else:
        y = tl.log2(x)
    return y


@triton.jit  # type: ignore[untyped-decorator]
def _sin(x, ON_CARD: tl.constexpr):  # type: ignore[no-untyped-def]
    if ON_CARD:
        y = tl.inline_asm_elementwise("sin.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)
    else:
        y = tl.sin(x)
    return y


@triton.jit  # type: ignore[untyped-decorator]
def _value(t, power, KIND: tl.constexpr, ON_CARD: tl.constexpr):  # type: ignore[no-untyped-def]
    """f of a squared distance in units of its rate (`profiles.TensorProfile`)."""
    if KIND == "gaussian":
        f = _exp2(-t, ON_CARD)
    elif KIND == "exponential":
        f = _exp2(-_sqrt(t, ON_CARD), ON_CARD)
    elif KIND == "matern_three":
        a = tl.minimum(_sqrt(t, ON_CARD), FARTHEST)
        f = (1.0 + a) * _exp2(a * -TRITON_LOG2_E, ON_CARD)
    elif KIND == "matern_five":
        a = tl.minimum(_sqrt(t, ON_CARD), FARTHEST)
        f = (1.0 + a + a * a * (1.0 / 3.0)) * _exp2(a * -TRITON_LOG2_E, ON_CARD)
    elif KIND == "rational_quadratic":
        f = _exp2(-power * _log2(1.0 + t, ON_CARD), ON_CARD)
    elif KIND == "uniform":
        f = tl.where(t <= 1.0, 1.0, 0.0)
    elif KIND == "epanechnikov":
        f = tl.maximum(1.0 - t, 0.0)
    elif KIND == "biweight":
        left = tl.maximum(1.0 - t, 0.0)
        f = left * left
    elif KIND == "triweight":
        left = tl.maximum(1.0 - t, 0.0)
        f = left * left * left
    elif KIND == "triangular":
        f = tl.maximum(1.0 - _sqrt(t, ON_CARD), 0.0)
    else:
        tl.static_assert(KIND == "cosine")
        f = _sin(tl.maximum(1.0 - _sqrt(t, ON_CARD), 0.0) * HALF_PI, ON_CARD)
    return f


@triton.jit  # type: ignore[untyped-decorator]
def _value_of_products(dot, x_squares, z_squares, power, KIND: tl.constexpr, FREE: tl.constexpr, ON_CARD: tl.constexpr):  # type: ignore[no-untyped-def]
    """f of pairs from 2x·z and squared lengths, in units of its rate; with FREE the factor of a gaussian from 2x·z."""
    if FREE:
        f = _exp2(dot, ON_CARD)
    elif KIND == "gaussian":
        f = _exp2((dot - x_squares[:, None]) - tl.load(z_squares)[None, :], ON_CARD)
    else:
        t = tl.maximum((x_squares[:, None] - dot) + tl.load(z_squares)[None, :], 0.0)
        f = _value(t, power, KIND, ON_CARD)
    return f


@triton.jit  # type: ignore[untyped-decorator]
def _store(out, total, total2, split, n, i, COLUMNS: tl.constexpr):  # type: ignore[no-untyped-def]
    """Store the sums of one part of the points, for one or two columns of V."""
    tl.store(out + (split * COLUMNS).to(tl.int64) * n + i, total)
    if COLUMNS == 2:
        tl.store(out + (split * COLUMNS + 1).to(tl.int64) * n + i, total2)


@triton.jit
def _add(total, lost, new):  # type: ignore[no-untyped-def]
    """Add a term to a compensated sum."""
    new = new - lost
    larger = total + new
    return larger, (larger - total) - new


@triton.jit  # type: ignore[untyped-decorator]
def products(  # type: ignore[no-untyped-def]
    x_high,
    x_low,
    x_squares,
    z_high,
    z_low,
    z_squares,
    v,
    out,
    power,
    n,
    m,
    blocks,
    per,
    D: tl.constexpr,
    BK: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    COLUMNS: tl.constexpr,
    KIND: tl.constexpr,
    EXACT: tl.constexpr,
    ON_CARD: tl.constexpr,
    STAGES: tl.constexpr,
    FREE: tl.constexpr,
):
    """Sums for BM rows x over `per` blocks of BN rows z, D columns in steps of BK."""
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    split = tl.program_id(1)
    k = tl.arange(0, BK)
    x_at = i[:, None].to(tl.int64) * D + k[None, :]
    squares = tl.load(x_squares + i)
    if D == BK:
        xh = tl.load(x_high + x_at)
        if EXACT:
            xl = tl.load(x_low + x_at)
    c = tl.arange(0, 16)
    total = tl.zeros((BM,), tl.float32)
    lost = tl.zeros((BM,), tl.float32)
    total2 = tl.zeros((BM,), tl.float32)
    lost2 = tl.zeros((BM,), tl.float32)
    if COLUMNS > 2:
        totals = tl.zeros((BM, 16), tl.float32)
        losts = tl.zeros((BM, 16), tl.float32)
    for block in tl.range(split * per, tl.minimum(split * per + per, blocks), num_stages=STAGES if D == BK else 1):
        j = block * BN + tl.arange(0, BN)
        z_at = j[None, :].to(tl.int64) * D + k[:, None]
        if D == BK:
            zh = tl.load(z_high + z_at)
            dot = tl.dot(xh, zh)
            if EXACT:
                zl = tl.load(z_low + z_at)
                dot = tl.dot(xh, zl, dot)
                dot = tl.dot(xl, zh, dot)
        else:
            dot = tl.zeros((BM, BN), tl.float32)
            for some in tl.range(0, D, BK, num_stages=STAGES):
                xh = tl.load(x_high + x_at + some)
                zh = tl.load(z_high + z_at + some)
                dot = tl.dot(xh, zh, dot)
                if EXACT:
                    zl = tl.load(z_low + z_at + some)
                    xl = tl.load(x_low + x_at + some)
                    dot = tl.dot(xh, zl, dot)
                    dot = tl.dot(xl, zh, dot)
        f = _value_of_products(dot, squares, z_squares + j, power, KIND, FREE, ON_CARD)
        if COLUMNS > 2:
            vs = tl.load(v + c[None, :].to(tl.int64) * m + j[:, None])
            new = tl.dot(f, vs, input_precision="tf32x3")
            totals, losts = _add(totals, losts, new)
        else:
            total, lost = _add(total, lost, tl.sum(f * tl.load(v + j)[None, :], axis=1))
            if COLUMNS == 2:
                total2, lost2 = _add(total2, lost2, tl.sum(f * tl.load(v + m + j)[None, :], axis=1))
    if COLUMNS > 2:
        at = (split * 16 + c[None, :]).to(tl.int64) * n + i[:, None]
        tl.store(out + at, totals)
    else:
        _store(out, total, total2, split, n, i, COLUMNS)


@triton.jit  # type: ignore[untyped-decorator]
def differences(  # type: ignore[no-untyped-def]
    x,
    z,
    v,
    out,
    power,
    n,
    m,
    blocks,
    per,
    D: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    COLUMNS: tl.constexpr,
    KIND: tl.constexpr,
    ON_CARD: tl.constexpr,
):
    """Compute the sums from differences of coordinates (D, n) and (D, m), which do not cancel between near rows.

    A thread has whole rows x, whose coordinates stay in its registers if they are few, and iterates over the rows z:
    sums over them need no exchange between threads.
    """
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    split = tl.program_id(1)
    n_wide, m_wide = n.to(tl.int64), m.to(tl.int64)  # D · n may exceed 2³¹
    total = tl.zeros((BM,), tl.float32)
    lost = tl.zeros((BM,), tl.float32)
    total2 = tl.zeros((BM,), tl.float32)
    lost2 = tl.zeros((BM,), tl.float32)
    for block in range(split * per, tl.minimum(split * per + per, blocks)):
        new = tl.zeros((BM,), tl.float32)
        new2 = tl.zeros((BM,), tl.float32)
        for j in tl.static_range(BN):
            z_at = z + block * BN + j
            t = tl.zeros((BM,), tl.float32)  # minus the squared distance, the exponent of a gaussian
            if D <= 16:
                for k in tl.static_range(D):
                    away = tl.load(x + n_wide * k + i) - tl.load(z_at + m_wide * k)
                    t -= away * away
            else:
                x_at = x + i
                for _ in range(D):
                    away = tl.load(x_at) - tl.load(z_at)
                    t -= away * away
                    x_at += n
                    z_at += m
            f = _value(-t, power, KIND, ON_CARD)
            new += f * tl.load(v + block * BN + j)
            if COLUMNS == 2:
                new2 += f * tl.load(v + m + block * BN + j)
        total, lost = _add(total, lost, new)
        if COLUMNS == 2:
            total2, lost2 = _add(total2, lost2, new2)
    _store(out, total, total2, split, n, i, COLUMNS)
