"""What a response costs: half its unit deviance as a function of η, without losing digits in the tails."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mercer._jit.families.losses import GaussianIdentity
from mercer._typing import Array
from mercer.families._link import Interval, Link
from mercer.families.power_links import Identity, exponent_of

#: means and probabilities below this may have lost digits to underflow
SMALLEST = float(np.finfo(float).tiny)


class Rows(NamedTuple):
    """Loss of each row, ∂loss/∂η and its expected second derivative."""

    loss: Array
    first: Array
    second: Array


class RowLoss(ABC):
    """½ d(y, μ) of a variance function V, where μ is a link's inverse at η.

    Its slope and expected curvature in η are −(y − μ)/V(μ) · dμ/dη and (dμ/dη)²/V(μ); how to compute them depends on
    where μ can lie. Where η has no mean in that range, all are NaN.
    """

    @property
    @abstractmethod
    def means(self) -> Interval:
        """The open interval of the means."""

    @abstractmethod
    def lower(self, link: Link) -> Any:
        """The NamedTuple of the loop in `_jit.families.losses` that computes `rows` through this link; or None."""

    @abstractmethod
    def variance(self, mean: Array) -> Array:
        """V(μ)."""

    @abstractmethod
    def deviance(self, y: Array, mean: Array) -> Array:
        """d(y, μ) for a mean in the closure of the range."""

    @abstractmethod
    def rows(self, y: Array, eta: Array, link: Link) -> Rows:
        """Loss, slope and expected curvature."""

    @abstractmethod
    def losses(self, y: Array, eta: Array, link: Link) -> Array:
        """Loss of each row."""

    @abstractmethod
    def observed(self, y: Array, eta: Array, link: Link) -> Array:
        """∂²loss/∂η² at the response that was seen."""

    @abstractmethod
    def is_convex(self, link: Link) -> bool:
        """Whether the loss is known to be convex in η, for every response of the support, on an interval of η.

        Only then is a point without a gradient the minimum. The laws are in `tests/families/test_convexity.py`.
        """

    def level(self, y: Array, offset: Array, weight: Array | None, link: Link) -> float:
        """The b for which Σ weight · loss is least at η = b + offset; NaN where it has no closed form."""
        return np.nan


@dataclass(frozen=True)
class SquaredLoss(RowLoss):
    """V = 1 on the whole line."""

    means: ClassVar[Interval] = (-np.inf, np.inf)

    def lower(self, link: Link) -> Any:
        return GaussianIdentity() if link == Identity() else None

    def is_convex(self, link: Link) -> bool:
        """(μ − y)²: only of η itself, as μ' ² + (μ − y) μ'' is negative for some y unless μ'' = 0."""
        return exponent_of(link) == 1

    def variance(self, mean: Array) -> Array:
        return np.ones(np.shape(mean))

    def deviance(self, y: Array, mean: Array) -> Array:
        return np.asarray(np.square(np.subtract(y, mean, dtype=float)))

    def rows(self, y: Array, eta: Array, link: Link) -> Rows:
        mu, slope, _ = link.mean_curve(eta)
        residual = mu - y
        return Rows(0.5 * np.square(residual), residual * slope, np.square(slope))

    def losses(self, y: Array, eta: Array, link: Link) -> Array:
        return np.asarray(0.5 * np.square(link.inverse(eta) - y))

    def observed(self, y: Array, eta: Array, link: Link) -> Array:
        mu, slope, bend = link.mean_curve(eta)
        return np.asarray(np.square(slope) + (mu - y) * bend)
