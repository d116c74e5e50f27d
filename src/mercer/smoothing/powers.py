"""Kernels on the unit ball that are powers of 1 − r², and the cosine, which is a sum of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.special import betaln, gammaln, logsumexp, spherical_jn

from mercer._jit.smoothing import profiles
from mercer._stored import stored
from mercer._typing import Array
from mercer.smoothing import autocorrelation
from mercer.smoothing._base import SmoothingKernel, quiet_log
from mercer.smoothing._lens import smooth_lens


class _Power(SmoothingKernel):
    """k(r) = (1 − r²)ᵐ for r ≤ 1."""

    #: m
    degree: ClassVar[int]
    #: ∫K up to u is vᵐ⁺¹ times a polynomial of v = (1 + u)/2, whose coefficients these are from v⁰ on
    cdf_coefficients: ClassVar[tuple[int, ...]]

    def profile(self, r: Array) -> Array:
        return np.asarray(_one_less_square(r) ** self.degree)

    def log_profile(self, r: Array) -> Array:
        return self.degree * quiet_log(_one_less_square(r))

    def log_moment(self, power: float, exponent: int = 1) -> float:
        return float(_log_power_moment(power, self.degree * exponent))

    def cdf(self, u: Array) -> Array:
        v = np.clip(0.5 + 0.5 * np.asarray(u), 0, 1)
        return np.asarray(v ** (self.degree + 1) * np.polynomial.polynomial.polyval(v, self.cdf_coefficients))

    def radii(self, n: int, columns: int, rng: Any) -> Array:
        return np.asarray(np.sqrt(rng.beta(columns / 2, self.degree + 1, n)))

    def radial_autocorrelation(self, columns: int) -> Callable[[Array], Array]:
        if columns == 1:
            return partial(autocorrelation.of_power_on_line, m=self.degree)
        return smooth_lens(self, columns, self.degree)


@stored()
@dataclass(frozen=True)
class Uniform(_Power):
    """k(r) = 1 for r ≤ 1, the naive estimator of lecture 4 on closed intervals; scikit-learn calls it tophat.

    Examples
    --------
    >>> Uniform().profile([0.0, 1.0, 1.1]).tolist()
    [1.0, 1.0, 0.0]
    """

    name: ClassVar[str] = "uniform"
    degree: ClassVar[int] = 0
    cdf_coefficients: ClassVar[tuple[int, ...]] = (1,)

    def lower(self) -> Any:
        return profiles.Uniform()

    def profile(self, r: Array) -> Array:
        return np.heaviside(np.subtract(1, r), 1.0)

    def log_profile(self, r: Array) -> Array:
        return quiet_log(self.profile(r))


@stored()
@dataclass(frozen=True)
class Epanechnikov(_Power):
    """k(r) = 1 − r² for r ≤ 1: of all kernels the one with the least mean square error, to leading order.

    Examples
    --------
    >>> round(Epanechnikov().axis_variance(1), 12)
    0.2
    """

    name: ClassVar[str] = "epanechnikov"
    degree: ClassVar[int] = 1
    cdf_coefficients: ClassVar[tuple[int, ...]] = (3, -2)

    def lower(self) -> Any:
        return profiles.Epanechnikov()


@stored()
@dataclass(frozen=True)
class Biweight(_Power):
    """k(r) = (1 − r²)² for r ≤ 1.

    Examples
    --------
    >>> Biweight().profile([0.5]).tolist()
    [0.5625]
    """

    name: ClassVar[str] = "biweight"
    degree: ClassVar[int] = 2
    cdf_coefficients: ClassVar[tuple[int, ...]] = (10, -15, 6)

    def lower(self) -> Any:
        return profiles.Biweight()


@stored()
@dataclass(frozen=True)
class Triweight(_Power):
    """k(r) = (1 − r²)³ for r ≤ 1.

    Examples
    --------
    >>> Triweight().cdf([-1.0, 0.0, 1.0]).tolist()
    [0.0, 0.5, 1.0]
    """

    name: ClassVar[str] = "triweight"
    degree: ClassVar[int] = 3
    cdf_coefficients: ClassVar[tuple[int, ...]] = (35, -84, 70, -20)

    def lower(self) -> Any:
        return profiles.Triweight()


@stored(tag="CosineWindow")
@dataclass(frozen=True)
class Cosine(SmoothingKernel):
    """k(r) = cos(½πr) for r ≤ 1.

    It is Σ aₙ (1 − r²)ⁿ with all aₙ ≥ 0, so that moments add without cancelling and draws are those of a mixture.

    Examples
    --------
    >>> round(Cosine().log_constant(1), 6)  # log 4/π
    0.241564
    """

    name: ClassVar[str] = "cosine"

    def lower(self) -> Any:
        return profiles.Cosine()

    def profile(self, r: Array) -> Array:
        # the sine of the complement keeps its digits near r = 1
        return np.sin(0.5 * np.pi * np.maximum(np.subtract(1, r), 0))

    def log_profile(self, r: Array) -> Array:
        return quiet_log(self.profile(r))

    def log_moment(self, power: float, exponent: int = 1) -> float:
        moments, shares = _cosine_terms(power, exponent)
        return float(logsumexp(moments, b=shares))

    def cdf(self, u: Array) -> Array:
        return np.square(np.sin(0.25 * np.pi * (1 + np.clip(u, -1, 1))))

    def radii(self, n: int, columns: int, rng: Any) -> Array:
        moments, shares = _cosine_terms(columns - 1, 1)
        shares = shares * np.exp(moments - moments.max())
        degrees = 1 + rng.choice(len(shares), n, p=shares / shares.sum())
        return np.asarray(np.sqrt(rng.beta(columns / 2, degrees + 1)))

    def radial_autocorrelation(self, columns: int) -> Callable[[Array], Array]:
        return autocorrelation.of_cosine_on_line if columns == 1 else smooth_lens(self, columns, 1)


def _cosine_series(terms: int) -> Array:
    """The aₙ, n ≥ 1, of cos(½π√(1 − t)) = Σ aₙ tⁿ.

    They are z (z/2)ⁿ jₙ₋₁(z)/n! at z = π/2 (DLMF 10.56.1).
    """
    z, n = np.pi / 2, np.arange(1, terms + 1)
    return np.asarray(z * np.exp(n * np.log(z / 2) - gammaln(n + 1)) * spherical_jn(n - 1, z))


#: the last one is below 1e-20
COSINE_SERIES = _cosine_series(14)


def _cosine_terms(power: float, exponent: int) -> tuple[Array, Array]:
    """log ∫ r^power (1 − r²)ⁿ dr, and how much of each the cosine to some power consists of."""
    shares = COSINE_SERIES
    for _ in range(exponent - 1):
        shares = np.convolve(shares, COSINE_SERIES)
    return _log_power_moment(power, np.arange(exponent, exponent + len(shares))), shares


def _log_power_moment(power: float, degree: Any) -> Any:
    """log ∫₀¹ r^power (1 − r²)^degree dr."""
    return betaln((power + 1) / 2, degree + 1) - np.log(2)


def _one_less_square(r: Array) -> Array:
    """1 − r² without cancellation, 0 beyond r = 1."""
    near = np.minimum(r, 1)
    return np.asarray((1 - near) * (1 + near))
