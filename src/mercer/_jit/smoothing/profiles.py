"""Smoothing kernels as functions of s = ‖u‖²: what each makes of a squared distance in units of the bandwidth.

A kernel is a NamedTuple; `profile` is its value, 1 at s = 0, chosen by its type. Those that never end are multiplied by
2^lift, so that far away from all points their values are not below all floats.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._jit import jit, overload
from mercer._jit.decay import exp2_below
from mercer._jit.scalar import LOG2_E


class Gaussian(NamedTuple):
    """e^(−s/2)."""


class Exponential(NamedTuple):
    """e^(−√s)."""


class Laplace(NamedTuple):
    """e^(−s), the product of exponentials, where s = Σ|u_j|."""


class Uniform(NamedTuple):
    """1 for s ≤ 1."""


class Epanechnikov(NamedTuple):
    """1 − s for s ≤ 1."""


class Triangular(NamedTuple):
    """1 − √s for s ≤ 1."""


class Biweight(NamedTuple):
    """(1 − s)² for s ≤ 1."""


class Triweight(NamedTuple):
    """(1 − s)³ for s ≤ 1."""


class Cosine(NamedTuple):
    """cos(½π√s) for s ≤ 1."""


@jit
def gaussian(kernel, s, lift):  # type: ignore[no-untyped-def]
    return exp2_below(lift - 0.5 * LOG2_E * s)


@jit
def exponential(kernel, s, lift):  # type: ignore[no-untyped-def]
    return exp2_below(lift - LOG2_E * np.sqrt(s))


@jit
def laplace(kernel, s, lift):  # type: ignore[no-untyped-def]
    return exp2_below(lift - LOG2_E * s)


@jit
def uniform(kernel, s, lift):  # type: ignore[no-untyped-def]
    return 1.0 if s <= 1.0 else 0.0


@jit
def epanechnikov(kernel, s, lift):  # type: ignore[no-untyped-def]
    return 1.0 - s if s < 1.0 else 0.0


@jit
def triangular(kernel, s, lift):  # type: ignore[no-untyped-def]
    return 1.0 - np.sqrt(s) if s < 1.0 else 0.0


@jit
def biweight(kernel, s, lift):  # type: ignore[no-untyped-def]
    left = 1.0 - s if s < 1.0 else 0.0
    return left * left


@jit
def triweight(kernel, s, lift):  # type: ignore[no-untyped-def]
    left = 1.0 - s if s < 1.0 else 0.0
    return left * left * left


@jit
def cosine(kernel, s, lift):  # type: ignore[no-untyped-def]
    """cos(½π√s) is a power series of s; at s = 1 its factor 1 − s comes first, so that no digits cancel there."""
    p = COSINE[-1]
    for c in COSINE[-2::-1]:
        p = p * s + c
    return (1.0 - s) * p if s < 1.0 else 0.0


def _cosine_over_one_less_s(degree: int) -> tuple[float, ...]:
    """Coefficients of cos(½π√s)/(1 − s) in powers of s, by interpolation at Chebyshev points of [0, 1]."""
    t = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    s = 0.5 + 0.5 * t
    # sin of the complement keeps its digits where s is near 1
    values = np.sin(0.5 * np.pi * (1 - s) / (1 + np.sqrt(s))) / (1 - s)
    series = np.polynomial.Chebyshev.fit(s, values, degree, domain=(0, 1))
    return tuple(series.convert(kind=np.polynomial.Polynomial, domain=(-1, 1), window=(-1, 1)).coef.tolist())


COSINE = _cosine_over_one_less_s(9)

PROFILES: dict[type[Any], Any] = {
    Gaussian: gaussian,
    Exponential: exponential,
    Laplace: laplace,
    Uniform: uniform,
    Epanechnikov: epanechnikov,
    Triangular: triangular,
    Biweight: biweight,
    Triweight: triweight,
    Cosine: cosine,
}


def profile(kernel: Any, s: Any, lift: Any) -> Any:
    """What a smoothing kernel makes of a squared distance; compact ones know no lift."""
    return PROFILES[type(kernel)](kernel, s, lift)


@overload(profile)
def _profile(kernel, s, lift):  # type: ignore[no-untyped-def]
    return PROFILES[kernel.instance_class].plain
