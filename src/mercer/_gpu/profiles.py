"""What a kernel makes of a squared distance, for tensors: `_jit.kernels.tiles` and `_jit.smoothing.profiles` again."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, ldexp, log2, pi, sqrt
from typing import Any, NamedTuple


class TensorProfile(NamedTuple):
    """A function f of a squared distance s by its name, and its numbers; `exponential` is that of a smoothing kernel.

    gaussian e^(−rate s), exponential e^(−rate √s), matern_three and matern_five at rate √s, rational_quadratic
    (1 + rate s)^(−power); the others end at s = 1.
    """

    name: str
    rate: float = 1.0
    power: float = 1.0

    @property
    def slope(self) -> float:
        """About the largest |f′|: how much an error of s matters; infinite of what has a root at 0."""
        if self.name in ("exponential", "triangular"):
            return inf
        if self.name in ("matern_three", "matern_five"):
            return 0.5 * self.rate * self.rate
        # of a power near 0, whose rate is large, no less: numbers in units of the rate have to be halves
        return self.rate * max(self.power, 1e-2)

    @property
    def stretch(self) -> float:
        """Coordinates times so much need no rate."""
        return self.rate if self.name in OF_DISTANCES else sqrt(self.rate)

    def stretched(self, exponent: int, most: float) -> TensorProfile:
        """The same function where coordinates are 2^exponent times as long; of a rate that is too large, the most."""
        doublings = exponent if self.name in OF_DISTANCES else 2 * exponent
        if self.rate > 0 and log2(self.rate) - doublings >= log2(most):
            return self._replace(rate=most)
        return self._replace(rate=ldexp(self.rate, -doublings))

    @property
    def ends(self) -> bool:
        """Whether f is 0 from s = 1 on."""
        return self.name in ENDING

    def of(self, s: Any) -> Any:
        """f(s), in the place of s."""
        return FORMULAS[self.name](self, s)

    def log(self, s: Any) -> Any:
        """log f(s), finite for every s of a profile that does not end."""
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
    once = a * fading  # before it is squared, which may leave the range of floats
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
    # the sine of what is left to the end, which keeps its digits there
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
#: whose rate multiplies √s
OF_DISTANCES = ("exponential", "matern_three", "matern_five")
ENDING = ("uniform", "epanechnikov", "biweight", "triweight", "triangular", "cosine")
