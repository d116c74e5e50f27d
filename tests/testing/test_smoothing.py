"""`check_smoothing_kernel` finds what is wrong with a broken kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from mercer import density as sm
from mercer.density import sum_loops
from mercer.density._autocorrelations import gaussian_autocorrelation
from mercer.testing import check_smoothing_kernel


@dataclass(frozen=True)
class Lopsided(sm.Gaussian):
    def log_density(self, u: np.ndarray) -> np.ndarray:
        return super().log_density(u) + 0.1 * u[..., 0]


@dataclass(frozen=True)
class Endless(sm.Epanechnikov):
    def profile(self, r: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.square(r))


@dataclass(frozen=True)
class Elliptic(sm.Gaussian):
    def log_density(self, u: np.ndarray) -> np.ndarray:
        return super().log_density(u * np.arange(1, u.shape[-1] + 1))


@dataclass(frozen=True)
class Heavy(sm.Biweight):
    def log_constant(self, columns: int) -> float:
        return super().log_constant(columns) - 1e-6


@dataclass(frozen=True)
class Underflowing(sm.Gaussian):
    def log_profile(self, r: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(np.exp(-0.5 * np.square(r)))


@dataclass(frozen=True)
class Disguised(sm.Biweight):
    def lower(self) -> Any:
        return sum_loops.TriweightProfile()


@dataclass(frozen=True)
class Narrow(sm.Cosine):
    def axis_variance(self, columns: int) -> float:
        return 0.99 * super().axis_variance(columns)


@dataclass(frozen=True)
class Late(sm.Triangular):
    def cdf(self, u: np.ndarray) -> np.ndarray:
        return sm.Epanechnikov().cdf(u)


@dataclass(frozen=True)
class Wide(sm.Uniform):
    def radii(self, n: int, columns: int, rng: Any) -> np.ndarray:
        return rng.uniform(size=n)


@dataclass(frozen=True)
class Forgetful(sm.Exponential):
    def radial_autocorrelation(self, columns: int) -> Callable[[np.ndarray], np.ndarray]:
        return lambda r: gaussian_autocorrelation(r, columns)


@pytest.mark.parametrize(
    ("kernel", "law"),
    [
        (Lopsided(), "K is even"),
        (Endless(), "beyond its reach"),
        (Elliptic(), "K is a function of ‖u‖"),
        (Heavy(), "∫K = 1"),
        (Heavy("product"), "K"),
        (Underflowing(), "also where that underflows"),
        (Disguised(), "compiled loops"),
        (Narrow(), "`axis_variance`"),
        (Late(), "`cdf`"),
        (Wide(), "draws have the mean"),
        (Forgetful(), "K∗K is ∫K² at 0"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_broken_kernel_is_found(kernel: sm.SmoothingKernel, law: str) -> None:
    with pytest.raises(AssertionError, match=law):
        check_smoothing_kernel(kernel, 2)


def test_the_checked_laws_are_returned() -> None:
    laws = check_smoothing_kernel(sm.Triweight("product"), 2)
    assert len(laws) == len(set(laws)) == 11
    assert "∫K = 1" in laws
