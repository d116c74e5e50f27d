"""Smoothing kernels: symmetric densities that are centred on every point (not inner products in a feature space).

K(u) = k(‖u‖)/c in the radial form, Π k(|u_j|)/c in the product form, with k(0) = 1 and c such that ∫K = 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import betaln, gammaln, logsumexp, ndtr, spherical_jn

from mercer._errors import KernelError
from mercer._stored import stored
from mercer._suggest import did_you_mean, quoted
from mercer._typing import Array
from mercer.density import sum_loops
from mercer.density._autocorrelations import (
    cosine_autocorrelation,
    exponential_autocorrelation,
    gaussian_autocorrelation,
    integrate_smooth_lens,
    integrate_triangular_lens,
    log_sphere_area,
    power_autocorrelation,
    triangular_autocorrelation,
)

Form = Literal["radial", "product"]
FORMS = ("radial", "product")


@dataclass(frozen=True)
class SmoothingKernel(ABC):
    """A symmetric density K around 0, of unit scale.

    Parameters
    ----------
    form : {"radial", "product"}, default="radial"
        How a profile k along a ray, with k(0) = 1, extends to a density in several dimensions: K(u) = k(‖u‖)/c, or
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
    #: k(r) is 0 beyond this
    reach: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise KernelError(
                f"a smoothing kernel cannot have the form {quoted(self.form)}. {did_you_mean(str(self.form), FORMS)}"
            )

    @abstractmethod
    def lower(self) -> Any:
        """Return k as a function of r², on whose type compiled loops dispatch (`sum_loops.profile`)."""

    @abstractmethod
    def profile(self, r: Array) -> Array:
        """Return k(r) for distances r ≥ 0."""

    @abstractmethod
    def log_profile(self, r: Array) -> Array:
        """Return log k(r), which is finite for any r within reach."""

    @abstractmethod
    def log_moment(self, power: float, exponent: int = 1) -> float:
        """Return log ∫₀^∞ r^power k(r)^exponent dr for the exponents 1 and 2, from which all constants follow."""

    @abstractmethod
    def cdf(self, u: Array) -> Array:
        """Return ∫₋∞ᵘ K in one dimension, or of one axis in the product form, accurately also for small values."""

    @abstractmethod
    def radii(self, n: int, columns: int, rng: Any) -> Array:
        """Draw ‖u‖ of n vectors u from the radial form in `columns` dimensions."""

    @abstractmethod
    def radial_autocorrelation(self, columns: int) -> Callable[[Array], Array]:
        """Return K∗K of the radial form as a function of ‖u‖."""

    def log_constant(self, columns: int) -> float:
        """Return log c, the log integral of the profile in `columns` dimensions."""
        return self._log_integral(columns, 1)

    def log_density(self, u: Array) -> Array:
        """Return log K(u) for every row of u."""
        if self.form == "product":
            logs = self.log_profile(np.abs(u)).sum(axis=-1)
        else:
            logs = self.log_profile(np.sqrt(np.square(u).sum(axis=-1)))
        return np.asarray(logs - self.log_constant(u.shape[-1]))

    def roughness(self, columns: int) -> float:
        """Return R(K) = ∫K²."""
        return float(np.exp(self._log_integral(columns, 2) - 2 * self._log_integral(columns, 1)))

    def axis_variance(self, columns: int) -> float:
        """Return μ₂(K) = ∫u_j² K(u) du, the same for every axis j."""
        d = 1 if self.form == "product" else columns
        return float(np.exp(self.log_moment(d + 1) - self.log_moment(d - 1)) / d)

    def canonical(self, columns: int = 1) -> float:
        """Return δ = (R(K)/μ₂(K)²)^(1/(d+4)); two kernels smooth equally for equal h/δ (Marron and Nolan)."""
        return float((self.roughness(columns) / self.axis_variance(columns) ** 2) ** (1 / (columns + 4)))

    @property
    def has_marginals(self) -> bool:
        """Return whether the marginal density on fewer axes is the same kernel in fewer dimensions."""
        return self.form == "product"

    def sample(self, n: int, columns: int, rng: Any) -> Array:
        """Draw n independent vectors from K, of shape (n, columns), with a generator of NumPy."""
        directions = rng.standard_normal((n, columns))
        if self.form == "product":
            return np.asarray(np.copysign(self.radii(n * columns, 1, rng).reshape(n, columns), directions))
        directions /= np.sqrt(np.square(directions).sum(axis=1, keepdims=True))
        return np.asarray(directions * self.radii(n, columns, rng)[:, None])

    def autocorrelation(self, columns: int) -> Autocorrelation:
        """Return (K∗K)(u) = ∫K(x) K(x − u) dx, which least-squares cross-validation sums over pairs."""
        return Autocorrelation(self, columns)

    def _log_integral(self, columns: int, exponent: int) -> float:
        """Return the log integral of the unnormalised profile to a power."""
        if self.form == "product" or columns == 1:
            return columns * (float(np.log(2)) + self.log_moment(0, exponent))
        return log_sphere_area(columns) + self.log_moment(columns - 1, exponent)


def quiet_log(x: Array) -> Array:
    """Return log x, and −inf at 0 without a warning."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(x))


@stored()
@dataclass(frozen=True)
class Autocorrelation:
    """Autocorrelation (K∗K)(u) of a kernel: an even density again, with the value ∫K² at 0.

    Parameters
    ----------
    kernel : SmoothingKernel
        The kernel K.
    columns : int
        Number of dimensions.

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
        """Radius outside which K∗K is 0."""
        return 2 * self.kernel.reach

    @property
    def gaussian_width(self) -> float | None:
        """The factor by which K∗K is wider than K if it has the same form (Gaussian kernels); None otherwise."""
        return float(np.sqrt(2)) if self.kernel.name == "gaussian" else None

    @property
    def profile(self) -> Callable[[Array], Array]:
        """K∗K of each axis as a function of `|u_j|` in the product form; as a function of ‖u‖ in the radial form."""
        axes = 1 if self.kernel.form == "product" else self.columns
        return replace(self.kernel, form="radial").radial_autocorrelation(axes)

    def __call__(self, differences: Any) -> Array:
        """Return (K∗K)(u) for differences u of shape (…, columns)."""
        u = np.asarray(differences, dtype=float)
        if u.shape[-1] != self.columns:
            raise KernelError(f"differences have {u.shape[-1]} columns, the autocorrelation is one of {self.columns}.")
        if self.kernel.form == "product":
            return np.asarray(self.profile(np.abs(u)).prod(axis=-1))
        return self.profile(np.sqrt(np.square(u).sum(axis=-1)))


class _PowerKernel(SmoothingKernel):
    """k(r) = (1 − r²)ᵐ for r ≤ 1."""

    #: the exponent m
    degree: ClassVar[int]
    #: coefficients, from v⁰ on, of a polynomial p of v = (1 + u)/2 with ∫₋∞ᵘ K = vᵐ⁺¹ p(v)
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
            return partial(power_autocorrelation, m=self.degree)
        return integrate_smooth_lens(self, columns, self.degree)


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
    """k(r) = 1 − r² for r ≤ 1, the kernel of asymptotically least mean squared error.

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

    It is Σ aₙ (1 − r²)ⁿ with all aₙ ≥ 0, so that moments are sums without cancellation and draws come from a mixture.

    Examples
    --------
    >>> round(Cosine().log_constant(1), 6)  # log 4/π
    0.241564
    """

    name: ClassVar[str] = "cosine"

    def lower(self) -> Any:
        return sum_loops.CosineProfile()

    def profile(self, r: Array) -> Array:
        # the sine of the complement is accurate near r = 1
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
        return cosine_autocorrelation if columns == 1 else integrate_smooth_lens(self, columns, 1)


def _cosine_series(terms: int) -> Array:
    """Return the coefficients aₙ, n ≥ 1, of cos(½π√(1 − t)) = Σ aₙ tⁿ.

    They are z (z/2)ⁿ jₙ₋₁(z)/n! at z = π/2 (DLMF 10.56.1).
    """
    z, n = np.pi / 2, np.arange(1, terms + 1)
    return np.asarray(z * np.exp(n * np.log(z / 2) - gammaln(n + 1)) * spherical_jn(n - 1, z))


#: the last coefficient is below 1e-20
COSINE_SERIES = _cosine_series(14)


def _cosine_terms(power: float, exponent: int) -> tuple[Array, Array]:
    """Return log ∫ r^power (1 − r²)ⁿ dr for each n, and the coefficients of a power of the cosine in (1 − r²)ⁿ."""
    shares = COSINE_SERIES
    for _ in range(exponent - 1):
        shares = np.convolve(shares, COSINE_SERIES)
    return _log_power_moment(power, np.arange(exponent, exponent + len(shares))), shares


def _log_power_moment(power: float, degree: Any) -> Any:
    """Return log ∫₀¹ r^power (1 − r²)^degree dr."""
    return betaln((power + 1) / 2, degree + 1) - np.log(2)


def _one_less_square(r: Array) -> Array:
    """Return 1 − r² without cancellation, and 0 beyond r = 1."""
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
        return partial(gaussian_autocorrelation, columns=columns)

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
        return partial(exponential_autocorrelation, columns=columns)


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
        return triangular_autocorrelation if columns == 1 else integrate_triangular_lens(self, columns)


SMOOTHING_KERNELS: dict[str, type[SmoothingKernel]] = {
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
    """Return a smoothing kernel from its name and a form, or the kernel itself.

    Examples
    --------
    >>> smoothing_kernel_from("tophat")
    Uniform(form='radial')
    """
    if isinstance(kernel, SmoothingKernel):
        return kernel
    if isinstance(kernel, str) and kernel in SMOOTHING_KERNELS:
        return SMOOTHING_KERNELS[kernel](form)
    if isinstance(kernel, str):
        raise KernelError(f"there is no smoothing kernel {quoted(kernel)}. {did_you_mean(kernel, SMOOTHING_KERNELS)}")
    raise KernelError(
        f"{quoted(kernel)} is not a smoothing kernel; give one, or a name: {', '.join(SMOOTHING_KERNELS)}."
    )
