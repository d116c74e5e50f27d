"""The autocorrelation K∗K of smoothing kernels, which least-squares cross-validation sums over pairs of points.

∫p̂² = Σᵢⱼ wᵢwⱼ (K∗K)((xᵢ − xⱼ)/h) / (hᵈ W²). In one dimension, for the product form, and for the Gaussian and the
exponential kernel K∗K is a formula. The radial form of a kernel on the unit ball has none in even dimensions: there it
is an integral over the lens in which two balls meet, ∫k(‖x‖) k(‖x − u‖) dx for centres r = ‖u‖ apart, 0 ≤ r ≤ 2. With
a = 1 − r/2 and b = 1 + r/2 it is a^(2e + (d+1)/2) b^((d−1)/2), the envelope, times a function without singularity at
r = 2, where (1 − r)^e is how k ends. That function is computed at Chebyshev points and interpolated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial import Chebyshev
from scipy.special import gammaln, kve, roots_jacobi

from mercer._typing import Array

if TYPE_CHECKING:
    from mercer.density._kernels import SmoothingKernel

#: coefficients below this share of the largest are mostly rounding errors
TAIL_ROUNDING = 1e-14
#: step of the double exponential rule
QUADRATURE_STEP = 1 / 16
#: abscissa of the double exponential rule at which its weights have vanished
QUADRATURE_END = 4.25


def gaussian_autocorrelation(r: Array, columns: int) -> Array:
    return np.asarray(np.exp(-np.square(r) / 4 - columns / 2 * np.log(4 * np.pi)))


def exponential_autocorrelation(r: Array, columns: int) -> Array:
    """Return r^ν K_ν(r) with ν = d/2 + 1, normalised; the transform of e^(−r) is (1 + ω²)^(−(d+1)/2), squared here."""
    order, r = columns / 2 + 1, np.asarray(r, dtype=float)
    # limit for small r, where K_ν overflows
    near_zero = (order - 1) * np.log(2) + gammaln(order) - r**2 / (4 * order - 4)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = order * np.log(r) + np.log(kve(order, r)) - r
    constant = columns * np.log(2) + columns / 2 * np.log(2 * np.pi) + gammaln(columns + 1)
    return np.asarray(np.exp(np.where(np.isfinite(logs), logs, near_zero) - constant))


def power_autocorrelation(r: Array, m: int) -> Array:
    """Return the autocorrelation of (1 − x²)ᵐ in one dimension.

    With x = r/2 + at and a = 1 − r/2, the product of the two shifted kernels is a²ᵐ(1 − t²)ᵐ(2r + a²(1 − t²))ᵐ.
    """
    r = np.minimum(r, 2)
    a = 1 - r / 2
    terms = (comb(m, j) * _half_beta(m + j) * (2 * r) ** (m - j) * a ** (2 * j) for j in range(m + 1))
    return np.asarray(a ** (2 * m + 1) * sum(terms) / _half_beta(m) ** 2)


def _half_beta(n: int) -> float:
    """Return B(½, n + 1) = ∫(1 − t²)ⁿ dt over (−1, 1)."""
    return float(2 * 4**n / ((2 * n + 1) * comb(2 * n, n)))


def triangular_autocorrelation(r: Array) -> Array:
    far = np.maximum(2 - np.asarray(r), 0)
    near = np.maximum(1 - np.asarray(r), 0)
    return np.asarray((far**3 - 4 * near**3) / 6)


def cosine_autocorrelation(r: Array) -> Array:
    x = np.pi * (1 - np.minimum(r, 2) / 2)
    return np.asarray(np.pi / 16 * (np.sin(x) - x * np.cos(x)))


@dataclass(frozen=True)
class Lens:
    """The integral over the lens as a piecewise function of r."""

    columns: int
    end: int
    pieces: tuple[Chebyshev, ...]

    def __call__(self, r: Array) -> Array:
        met = np.less(r, 2)
        result = np.zeros(np.shape(r))
        result[met] = self._inside(np.asarray(r)[met])
        return result

    def _inside(self, r: Array) -> Array:
        smooth = self.pieces[0](r)
        for piece in self.pieces[1:]:
            beyond = r > piece.domain[0]
            smooth[beyond] = piece(r[beyond])
        return np.asarray(_envelope(*_halves(r), self.columns, self.end) * smooth)


@lru_cache(maxsize=64)
def integrate_smooth_lens(kernel: SmoothingKernel, columns: int, end: int) -> Lens:
    """Return K∗K of a kernel that is analytic in r² up to its edge, where it ends like (1 − r)^end."""

    def rest(r: float) -> float:
        return _smooth_integral(kernel, columns, end, r)

    return Lens(columns, end, _normalize((_interpolate(rest, 0, 2, 40 + columns),), kernel, columns))


@lru_cache(maxsize=64)
def integrate_triangular_lens(kernel: SmoothingKernel, columns: int) -> Lens:
    """Return K∗K of 1 − r. The tip of one kernel meets the edge of the other at r = 1, hence a term |1 − r|^(d+2)."""

    def rest(r: float) -> float:
        return _triangular_integral(columns, r) / float(_envelope(*_halves(r), columns, 1))

    pieces = tuple(_interpolate(rest, left, left + 1, 60 + columns) for left in (0, 1))
    return Lens(columns, 1, _normalize(pieces, kernel, columns))


def _halves(r: Array | float) -> tuple[Array, Array]:
    return np.asarray(1 - np.divide(r, 2)), np.asarray(1 + np.divide(r, 2))


def _envelope(a: Array, b: Array, columns: int, end: int) -> Array:
    return np.asarray(a ** (2 * end + 1) * (a * b) ** ((columns - 1) / 2))


def _normalize(pieces: tuple[Chebyshev, ...], kernel: SmoothingKernel, columns: int) -> tuple[Chebyshev, ...]:
    """Multiply by 1/c² of the kernels and by the area of the sphere around the axis through both centres."""
    scale = float(np.exp(log_sphere_area(columns - 1) - 2 * kernel.log_constant(columns)))
    return tuple(piece * scale for piece in pieces)


def _interpolate(function: Callable[[float], float], left: float, right: float, degree: int) -> Chebyshev:
    series = Chebyshev.interpolate(np.vectorize(function), degree, domain=(left, right))
    return series.trim(TAIL_ROUNDING * float(np.abs(series.coef).max()))


def _smooth_integral(kernel: SmoothingKernel, columns: int, end: int, r: float) -> float:
    """Return the integral divided by the envelope.

    A point of the half lens is aτ from the middle along the axis and √(Pw) off it, where P = a(1 − τ)(b + aτ) is the
    largest possible square of that distance. Then 1 − ‖x‖² is P(1 − w) for the far centre, and larger by 2raτ for the
    near one.
    """
    a, b = 1 - r / 2, 1 + r / 2
    tau, on_axis = _gauss((columns - 1) / 2, 0, 24 + columns // 2)
    w, off_axis = _gauss(0, (columns - 3) / 2, 24)
    far = a * ((1 - tau) * (b + a * tau))[:, None] * (1 - w)
    near = far + 2 * r * a * tau[:, None]
    heights = kernel.profile(np.sqrt(1 - far)) / a**end * kernel.profile(np.sqrt(1 - near)) / a**end
    return float((on_axis * (1 + a * tau / b) ** ((columns - 1) / 2)) @ heights @ off_axis)


def _gauss(at_one: float, at_zero: float, n: int) -> tuple[Array, Array]:
    """Return points and weights for ∫₀¹ f(x) (1 − x)^at_one x^at_zero dx."""
    x, weights = roots_jacobi(n, at_one, at_zero)
    return (1 + x) / 2, weights / 2 ** (1 + at_one + at_zero)


def _triangular_integral(columns: int, r: float) -> float:
    """Return the integral in elliptic coordinates.

    σ is half the sum of the distances to both centres, η their difference divided by r. A double exponential rule
    treats the singularities at the ends; distances from the ends are kept, so that they need not be subtracted.
    """
    x, y, weights = _double_exponential()
    power = (columns - 3) / 2
    last, beyond = (1.0, 0.0) if r < 1 else (2 / r - 1, 2 - 2 / r)
    eta = last * x
    along = weights * last * ((1 + eta) * (beyond + last * y)) ** power
    width = np.maximum(1 - r, 0) + r * last * y / 2  # range of σ above r/2
    above = width[:, None] * x
    difference = r * eta[:, None]
    heights = (width[:, None] * y) * (width[:, None] * y + difference)
    volume = (r / 2 + above) ** 2 - difference**2 / 4
    inner = (heights * volume * (above * (r + above)) ** power) @ weights
    return float(2 * along @ (width * inner))


def _double_exponential() -> tuple[Array, Array, Array]:
    """Return points x of (0, 1), 1 − x without cancellation, and weights."""
    t = np.arange(-QUADRATURE_END, QUADRATURE_END + QUADRATURE_STEP / 2, QUADRATURE_STEP)
    x, y = (1 / (1 + np.exp(sign * np.pi * np.sinh(t))) for sign in (-1, 1))
    return x, y, QUADRATURE_STEP * np.pi * np.cosh(t) * x * y


def log_sphere_area(columns: int) -> float:
    """Return the log area of the unit sphere in `columns` dimensions."""
    return float(np.log(2) + columns / 2 * np.log(np.pi) - gammaln(columns / 2))
