"""Links of a share between 0 and 1: logit, probit, cauchit and the complementary log-log.

Each gives log p and log(1 − p) with full relative precision at any η, and so without an epsilon anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import erfcx, expit, exprel, log_expit, log_ndtr, logit, ndtr, ndtri

from mercer._stored import stored
from mercer._typing import Array
from mercer.families._link import Curve, Interval, Link, silent

ROOT_2 = float(np.sqrt(2.0))
#: 1/√2π
NORMAL_HEIGHT = float(1 / np.sqrt(2 * np.pi))
#: from here on a continued fraction of so many levels has all digits of the normal tail
FAR_TAIL, LEVELS = 12.0, 24
#: where the largest float's logarithm lies
HIGHEST = 709.78


class Symmetric(Link):
    """inverse(−η) = 1 − inverse(η)."""

    means: ClassVar[Interval] = (0.0, 1.0)

    def log_rest_curve(self, eta: Array) -> Curve:
        value, first, second = self.log_curve(-eta)
        return Curve(value, -first, second)


@stored()
@dataclass(frozen=True, repr=False)
class Logit(Symmetric):
    """η = log μ/(1−μ)."""

    name: ClassVar[str] = "logit"

    def forward(self, mean: Array) -> Array:
        return np.asarray(logit(mean))

    def inverse(self, eta: Array) -> Array:
        return np.asarray(expit(eta))

    @silent
    def mean_curve(self, eta: Array) -> Curve:
        p, q = expit(eta), expit(-eta)
        slope = p * q  # both factors exact in the tails
        return Curve(p, slope, slope * (q - p))

    @silent
    def log_curve(self, eta: Array) -> Curve:
        q = expit(-eta)
        return Curve(log_expit(eta), q, -q * expit(eta))


@stored()
@dataclass(frozen=True, repr=False)
class Probit(Symmetric):
    """η = Φ⁻¹(μ)."""

    name: ClassVar[str] = "probit"

    def forward(self, mean: Array) -> Array:
        return np.asarray(ndtri(mean))

    def inverse(self, eta: Array) -> Array:
        return np.asarray(ndtr(eta))

    @silent
    def mean_curve(self, eta: Array) -> Curve:
        slope = NORMAL_HEIGHT * np.exp(-0.5 * np.square(eta))
        return Curve(ndtr(eta), slope, -eta * slope)

    @silent
    def log_curve(self, eta: Array) -> Curve:
        hazard = 2 * NORMAL_HEIGHT / erfcx(-eta / ROOT_2)  # φ/Φ, as both vanish alike
        excess = np.where(eta < -FAR_TAIL, _excess(np.maximum(-eta, FAR_TAIL)), eta + hazard)
        return Curve(log_ndtr(eta), hazard, -hazard * excess)


def _excess(x: Array) -> Array:
    """φ(x)/(1 − Φ(x)) − x = 1/(x + 2/(x + 3/(x + …))), whose two terms agree in ever more digits."""
    fraction = x
    for level in range(LEVELS, 1, -1):
        fraction = x + level / fraction
    return np.asarray(1 / fraction)


@stored()
@dataclass(frozen=True, repr=False)
class Cauchit(Symmetric):
    """η = tan π(μ − ½)."""

    name: ClassVar[str] = "cauchit"

    @silent
    def forward(self, mean: Array) -> Array:
        mean = np.asarray(mean, dtype=float)
        return np.where(mean < 0.5, -1 / np.tan(np.pi * mean), 1 / np.tan(np.pi * (1 - mean)))

    def inverse(self, eta: Array) -> Array:
        return np.asarray(np.arctan2(1.0, -eta) / np.pi)

    @silent
    def mean_curve(self, eta: Array) -> Curve:
        slope = 1 / (np.pi * (1 + np.square(eta)))
        return Curve(self.inverse(eta), slope, -2 * np.pi * slope * (eta * slope))

    @silent
    def log_curve(self, eta: Array) -> Curve:
        p, slope, bend = self.mean_curve(eta)
        rate = slope / p
        value = np.where(eta < 0, np.log(p), np.log1p(-self.inverse(-eta)))
        return Curve(value, rate, bend / p - np.square(rate))


@stored()
@dataclass(frozen=True, repr=False)
class ComplementaryLogLog(Link):
    """η = log(−log(1−μ)): the chance of any event, where events come at the rate e^η."""

    name: ClassVar[str] = "cloglog"
    means: ClassVar[Interval] = (0.0, 1.0)

    @silent
    def forward(self, mean: Array) -> Array:
        return np.asarray(np.log(-np.log1p(-np.asarray(mean))))

    @silent
    def inverse(self, eta: Array) -> Array:
        return np.asarray(-np.expm1(-np.exp(eta)))

    @silent
    def mean_curve(self, eta: Array) -> Curve:
        rate = _rate(eta)
        slope = rate * np.exp(-rate)
        return Curve(-np.expm1(-rate), slope, slope * (1 - rate))

    @silent
    def log_curve(self, eta: Array) -> Curve:
        rate = _rate(eta)
        first = 1 / exprel(rate)
        value = np.where(rate < 1, eta + np.log(exprel(-rate)), np.log1p(-np.exp(-rate)))
        # 1 − first − rate, where it would cancel by the series of u/(e^u − 1)
        small = np.minimum(rate, 0.1)
        series = np.polynomial.polynomial.polyval(np.square(small), [-1 / 12, 1 / 720, -1 / 30240, 1 / 1209600])
        change = np.where(rate < 0.1, -small / 2 + np.square(small) * series, 1 - first - rate)
        return Curve(value, first, first * change)

    def log_rest_curve(self, eta: Array) -> Curve:
        rate = _rate(eta)
        return Curve(-rate, -rate, -rate)


@silent
def _rate(eta: Array) -> Array:
    """e^η, short of the overflow: it is multiplied by what has vanished."""
    return np.asarray(np.exp(np.minimum(eta, HIGHEST)))
