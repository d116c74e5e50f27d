"""Penalties on coefficients: negative log priors, so that a penalized fit is a posterior mode.

The objective is always Σ weight · loss + penalty, with the loss half the unit deviance. Where the dispersion φ is
one (logistic, Poisson), the penalties below are

    L2           λ/2 Σ s (β − m)²      β ~ Normal(m, 1/(λs))            (lecture 1, "ridge"; lecture 5, "MAP")
    L1           λ   Σ s |β − m|       β ~ Laplace(m, 1/(λs))
    ElasticNet   a mixture of both,

up to a constant; where it is not (normal, gamma), the variance of the prior is in units of φ: ridge is the mode under
Normal(0, σ²/λ). The intercept is not penalized.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mercer._errors import PenaltyError
from mercer._stored import either, floats, integers, real, sequence, stored
from mercer._typing import Array

_NUMBERS = either(real(), sequence(".", real()), floats(), integers())


@stored()
class Strengths(NamedTuple):
    """A penalty in its general form, `Σ l1 |β − mean| + ½ Σ l2 (β − mean)²`, with one number per coefficient in each.

    Examples
    --------
    >>> from mercer.families import ElasticNet
    >>> ElasticNet(2.0, l1_ratio=0.25).strengths(3)
    Strengths(l1=array([0.5, 0.5, 0.5]), l2=array([1.5, 1.5, 1.5]), mean=array([0., 0., 0.]))
    """

    l1: Array
    l2: Array
    mean: Array

    @classmethod
    def none(cls, columns: int) -> Strengths:
        return cls(*np.zeros((3, columns)))

    @property
    def smooth(self) -> bool:
        return not self.l1.any()

    @property
    def any(self) -> bool:
        return bool(self.l1.any() or self.l2.any())

    def times(self, factor: float) -> Strengths:
        """Return the penalty multiplied by a factor."""
        return Strengths(factor * self.l1, factor * self.l2, self.mean)

    def value(self, coefficients: Array) -> float:
        away = coefficients - self.mean
        return float(self.l1 @ np.abs(away) + 0.5 * self.l2 @ np.square(away))


@dataclass(frozen=True)
class Penalty(ABC):
    """A negative log prior of the coefficients.

    `strength` and `mean` are one number for all coefficients or one for each.

    Examples
    --------
    >>> from mercer.families import L1, L2
    >>> L2(4.0).strengths(2).value(np.array([1.0, 2.0]))
    10.0
    >>> L1(4.0).strengths(2).value(np.array([1.0, -2.0]))
    12.0
    """

    strength: float | Array = 1.0
    mean: float | Array = 0.0

    @abstractmethod
    def _shares(self) -> tuple[float, float]:
        """Shares of the strength in the absolute and in the squared part."""

    def strengths(self, columns: int) -> Strengths:
        """Return the penalty of `columns` coefficients; `PenaltyError` if the shapes do not agree."""
        strength, mean = (self._each(name, columns) for name in ("strength", "mean"))
        if (bad := ~((strength >= 0) & np.isfinite(strength))).any():
            raise PenaltyError(
                f"the strength of {type(self).__name__} must be 0 or more, got {strength[np.argmax(bad)]:g}; "
                "a negative one would reward large coefficients without bound."
            )
        if not np.isfinite(mean).all():
            raise PenaltyError(f"the mean of {type(self).__name__} must be finite; use 0 where no prior mean is known.")
        absolute, squared = self._shares()
        return Strengths(absolute * strength, squared * strength, mean)

    def _each(self, name: str, columns: int) -> Array:
        value = np.asarray(getattr(self, name), dtype=float)
        if value.ndim > 1 or (value.ndim == 1 and len(value) != columns):
            raise PenaltyError(
                f"{name} of {type(self).__name__} has shape {value.shape}, but there are {columns} coefficients; "
                "give one number, or one for each."
            )
        return np.array(np.broadcast_to(value, columns))


@stored(strength=_NUMBERS, mean=_NUMBERS)
@dataclass(frozen=True)
class L2(Penalty):
    """λ/2 Σ s (β − m)²: a normal prior.

    Examples
    --------
    >>> L2(2.0).strengths(2).value(np.array([1.0, 3.0]))
    10.0
    """

    def _shares(self) -> tuple[float, float]:
        return 0.0, 1.0


@stored(strength=_NUMBERS, mean=_NUMBERS)
@dataclass(frozen=True)
class L1(Penalty):
    """`λ Σ s |β − m|`: a Laplace prior, whose mode may have coefficients of exactly m.

    Examples
    --------
    >>> L1(2.0).strengths(2).value(np.array([1.0, -3.0]))
    8.0
    """

    def _shares(self) -> tuple[float, float]:
        return 1.0, 0.0


@stored(strength=_NUMBERS, mean=_NUMBERS, tag="ElasticNetPenalty")
@dataclass(frozen=True)
class ElasticNet(Penalty):
    """`λ Σ s (ρ |β − m| + (1 − ρ)/2 (β − m)²)`, where ρ is `l1_ratio`.

    Examples
    --------
    >>> ElasticNet(2.0, l1_ratio=0.5).strengths(1).value(np.array([3.0]))
    7.5
    """

    l1_ratio: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.l1_ratio <= 1:
            raise PenaltyError(f"l1_ratio must lie between 0 (L2) and 1 (L1), got {self.l1_ratio!r}.")

    def _shares(self) -> tuple[float, float]:
        return self.l1_ratio, 1 - self.l1_ratio
