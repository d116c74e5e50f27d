"""Links of a number on the line or above 0: identity, log, powers, and the canonical one of the negative binomial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer._stored import stored
from mercer._typing import Array
from mercer.families._link import Curve, Interval, Link, silent


@stored(tag="IdentityLink")
@dataclass(frozen=True, repr=False)
class Identity(Link):
    """η = μ."""

    name: ClassVar[str] = "identity"

    def forward(self, mean: Array) -> Array:
        return mean

    def inverse(self, eta: Array) -> Array:
        return eta

    def mean_curve(self, eta: Array) -> Curve:
        return Curve(eta, np.ones_like(eta, dtype=float), np.zeros_like(eta, dtype=float))

    def log_curve(self, eta: Array) -> Curve:
        return _log_of_power(eta, 1.0)


@stored()
@dataclass(frozen=True, repr=False)
class Log(Link):
    """η = log μ."""

    name: ClassVar[str] = "log"
    means: ClassVar[Interval] = (0.0, np.inf)

    @silent
    def forward(self, mean: Array) -> Array:
        return np.asarray(np.log(mean))

    @silent
    def inverse(self, eta: Array) -> Array:
        return np.asarray(np.exp(eta))

    def mean_curve(self, eta: Array) -> Curve:
        mean = self.inverse(eta)
        return Curve(mean, mean, mean)

    def log_curve(self, eta: Array) -> Curve:
        return Curve(eta, np.ones_like(eta, dtype=float), np.zeros_like(eta, dtype=float))


@stored(tag="PowerLink")
@dataclass(frozen=True, repr=False)
class Power(Link):
    """η = μᵏ, for positive means and hence positive η; 1/μ exists for negative ones too."""

    exponent: float

    means: ClassVar[Interval] = (0.0, np.inf)
    predictors: ClassVar[Interval] = (0.0, np.inf)

    def __post_init__(self) -> None:
        if not (np.isfinite(self.exponent) and self.exponent != 0):
            raise ValueError(f"a power link needs an exponent other than 0, got {self.exponent!r}; 0 is the log link.")

    @property
    def name(self) -> str:
        return {-2.0: "inverse squared", -1.0: "inverse", 0.5: "sqrt"}.get(self.exponent, f"μ^{self.exponent:g}")

    @silent
    def forward(self, mean: Array) -> Array:
        return np.asarray(np.power(mean, self.exponent))

    @silent
    def inverse(self, eta: Array) -> Array:
        return np.asarray(np.power(self._inside(eta), 1 / self.exponent))

    def _inside(self, eta: Array) -> Array:
        return np.asarray(eta, dtype=float) if self.exponent == -1 else np.where(np.asarray(eta) > 0, eta, np.nan)

    @silent
    def mean_curve(self, eta: Array) -> Curve:
        m, eta = 1 / self.exponent, self._inside(eta)
        return Curve(np.power(eta, m), m * np.power(eta, m - 1), m * (m - 1) * np.power(eta, m - 2))

    def log_curve(self, eta: Array) -> Curve:
        return _log_of_power(eta, 1 / self.exponent)


@silent
def _log_of_power(eta: Array, m: float) -> Curve:
    """m log η."""
    inverse = 1 / np.where(eta > 0, eta, np.nan)
    return Curve(m * np.log(np.where(eta > 0, eta, np.nan)), m * inverse, -m * inverse * inverse)


@stored()
@dataclass(frozen=True, repr=False)
class LogOdds(Link):
    """η = log μ/(μ+r): the canonical link of the negative binomial, for η below 0."""

    r: float

    means: ClassVar[Interval] = (0.0, np.inf)
    predictors: ClassVar[Interval] = (-np.inf, 0.0)

    @property
    def name(self) -> str:
        return f"log μ/(μ+{self.r:g})"

    @silent
    def forward(self, mean: Array) -> Array:
        return np.asarray(-np.log1p(self.r / np.asarray(mean)))

    @silent
    def inverse(self, eta: Array) -> Array:
        return np.where(np.asarray(eta) < 0, self.r / np.expm1(-np.asarray(eta)), np.nan)

    @silent
    def mean_curve(self, eta: Array) -> Curve:
        _, first, second = self.log_curve(eta)
        mean = self.inverse(eta)
        return Curve(mean, mean * first, mean * (np.square(first) + second))

    @silent
    def log_curve(self, eta: Array) -> Curve:
        eta = np.where(eta < 0, eta, np.nan)
        rest = -np.expm1(eta)  # 1 − e^η = r/(μ+r)
        return Curve(np.log(self.r) + eta - np.log(rest), 1 / rest, np.exp(eta) / np.square(rest))


def exponent_of(link: Link) -> float | None:
    """The k of η = μᵏ, 0 for the logarithm; None for other links.

    >>> exponent_of(Identity()), exponent_of(Log()), exponent_of(Power(0.5)), exponent_of(LogOdds(2.0))
    (1.0, 0.0, 0.5, None)
    """
    if isinstance(link, Power):
        return link.exponent
    return 1.0 if link == Identity() else 0.0 if link == Log() else None
