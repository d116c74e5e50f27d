"""The inverse Gaussian distribution: the first passage time of a Brownian motion with drift."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import erfcx, ndtr

from mercer._stored import floats, stored
from mercer._typing import Array
from mercer.families._shapes import SPREAD_OF_ROUNDING
from mercer.families._support import SMALLEST_DRAW, not_positive, positive_quantile
from mercer.families.base import Family, check_not_degenerate
from mercer.families.gaussian import LOG_2PI
from mercer.families.links import INVERSE_SQUARED, ROOT_2, Link
from mercer.families.losses import PowerLoss, RowLoss


@stored(lambda own: own.mean.shape == own.shape.shape, mean=floats(), shape=floats())
class InverseGaussianParameters(NamedTuple):
    """Mean μ and shape λ: the variance is μ³/λ.

    Examples
    --------
    >>> from mercer.families import InverseGaussian, InverseGaussianParameters
    >>> float(InverseGaussian().variance_of(InverseGaussianParameters(mean=2.0, shape=4.0)))
    2.0
    """

    mean: Array
    shape: Array


@stored()
@dataclass(frozen=True)
class InverseGaussian(Family):
    """p(x) = √(λ/2πx³) exp(−λ(x−μ)²/2μ²x);  T = (x, 1/x),  η = (−λ/2μ², −λ/2),  A = −2√(η₁η₂) − ½ log(−2η₂).

    `link` is the canonical link of the mean for a known shape, up to a factor: η = 1/μ².

    Examples
    --------
    >>> from mercer.families import InverseGaussian
    >>> times = InverseGaussian()
    >>> times.from_mean(times.sufficient([1.0, 2.0, 4.0]).mean(axis=0))
    InverseGaussianParameters(mean=array(2.33333333), shape=np.float64(6.461538461538459))
    """

    name: ClassVar[str] = "inverse_gaussian"
    parameters_type: ClassVar[type[InverseGaussianParameters]] = InverseGaussianParameters
    support: ClassVar[str] = "numbers above 0"

    @property
    def link(self) -> Link:
        return INVERSE_SQUARED

    def sufficient(self, x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        with np.errstate(divide="ignore", over="ignore"):
            return np.stack([x, 1 / np.where(x > 0, x, 0.0)], axis=-1)

    def log_base(self, x: Array) -> Array:
        outside = self.outside(x)
        return np.where(outside, -np.inf, -0.5 * (LOG_2PI + 3 * np.log(np.where(outside, 1.0, x))))

    def log_partition(self, eta: Array) -> Array:
        return np.asarray(-2 * np.sqrt(eta[..., 0] * eta[..., 1]) - 0.5 * np.log(-2 * eta[..., 1]))

    def natural(self, parameters: InverseGaussianParameters) -> Array:
        mean, shape = np.broadcast_arrays(*parameters)
        return np.stack([-0.5 * shape / np.square(mean), -0.5 * shape], axis=-1)

    def from_natural(self, eta: Array) -> InverseGaussianParameters:
        return InverseGaussianParameters(np.sqrt(eta[..., 1] / eta[..., 0]), -2 * eta[..., 1])

    def expected(self, parameters: InverseGaussianParameters) -> Array:
        mean, shape = np.broadcast_arrays(*parameters)
        return np.stack([mean, 1 / mean + 1 / shape], axis=-1)

    def from_mean(self, mean: Array) -> InverseGaussianParameters:
        """1/λ = E(1/x) − 1/E x; data without spread, or with a 0, have no estimate (`DegenerateDataError`)."""
        check_not_degenerate("an inverse Gaussian", "data that are not all above 0", np.isposinf(mean[..., 1]))
        inverse = 1 / mean[..., 0]
        excess = np.asarray(mean[..., 1] - inverse)
        check_not_degenerate("an inverse Gaussian", "data without spread", excess <= SPREAD_OF_ROUNDING * inverse)
        return InverseGaussianParameters(mean[..., 0], 1 / excess)

    def log_density_inside(self, x: Array, parameters: InverseGaussianParameters) -> Array:
        mean, shape = parameters
        z = (x - mean) / mean * np.sqrt(shape / x)
        return np.asarray(0.5 * (np.log(shape) - LOG_2PI - 3 * np.log(x) - np.square(z)))

    @property
    def row_loss(self) -> RowLoss:
        return PowerLoss(3.0)

    def at_mean(self, mean: Array, dispersion: float | Array = 1.0) -> InverseGaussianParameters:
        mean = np.asarray(mean, dtype=float)
        shape = np.broadcast_to(1 / np.asarray(dispersion, dtype=float), mean.shape)
        return InverseGaussianParameters(mean, np.array(shape))

    def cdf(self, x: Array, parameters: InverseGaussianParameters) -> Array:
        mean, shape = parameters
        x = np.asarray(x, dtype=float)
        inside = (x > 0) & (x < np.inf)
        positive = np.where(inside, x, 1.0)
        root = np.sqrt(shape / positive)
        low, high = root * (positive - mean) / mean, root * (positive + mean) / mean
        # e^(2λ/μ) Φ(−high), of which one factor may overflow while the other underflows
        reflected = 0.5 * erfcx(high / ROOT_2) * np.exp(-0.5 * np.square(low))
        at_ends = np.where(np.isnan(x), np.nan, np.where(x > 0, 1.0, 0.0))
        return np.where(inside, ndtr(low) + reflected, at_ends)

    def quantile(self, q: Array, parameters: InverseGaussianParameters) -> Array:
        q, mean, shape = np.broadcast_arrays(np.asarray(q, dtype=float), *parameters)
        inside = (q > 0) & (q < 1)
        m, s = mean[inside], shape[inside]
        result = np.where(q == 0, 0.0, np.where(q == 1, np.inf, np.nan))
        result[inside] = positive_quantile(
            lambda x, rows: self.cdf(x, InverseGaussianParameters(m[rows], s[rows])),
            lambda x, rows: self.log_density(x, InverseGaussianParameters(m[rows], s[rows])),
            q[inside],
            m,
        )
        return result

    def mean_of(self, parameters: InverseGaussianParameters) -> Array:
        return parameters.mean

    def variance_of(self, parameters: InverseGaussianParameters) -> Array:
        return np.asarray(parameters.mean / parameters.shape * np.square(parameters.mean))

    def sample(self, parameters: InverseGaussianParameters, n: int, rng: np.random.Generator) -> Array:
        mean, shape = np.broadcast_arrays(*parameters)
        return np.asarray(np.maximum(rng.wald(mean, shape, size=(n, *mean.shape)), SMALLEST_DRAW))

    def outside(self, x: Array) -> Array:
        return not_positive(x)
