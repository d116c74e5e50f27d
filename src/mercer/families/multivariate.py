"""The multivariate normal distribution."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from mercer._stored import floats, stored
from mercer._typing import Array
from mercer.families._marginals import marginal_log_density
from mercer.families._prior import Prior, SufficientStatistic, moments_with_prior
from mercer.families.base import Family
from mercer.families.collinear import cholesky
from mercer.families.gaussian import LOG_2PI
from mercer.families.links import IDENTITY, Link


@stored(mean=floats("kd"), covariance=floats("kdd"))
class MultivariateGaussianParameters(NamedTuple):
    """Mean μ (…, d) and covariance Σ (…, d, d).

    Examples
    --------
    >>> from mercer.families import MultivariateGaussian, MultivariateGaussianParameters
    >>> joint = MultivariateGaussianParameters(mean=np.zeros(2), covariance=np.diag([1.0, 4.0]))
    >>> MultivariateGaussian().sample(joint, 10_000, np.random.default_rng(0)).std(axis=0).round(1)
    array([1., 2.])
    """

    mean: Array
    covariance: Array


class ScatterStatistic(SufficientStatistic, Protocol):
    """Weight (k,), mean (k, d) and centred second moments (k, d, d)."""

    @property
    def covariance(self) -> Array: ...


def _outer(a: Array, b: Array) -> Array:
    return np.asarray(a[..., :, None] * b[..., None, :])


def _flat(matrices: Array) -> Array:
    return matrices.reshape(*matrices.shape[:-2], -1)


def _halves(values: Array) -> tuple[Array, Array]:
    """A vector of d and a matrix of d × d numbers from the last axis, d + d² long."""
    d = (isqrt(1 + 4 * values.shape[-1]) - 1) // 2
    return values[..., :d], values[..., d:].reshape(*values.shape[:-1], d, d)


@stored()
@dataclass(frozen=True)
class MultivariateGaussian(Family):
    """p(x) = exp(−½(x−μ)ᵀΣ⁻¹(x−μ)) / √|2πΣ|;  T = (x, xxᵀ),  η = (Σ⁻¹μ, −½Σ⁻¹).

    NaN entries of a row are integrated out exactly: the others have the marginal density. A singular Σ has no density;
    the error names the collinear columns.

    Examples
    --------
    >>> from mercer.families import MultivariateGaussian, MultivariateGaussianParameters
    >>> joint = MultivariateGaussianParameters(np.zeros(2), np.array([[1.0, 0.8], [0.8, 1.0]]))
    >>> MultivariateGaussian().log_density([[1.0, 1.0], [1.0, -1.0]], joint).round(3)
    array([-1.883, -6.327])
    """

    name: ClassVar[str] = "multivariate_gaussian"
    parameters_type: ClassVar[type[MultivariateGaussianParameters]] = MultivariateGaussianParameters
    statistic: ClassVar[str] = "scatter"
    support: ClassVar[str] = "rows of finite numbers"
    vector: ClassVar[bool] = True

    @property
    def link(self) -> Link:
        return IDENTITY

    def sufficient(self, x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        return np.concatenate([x, _flat(_outer(x, x))], axis=-1)

    def log_base(self, x: Array) -> Array:
        return np.where(self.outside(x), -np.inf, -0.5 * LOG_2PI * np.shape(x)[-1])

    def log_partition(self, eta: Array) -> Array:
        linear, quadratic = _halves(eta)
        factor = np.linalg.cholesky(-quadratic - np.swapaxes(quadratic, -1, -2))
        z = np.linalg.solve(factor, linear[..., None])[..., 0]
        log_root = np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(axis=-1)
        return np.asarray(0.5 * np.square(z).sum(axis=-1) - log_root)

    def natural(self, parameters: MultivariateGaussianParameters) -> Array:
        root = np.linalg.inv(cholesky(parameters.covariance))
        precision = np.swapaxes(root, -1, -2) @ root
        linear = np.asarray(precision @ np.asarray(parameters.mean)[..., None])[..., 0]
        return np.concatenate([linear, _flat(np.broadcast_to(-0.5 * precision, (*linear.shape, linear.shape[-1])))], -1)

    def from_natural(self, eta: Array) -> MultivariateGaussianParameters:
        linear, quadratic = _halves(eta)
        covariance = np.linalg.inv(-quadratic - np.swapaxes(quadratic, -1, -2))
        return MultivariateGaussianParameters(np.asarray(covariance @ linear[..., None])[..., 0], covariance)

    def expected(self, parameters: MultivariateGaussianParameters) -> Array:
        mean = np.asarray(parameters.mean, dtype=float)
        return np.concatenate([mean, _flat(_outer(mean, mean) + parameters.covariance)], axis=-1)

    def from_mean(self, mean: Array) -> MultivariateGaussianParameters:
        first, second = _halves(mean)
        return MultivariateGaussianParameters(first, second - _outer(first, first))

    def log_density_inside(self, x: Array, parameters: MultivariateGaussianParameters) -> Array:
        mean, covariance = (np.asarray(field, dtype=float) for field in parameters)
        return marginal_log_density(x, mean, covariance)

    def fit(self, statistic: ScatterStatistic, prior: Prior | None = None) -> MultivariateGaussianParameters:
        """Mean and covariance of the data; a prior joins in by the rule for merging moments."""
        moments = moments_with_prior(statistic, statistic.covariance, prior, lambda away: _outer(away, away))
        return MultivariateGaussianParameters(*moments)

    def sample(self, parameters: MultivariateGaussianParameters, n: int, rng: np.random.Generator) -> Array:
        factor = cholesky(parameters.covariance)
        shape = np.broadcast_shapes(np.shape(parameters.mean), factor.shape[:-1])
        noise = rng.standard_normal((n, *shape))
        return np.asarray(parameters.mean + np.asarray(factor @ noise[..., None])[..., 0])

    def outside(self, x: Array) -> Array:
        return np.asarray(np.isinf(x).any(axis=-1))
