"""Links: maps from the mean of a response to the linear predictor η, and back.

A loss needs more of a link than its inverse: far out the mean rounds to 0, to 1 or to ∞ while its logarithm, on which
the loss depends, is an ordinary number. So a link describes three curves over η with their derivatives: the mean μ,
log μ, and for a share of one log(1 − μ). Where there is no such mean they are NaN, without a warning.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from mercer._typing import Array

Interval = tuple[float, float]

#: an overflow, or a mean that does not exist, shows in the value itself
silent = np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore")


class Curve(NamedTuple):
    """A function of η with its first and second derivative."""

    value: Array
    first: Array
    second: Array


class Link(ABC):
    """η = forward(μ), μ = inverse(η).

    The links of a GLM also have the curves; `slope` is dμ/dη and `bend` d²μ/dη².

    Examples
    --------
    >>> from mercer.families import LOG, LOGIT
    >>> LOGIT.forward(np.array([0.5, 0.9])).round(3), LOG.inverse(np.array([0.0, 1.0])).round(3)
    (array([0.   , 2.197]), array([1.   , 2.718]))
    """

    #: the open intervals of the means that a link reaches, and of the η that have a mean
    means: ClassVar[Interval] = (-np.inf, np.inf)
    predictors: ClassVar[Interval] = (-np.inf, np.inf)

    @property
    @abstractmethod
    def name(self) -> str: ...

    @abstractmethod
    def forward(self, mean: Array) -> Array:
        """μ -> η."""

    @abstractmethod
    def inverse(self, eta: Array) -> Array:
        """η -> μ."""

    def mean_curve(self, eta: Array) -> Curve:
        """μ over η."""
        raise TypeError(f"{self!r} is no link of a response; use one by name, such as 'log' or 'logit'.")

    @silent
    def log_curve(self, eta: Array) -> Curve:
        """log μ over η."""
        mean, first, second = self.mean_curve(eta)
        mean = np.where(mean > 0, mean, np.nan)
        rate = first / mean
        return Curve(np.log(mean), rate, second / mean - np.square(rate))

    @silent
    def log_rest_curve(self, eta: Array) -> Curve:
        """log(1 − μ) over η."""
        log_mean, first, second = self.log_curve(eta)
        log_mean = np.where(log_mean < 0, log_mean, np.nan)
        odds = 1 / np.expm1(-log_mean)  # μ / (1 − μ)
        return Curve(
            np.where(log_mean > -0.5, np.log(-np.expm1(log_mean)), np.log1p(-np.exp(log_mean))),
            -odds * first,
            -odds * ((1 + odds) * first * first + second),
        )

    def slope(self, eta: Array) -> Array:
        return self.mean_curve(eta).first

    def bend(self, eta: Array) -> Array:
        return self.mean_curve(eta).second

    def __repr__(self) -> str:
        return f"<link {self.name}>"


@dataclass(frozen=True, repr=False)
class Map(Link):
    """A canonical link by its two directions alone: it says what η means, and is not used in a GLM."""

    title: str
    to_natural: Callable[[Array], Array]
    to_mean: Callable[[Array], Array]

    @property
    def name(self) -> str:
        return self.title

    def forward(self, mean: Array) -> Array:
        return self.to_natural(mean)

    def inverse(self, eta: Array) -> Array:
        return self.to_mean(eta)
