"""The Poisson distribution: counts of independent events.

As a distribution of a column its density is `Poisson.log_density_inside`. As a response of a GLM its loss of a row is
`Poisson.row_loss`, the `PowerLoss` of power 1 (`mercer.families.losses`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import gammaincc, gammaln

from mercer._stored import floats, stored
from mercer._typing import Array
from mercer.families._counts import CountFamily
from mercer.families._saddle import deviance, peak
from mercer.families._support import whole_quantile
from mercer.families.links import LOG, Link
from mercer.families.losses import PowerLoss, RowLoss


@stored(rate=floats())
class PoissonParameters(NamedTuple):
    """Rate λ: mean and variance of the count.

    Examples
    --------
    >>> from mercer.families import Poisson, PoissonParameters
    >>> Poisson().quantile([0.5, 0.95], PoissonParameters(4.0))
    array([4., 8.])
    """

    rate: Array


@stored()
@dataclass(frozen=True)
class Poisson(CountFamily):
    """p(x) = λˣ e^−λ / x!;  T = x,  η = log λ,  A = e^η,  b = 1/x!.

    Examples
    --------
    >>> from mercer.families import Poisson, PoissonParameters
    >>> counts = Poisson()
    >>> counts.from_mean(counts.sufficient([2, 0, 3, 3]).mean(axis=0))
    PoissonParameters(rate=array(2.))
    >>> np.exp(counts.log_density([0, 1, 2], PoissonParameters(2.0))).round(3)
    array([0.135, 0.271, 0.271])
    """

    name: ClassVar[str] = "poisson"
    parameters_type: ClassVar[type[PoissonParameters]] = PoissonParameters

    @property
    def link(self) -> Link:
        return LOG

    def log_base(self, x: Array) -> Array:
        outside = self.outside(x)
        return np.where(outside, -np.inf, -gammaln(np.where(outside, 0.0, x) + 1))

    def log_partition(self, eta: Array) -> Array:
        return np.asarray(np.exp(eta[..., 0]))

    def natural(self, parameters: PoissonParameters) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(parameters.rate))[..., None]

    def from_natural(self, eta: Array) -> PoissonParameters:
        return PoissonParameters(np.asarray(np.exp(eta[..., 0])))

    def expected(self, parameters: PoissonParameters) -> Array:
        return np.asarray(parameters.rate)[..., None]

    def from_mean(self, mean: Array) -> PoissonParameters:
        return PoissonParameters(mean[..., 0])

    def log_density_inside(self, x: Array, parameters: PoissonParameters) -> Array:
        return np.asarray(peak(x) - deviance(x, parameters.rate))

    @property
    def row_loss(self) -> RowLoss:
        return PowerLoss(1.0)

    @property
    def response_support(self) -> str:
        return "numbers from 0 upwards (counts, or rates whose exposure is their weight)"

    def at_mean(self, mean: Array, dispersion: float | Array = 1.0) -> PoissonParameters:
        return PoissonParameters(np.asarray(mean, dtype=float))

    def cdf(self, x: Array, parameters: PoissonParameters) -> Array:
        k = np.floor(np.asarray(x, dtype=float))
        return np.where(k < 0, 0.0, gammaincc(np.maximum(k, 0.0) + 1, parameters.rate))

    def quantile(self, q: Array, parameters: PoissonParameters) -> Array:
        rate = np.asarray(parameters.rate, dtype=float)
        return whole_quantile(lambda k: self.cdf(k, parameters), q, rate, np.sqrt(rate))

    def mean_of(self, parameters: PoissonParameters) -> Array:
        return parameters.rate

    def variance_of(self, parameters: PoissonParameters) -> Array:
        return parameters.rate

    def sample(self, parameters: PoissonParameters, n: int, rng: np.random.Generator) -> Array:
        rate = np.asarray(parameters.rate)
        return rng.poisson(rate, size=(n, *rate.shape))
