"""The log-normal distribution: log x is normal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from mercer._stored import floats, stored
from mercer._typing import Array
from mercer.families._support import not_positive
from mercer.families.base import Family, Prior, check_not_degenerate, log_or_minus_infinity
from mercer.families.gaussian import Gaussian, GaussianParameters, MomentStatistic
from mercer.families.links import IDENTITY, Link

NORMAL = Gaussian()


@stored(lambda own: own.mean.shape == own.variance.shape, mean=floats(), variance=floats())
class LogNormalParameters(NamedTuple):
    """Mean μ and variance σ² of log x.

    Examples
    --------
    >>> from mercer.families import LogNormal, LogNormalParameters
    >>> np.exp(LogNormal().log_density([0.0, 1.0, 2.0], LogNormalParameters(0.0, 1.0))).round(3)
    array([0.   , 0.399, 0.157])
    """

    mean: Array
    variance: Array


@stored()
@dataclass(frozen=True)
class LogNormal(Family):
    """p(x) = exp(−(log x − μ)²/2σ²) / x√(2πσ²);  T = (log x, log² x),  η = (μ/σ², −1/2σ²),  b(x) = 1/x√2π.

    The statistic holds the centred moments of log x (`transform`).

    Examples
    --------
    >>> from mercer.families import LogNormal, LogNormalParameters
    >>> incomes = LogNormalParameters(mean=10.0, variance=0.25)
    >>> LogNormal().sample(incomes, 3, np.random.default_rng(0)).round()
    array([23456., 20619., 30340.])
    """

    name: ClassVar[str] = "lognormal"
    parameters_type: ClassVar[type[LogNormalParameters]] = LogNormalParameters
    statistic: ClassVar[str] = "moments"
    support: ClassVar[str] = "numbers above 0"

    @property
    def link(self) -> Link:
        return IDENTITY

    def transform(self, x: Array) -> Array:
        return log_or_minus_infinity(x)

    def sufficient(self, x: Array) -> Array:
        return NORMAL.sufficient(self.transform(x))

    def log_base(self, x: Array) -> Array:
        outside = self.outside(x)
        log_x = np.log(np.where(outside, 1.0, x))
        return np.where(outside, -np.inf, NORMAL.log_base(log_x) - log_x)

    def log_partition(self, eta: Array) -> Array:
        return NORMAL.log_partition(eta)

    def natural(self, parameters: LogNormalParameters) -> Array:
        return NORMAL.natural(GaussianParameters(*parameters))

    def from_natural(self, eta: Array) -> LogNormalParameters:
        return LogNormalParameters(*NORMAL.from_natural(eta))

    def expected(self, parameters: LogNormalParameters) -> Array:
        return NORMAL.expected(GaussianParameters(*parameters))

    def from_mean(self, mean: Array) -> LogNormalParameters:
        return LogNormalParameters(*NORMAL.from_mean(mean))

    def log_density_inside(self, x: Array, parameters: LogNormalParameters) -> Array:
        log_x = np.log(x)
        return np.asarray(NORMAL.log_density_inside(log_x, GaussianParameters(*parameters)) - log_x)

    def fit(self, statistic: MomentStatistic, prior: Prior | None = None) -> LogNormalParameters:
        """Mean and variance of log x from its moments."""
        check_not_degenerate("a log-normal", "data that are not all above 0", np.isinf(statistic.mean))
        return LogNormalParameters(*NORMAL.fit(statistic, prior))

    def sample(self, parameters: LogNormalParameters, n: int, rng: np.random.Generator) -> Array:
        return np.exp(NORMAL.sample(GaussianParameters(*parameters), n, rng))

    def outside(self, x: Array) -> Array:
        return not_positive(x)
