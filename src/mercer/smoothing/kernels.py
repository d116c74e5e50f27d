"""Smoothing kernels: symmetric densities that are laid around every point. They are no inner products of features.

K(u) = k(‖u‖)/c in the radial form, Π k(|u_j|)/c in the product form, with k(0) = 1 and c such that ∫K = 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.special import betaln, gammaln, ndtr

from mercer._errors import KernelError
from mercer._jit.smoothing import profiles
from mercer._stored import stored
from mercer._suggest import did_you_mean, quoted
from mercer._typing import Array
from mercer.smoothing import autocorrelation
from mercer.smoothing._base import Form, SmoothingKernel, quiet_log
from mercer.smoothing._lens import triangular_lens
from mercer.smoothing.powers import Biweight, Cosine, Epanechnikov, Triweight, Uniform

__all__ = [
    "Biweight",
    "Cosine",
    "Epanechnikov",
    "Exponential",
    "Form",
    "Gaussian",
    "SmoothingKernel",
    "Triangular",
    "Triweight",
    "Uniform",
    "smoothing_kernel_from",
]


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
        return profiles.Gaussian()

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
        return partial(autocorrelation.of_gaussian, columns=columns)

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
        return profiles.Exponential()

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
        return partial(autocorrelation.of_exponential, columns=columns)


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
        return profiles.Triangular()

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
        return autocorrelation.of_triangular_on_line if columns == 1 else triangular_lens(self, columns)


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
