"""Links: maps from the mean μ of a response to the linear predictor η, and back.

A loss needs more of a link than its inverse: for extreme η the mean rounds to 0, to 1 or to ∞ while its logarithm, on
which the loss depends, is an ordinary number. So a link computes three curves over η with their derivatives: the mean
μ, log μ, and for a share log(1 − μ), each to full relative precision at any η and without an epsilon. Where there is no
such mean they are NaN, without a warning.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from scipy.special import erfcx, expit, exprel, log_expit, log_ndtr, logit, ndtr, ndtri, softmax

from mercer._errors import LinkError
from mercer._stored import stored
from mercer._suggest import did_you_mean
from mercer._tags import constant
from mercer._typing import Array

if TYPE_CHECKING:
    from mercer.families.base import Family


Interval = tuple[float, float]

#: decorator against warnings: an overflow, or a mean that does not exist, is visible in the result
no_warnings = np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore")


class LinkCurve(NamedTuple):
    """A function of η with its first and second derivative."""

    value: Array
    first: Array
    second: Array


class Link(ABC):
    """Base class of links: η = forward(μ), μ = inverse(η).

    The links of a GLM also have the three curves; `slope` is dμ/dη and `bend` d²μ/dη².

    Examples
    --------
    >>> from mercer.families import LOG, LOGIT
    >>> LOGIT.forward(np.array([0.5, 0.9])).round(3), LOG.inverse(np.array([0.0, 1.0])).round(3)
    (array([0.   , 2.197]), array([1.   , 2.718]))
    """

    #: open interval of the means that the link reaches
    means: ClassVar[Interval] = (-np.inf, np.inf)
    #: open interval of the η that have a mean
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

    def mean_curve(self, eta: Array) -> LinkCurve:
        """μ over η."""
        raise TypeError(f"{self!r} is not the link of a response; use one by name, such as 'log' or 'logit'.")

    @no_warnings
    def log_curve(self, eta: Array) -> LinkCurve:
        """log μ over η."""
        mean, first, second = self.mean_curve(eta)
        mean = np.where(mean > 0, mean, np.nan)
        rate = first / mean
        return LinkCurve(np.log(mean), rate, second / mean - np.square(rate))

    @no_warnings
    def log_rest_curve(self, eta: Array) -> LinkCurve:
        """log(1 − μ) over η."""
        log_mean, first, second = self.log_curve(eta)
        log_mean = np.where(log_mean < 0, log_mean, np.nan)
        odds = 1 / np.expm1(-log_mean)  # μ / (1 − μ)
        return LinkCurve(
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
    """Canonical link without curves, given by its two directions; it cannot be the link of a GLM."""

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


# Links of a mean on the whole line or above 0: identity, log, powers, and the canonical link of the negative binomial.


@stored(tag="IdentityLink")
@dataclass(frozen=True, repr=False)
class Identity(Link):
    """η = μ."""

    name: ClassVar[str] = "identity"

    def forward(self, mean: Array) -> Array:
        return mean

    def inverse(self, eta: Array) -> Array:
        return eta

    def mean_curve(self, eta: Array) -> LinkCurve:
        return LinkCurve(eta, np.ones_like(eta, dtype=float), np.zeros_like(eta, dtype=float))

    def log_curve(self, eta: Array) -> LinkCurve:
        return _log_of_power(eta, 1.0)


@stored()
@dataclass(frozen=True, repr=False)
class Log(Link):
    """η = log μ."""

    name: ClassVar[str] = "log"
    means: ClassVar[Interval] = (0.0, np.inf)

    @no_warnings
    def forward(self, mean: Array) -> Array:
        return np.asarray(np.log(mean))

    @no_warnings
    def inverse(self, eta: Array) -> Array:
        return np.asarray(np.exp(eta))

    def mean_curve(self, eta: Array) -> LinkCurve:
        mean = self.inverse(eta)
        return LinkCurve(mean, mean, mean)

    def log_curve(self, eta: Array) -> LinkCurve:
        return LinkCurve(eta, np.ones_like(eta, dtype=float), np.zeros_like(eta, dtype=float))


@stored(tag="PowerLink")
@dataclass(frozen=True, repr=False)
class Power(Link):
    """η = μᵏ, for positive means and hence positive η; 1/μ is also defined for negative means."""

    exponent: float

    means: ClassVar[Interval] = (0.0, np.inf)
    predictors: ClassVar[Interval] = (0.0, np.inf)

    def __post_init__(self) -> None:
        if not (np.isfinite(self.exponent) and self.exponent != 0):
            raise ValueError(f"a power link needs an exponent other than 0, got {self.exponent!r}; 0 is the log link.")

    @property
    def name(self) -> str:
        return {-2.0: "inverse squared", -1.0: "inverse", 0.5: "sqrt"}.get(self.exponent, f"μ^{self.exponent:g}")

    @no_warnings
    def forward(self, mean: Array) -> Array:
        return np.asarray(np.power(mean, self.exponent))

    @no_warnings
    def inverse(self, eta: Array) -> Array:
        return np.asarray(np.power(self._inside(eta), 1 / self.exponent))

    def _inside(self, eta: Array) -> Array:
        return np.asarray(eta, dtype=float) if self.exponent == -1 else np.where(np.asarray(eta) > 0, eta, np.nan)

    @no_warnings
    def mean_curve(self, eta: Array) -> LinkCurve:
        m, eta = 1 / self.exponent, self._inside(eta)
        return LinkCurve(np.power(eta, m), m * np.power(eta, m - 1), m * (m - 1) * np.power(eta, m - 2))

    def log_curve(self, eta: Array) -> LinkCurve:
        return _log_of_power(eta, 1 / self.exponent)


@no_warnings
def _log_of_power(eta: Array, m: float) -> LinkCurve:
    """Curve of log μ = m log η."""
    inverse = 1 / np.where(eta > 0, eta, np.nan)
    return LinkCurve(m * np.log(np.where(eta > 0, eta, np.nan)), m * inverse, -m * inverse * inverse)


@stored()
@dataclass(frozen=True, repr=False)
class LogOdds(Link):
    """η = log μ/(μ+r), the canonical link of the negative binomial, for η below 0."""

    r: float

    means: ClassVar[Interval] = (0.0, np.inf)
    predictors: ClassVar[Interval] = (-np.inf, 0.0)

    @property
    def name(self) -> str:
        return f"log μ/(μ+{self.r:g})"

    @no_warnings
    def forward(self, mean: Array) -> Array:
        return np.asarray(-np.log1p(self.r / np.asarray(mean)))

    @no_warnings
    def inverse(self, eta: Array) -> Array:
        return np.where(np.asarray(eta) < 0, self.r / np.expm1(-np.asarray(eta)), np.nan)

    @no_warnings
    def mean_curve(self, eta: Array) -> LinkCurve:
        _, first, second = self.log_curve(eta)
        mean = self.inverse(eta)
        return LinkCurve(mean, mean * first, mean * (np.square(first) + second))

    @no_warnings
    def log_curve(self, eta: Array) -> LinkCurve:
        eta = np.where(eta < 0, eta, np.nan)
        rest = -np.expm1(eta)  # 1 − e^η = r/(μ+r)
        return LinkCurve(np.log(self.r) + eta - np.log(rest), 1 / rest, np.exp(eta) / np.square(rest))


def exponent_of(link: Link) -> float | None:
    """Exponent k of η = μᵏ, with 0 for the logarithm; None for other links.

    >>> exponent_of(Identity()), exponent_of(Log()), exponent_of(Power(0.5)), exponent_of(LogOdds(2.0))
    (1.0, 0.0, 0.5, None)
    """
    if isinstance(link, Power):
        return link.exponent
    return 1.0 if link == Identity() else 0.0 if link == Log() else None


ROOT_2 = float(np.sqrt(2.0))
#: density of the standard normal at 0, 1/√2π
NORMAL_HEIGHT = float(1 / np.sqrt(2 * np.pi))
#: η below −12 have their tail by a continued fraction
FAR_TAIL = 12.0
#: levels of the continued fraction, which is exact in float64 from FAR_TAIL on
TAIL_FRACTION_LEVELS = 24
#: logarithm of the largest float64, rounded down
LARGEST_EXPONENTIAL = 709.78


class Symmetric(Link):
    """Base class of links of a share with inverse(−η) = 1 − inverse(η)."""

    means: ClassVar[Interval] = (0.0, 1.0)

    def log_rest_curve(self, eta: Array) -> LinkCurve:
        value, first, second = self.log_curve(-eta)
        return LinkCurve(value, -first, second)


@stored()
@dataclass(frozen=True, repr=False)
class Logit(Symmetric):
    """η = log μ/(1−μ)."""

    name: ClassVar[str] = "logit"

    def forward(self, mean: Array) -> Array:
        return np.asarray(logit(mean))

    def inverse(self, eta: Array) -> Array:
        return np.asarray(expit(eta))

    @no_warnings
    def mean_curve(self, eta: Array) -> LinkCurve:
        p, q = expit(eta), expit(-eta)
        slope = p * q  # both factors have full precision in the tails
        return LinkCurve(p, slope, slope * (q - p))

    @no_warnings
    def log_curve(self, eta: Array) -> LinkCurve:
        q = expit(-eta)
        return LinkCurve(log_expit(eta), q, -q * expit(eta))


@stored()
@dataclass(frozen=True, repr=False)
class Probit(Symmetric):
    """η = Φ⁻¹(μ)."""

    name: ClassVar[str] = "probit"

    def forward(self, mean: Array) -> Array:
        return np.asarray(ndtri(mean))

    def inverse(self, eta: Array) -> Array:
        return np.asarray(ndtr(eta))

    @no_warnings
    def mean_curve(self, eta: Array) -> LinkCurve:
        slope = NORMAL_HEIGHT * np.exp(-0.5 * np.square(eta))
        return LinkCurve(ndtr(eta), slope, -eta * slope)

    @no_warnings
    def log_curve(self, eta: Array) -> LinkCurve:
        hazard = 2 * NORMAL_HEIGHT / erfcx(-eta / ROOT_2)  # φ/Φ, whose numerator and denominator both underflow
        excess = np.where(eta < -FAR_TAIL, _excess(np.maximum(-eta, FAR_TAIL)), eta + hazard)
        return LinkCurve(log_ndtr(eta), hazard, -hazard * excess)


def _excess(x: Array) -> Array:
    """φ(x)/(1 − Φ(x)) − x = 1/(x + 2/(x + 3/(x + …))); the difference itself cancels for large x."""
    fraction = x
    for level in range(TAIL_FRACTION_LEVELS, 1, -1):
        fraction = x + level / fraction
    return np.asarray(1 / fraction)


@stored()
@dataclass(frozen=True, repr=False)
class Cauchit(Symmetric):
    """η = tan π(μ − ½)."""

    name: ClassVar[str] = "cauchit"

    @no_warnings
    def forward(self, mean: Array) -> Array:
        mean = np.asarray(mean, dtype=float)
        return np.where(mean < 0.5, -1 / np.tan(np.pi * mean), 1 / np.tan(np.pi * (1 - mean)))

    def inverse(self, eta: Array) -> Array:
        return np.asarray(np.arctan2(1.0, -eta) / np.pi)

    @no_warnings
    def mean_curve(self, eta: Array) -> LinkCurve:
        slope = 1 / (np.pi * (1 + np.square(eta)))
        return LinkCurve(self.inverse(eta), slope, -2 * np.pi * slope * (eta * slope))

    @no_warnings
    def log_curve(self, eta: Array) -> LinkCurve:
        p, slope, bend = self.mean_curve(eta)
        rate = slope / p
        value = np.where(eta < 0, np.log(p), np.log1p(-self.inverse(-eta)))
        return LinkCurve(value, rate, bend / p - np.square(rate))


@stored()
@dataclass(frozen=True, repr=False)
class ComplementaryLogLog(Link):
    """η = log(−log(1−μ)), where μ is the probability of at least one event at the rate e^η."""

    name: ClassVar[str] = "cloglog"
    means: ClassVar[Interval] = (0.0, 1.0)

    @no_warnings
    def forward(self, mean: Array) -> Array:
        return np.asarray(np.log(-np.log1p(-np.asarray(mean))))

    @no_warnings
    def inverse(self, eta: Array) -> Array:
        return np.asarray(-np.expm1(-np.exp(eta)))

    @no_warnings
    def mean_curve(self, eta: Array) -> LinkCurve:
        rate = _rate(eta)
        slope = rate * np.exp(-rate)
        return LinkCurve(-np.expm1(-rate), slope, slope * (1 - rate))

    @no_warnings
    def log_curve(self, eta: Array) -> LinkCurve:
        rate = _rate(eta)
        first = 1 / exprel(rate)
        value = np.where(rate < 1, eta + np.log(exprel(-rate)), np.log1p(-np.exp(-rate)))
        # 1 − first − rate; where it would cancel, by the series of u/(e^u − 1)
        small = np.minimum(rate, 0.1)
        series = np.polynomial.polynomial.polyval(np.square(small), [-1 / 12, 1 / 720, -1 / 30240, 1 / 1209600])
        change = np.where(rate < 0.1, -small / 2 + np.square(small) * series, 1 - first - rate)
        return LinkCurve(value, first, first * change)

    def log_rest_curve(self, eta: Array) -> LinkCurve:
        rate = _rate(eta)
        return LinkCurve(-rate, -rate, -rate)


@no_warnings
def _rate(eta: Array) -> Array:
    """e^η, limited so that it does not overflow: where it is that large, it is multiplied by 0."""
    return np.asarray(np.exp(np.minimum(eta, LARGEST_EXPONENTIAL)))


# The links by name.
#
# | link | η | means it reaches | η that have a mean |
# | --- | --- | --- | --- |
# | identity | μ | all numbers | all |
# | log | log μ | above 0 | all |
# | inverse, inverse squared, sqrt | 1/μ, 1/μ², √μ | above 0 | above 0 |
# | logit, probit, cauchit, cloglog | log μ/(1−μ), Φ⁻¹(μ), tan π(μ−½), log(−log(1−μ)) | between 0 and 1 | all |


def _negative_reciprocal(x: Array) -> Array:
    return -1 / np.asarray(x)


def _softmax(eta: Array) -> Array:
    return np.asarray(softmax(eta, axis=-1))


IDENTITY = Identity()
LOG = Log()
LOGIT = Logit()
PROBIT = Probit()
CLOGLOG = ComplementaryLogLog()
CAUCHIT = Cauchit()
INVERSE = Power(-1.0)
INVERSE_SQUARED = Power(-2.0)
SQRT = Power(0.5)
NEGATIVE_INVERSE = constant("NEGATIVE_INVERSE", Map("negative inverse", _negative_reciprocal, _negative_reciprocal))
#: softmax over the last axis; `forward` returns log p, the preimage of p whose log-partition is 0
SOFTMAX = constant("SOFTMAX", Map("softmax", np.log, _softmax))

#: links of a GLM by name
LINKS: dict[str, Link] = {
    "identity": IDENTITY,
    "log": LOG,
    "logit": LOGIT,
    "probit": PROBIT,
    "cloglog": CLOGLOG,
    "cauchit": CAUCHIT,
    "inverse": INVERSE,
    "inverse_squared": INVERSE_SQUARED,
    "sqrt": SQRT,
}


def power_link(exponent: float) -> Link:
    """Return the link η = μᵏ, or log μ for k = 0.

    Examples
    --------
    >>> power_link(0.5).forward(np.array([4.0, 9.0])), power_link(0)
    (array([2., 3.]), <link log>)
    """
    return {0.0: LOG, 1.0: IDENTITY}.get(float(exponent)) or Power(float(exponent))


def link_from(link: object, family: Family) -> Link:
    """Return the link of a name, the family's own for "canonical", or a Link object unchanged.

    Examples
    --------
    >>> from mercer.families import Gamma, Poisson
    >>> link_from("canonical", Gamma()), link_from("sqrt", Poisson())
    (<link inverse>, <link sqrt>)
    """
    if isinstance(link, Link):
        return link
    if isinstance(link, str) and link == "canonical":
        return family.response_link
    if isinstance(link, str) and link in LINKS:
        return LINKS[link]
    if not isinstance(link, str):
        raise LinkError(f"{link!r} is not a link; give a Link object, 'canonical', or one of {', '.join(LINKS)}.")
    raise LinkError(
        f"no link is called {link!r}. {did_you_mean(link, ['canonical', *LINKS])} A Link object is accepted, too."
    )
