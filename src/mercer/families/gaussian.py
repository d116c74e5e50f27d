"""The normal distribution, with the variance estimated or known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from scipy.special import ndtr, ndtri

from mercer._stored import floats, stored
from mercer._typing import Array
from mercer.families.base import Family, Prior, SufficientStatistic, moments_with_prior
from mercer.families.links import IDENTITY, Link, Map
from mercer.families.losses import RowLoss, SquaredLoss

LOG_2PI = float(np.log(2 * np.pi))


@stored(lambda own: own.mean.shape == own.variance.shape, mean=floats(), variance=floats())
class GaussianParameters(NamedTuple):
    """Mean μ and variance σ², of equal or broadcasting shape.

    Examples
    --------
    >>> from mercer.families import Gaussian, GaussianParameters
    >>> standard = GaussianParameters(mean=0.0, variance=1.0)
    >>> np.exp(Gaussian().log_density([0.0, 1.0, np.nan], standard)).round(3)  # NaN is missing: ∫p = 1
    array([0.399, 0.242, 1.   ])
    """

    mean: Array
    variance: Array


class MomentStatistic(SufficientStatistic, Protocol):
    """Centred moments. Raw moments Σx² would lose all digits where the mean is large."""

    @property
    def variance(self) -> Array: ...


@stored()
@dataclass(frozen=True)
class Gaussian(Family):
    """p(x) = exp(−(x−μ)²/2σ²) / √(2πσ²);  T = (x, x²),  η = (μ/σ², −1/2σ²).

    With `variance` given only the mean is estimated:  T = x,  η = μ/σ²,  A = σ²η²/2 (lecture 3 has σ = 1).

    Examples
    --------
    >>> from mercer.families import Gaussian, GaussianParameters
    >>> normal = Gaussian()
    >>> normal.from_mean(normal.sufficient([1.0, 3.0]).mean(axis=0))
    GaussianParameters(mean=array(2.), variance=np.float64(1.0))
    >>> normal.quantile([0.025, 0.975], GaussianParameters(0.0, 1.0)).round(2)
    array([-1.96,  1.96])
    """

    variance: float | None = None

    name: ClassVar[str] = "gaussian"
    parameters_type: ClassVar[type[GaussianParameters]] = GaussianParameters
    statistic: ClassVar[str] = "moments"
    support: ClassVar[str] = "finite numbers"

    def __post_init__(self) -> None:
        if self.variance is not None and not 0 < self.variance < np.inf:
            raise ValueError(f"a known variance is a finite number above 0; got {self.variance!r}.")

    @property
    def link(self) -> Link:
        if self.variance in (None, 1.0):
            return IDENTITY
        scale = self.variance
        return Map("identity / variance", lambda mu: mu / scale, lambda eta: eta * scale)

    def sufficient(self, x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        if self.variance is not None:
            return x[..., None]
        return np.stack([x, np.square(x)], axis=-1)

    def log_base(self, x: Array) -> Array:
        if self.variance is None:
            return np.where(np.isinf(x), -np.inf, -0.5 * LOG_2PI)
        return np.asarray(-0.5 * (np.square(x, dtype=float) / self.variance + LOG_2PI + np.log(self.variance)))

    def log_partition(self, eta: Array) -> Array:
        if self.variance is not None:
            return np.asarray(0.5 * self.variance * np.square(eta[..., 0]))
        return np.asarray(-np.square(eta[..., 0]) / (4 * eta[..., 1]) - 0.5 * np.log(-2 * eta[..., 1]))

    def natural(self, parameters: GaussianParameters) -> Array:
        mean, variance = np.broadcast_arrays(*parameters)
        if self.variance is not None:
            return np.asarray(mean / variance)[..., None]
        return np.stack([mean / variance, -0.5 / variance], axis=-1)

    def from_natural(self, eta: Array) -> GaussianParameters:
        if self.variance is not None:
            mean = eta[..., 0] * self.variance
            return GaussianParameters(mean, np.full_like(mean, self.variance))
        variance = -0.5 / eta[..., 1]
        return GaussianParameters(eta[..., 0] * variance, variance)

    def expected(self, parameters: GaussianParameters) -> Array:
        mean, variance = np.broadcast_arrays(*parameters)
        if self.variance is not None:
            return np.asarray(mean)[..., None]
        return np.stack([mean, np.square(mean) + variance], axis=-1)

    def from_mean(self, mean: Array) -> GaussianParameters:
        if self.variance is not None:
            return GaussianParameters(mean[..., 0], np.full_like(mean[..., 0], self.variance))
        return GaussianParameters(mean[..., 0], mean[..., 1] - np.square(mean[..., 0]))

    def log_density_inside(self, x: Array, parameters: GaussianParameters) -> Array:
        # difference first, as x² − μ² would cancel far from zero; square last, as it may overflow
        z = (x - parameters.mean) / np.sqrt(parameters.variance)
        return np.asarray(-0.5 * (np.square(z) + LOG_2PI + np.log(parameters.variance)))

    def fit(self, statistic: MomentStatistic, prior: Prior | None = None) -> GaussianParameters:
        """Mean and variance of the data and of a prior's imagined observations."""
        mean, variance = moments_with_prior(statistic, statistic.variance, prior, np.square)
        if self.variance is not None:
            variance = np.full_like(mean, self.variance)
        return GaussianParameters(mean, variance)

    @property
    def row_loss(self) -> RowLoss:
        return SquaredLoss()

    @property
    def response_link(self) -> Link:
        return IDENTITY

    @property
    def known_dispersion(self) -> float | None:
        return self.variance

    def at_mean(self, mean: Array, dispersion: float | Array = 1.0) -> GaussianParameters:
        mean = np.asarray(mean, dtype=float)
        return GaussianParameters(mean, np.array(np.broadcast_to(dispersion, mean.shape), dtype=float))

    def cdf(self, x: Array, parameters: GaussianParameters) -> Array:
        return np.asarray(ndtr((x - parameters.mean) / np.sqrt(parameters.variance)))

    def quantile(self, q: Array, parameters: GaussianParameters) -> Array:
        return np.asarray(parameters.mean + np.sqrt(parameters.variance) * ndtri(q))

    def mean_of(self, parameters: GaussianParameters) -> Array:
        return parameters.mean

    def variance_of(self, parameters: GaussianParameters) -> Array:
        return parameters.variance

    def sample(self, parameters: GaussianParameters, n: int, rng: np.random.Generator) -> Array:
        mean, variance = np.broadcast_arrays(*parameters)
        return rng.normal(mean, np.sqrt(variance), size=(n, *mean.shape))

    def outside(self, x: Array) -> Array:
        return np.isinf(x)
