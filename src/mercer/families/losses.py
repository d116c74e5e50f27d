"""Losses of responses: half the unit deviance of a row as a function of η, without losing digits in the tails."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import expit, exprel, log_expit, xlog1py, xlogy

from mercer._typing import Array
from mercer.families._saddle import deviance
from mercer.families.links import (
    ComplementaryLogLog,
    Identity,
    Interval,
    Link,
    Log,
    Logit,
    LogOdds,
    Probit,
    exponent_of,
)
from mercer.families.loss_loops import (
    OVERFLOW_FROM,
    SERIES_BELOW,
    BernoulliLogit,
    GammaLog,
    GaussianIdentity,
    NegativeBinomialLog,
    PoissonLog,
    TweedieLog,
    power_series,
)

#: smallest normal float64; means and probabilities below may have lost digits to underflow
SMALLEST_NORMAL_MEAN = float(np.finfo(float).tiny)


class ResponseRows(NamedTuple):
    """Loss of each row, ∂loss/∂η and its expected second derivative."""

    loss: Array
    first: Array
    second: Array


class RowLoss(ABC):
    """Base class of losses ½ d(y, μ) of a variance function V, where μ is the inverse of a link at η.

    The slope and the expected curvature in η are −(y − μ)/V(μ) · dμ/dη and (dμ/dη)²/V(μ); how they are computed
    depends on the range of μ. Where η has no mean in that range, all are NaN.
    """

    @property
    @abstractmethod
    def means(self) -> Interval:
        """Open interval of the means."""

    @abstractmethod
    def lower(self, link: Link) -> Any:
        """NamedTuple of `families.loss_loops` whose loop computes `rows` through this link, or None."""

    @abstractmethod
    def variance(self, mean: Array) -> Array:
        """V(μ)."""

    @abstractmethod
    def deviance(self, y: Array, mean: Array) -> Array:
        """d(y, μ) for a mean in the closure of the range."""

    @abstractmethod
    def rows(self, y: Array, eta: Array, link: Link) -> ResponseRows:
        """Loss, slope and expected curvature."""

    @abstractmethod
    def losses(self, y: Array, eta: Array, link: Link) -> Array:
        """Loss of each row."""

    @abstractmethod
    def observed(self, y: Array, eta: Array, link: Link) -> Array:
        """∂²loss/∂η² at the observed response."""

    @abstractmethod
    def is_convex(self, link: Link) -> bool:
        """Return whether the loss is known to be convex in η, for every response of the support, on an interval of η.

        Only then is a point of zero gradient the minimum. The laws are in `tests/families/test_convexity.py`.
        """

    def level(self, y: Array, offset: Array, weight: Array | None, link: Link) -> float:
        """Intercept b that minimizes Σ weight · loss at η = b + offset; NaN where it has no closed form."""
        return np.nan


@dataclass(frozen=True)
class SquaredLoss(RowLoss):
    """V = 1 on the whole line."""

    means: ClassVar[Interval] = (-np.inf, np.inf)

    def lower(self, link: Link) -> Any:
        return GaussianIdentity() if link == Identity() else None

    def is_convex(self, link: Link) -> bool:
        """Return whether μ is linear in η: else μ'² + (μ − y) μ'' is negative for some y."""
        return exponent_of(link) == 1

    def variance(self, mean: Array) -> Array:
        return np.ones(np.shape(mean))

    def deviance(self, y: Array, mean: Array) -> Array:
        return np.asarray(np.square(np.subtract(y, mean, dtype=float)))

    def rows(self, y: Array, eta: Array, link: Link) -> ResponseRows:
        mu, slope, _ = link.mean_curve(eta)
        residual = mu - y
        return ResponseRows(0.5 * np.square(residual), residual * slope, np.square(slope))

    def losses(self, y: Array, eta: Array, link: Link) -> Array:
        return np.asarray(0.5 * np.square(link.inverse(eta) - y))

    def observed(self, y: Array, eta: Array, link: Link) -> Array:
        mu, slope, bend = link.mean_curve(eta)
        return np.asarray(np.square(slope) + (mu - y) * bend)


# Arrays in the form that the loops are compiled for.

#: weights of rows that all have weight 1, as compiled loops take them
NO_WEIGHTS = np.zeros(0)


def as_vector(values: Array, dtype: Any = np.float64) -> Array:
    """Return the values as a contiguous and writable array, copied only if necessary."""
    return np.require(values, dtype, ["C", "W"])


def as_weight(weight: Array | None) -> Array:
    """Return weights as a vector, or an empty array for None (all weights 1)."""
    return NO_WEIGHTS if weight is None else as_vector(weight)


# Losses of a mean above 0 as functions of its logarithm t: they are finite at t = ±800, where the mean is not.
#
# With t over η given by the link, ∂/∂η follows from the chain rule: L'(t) t' and L''(t) t'² + L'(t) t''.


class PositiveLoss(RowLoss):
    """Base class of losses that are functions of t = log μ."""

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

    def rows(self, y: Array, eta: Array, link: Link) -> ResponseRows:
        (t, slope, _), mu = link.log_curve(eta), link.inverse(eta)
        # multiplied by the slope twice, as its square may overflow where the product does not
        return ResponseRows(self._loss(y, t, mu), self._first(y, t, mu) * slope, self._expected(t) * slope * slope)

    def losses(self, y: Array, eta: Array, link: Link) -> Array:
        return self._loss(y, link.log_curve(eta).value, link.inverse(eta))

    def observed(self, y: Array, eta: Array, link: Link) -> Array:
        (t, slope, bend), mu = link.log_curve(eta), link.inverse(eta)
        return np.asarray(self._observed(y, t) * slope * slope + self._first(y, t, mu) * bend)


@dataclass(frozen=True)
class PowerLoss(PositiveLoss):
    """V = μᵖ: Poisson (1), compound Poisson (1 < p < 2), gamma (2), inverse Gaussian (3).

    With a = 2 − p and b = 1 − p the loss is yᵃ/ab − y e^bt/b + e^at/a, without the first term where y ≤ 0.
    """

    power: float

    def lower(self, link: Link) -> Any:
        if link != Log() or not 1 <= self.power <= 2:
            return None
        if self.power in (1, 2):
            return PoissonLog() if self.power == 1 else GammaLog()
        return TweedieLog.of(self.power)

    def is_convex(self, link: Link) -> bool:
        """Return whether ∂²/∂η² has no negative coefficient: 1 − p ≤ k ≤ 2 − p, with k = 0 for the log.

        With η = μᵏ and m = 1/k, ∂²/∂η² = m (am − 1) ηᵃᵐ⁻² + m (1 − bm) y ηᵇᵐ⁻²; with η = log μ, a e^aη − b y e^bη.
        A power below 0 allows responses below 0, where only k = 1 − p is convex: its second coefficient is 0.
        """
        k = exponent_of(link)
        if k is None:
            return False
        return k == 1 - self.power if self.power <= 0 else 1 - self.power <= k <= 2 - self.power

    def variance(self, mean: Array) -> Array:
        return np.asarray(np.power(mean, self.power))

    def level(self, y: Array, offset: Array, weight: Array | None, link: Link) -> float:
        """With the log link, e^b = Σ w y e^(1 − p)o / Σ w e^(2 − p)o, computed in logarithms."""
        if link != Log():
            return np.nan
        with np.errstate(all="ignore"):
            log_weight = np.zeros(len(y)) if weight is None else np.log(weight)
            numerator = _log_sum(log_weight + np.log(y) + (1 - self.power) * offset)
            return numerator - _log_sum(log_weight + (2 - self.power) * offset)

    def _loss(self, y: Array, t: Array, mu: Array) -> Array:
        a, b = 2 - self.power, 1 - self.power
        positive = np.where(y > 0, y, 1.0)
        difference = (mu - positive) / positive
        # log μ/y; t − log y would cancel where μ is close to y
        u = np.where(np.abs(difference) < 0.5, np.log1p(difference), t - np.log(positive))
        exponent = max(abs(a), abs(b), 1.0) * np.abs(u)
        series = np.power(positive, a) * np.polynomial.polynomial.polyval(u, [0.0, 0.0, *power_series(a, b)])
        loss = np.where(exponent < SERIES_BELOW, series, self._closed_form(positive, mu, u))
        if (exponent >= OVERFLOW_FROM).any():
            loss = np.where(exponent >= OVERFLOW_FROM, self._term_by_term(positive, t, u), loss)
        if (y > 0).all():
            return loss
        # y e^bt is 0 for y = 0 also where the exponential overflows
        rest = np.exp(a * t) / a - (np.where(y < 0, y * np.exp(b * t), 0.0) / b if self.power < 1 else 0.0)
        return np.where(y > 0, loss, rest)

    def _closed_form(self, y: Array, mu: Array, u: Array) -> Array:
        """Loss where y and μ are so far apart that nothing cancels."""
        if self.power == 1:
            return np.asarray(mu - y - y * u)
        if self.power == 2:
            return np.asarray(np.expm1(-u) + u)
        a, b = 2 - self.power, 1 - self.power
        return np.asarray(np.power(y, a) * u * (exprel(a * u) - exprel(b * u)))

    def _term_by_term(self, y: Array, t: Array, u: Array) -> Array:
        """Loss where single terms may overflow, combined so that ∞ − ∞ does not occur."""
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
        if not (normal := np.isfinite(first) & (mu > SMALLEST_NORMAL_MEAN)).all():
            first = np.where(normal, first, np.exp(a * t) - _times_exp(y, b * t))
        return np.asarray(first)

    def _expected(self, t: Array) -> Array:
        return np.asarray(np.exp((2 - self.power) * t))

    def _observed(self, y: Array, t: Array) -> Array:
        a, b = 2 - self.power, 1 - self.power
        return np.asarray(a * np.exp(a * t) - b * _times_exp(y, b * t))


def _times_exp(y: Array, exponent: Array) -> Array:
    """y e^x, also where the exponential alone overflows."""
    return np.where(y == 0, 0.0, np.sign(y) * np.exp(exponent + np.log(np.abs(y))))


@dataclass(frozen=True)
class OverdispersedLoss(PositiveLoss):
    """V = μ + μ²/r: negative binomial. In q = μ/(μ+r) it is the loss of a binomial, y and r among y + r trials."""

    r: float

    def lower(self, link: Link) -> Any:
        return NegativeBinomialLog(float(self.r), float(np.log(self.r))) if link == Log() else None

    def is_convex(self, link: Link) -> bool:
        """Return whether the link is log, with (y + r) log(r + e^η) − yη, or canonical, with −yη − r log(1 − e^η)."""
        return link in (Log(), LogOdds(self.r))

    def variance(self, mean: Array) -> Array:
        return np.asarray(mean + np.square(mean) / self.r)

    def _loss(self, y: Array, t: Array, mu: Array) -> Array:
        s, total = t - np.log(self.r), self.r + y
        q, p = expit(s), expit(-s)
        near = deviance(y, total * q) + deviance(np.full(np.shape(y), self.r), total * p)
        if (extreme := (np.abs(s) > OVERFLOW_FROM)).any():
            apart = -xlog1py(y, self.r / y) - xlog1py(self.r, y / self.r) - self.r * log_expit(-s)
            return np.where(extreme, apart - np.where(y == 0, 0.0, y * log_expit(s)), near)
        return np.asarray(near)

    def _first(self, y: Array, t: Array, mu: Array) -> Array:
        s = t - np.log(self.r)
        p = expit(-s)
        return np.asarray(np.where(np.abs(s) < OVERFLOW_FROM, (mu - y) * p, self.r * expit(s) - y * p))

    def _expected(self, t: Array) -> Array:
        return np.asarray(self.r * expit(t - np.log(self.r)))

    def _observed(self, y: Array, t: Array) -> Array:
        s = t - np.log(self.r)
        return np.asarray((self.r + y) * expit(s) * expit(-s))


def _log_sum(logarithms: Array) -> float:
    """log Σ exp; SciPy's logsumexp takes several times as long."""
    top = logarithms.max()
    return float(top + np.log(np.exp(logarithms - top).sum()))


@dataclass(frozen=True)
class ShareLoss(RowLoss):
    """V = μ(1 − μ/N): Bernoulli and binomial, with a link of the share μ/N.

    Computed from log p and log(1 − p), which are finite where p rounds to 0 or 1. With `binary` responses are 0 or 1,
    which have a compiled loop.
    """

    trials: int
    binary: bool = False

    def lower(self, link: Link) -> Any:
        return BernoulliLogit() if self.binary and link == Logit() else None

    def is_convex(self, link: Link) -> bool:
        """Return whether log p and log(1 − p) are concave: for p = η^(1/k) if 0 ≤ k ≤ 1, with k = 0 for the log."""
        k = exponent_of(link)
        return isinstance(link, Logit | Probit | ComplementaryLogLog) if k is None else 0 <= k <= 1

    @property
    def means(self) -> Interval:
        return (0.0, float(self.trials))

    def variance(self, mean: Array) -> Array:
        return np.asarray(mean * (1 - mean / self.trials))

    def deviance(self, y: Array, mean: Array) -> Array:
        return 2 * (deviance(y, mean) + deviance(self.trials - np.asarray(y), self.trials - np.asarray(mean)))

    def rows(self, y: Array, eta: Array, link: Link) -> ResponseRows:
        success, failure = link.log_curve(eta), link.log_rest_curve(eta)
        first = -_times(y, success.first) - _times(self.trials - y, failure.first)
        loss = self._loss(y, success.value, failure.value, link.inverse(eta))
        return ResponseRows(loss, first, -self.trials * success.first * failure.first)

    def losses(self, y: Array, eta: Array, link: Link) -> Array:
        return self._loss(y, link.log_curve(eta).value, link.log_rest_curve(eta).value, link.inverse(eta))

    def _loss(self, y: Array, log_p: Array, log_q: Array, p: Array) -> Array:
        rest = self.trials - y
        away = -_times(y, log_p) - _times(rest, log_q)
        between = (y > 0) & (rest > 0)
        if not between.any():
            return away
        # subtract the loss of a perfect fit; where p and q are normal numbers, by a formula without cancellation
        away = away + xlogy(y, y / self.trials) + xlogy(rest, rest / self.trials)
        q = np.exp(log_q)
        near = deviance(y, self.trials * p) + deviance(rest, self.trials * q)
        return np.where(between & (p > SMALLEST_NORMAL_MEAN) & (q > SMALLEST_NORMAL_MEAN), near, away)

    def observed(self, y: Array, eta: Array, link: Link) -> Array:
        success, failure = link.log_curve(eta), link.log_rest_curve(eta)
        return -_times(y, success.second) - _times(self.trials - y, failure.second)


def _times(count: Array, logarithm: Array) -> Array:
    """count · logarithm, with 0 · (−∞) = 0."""
    return np.where((count == 0) & ~np.isnan(logarithm), 0.0, count * logarithm)
