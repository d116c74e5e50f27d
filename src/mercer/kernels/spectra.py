"""Frequency spectra: k(x − z) = k(0) · E cos(wᵀ(x − z)) with w drawn from the spectrum of k (Bochner; lecture 5).

Every spectrum here is that of a normal vector with random scales, w = s ∘ g: a number s for each draw, or one for each
coordinate of it. Such spectra are closed under the algebra of kernels: for a sum one of the two is drawn, and for a
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
#: (count, columns, rng) ↦ that many rows of standard normal numbers; rows may depend on each other
Directions = Callable[[int, int, Rng], Array]


def independent(count: int, columns: int, rng: Rng) -> Array:
    """Standard normal rows that are independent of each other."""
    return np.asarray(rng.standard_normal((count, columns)))


@dataclass(frozen=True)
class FrequencySpectrum(ABC):
    """The distribution of the frequencies of a kernel of x − z, for rows with this many columns."""

    columns: int

    @property
    @abstractmethod
    def mass(self) -> float:
        """k(0), of which the spectrum is a distribution."""

    @abstractmethod
    def scales(self, count: int, rng: Rng) -> Array:
        """The random scales s of `count` draws: of shape (count, 1), or (count, columns) if coordinates differ."""

    def sample(self, count: int, rng: Rng, directions: Directions = independent) -> Array:
        """`count` frequencies w = s ∘ g, one in a row.

        Examples
        --------
        >>> from mercer.kernels import RBF
        >>> RBF(gamma=0.5).spectrum(columns=3).sample(2, np.random.default_rng(0)).shape
        (2, 3)
        """
        return self.scales(count, rng) * directions(count, self.columns, rng)


@dataclass(frozen=True)
class NormalSpectrum(FrequencySpectrum):
    """Of exp(−γ‖x − z‖²): w ~ √(2γ) N(0, I); at 0 it is that of a constant."""

    scale: float
    mass: float = 1.0

    def scales(self, count: int, rng: Rng) -> Array:
        return np.full((count, 1), self.scale)


@dataclass(frozen=True)
class StudentSpectrum(FrequencySpectrum):
    """Of a Matérn kernel: w ~ t/ℓ with 2ν degrees of freedom."""

    scale: float
    degrees: float
    mass: float = 1.0

    def scales(self, count: int, rng: Rng) -> Array:
        return np.asarray(self.scale * np.sqrt(self.degrees / _positive(rng.chisquare(self.degrees, (count, 1)))))


@dataclass(frozen=True)
class CauchySpectrum(FrequencySpectrum):
    """Of exp(−γ Σ|x − z|): every coordinate of w by itself from γ times a Cauchy distribution."""

    scale: float
    mass: float = 1.0

    def scales(self, count: int, rng: Rng) -> Array:
        return np.asarray(self.scale / np.sqrt(_positive(rng.chisquare(1.0, (count, self.columns)))))


@dataclass(frozen=True)
class GammaMixtureSpectrum(FrequencySpectrum):
    """Of the rational quadratic: normal vectors whose precisions are gamma distributed, w² ~ Γ(α)/(αℓ²)."""

    scale: float
    shape: float
    mass: float = 1.0

    def scales(self, count: int, rng: Rng) -> Array:
        return np.asarray(self.scale * np.sqrt(rng.standard_gamma(self.shape, (count, 1)) / self.shape))


@dataclass(frozen=True)
class MixtureSpectrum(FrequencySpectrum):
    """Of a sum of kernels: each draw is from one of them, in proportion to their k(0)."""

    first: FrequencySpectrum
    second: FrequencySpectrum

    @property
    def mass(self) -> float:
        return self.first.mass + self.second.mass

    def scales(self, count: int, rng: Rng) -> Array:
        share = self.first.mass / self.mass if self.mass > 0 else 1.0
        # how many are of the first is rounded up or down at random: each draw alone has the right chance, and the
        # number varies less than if each were drawn by itself
        many = min(count, int(np.floor(share * count + rng.uniform())))
        one, two = self.first.scales(many, rng), self.second.scales(count - many, rng)
        columns = max(one.shape[1], two.shape[1])
        return np.vstack([np.broadcast_to(part, (len(part), columns)) for part in (one, two)])


@dataclass(frozen=True)
class ConvolutionSpectrum(FrequencySpectrum):
    """Of a product of kernels: the sum of one draw from each."""

    first: FrequencySpectrum
    second: FrequencySpectrum

    @property
    def mass(self) -> float:
        return self.first.mass * self.second.mass

    def scales(self, count: int, rng: Rng) -> Array:
        return np.hypot(self.first.scales(count, rng), _shuffled(self.second.scales(count, rng), rng))


@dataclass(frozen=True)
class RepeatedSpectrum(FrequencySpectrum):
    """Of a power of a kernel: the sum of so many draws."""

    part: FrequencySpectrum
    times: int

    @property
    def mass(self) -> float:
        return self.part.mass**self.times

    def scales(self, count: int, rng: Rng) -> Array:
        total = np.zeros((count, 1))
        for _ in range(self.times):
            total = np.hypot(total, _shuffled(self.part.scales(count, rng), rng))
        return total


@dataclass(frozen=True)
class MultipleSpectrum(FrequencySpectrum):
    """Of a multiple of a kernel."""

    part: FrequencySpectrum
    factor: float

    @property
    def mass(self) -> float:
        return self.factor * self.part.mass

    def scales(self, count: int, rng: Rng) -> Array:
        return self.part.scales(count, rng)


@dataclass(frozen=True)
class ColumnSpectrum(FrequencySpectrum):
    """Of a kernel of some of the columns: there are no frequencies along the others."""

    part: FrequencySpectrum
    chosen: tuple[int, ...]

    @property
    def mass(self) -> float:
        return self.part.mass

    def scales(self, count: int, rng: Rng) -> Array:
        scales = np.zeros((count, self.columns))
        scales[:, list(self.chosen)] = self.part.scales(count, rng)
        return scales


def _shuffled(scales: Array, rng: Rng) -> Array:
    """In random order: the draws of a mixture are sorted by part, and those of two mixtures must not be aligned."""
    return np.asarray(scales[rng.permutation(len(scales))])


def _positive(squares: Array) -> Array:
    """A draw of χ² may be 0 in floating point, and is a divisor."""
    return np.maximum(squares, np.finfo(float).tiny)
