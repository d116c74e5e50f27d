"""Losses of a mean above 0, computed from its logarithm t: at t = ±800, where no float holds the mean, they exist.

With t over η given by the link, ∂/∂η is the chain rule: L'(t) t' and L''(t) t'² + L'(t) t''.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, exprel, log_expit, xlog1py

from mercer._jit.families.losses import GammaLog, NegativeBinomialLog, PoissonLog, TweedieLog
from mercer._typing import Array
from mercer.families._link import Interval, Link
from mercer.families._row_loss import SMALLEST, RowLoss, Rows
from mercer.families._saddle import deviance
from mercer.families.power_links import Log, LogOdds, exponent_of

#: below this |log μ/y| (times the powers) the loss is a series, beyond the second its terms may overflow
NEAR, FAR = 0.5, 600.0
#: terms of that series: 0.5²²/22! is nothing
TERMS = 16


class PositiveLoss(RowLoss):
    """A loss as a function of t = log μ."""

    means: ClassVar[Interval] = (0.0, np.inf)

    @abstractmethod
    def _loss(self, y: Array, t: Array, mu: Array) -> Array: ...

    @abstractmethod
    def _first(self, y: Array, t: Array, mu: Array) -> Array:
        """∂/∂t = (μ − y) μ / V(μ)."""

    @abstractmethod
    def _expected(self, t: Array) -> Array:
        """E ∂²/∂t² = μ² / V(μ)."""

    @abstractmethod
    def _observed(self, y: Array, t: Array) -> Array:
        """∂²/∂t²."""

    def deviance(self, y: Array, mean: Array) -> Array:
        y, mean = np.broadcast_arrays(np.asarray(y, dtype=float), np.asarray(mean, dtype=float))
        with np.errstate(all="ignore"):
            return 2 * self._loss(y, np.log(mean), mean)

    def rows(self, y: Array, eta: Array, link: Link) -> Rows:
        (t, slope, _), mu = link.log_curve(eta), link.inverse(eta)
        # the slope in two steps: its square may overflow where the product does not
        return Rows(self._loss(y, t, mu), self._first(y, t, mu) * slope, self._expected(t) * slope * slope)

    def losses(self, y: Array, eta: Array, link: Link) -> Array:
        return self._loss(y, link.log_curve(eta).value, link.inverse(eta))

    def observed(self, y: Array, eta: Array, link: Link) -> Array:
        (t, slope, bend), mu = link.log_curve(eta), link.inverse(eta)
        return np.asarray(self._observed(y, t) * slope * slope + self._first(y, t, mu) * bend)


@dataclass(frozen=True)
class PowerLoss(PositiveLoss):
    """V = μᵖ: Poisson (1), compound Poisson (1 < p < 2), gamma (2), inverse Gaussian (3).

    With a = 2 − p and b = 1 − p the loss is yᵃ/ab − y e^bt/b + e^at/a, without its first term where y ≤ 0.
    """

    power: float

    def lower(self, link: Link) -> Any:
        if link != Log() or not 1 <= self.power <= 2:
            return None
        if self.power in (1, 2):
            return PoissonLog() if self.power == 1 else GammaLog()
        return TweedieLog.of(self.power)

    def is_convex(self, link: Link) -> bool:
        """With η = μᵏ and m = 1/k, ∂²/∂η² = m (am − 1) ηᵃᵐ⁻² + m (1 − bm) y ηᵇᵐ⁻²; with η = log μ, a e^aη − b y e^bη.

        No coefficient is negative where 1 − p ≤ k ≤ 2 − p, with k = 0 for the logarithm. Responses below 0, of a power
        below 0, leave only k = 1 − p, where the second one vanishes.
        """
        k = exponent_of(link)
        if k is None:
            return False
        return k == 1 - self.power if self.power <= 0 else 1 - self.power <= k <= 2 - self.power

    def variance(self, mean: Array) -> Array:
        return np.asarray(np.power(mean, self.power))

    def level(self, y: Array, offset: Array, weight: Array | None, link: Link) -> float:
        """Under the logarithm e^b = Σ w y e^(1 − p)o / Σ w e^(2 − p)o, in logarithms."""
        if link != Log():
            return np.nan
        with np.errstate(all="ignore"):
            counted = np.zeros(len(y)) if weight is None else np.log(weight)
            seen = _log_sum(counted + np.log(y) + (1 - self.power) * offset)
            return seen - _log_sum(counted + (2 - self.power) * offset)

    def _loss(self, y: Array, t: Array, mu: Array) -> Array:
        a, b = 2 - self.power, 1 - self.power
        positive = np.where(y > 0, y, 1.0)
        difference = (mu - positive) / positive
        # log μ/y, in which t alone would have cost digits
        u = np.where(np.abs(difference) < 0.5, np.log1p(difference), t - np.log(positive))
        steep = max(abs(a), abs(b), 1.0) * np.abs(u)
        loss = np.where(steep < NEAR, np.power(positive, a) * _near(u, a, b), self._away(positive, mu, u))
        if (steep >= FAR).any():
            loss = np.where(steep >= FAR, self._far(positive, t, u), loss)
        if (y > 0).all():
            return loss
        # 0 · e^bt is 0 also where the exponential overflows
        rest = np.exp(a * t) / a - (np.where(y < 0, y * np.exp(b * t), 0.0) / b if self.power < 1 else 0.0)
        return np.where(y > 0, loss, rest)

    def _away(self, y: Array, mu: Array, u: Array) -> Array:
        """Where y and μ differ by so much that nothing cancels."""
        if self.power == 1:
            return np.asarray(mu - y - y * u)
        if self.power == 2:
            return np.asarray(np.expm1(-u) + u)
        a, b = 2 - self.power, 1 - self.power
        return np.asarray(np.power(y, a) * u * (exprel(a * u) - exprel(b * u)))

    def _far(self, y: Array, t: Array, u: Array) -> Array:
        """Where the terms are as far apart as numbers go, each by itself: none may be ∞ − ∞."""
        if self.power in (1, 2):
            return np.asarray(np.exp(t) - y - y * u if self.power == 1 else y * np.exp(-t) + u - 1)
        a, b = 2 - self.power, 1 - self.power
        apart = np.exp(a * t) / a - y * np.exp(b * t) / b
        together = np.exp(b * t) * (np.exp(t) / a - y / b)
        take = (u < 0) if a < 0 else np.full(np.shape(u), b > 0)
        return np.where(take, together, apart) + np.power(y, a) / (a * b)

    def _first(self, y: Array, t: Array, mu: Array) -> Array:
        a, b = 2 - self.power, 1 - self.power
        if self.power == 1:
            return np.asarray(mu - y)
        scale = np.exp(b * t)
        first = (mu - y) * scale
        if not (ordinary := np.isfinite(first) & (mu > SMALLEST)).all():
            first = np.where(ordinary, first, np.exp(a * t) - _grown(y, b * t))
        return np.asarray(first)

    def _expected(self, t: Array) -> Array:
        return np.asarray(np.exp((2 - self.power) * t))

    def _observed(self, y: Array, t: Array) -> Array:
        a, b = 2 - self.power, 1 - self.power
        return np.asarray(a * np.exp(a * t) - b * _grown(y, b * t))


def _grown(y: Array, exponent: Array) -> Array:
    """y e^x, also where the exponential alone overflows."""
    return np.where(y == 0, 0.0, np.sign(y) * np.exp(exponent + np.log(np.abs(y))))


def _near(u: Array, a: float, b: float) -> Array:
    """Σ uᵏ/k! (aᵏ⁻¹ − bᵏ⁻¹) from k = 2, where a − b = 1: the loss for y = 1 near μ = 1, without a difference."""
    coefficients, difference, before, factorial = [0.0, 0.0], 1.0, 0.0, 2.0
    for k in range(2, TERMS + 2):
        coefficients.append(difference / factorial)
        difference, before = (a + b) * difference - a * b * before, difference
        factorial *= k + 1
    return np.asarray(np.polynomial.polynomial.polyval(u, coefficients))


@dataclass(frozen=True)
class OverdispersedLoss(PositiveLoss):
    """V = μ + μ²/r: the negative binomial. In q = μ/(μ+r) it is a binomial's of y and r among y + r."""

    r: float

    def lower(self, link: Link) -> Any:
        return NegativeBinomialLog(float(self.r), float(np.log(self.r))) if link == Log() else None

    def is_convex(self, link: Link) -> bool:
        """(y + r) log(r + e^η) − yη, and of the canonical link −yη − r log(1 − e^η)."""
        return link in (Log(), LogOdds(self.r))

    def variance(self, mean: Array) -> Array:
        return np.asarray(mean + np.square(mean) / self.r)

    def _loss(self, y: Array, t: Array, mu: Array) -> Array:
        s, total = t - np.log(self.r), self.r + y
        q, p = expit(s), expit(-s)
        near = deviance(y, total * q) + deviance(np.full(np.shape(y), self.r), total * p)
        if (extreme := (np.abs(s) > FAR)).any():
            apart = -xlog1py(y, self.r / y) - xlog1py(self.r, y / self.r) - self.r * log_expit(-s)
            return np.where(extreme, apart - np.where(y == 0, 0.0, y * log_expit(s)), near)
        return np.asarray(near)

    def _first(self, y: Array, t: Array, mu: Array) -> Array:
        s = t - np.log(self.r)
        p = expit(-s)
        return np.asarray(np.where(np.abs(s) < FAR, (mu - y) * p, self.r * expit(s) - y * p))

    def _expected(self, t: Array) -> Array:
        return np.asarray(self.r * expit(t - np.log(self.r)))

    def _observed(self, y: Array, t: Array) -> Array:
        s = t - np.log(self.r)
        return np.asarray((self.r + y) * expit(s) * expit(-s))


def _log_sum(logarithms: Array) -> float:
    """log Σ exp; scipy's takes several times as long."""
    top = logarithms.max()
    return float(top + np.log(np.exp(logarithms - top).sum()))
