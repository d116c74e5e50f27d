"""Kernels of one number, x·z or ‖x − z‖², applied to a tile in place.

A kernel is a NamedTuple; `evaluate_kernel` maps a number, by the type of the kernel. Tiles are in float64 or float32,
and exponentials of float32 are in float32 too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._jit import jit, overload
from mercer._jit.decay import decay
from mercer._jit.scalar import exp, log, log_near_one


class QuadraticValue(NamedTuple):
    """s + s²."""


class TanhValue(NamedTuple):
    """tanh(γs + c)."""

    gamma: float
    constant: float


class ExponentialValue(NamedTuple):
    """e^(−γs)."""

    gamma: float


class MaternOneValue(NamedTuple):
    """e^(−a) at a = rate · √s."""

    rate: float


class MaternThreeValue(NamedTuple):
    """(1 + a) e^(−a) at a = rate · √s."""

    rate: float


class MaternFiveValue(NamedTuple):
    """(1 + a + a²/3) e^(−a) at a = rate · √s."""

    rate: float


class RationalQuadraticValue(NamedTuple):
    """(1 + γs)^(−α)."""

    alpha: float
    gamma: float


@jit
def quadratic(kernel, s):  # type: ignore[no-untyped-def]
    """Return s + s²."""
    return s + s * s


@jit
def tanh(kernel, s):  # type: ignore[no-untyped-def]
    """Return tanh(γs + c)."""
    u = kernel.gamma * s + kernel.constant
    e = exp(-2.0 * abs(u))
    t = (1.0 - e) / (1.0 + e)
    return t if u > 0.0 else -t


@jit
def exponential(kernel, s):  # type: ignore[no-untyped-def]
    """Return e^(−γs)."""
    return decay(-kernel.gamma * s)


@jit
def matern_one(kernel, s):  # type: ignore[no-untyped-def]
    """Return e^(−a) at a = rate · √s."""
    return decay(-kernel.rate * np.sqrt(s))


@jit
def matern_three(kernel, s):  # type: ignore[no-untyped-def]
    """Return (1 + a) e^(−a) at a = rate · √s."""
    a = kernel.rate * np.sqrt(s)
    return (1.0 + a) * decay(-a)


@jit
def matern_five(kernel, s):  # type: ignore[no-untyped-def]
    """Return (1 + a + a²/3) e^(−a) at a = rate · √s."""
    a = kernel.rate * np.sqrt(s)
    fading = decay(-a)
    once = a * fading  # multiplied first, since a² may overflow
    return fading + once + once * a * (1.0 / 3.0)


@jit
def rational_quadratic(kernel, s):  # type: ignore[no-untyped-def]
    """Return (1 + γs)^(−α)."""
    u = np.float64(kernel.gamma) * s
    # 1 + u would lose the digits of a small u, which a large α magnifies
    return exp(-kernel.alpha * (log_near_one(u) if u < 0.4 else log(1.0 + u)))


#: function of each type of kernel
KERNEL_LOOPS: dict[type[Any], Any] = {
    QuadraticValue: quadratic,
    TanhValue: tanh,
    ExponentialValue: exponential,
    MaternOneValue: matern_one,
    MaternThreeValue: matern_three,
    MaternFiveValue: matern_five,
    RationalQuadraticValue: rational_quadratic,
}


def evaluate_kernel(kernel: Any, s: Any) -> Any:
    """Return the kernel of a number."""
    return KERNEL_LOOPS[type(kernel)](kernel, s)


@overload(evaluate_kernel)
def _value(kernel, s):  # type: ignore[no-untyped-def]
    return KERNEL_LOOPS[kernel.instance_class].plain


@jit
def apply_kernel(kernel, tile):  # type: ignore[no-untyped-def]
    """Replace every number by its kernel."""
    for i in range(tile.shape[0]):
        for j in range(tile.shape[1]):
            tile[i, j] = evaluate_kernel(kernel, tile[i, j])


@jit
def raise_to_power(tile, degree):  # type: ignore[no-untyped-def]
    """Replace every number by its power, for a whole degree ≥ 0, by squaring."""
    square = np.empty(tile.shape[1], tile.dtype)
    for i in range(tile.shape[0]):
        row, left = tile[i], degree
        for j in range(row.shape[0]):
            square[j] = row[j]
            row[j] = row[j] if left & 1 else 1.0
        left >>= 1
        while left > 0:
            for j in range(row.shape[0]):
                square[j] *= square[j]
            if left & 1:
                for j in range(row.shape[0]):
                    row[j] *= square[j]
            left >>= 1


@jit
def products_to_distances(tile, left, right):  # type: ignore[no-untyped-def]
    """Convert products x·z to squared distances, given ‖x‖² and ‖z‖²; values that rounding makes negative become 0."""
    for i in range(tile.shape[0]):
        for j in range(tile.shape[1]):
            s = (left[i] - tile[i, j]) + (right[j] - tile[i, j])
            tile[i, j] = 0.0 if s < 0.0 else s  # NaN stays


@jit
def refine_distances(tile, left, right, X, Z, near):  # type: ignore[no-untyped-def]
    """Recompute squared distances below near · (‖x‖² + ‖z‖²), whose digits cancelled, from the coordinates."""
    for i in range(tile.shape[0]):
        for j in range(tile.shape[1]):
            if tile[i, j] < near * (left[i] + right[j]):
                total = 0.0
                for k in range(X.shape[1]):
                    away = X[i, k] - Z[j, k]
                    total += away * away
                tile[i, j] = total
