"""Smoothing kernels: symmetric densities that are laid around every point. They are no inner products of features.

K(u) = k(‖u‖)/c in the radial form, Π k(|u_j|)/c in the product form, with k(0) = 1 and c such that ∫K = 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import comb
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.polynomial import Chebyshev
from scipy.special import betaln, gammaln, kve, logsumexp, ndtr, roots_jacobi, spherical_jn

from mercer._errors import KernelError
from mercer._stored import stored
from mercer._suggest import did_you_mean, quoted
from mercer._typing import Array
from mercer.density import sum_loops

# The autocorrelation K∗K of a smoothing kernel, which least-squares cross-validation sums over pairs of points.
#
# ∫p̂² = Σᵢⱼ wᵢwⱼ (K∗K)((xᵢ − xⱼ)/h) / (hᵈ W²). In one dimension, for the product form, the Gaussian and the exponential
# kernel it is a formula. The radial form of a kernel on the unit ball has none in even dimensions: there it is an
# integral over the lens where two balls meet, taken at some distances and interpolated by polynomials between.


@stored()
@dataclass(frozen=True)
class Autocorrelation:
    """(K∗K)(u) of a kernel in so many dimensions: a density again, even, and ∫K² at 0.

    Parameters
    ----------
    kernel : SmoothingKernel
        K.
    columns : int
        The dimensions.

    Examples
    --------
    >>> from mercer.density import Uniform
    >>> Uniform().autocorrelation(1)([[0.0], [1.0], [3.0]]).tolist()
    [0.5, 0.25, 0.0]
    """

    kernel: SmoothingKernel
    columns: int

    @property
    def reach(self) -> float:
        """K∗K is 0 beyond."""
        return 2 * self.kernel.reach

    @property
    def gaussian_width(self) -> float | None:
        """Where K∗K is K itself, wider: how many times; else None."""
        return float(np.sqrt(2)) if self.kernel.name == "gaussian" else None

    @property
    def profile(self) -> Callable[[Array], Array]:
        """The factor of each axis as a function of `|u_j|` in the product form; in the radial all, as one of ‖u‖."""
        axes = 1 if self.kernel.form == "product" else self.columns
        return replace(self.kernel, form="radial").radial_autocorrelation(axes)

    def __call__(self, differences: Any) -> Array:
        """(K∗K)(u) for differences u of shape (…, columns)."""
        u = np.asarray(differences, dtype=float)
        if u.shape[-1] != self.columns:
            raise KernelError(f"differences have {u.shape[-1]} columns, the autocorrelation is one of {self.columns}.")
        if self.kernel.form == "product":
            return np.asarray(self.profile(np.abs(u)).prod(axis=-1))
        return self.profile(np.sqrt(np.square(u).sum(axis=-1)))


def of_gaussian(r: Array, columns: int) -> Array:
    return np.asarray(np.exp(-np.square(r) / 4 - columns / 2 * np.log(4 * np.pi)))


def of_exponential(r: Array, columns: int) -> Array:
    """r^ν K_ν(r) with ν = d/2 + 1, over a constant: e^(−r) is (1 + ω²)^(−(d+1)/2) in frequencies, here squared."""
    order, r = columns / 2 + 1, np.asarray(r, dtype=float)
    # what K_ν overflows for, 0 among it
    near_zero = (order - 1) * np.log(2) + gammaln(order) - r**2 / (4 * order - 4)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = order * np.log(r) + np.log(kve(order, r)) - r
    constant = columns * np.log(2) + columns / 2 * np.log(2 * np.pi) + gammaln(columns + 1)
    return np.asarray(np.exp(np.where(np.isfinite(logs), logs, near_zero) - constant))


def of_power_on_line(r: Array, m: int) -> Array:
    """(1 − x²)ᵐ with itself.

    Around the middle of both, x = r/2 + at with a = 1 − r/2, the product of the two is a²ᵐ(1 − t²)ᵐ(2r + a²(1 − t²))ᵐ.
    """
    r = np.minimum(r, 2)
    a = 1 - r / 2
    terms = (comb(m, j) * _half_beta(m + j) * (2 * r) ** (m - j) * a ** (2 * j) for j in range(m + 1))
    return np.asarray(a ** (2 * m + 1) * sum(terms) / _half_beta(m) ** 2)


def _half_beta(n: int) -> float:
    """B(½, n + 1) = ∫(1 − t²)ⁿ dt over (−1, 1)."""
    return float(2 * 4**n / ((2 * n + 1) * comb(2 * n, n)))


def of_triangular_on_line(r: Array) -> Array:
    far = np.maximum(2 - np.asarray(r), 0)
    near = np.maximum(1 - np.asarray(r), 0)
    return np.asarray((far**3 - 4 * near**3) / 6)


def of_cosine_on_line(r: Array) -> Array:
    x = np.pi * (1 - np.minimum(r, 2) / 2)
    return np.asarray(np.pi / 16 * (np.sin(x) - x * np.cos(x)))


# What a smoothing kernel is: a symmetric density around 0, known by its profile along a ray.

Form = Literal["radial", "product"]
FORMS = ("radial", "product")


@dataclass(frozen=True)
class SmoothingKernel(ABC):
    """A symmetric density K around 0, of one scale.

    Parameters
    ----------
    form : {"radial", "product"}, default="radial"
        How a profile k along a ray, with k(0) = 1, makes a density of several dimensions: K(u) = k(‖u‖)/c, or
        `K(u) = Π k(|u_j|)/c`. In one dimension, and for the Gaussian in any, both are the same.

    Examples
    --------
    >>> from mercer.density import Epanechnikov
    >>> k = Epanechnikov()
    >>> np.exp(k.log_density(np.array([[0.0], [0.5], [2.0]]))).round(3)
    array([0.75 , 0.562, 0.   ])
    """

    form: Form = "radial"

    name: ClassVar[str]
    #: k(r) is 0 beyond
    reach: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise KernelError(
                f"a smoothing kernel has no form {quoted(self.form)}. {did_you_mean(str(self.form), FORMS)}"
            )

    @abstractmethod
    def lower(self) -> Any:
        """k as a function of r², which compiled loops dispatch on (`_jit.smoothing.profiles`)."""

    @abstractmethod
    def profile(self, r: Array) -> Array:
        """k(r) for distances r ≥ 0."""

    @abstractmethod
    def log_profile(self, r: Array) -> Array:
        """log k(r), which is finite for any r within reach."""

    @abstractmethod
    def log_moment(self, power: float, exponent: int = 1) -> float:
        """log ∫₀^∞ r^power k(r)^exponent dr for the exponents 1 and 2: all that the constants need."""

    @abstractmethod
    def cdf(self, u: Array) -> Array:
        """∫₋∞ᵘ K in one dimension, which is that of every axis in the product form; small values keep their digits."""

    @abstractmethod
    def radii(self, n: int, columns: int, rng: Any) -> Array:
        """‖u‖ of n draws u from the radial form in so many dimensions."""

    @abstractmethod
    def radial_autocorrelation(self, columns: int) -> Callable[[Array], Array]:
        """K∗K of the radial form as a function of ‖u‖."""

    def log_constant(self, columns: int) -> float:
        """Log c in so many dimensions: what ∫K = 1 divides the profile by."""
        return self._log_integral(columns, 1)

    def log_density(self, u: Array) -> Array:
        """log K(u) for every row of u."""
        if self.form == "product":
            logs = self.log_profile(np.abs(u)).sum(axis=-1)
        else:
            logs = self.log_profile(np.sqrt(np.square(u).sum(axis=-1)))
        return np.asarray(logs - self.log_constant(u.shape[-1]))

    def roughness(self, columns: int) -> float:
        """R(K) = ∫K²."""
        return float(np.exp(self._log_integral(columns, 2) - 2 * self._log_integral(columns, 1)))

    def axis_variance(self, columns: int) -> float:
        """μ₂(K) = ∫u_j² K(u) du of any axis j."""
        d = 1 if self.form == "product" else columns
        return float(np.exp(self.log_moment(d + 1) - self.log_moment(d - 1)) / d)

    def canonical(self, columns: int = 1) -> float:
        """δ = (R(K)/μ₂(K)²)^(1/(d+4)); widths h of two kernels smooth alike of the same h/δ (Marron and Nolan)."""
        return float((self.roughness(columns) / self.axis_variance(columns) ** 2) ** (1 / (columns + 4)))

    @property
    def has_marginals(self) -> bool:
        """Whether the marginal density on fewer axes is this kernel itself, in fewer dimensions."""
        return self.form == "product"

    def sample(self, n: int, columns: int, rng: Any) -> Array:
        """n independent draws from K, of shape (n, columns), by a generator of NumPy."""
        directions = rng.standard_normal((n, columns))
        if self.form == "product":
            return np.asarray(np.copysign(self.radii(n * columns, 1, rng).reshape(n, columns), directions))
        directions /= np.sqrt(np.square(directions).sum(axis=1, keepdims=True))
        return np.asarray(directions * self.radii(n, columns, rng)[:, None])

    def autocorrelation(self, columns: int) -> Autocorrelation:
        """(K∗K)(u) = ∫K(x) K(x − u) dx: what least-squares cross-validation sums over pairs."""
        return Autocorrelation(self, columns)

    def _log_integral(self, columns: int, exponent: int) -> float:
        """log ∫ of the profile to a power over space, without its constant."""
        if self.form == "product" or columns == 1:
            return columns * (float(np.log(2)) + self.log_moment(0, exponent))
        return log_sphere(columns) + self.log_moment(columns - 1, exponent)


def log_sphere(columns: int) -> float:
    """Log of the area of the unit sphere in so many dimensions."""
    return float(np.log(2) + columns / 2 * np.log(np.pi) - gammaln(columns / 2))


def quiet_log(x: Array) -> Array:
    """Log x, −inf at 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(x))


# ∫k(‖x‖) k(‖x − u‖) dx over the lens where two unit balls meet, their centres r = ‖u‖ apart, for 0 ≤ r ≤ 2.
#
# With a = 1 − r/2 and b = 1 + r/2 it is a^(2e + (d+1)/2) b^((d−1)/2) times a function without singularity at r = 2,
# where (1 − r)^e is how k ends. That function is computed at Chebyshev points and interpolated.

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


# Kernels on the unit ball that are powers of 1 − r², and the cosine, which is a sum of them.


class _PowerKernel(SmoothingKernel):
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
            return partial(of_power_on_line, m=self.degree)
        return smooth_lens(self, columns, self.degree)


@stored()
@dataclass(frozen=True)
class Uniform(_PowerKernel):
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
        return sum_loops.UniformProfile()

    def profile(self, r: Array) -> Array:
        return np.heaviside(np.subtract(1, r), 1.0)

    def log_profile(self, r: Array) -> Array:
        return quiet_log(self.profile(r))


@stored()
@dataclass(frozen=True)
class Epanechnikov(_PowerKernel):
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
        return sum_loops.EpanechnikovProfile()


@stored()
@dataclass(frozen=True)
class Biweight(_PowerKernel):
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
        return sum_loops.BiweightProfile()


@stored()
@dataclass(frozen=True)
class Triweight(_PowerKernel):
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
        return sum_loops.TriweightProfile()


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
        return sum_loops.CosineProfile()

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
        return of_cosine_on_line if columns == 1 else smooth_lens(self, columns, 1)


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


@stored(tag="GaussianWindow")
@dataclass(frozen=True)
class Gaussian(SmoothingKernel):
    """k(r) = e^(−r²/2).

    Examples
    --------
    >>> round(Gaussian().roughness(1), 4)  # 1/(2√π)
    0.2821
    """

    name: ClassVar[str] = "gaussian"
    reach: ClassVar[float] = np.inf

    def lower(self) -> Any:
        return sum_loops.GaussianProfile()

    def profile(self, r: Array) -> Array:
        return np.exp(self.log_profile(r))

    def log_profile(self, r: Array) -> Array:
        return np.asarray(-0.5 * np.square(r))

    def log_moment(self, power: float, exponent: int = 1) -> float:
        half = (power + 1) / 2
        return float(gammaln(half) + half * np.log(2 / exponent) - np.log(2))

    def cdf(self, u: Array) -> Array:
        return np.asarray(ndtr(u))

    def radii(self, n: int, columns: int, rng: Any) -> Array:
        return np.asarray(np.sqrt(2 * rng.standard_gamma(columns / 2, n)))

    def radial_autocorrelation(self, columns: int) -> Callable[[Array], Array]:
        return partial(of_gaussian, columns=columns)

    def sample(self, n: int, columns: int, rng: Any) -> Array:
        return np.asarray(rng.standard_normal((n, columns)))

    @property
    def has_marginals(self) -> bool:
        return True


@stored(tag="ExponentialWindow")
@dataclass(frozen=True)
class Exponential(SmoothingKernel):
    """k(r) = e^(−r).

    Examples
    --------
    >>> Exponential().axis_variance(1)
    2.0
    """

    name: ClassVar[str] = "exponential"
    reach: ClassVar[float] = np.inf

    def lower(self) -> Any:
        return sum_loops.ExponentialProfile()

    def profile(self, r: Array) -> Array:
        return np.exp(self.log_profile(r))

    def log_profile(self, r: Array) -> Array:
        return np.negative(r)

    def log_moment(self, power: float, exponent: int = 1) -> float:
        return float(gammaln(power + 1) - (power + 1) * np.log(exponent))

    def cdf(self, u: Array) -> Array:
        tail = 0.5 * np.exp(-np.abs(u))
        return np.where(np.less(u, 0), tail, 1 - tail)

    def radii(self, n: int, columns: int, rng: Any) -> Array:
        return np.asarray(rng.standard_gamma(columns, n))

    def radial_autocorrelation(self, columns: int) -> Callable[[Array], Array]:
        return partial(of_exponential, columns=columns)


@stored()
@dataclass(frozen=True)
class Triangular(SmoothingKernel):
    """k(r) = 1 − r for r ≤ 1; scikit-learn calls it linear.

    Examples
    --------
    >>> Triangular().profile([0.25, 2.0]).tolist()
    [0.75, 0.0]
    """

    name: ClassVar[str] = "triangular"

    def lower(self) -> Any:
        return sum_loops.TriangularProfile()

    def profile(self, r: Array) -> Array:
        return np.maximum(np.subtract(1, r), 0)

    def log_profile(self, r: Array) -> Array:
        return quiet_log(self.profile(r))

    def log_moment(self, power: float, exponent: int = 1) -> float:
        return float(betaln(power + 1, exponent + 1))

    def cdf(self, u: Array) -> Array:
        tail = 0.5 * np.square(self.profile(np.abs(u)))
        return np.where(np.less(u, 0), tail, 1 - tail)

    def radii(self, n: int, columns: int, rng: Any) -> Array:
        return np.asarray(rng.beta(columns, 2, n))

    def radial_autocorrelation(self, columns: int) -> Callable[[Array], Array]:
        return of_triangular_on_line if columns == 1 else triangular_lens(self, columns)


KERNELS: dict[str, type[SmoothingKernel]] = {
    "uniform": Uniform,
    "tophat": Uniform,
    "gaussian": Gaussian,
    "epanechnikov": Epanechnikov,
    "triangular": Triangular,
    "linear": Triangular,
    "biweight": Biweight,
    "triweight": Triweight,
    "cosine": Cosine,
    "exponential": Exponential,
}


def smoothing_kernel_from(kernel: object, form: Form = "radial") -> SmoothingKernel:
    """A smoothing kernel from its name, in a form, or the kernel itself.

    Examples
    --------
    >>> smoothing_kernel_from("tophat")
    Uniform(form='radial')
    """
    if isinstance(kernel, SmoothingKernel):
        return kernel
    if isinstance(kernel, str) and kernel in KERNELS:
        return KERNELS[kernel](form)
    if isinstance(kernel, str):
        raise KernelError(f"no smoothing kernel is called {quoted(kernel)}. {did_you_mean(kernel, KERNELS)}")
    raise KernelError(f"{quoted(kernel)} is no smoothing kernel; give one, or a name: {', '.join(KERNELS)}.")
