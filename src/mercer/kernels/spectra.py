"""Frequency spectra: k(x − z) = k(0) · E cos(wᵀ(x − z)) with w drawn from the spectrum of k (Bochner; lecture 5).

Every spectrum here is that of a normal vector with random scales, w = s ∘ g: a number s for each draw, or one for each
of its coordinates. Such spectra are closed under the algebra of kernels: for a sum, one of the two is drawn, and for a
product the draws are added, which for normal vectors adds the squares of their scales.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._typing import Array

#: a `numpy.random.Generator` or `RandomState`
Rng = Any
#: (count, columns, rng) ↦ `count` rows of standard normal numbers, which may depend on each other
Directions = Callable[[int, int, Rng], Array]


def draw_independent(count: int, columns: int, rng: Rng) -> Array:
    """Draw independent standard normal rows."""
    return np.asarray(rng.standard_normal((count, columns)))


@dataclass(frozen=True)
class FrequencySpectrum(ABC):
    """The distribution of the frequencies of a kernel of x − z, for rows with this many columns."""

    columns: int

    @property
    @abstractmethod
    def mass(self) -> float:
        """k(0), the total mass of the spectrum."""

    @abstractmethod
    def scales(self, count: int, rng: Rng) -> Array:
        """Draw the random scales s of `count` draws, of shape (count, 1), or (count, columns) if coordinates differ."""

    def sample(
        self, count: int, rng: Rng, directions: Directions = draw_independent, *, scales: Array | None = None
    ) -> Array:
        """Draw `count` frequencies w = s ∘ g, one in a row; `scales` are the random scales s if they are drawn already.

        Examples
        --------
        >>> from mercer.kernels import RBF
        >>> RBF(gamma=0.5).spectrum(columns=3).sample(2, np.random.default_rng(0)).shape
        (2, 3)
        """
        scales = self.scales(count, rng) if scales is None else scales
        return np.asarray(scales * directions(count, self.columns, rng))


@dataclass(frozen=True)
class NormalSpectrum(FrequencySpectrum):
    """Spectrum of exp(−γ‖x − z‖²): w ~ √(2γ) N(0, I); with scale 0 that of a constant."""

    scale: float
    mass: float = 1.0

    def scales(self, count: int, rng: Rng) -> Array:
        return np.full((count, 1), self.scale)


@dataclass(frozen=True)
class StudentSpectrum(FrequencySpectrum):
    """Spectrum of a Matérn kernel: w ~ t/ℓ with 2ν degrees of freedom."""

    scale: float
    degrees: float
    mass: float = 1.0

    def scales(self, count: int, rng: Rng) -> Array:
        return np.asarray(self.scale * np.sqrt(self.degrees / _make_positive(rng.chisquare(self.degrees, (count, 1)))))


@dataclass(frozen=True)
class CauchySpectrum(FrequencySpectrum):
    """Spectrum of exp(−γ Σ|x − z|): each coordinate of w is γ times a Cauchy variable."""

    scale: float
    mass: float = 1.0

    def scales(self, count: int, rng: Rng) -> Array:
        return np.asarray(self.scale / np.sqrt(_make_positive(rng.chisquare(1.0, (count, self.columns)))))


@dataclass(frozen=True)
class GammaMixtureSpectrum(FrequencySpectrum):
    """Spectrum of the rational quadratic: normal vectors with gamma-distributed precisions, w² ~ Γ(α)/(αℓ²)."""

    scale: float
    shape: float
    mass: float = 1.0

    def scales(self, count: int, rng: Rng) -> Array:
        return np.asarray(self.scale * np.sqrt(rng.standard_gamma(self.shape, (count, 1)) / self.shape))


@dataclass(frozen=True)
class MixtureSpectrum(FrequencySpectrum):
    """Spectrum of a sum of kernels: each draw is from one of them, in proportion to their k(0)."""

    first: FrequencySpectrum
    second: FrequencySpectrum

    @property
    def mass(self) -> float:
        return self.first.mass + self.second.mass

    def scales(self, count: int, rng: Rng) -> Array:
        share = self.first.mass / self.mass if self.mass > 0 else 1.0
        # the number of draws from the first is rounded up or down at random: each draw has the right probability, and
        # the number varies less than with independent draws
        many = min(count, int(np.floor(share * count + rng.uniform())))
        one, two = self.first.scales(many, rng), self.second.scales(count - many, rng)
        columns = max(one.shape[1], two.shape[1])
        return np.vstack([np.broadcast_to(part, (len(part), columns)) for part in (one, two)])


@dataclass(frozen=True)
class ConvolutionSpectrum(FrequencySpectrum):
    """Spectrum of a product of kernels: the sum of one draw from each."""

    first: FrequencySpectrum
    second: FrequencySpectrum

    @property
    def mass(self) -> float:
        return self.first.mass * self.second.mass

    def scales(self, count: int, rng: Rng) -> Array:
        return np.hypot(self.first.scales(count, rng), _shuffle(self.second.scales(count, rng), rng))


@dataclass(frozen=True)
class RepeatedSpectrum(FrequencySpectrum):
    """Spectrum of a power of a kernel: the sum of `matvec` draws."""

    part: FrequencySpectrum
    times: int

    @property
    def mass(self) -> float:
        return self.part.mass**self.times

    def scales(self, count: int, rng: Rng) -> Array:
        total = np.zeros((count, 1))
        for _ in range(self.times):
            total = np.hypot(total, _shuffle(self.part.scales(count, rng), rng))
        return total


@dataclass(frozen=True)
class MultipleSpectrum(FrequencySpectrum):
    """Spectrum of a multiple of a kernel."""

    part: FrequencySpectrum
    factor: float

    @property
    def mass(self) -> float:
        return self.factor * self.part.mass

    def scales(self, count: int, rng: Rng) -> Array:
        return self.part.scales(count, rng)


@dataclass(frozen=True)
class ColumnSpectrum(FrequencySpectrum):
    """Spectrum of a kernel on some of the columns, without frequencies along the others."""

    part: FrequencySpectrum
    chosen: tuple[int, ...]

    @property
    def mass(self) -> float:
        return self.part.mass

    def scales(self, count: int, rng: Rng) -> Array:
        scales = np.zeros((count, self.columns))
        scales[:, list(self.chosen)] = self.part.scales(count, rng)
        return scales


def _shuffle(scales: Array, rng: Rng) -> Array:
    """Shuffle draws: those of a mixture are sorted by part, and the draws of two mixtures must not be aligned."""
    return np.asarray(scales[rng.permutation(len(scales))])


def _make_positive(squares: Array) -> Array:
    """Replace draws of χ² that are 0 in floating point by the least positive float, since they are divisors."""
    return np.maximum(squares, np.finfo(float).tiny)
