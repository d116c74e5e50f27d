"""The gamma distribution, and the exponential, its case of shape 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import gammainc, gammaincinv, gammaln

from mercer._stored import floats, stored
from mercer._typing import Array
from mercer.families._saddle import deviance, peak
from mercer.families._shapes import gamma_shape, log_minus_digamma
from mercer.families._support import SMALLEST_DRAW, negative, not_positive
from mercer.families.base import Family, check_not_degenerate, log_or_minus_infinity
from mercer.families.links import INVERSE, NEGATIVE_INVERSE, Link
from mercer.families.losses import PowerLoss, RowLoss


@stored(rate=floats())
class ExponentialParameters(NamedTuple):
    """Rate λ, the reciprocal of the mean.

    Examples
    --------
    >>> from mercer.families import Exponential, ExponentialParameters
    >>> np.exp(Exponential().log_density([0.0, 1.0], ExponentialParameters(2.0))).round(3)
    array([2.   , 0.271])
    """

    rate: Array


@stored(lambda own: own.shape.shape == own.rate.shape, shape=floats(), rate=floats())
class GammaParameters(NamedTuple):
    """Shape a and rate b: mean a/b, variance a/b².

    Examples
    --------
    >>> from mercer.families import Gamma, GammaParameters
    >>> costs = GammaParameters(shape=2.0, rate=0.5)
    >>> float(Gamma().mean_of(costs)), float(Gamma().variance_of(costs))
    (4.0, 8.0)
    """

    shape: Array
    rate: Array


@stored()
@dataclass(frozen=True)
class Exponential(Family):
    """p(x) = λ e^−λx;  T = x,  η = −λ,  A = −log(−η),  b = 1.

    Examples
    --------
    >>> from mercer.families import Exponential
    >>> waiting = Exponential()
    >>> waiting.from_mean(waiting.sufficient([1.0, 3.0]).mean(axis=0))
    ExponentialParameters(rate=array(0.5))
    """

    name: ClassVar[str] = "exponential"
    parameters_type: ClassVar[type[ExponentialParameters]] = ExponentialParameters
    support: ClassVar[str] = "numbers from 0 upwards"

    @property
    def link(self) -> Link:
        return NEGATIVE_INVERSE

    def sufficient(self, x: Array) -> Array:
        return np.asarray(x, dtype=float)[..., None]

    def log_base(self, x: Array) -> Array:
        return np.where(self.outside(x), -np.inf, 0.0)

    def log_partition(self, eta: Array) -> Array:
        return np.asarray(-np.log(-eta[..., 0]))

    def natural(self, parameters: ExponentialParameters) -> Array:
        return -np.asarray(parameters.rate)[..., None]

    def from_natural(self, eta: Array) -> ExponentialParameters:
        return ExponentialParameters(-eta[..., 0])

    def expected(self, parameters: ExponentialParameters) -> Array:
        return np.asarray(1 / np.asarray(parameters.rate))[..., None]

    def from_mean(self, mean: Array) -> ExponentialParameters:
        check_not_degenerate("an exponential", "data that are all 0", mean[..., 0] == 0)
        return ExponentialParameters(np.asarray(1 / mean[..., 0]))

    def log_density_inside(self, x: Array, parameters: ExponentialParameters) -> Array:
        return np.asarray(np.log(parameters.rate) - parameters.rate * x)

    def sample(self, parameters: ExponentialParameters, n: int, rng: np.random.Generator) -> Array:
        rate = np.asarray(parameters.rate)
        return np.asarray(rng.standard_exponential(size=(n, *rate.shape)) / rate)

    def outside(self, x: Array) -> Array:
        return negative(x)


@stored()
@dataclass(frozen=True)
class Gamma(Family):
    """p(x) = bᵃ xᵃ⁻¹ e^−bx / Γ(a);  T = (log x, x),  η = (a, −b),  A = log Γ(a) − a log b,  b(x) = 1/x.

    `link` is the canonical link of the mean for a known shape, up to that factor: η = −1/μ.

    Examples
    --------
    >>> from mercer.families import Gamma, GammaParameters
    >>> np.exp(Gamma().log_density([1.0, 2.0, 4.0], GammaParameters(2.0, 1.0))).round(3)
    array([0.368, 0.271, 0.073])
    """

    name: ClassVar[str] = "gamma"
    parameters_type: ClassVar[type[GammaParameters]] = GammaParameters
    support: ClassVar[str] = "numbers above 0"

    @property
    def link(self) -> Link:
        return NEGATIVE_INVERSE

    def sufficient(self, x: Array) -> Array:
        return np.stack([log_or_minus_infinity(x), np.asarray(x, dtype=float)], axis=-1)

    def log_base(self, x: Array) -> Array:
        outside = self.outside(x)
        return np.where(outside, -np.inf, -np.log(np.where(outside, 1.0, x)))

    def log_partition(self, eta: Array) -> Array:
        return np.asarray(gammaln(eta[..., 0]) - eta[..., 0] * np.log(-eta[..., 1]))

    def natural(self, parameters: GammaParameters) -> Array:
        shape, rate = np.broadcast_arrays(*parameters)
        return np.stack([shape, -rate], axis=-1)

    def from_natural(self, eta: Array) -> GammaParameters:
        return GammaParameters(eta[..., 0], -eta[..., 1])

    def expected(self, parameters: GammaParameters) -> Array:
        shape, rate = np.broadcast_arrays(*parameters)
        log_mean = np.log(shape) - np.log(rate)
        return np.stack([log_mean - log_minus_digamma(shape), shape / rate], axis=-1)

    def from_mean(self, mean: Array) -> GammaParameters:
        """Shape by Newton's method; data without spread, or with a 0, have none (`DegenerateDataError`)."""
        shape = gamma_shape(log_or_minus_infinity(mean[..., 1]), mean[..., 0])
        return GammaParameters(shape, shape / mean[..., 1])

    def log_density_inside(self, x: Array, parameters: GammaParameters) -> Array:
        shape, rate = np.asarray(parameters.shape), np.asarray(parameters.rate)
        scaled, log_x = rate * x, np.log(x)
        around_peak = np.log(shape) + peak(shape) - deviance(shape, scaled)
        # where rate · x overflows or underflows, its logarithm does not, and nothing of its size cancels
        far_off = shape * (np.log(rate) + log_x) - scaled - gammaln(shape)
        return np.asarray(np.where((scaled > 0) & np.isfinite(scaled), around_peak, far_off) - log_x)

    @property
    def row_loss(self) -> RowLoss:
        return PowerLoss(2.0)

    @property
    def response_link(self) -> Link:
        return INVERSE

    def at_mean(self, mean: Array, dispersion: float | Array = 1.0) -> GammaParameters:
        mean = np.asarray(mean, dtype=float)
        shape = np.array(np.broadcast_to(1 / np.asarray(dispersion, dtype=float), mean.shape))
        return GammaParameters(shape, shape / mean)

    def cdf(self, x: Array, parameters: GammaParameters) -> Array:
        return np.asarray(gammainc(parameters.shape, parameters.rate * np.maximum(x, 0.0)))

    def quantile(self, q: Array, parameters: GammaParameters) -> Array:
        return np.asarray(gammaincinv(parameters.shape, q) / parameters.rate)

    def mean_of(self, parameters: GammaParameters) -> Array:
        return np.asarray(parameters.shape / parameters.rate)

    def variance_of(self, parameters: GammaParameters) -> Array:
        return np.asarray(parameters.shape / parameters.rate / parameters.rate)

    def sample(self, parameters: GammaParameters, n: int, rng: np.random.Generator) -> Array:
        shape, rate = np.broadcast_arrays(*parameters)
        draws = rng.standard_gamma(shape, size=(n, *shape.shape))
        return np.asarray(np.maximum(draws / rate, SMALLEST_DRAW))

    def outside(self, x: Array) -> Array:
        return not_positive(x)
