"""∫k(‖x‖) k(‖x − u‖) dx over the lens where two unit balls meet, their centres r = ‖u‖ apart, for 0 ≤ r ≤ 2.

With a = 1 − r/2 and b = 1 + r/2 it is a^(2e + (d+1)/2) b^((d−1)/2) times a function without singularity at r = 2, where
(1 − r)^e is how k ends. That function is computed at Chebyshev points and interpolated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.polynomial import Chebyshev
from scipy.special import roots_jacobi

from mercer._typing import Array
from mercer.smoothing._base import SmoothingKernel, log_sphere

#: coefficients below this part of the largest are mostly rounding
ROUNDING = 1e-14
#: of the double exponential rule: between its points, and where weights have vanished
STEP, LONGEST = 1 / 16, 4.25


@dataclass(frozen=True)
class Lens:
    """The integral over the lens as a function of r, by pieces."""

    columns: int
    end: int
    pieces: tuple[Chebyshev, ...]

    def __call__(self, r: Array) -> Array:
        met = np.less(r, 2)
        found = np.zeros(np.shape(r))
        found[met] = self._inside(np.asarray(r)[met])
        return found

    def _inside(self, r: Array) -> Array:
        smooth = self.pieces[0](r)
        for piece in self.pieces[1:]:
            beyond = r > piece.domain[0]
            smooth[beyond] = piece(r[beyond])
        return np.asarray(_envelope(*_halves(r), self.columns, self.end) * smooth)


@lru_cache(maxsize=64)
def smooth_lens(kernel: SmoothingKernel, columns: int, end: int) -> Lens:
    """K∗K of a kernel that is an analytic function of r² up to its edge, where it ends like (1 − r)^end."""

    def rest(r: float) -> float:
        return _smooth_integral(kernel, columns, end, r)

    return Lens(columns, end, _scaled((_interpolated(rest, 0, 2, 40 + columns),), kernel, columns))


@lru_cache(maxsize=64)
def triangular_lens(kernel: SmoothingKernel, columns: int) -> Lens:
    """K∗K of 1 − r. Its tip meets the edge of the other at r = 1, which leaves |1 − r|^(d+2) in the sum."""

    def rest(r: float) -> float:
        return _triangular_integral(columns, r) / float(_envelope(*_halves(r), columns, 1))

    pieces = tuple(_interpolated(rest, left, left + 1, 60 + columns) for left in (0, 1))
    return Lens(columns, 1, _scaled(pieces, kernel, columns))


def _halves(r: Array | float) -> tuple[Array, Array]:
    return np.asarray(1 - np.divide(r, 2)), np.asarray(1 + np.divide(r, 2))


def _envelope(a: Array, b: Array, columns: int, end: int) -> Array:
    return np.asarray(a ** (2 * end + 1) * (a * b) ** ((columns - 1) / 2))


def _scaled(pieces: tuple[Chebyshev, ...], kernel: SmoothingKernel, columns: int) -> tuple[Chebyshev, ...]:
    """With the constants: 1/c² of the kernels, and the area of the sphere around the axis through both centres."""
    scale = float(np.exp(log_sphere(columns - 1) - 2 * kernel.log_constant(columns)))
    return tuple(piece * scale for piece in pieces)


def _interpolated(function: Callable[[float], float], left: float, right: float, degree: int) -> Chebyshev:
    series = Chebyshev.interpolate(np.vectorize(function), degree, domain=(left, right))
    return series.trim(ROUNDING * float(np.abs(series.coef).max()))


def _smooth_integral(kernel: SmoothingKernel, columns: int, end: int, r: float) -> float:
    """The integral over the envelope.

    A point of the half lens is aτ from the middle along the axis and √(Pw) off it, P = a(1 − τ)(b + aτ) the most there
    is room for. Then 1 − ‖x‖² = P(1 − w) to the far centre, and 2raτ more to the near one.
    """
    a, b = 1 - r / 2, 1 + r / 2
    tau, on_axis = _gauss((columns - 1) / 2, 0, 24 + columns // 2)
    w, off_axis = _gauss(0, (columns - 3) / 2, 24)
    far = a * ((1 - tau) * (b + a * tau))[:, None] * (1 - w)
    near = far + 2 * r * a * tau[:, None]
    heights = kernel.profile(np.sqrt(1 - far)) / a**end * kernel.profile(np.sqrt(1 - near)) / a**end
    return float((on_axis * (1 + a * tau / b) ** ((columns - 1) / 2)) @ heights @ off_axis)


def _gauss(at_one: float, at_zero: float, n: int) -> tuple[Array, Array]:
    """Points and weights for ∫₀¹ f(x) (1 − x)^at_one x^at_zero dx."""
    x, weights = roots_jacobi(n, at_one, at_zero)
    return (1 + x) / 2, weights / 2 ** (1 + at_one + at_zero)


def _triangular_integral(columns: int, r: float) -> float:
    """The integral in elliptic coordinates: σ half the sum of the distances to both centres, η their difference over r.

    A double exponential rule takes the singularities at its ends; lengths from there are kept rather than subtracted.
    """
    x, y, weights = _double_exponential()
    power = (columns - 3) / 2
    last, beyond = (1.0, 0.0) if r < 1 else (2 / r - 1, 2 - 2 / r)
    eta = last * x
    along = weights * last * ((1 + eta) * (beyond + last * y)) ** power
    room = np.maximum(1 - r, 0) + r * last * y / 2  # for σ above r/2
    above = room[:, None] * x
    difference = r * eta[:, None]
    heights = (room[:, None] * y) * (room[:, None] * y + difference)
    volume = (r / 2 + above) ** 2 - difference**2 / 4
    inner = (heights * volume * (above * (r + above)) ** power) @ weights
    return float(2 * along @ (room * inner))


def _double_exponential() -> tuple[Array, Array, Array]:
    """Points x of (0, 1), 1 − x without cancellation, and weights."""
    t = np.arange(-LONGEST, LONGEST + STEP / 2, STEP)
    x, y = (1 / (1 + np.exp(sign * np.pi * np.sinh(t))) for sign in (-1, 1))
    return x, y, STEP * np.pi * np.cosh(t) * x * y
