"""What a smoothing kernel is: a symmetric density around 0, known by its profile along a ray."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import gammaln

from mercer._errors import KernelError
from mercer._suggest import did_you_mean, quoted
from mercer._typing import Array
from mercer.smoothing.autocorrelation import Autocorrelation

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
    >>> from mercer.smoothing import Epanechnikov
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
