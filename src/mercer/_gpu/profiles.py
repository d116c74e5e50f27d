"""Functions of a squared distance for tensors, the counterpart of those that kernels and densities compile."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, ldexp, log2, pi, sqrt
from typing import Any, NamedTuple


class TensorProfile(NamedTuple):
    """A function f of a squared distance s, by its name and parameters.

    gaussian e^(−rate s), exponential e^(−rate √s), matern_three and matern_five at rate √s, rational_quadratic
    (1 + rate s)^(−power); the others are 0 from s = 1 on.
    """

    name: str
    rate: float = 1.0
    power: float = 1.0

    @property
    def slope(self) -> float:
        """Approximate maximum of |f′|, by which errors of s are amplified; infinite if f has a root at 0."""
        if self.name in ("exponential", "triangular"):
            return inf
        if self.name in ("matern_three", "matern_five"):
            return 0.5 * self.rate * self.rate
        # bounded below for powers near 0, whose rate is large, as numbers in units of the rate have to fit into halves
        return self.rate * max(self.power, 1e-2)

    @property
    def stretch(self) -> float:
        """Factor of the coordinates with which the rate is 1."""
        return self.rate if self.name in OF_DISTANCES else sqrt(self.rate)

    def stretched(self, exponent: int, most: float) -> TensorProfile:
        """Return the function of coordinates multiplied by 2^exponent, with a rate of at most `most`."""
        doublings = exponent if self.name in OF_DISTANCES else 2 * exponent
        if self.rate > 0 and log2(self.rate) - doublings >= log2(most):
            return self._replace(rate=most)
        return self._replace(rate=ldexp(self.rate, -doublings))

    @property
    def ends(self) -> bool:
        """Return whether f is 0 from s = 1 on."""
        return self.name in ENDING

    def of(self, s: Any) -> Any:
        """f(s), which overwrites s."""
        return FORMULAS[self.name](self, s)

    def log(self, s: Any) -> Any:
        """log f(s), finite for every s unless f `ends`; it overwrites s."""
        if self.name == "gaussian":
            return s.mul_(-self.rate)
        if self.name == "exponential":
            return s.sqrt_().mul_(-self.rate)
        return self.of(s).log_()


def _gaussian(f: TensorProfile, s: Any) -> Any:
    return s.mul_(-f.rate).exp_()


def _exponential(f: TensorProfile, s: Any) -> Any:
    return s.sqrt_().mul_(-f.rate).exp_()


def _matern_three(f: TensorProfile, s: Any) -> Any:
    a = s.sqrt_().mul_(f.rate)
    fading = (-a).exp_()
    return fading.add_(a.mul_(fading))


def _matern_five(f: TensorProfile, s: Any) -> Any:
    a = s.sqrt_().mul_(f.rate)
    fading = (-a).exp_()
    once = a * fading  # before a is squared, which may overflow
    return fading.add_(once).add_(once.mul_(a).mul_(1 / 3))


def _rational_quadratic(f: TensorProfile, s: Any) -> Any:
    return s.mul_(f.rate).log1p_().mul_(-f.power).exp_()


def _uniform(f: TensorProfile, s: Any) -> Any:
    return s.le_(1.0)


def _power(degree: int) -> Callable[[TensorProfile, Any], Any]:
    def value(f: TensorProfile, s: Any) -> Any:
        return s.neg_().add_(1.0).clamp_(min=0.0).pow_(degree)

    return value


def _triangular(f: TensorProfile, s: Any) -> Any:
    return s.sqrt_().neg_().add_(1.0).clamp_(min=0.0)


def _cosine(f: TensorProfile, s: Any) -> Any:
    # as the sine of the distance to the end, which does not cancel there
    left = s.sqrt_().neg_().add_(1.0).clamp_(min=0.0)
    return left.mul_(0.5 * pi).sin_()


FORMULAS: dict[str, Callable[[TensorProfile, Any], Any]] = {
    "gaussian": _gaussian,
    "exponential": _exponential,
    "matern_three": _matern_three,
    "matern_five": _matern_five,
    "rational_quadratic": _rational_quadratic,
    "uniform": _uniform,
    "epanechnikov": _power(1),
    "biweight": _power(2),
    "triweight": _power(3),
    "triangular": _triangular,
    "cosine": _cosine,
}
#: profiles whose rate multiplies √s
OF_DISTANCES = ("exponential", "matern_three", "matern_five")
#: profiles that are 0 from s = 1 on
ENDING = ("uniform", "epanechnikov", "biweight", "triweight", "triangular", "cosine")
