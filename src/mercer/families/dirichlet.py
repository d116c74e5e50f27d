"""Shares of a whole: the Dirichlet distribution, and the beta, its two-component case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import gammaln, softmax

from mercer._stored import floats, stored
from mercer._typing import Array
from mercer.families._saddle import deviance, peak
from mercer.families._shapes import dirichlet_shapes, log_minus_digamma
from mercer.families._support import SMALLEST_DRAW
from mercer.families.base import Family, log_or_minus_infinity
from mercer.families.links import Link, Map

#: largest distance of a sum of shares from 1; float32 data are closer
SUM_TOLERANCE = 1e-5

#: upper limit of beta draws, as a draw that rounds to 1 has no log density
LARGEST_BETA_DRAW = 1 - float(np.finfo(float).epsneg)


@stored(a=floats(), b=floats())
class BetaParameters(NamedTuple):
    """Shapes a and b: mean a/(a+b).

    Examples
    --------
    >>> from mercer.families import Beta, BetaParameters
    >>> float(Beta().sample(BetaParameters(1.0, 3.0), 10_000, np.random.default_rng(0)).mean().round(2))
    0.25
    """

    a: Array
    b: Array


@stored(alpha=floats())
class DirichletParameters(NamedTuple):
    """Shapes α, one per component on the last axis: mean α/Σα.

    Examples
    --------
    >>> from mercer.families import Dirichlet, DirichletParameters
    >>> draws = Dirichlet().sample(DirichletParameters(np.array([1.0, 3.0])), 10_000, np.random.default_rng(0))
    >>> draws.mean(axis=0).round(2)
    array([0.25, 0.75])
    """

    alpha: Array


def _log_partition(alpha: Array) -> Array:
    return np.asarray(gammaln(alpha).sum(axis=-1) - gammaln(alpha.sum(axis=-1)))


def _expected(alpha: Array) -> Array:
    """E log x_k = ψ(α_k) − ψ(Σα)."""
    total = alpha.sum(axis=-1, keepdims=True)
    return np.asarray(np.log(alpha / total) - log_minus_digamma(alpha) + log_minus_digamma(total))


def _log_density(shares: Array, alpha: Array) -> Array:
    """log p as a multinomial of fractional counts α in shares x, times Πα / (Σα Πx)."""
    total = alpha.sum(axis=-1)
    parts = peak(alpha) - deviance(alpha, total[..., None] * shares) + np.log(alpha) - np.log(shares)
    return np.asarray(parts.sum(axis=-1) - peak(total) - np.log(total))


@stored()
@dataclass(frozen=True)
class Beta(Family):
    """p(x) = xᵃ⁻¹(1−x)ᵇ⁻¹ / B(a,b);  T = (log x, log(1−x)),  η = (a, b),  A = log B(a,b),  b(x) = 1/x(1−x).

    Examples
    --------
    >>> from mercer.families import Beta, BetaParameters
    >>> np.exp(Beta().log_density([0.1, 0.5, 0.9], BetaParameters(2.0, 2.0))).round(3)
    array([0.54, 1.5 , 0.54])
    """

    name: ClassVar[str] = "beta"
    parameters_type: ClassVar[type[BetaParameters]] = BetaParameters
    support: ClassVar[str] = "numbers above 0 and below 1"

    @property
    def link(self) -> Link:
        return Map("inverse digamma", dirichlet_shapes, _expected)

    def sufficient(self, x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        with np.errstate(divide="ignore"):
            return np.stack([log_or_minus_infinity(x), np.log1p(-np.minimum(x, 1.0))], axis=-1)

    def log_base(self, x: Array) -> Array:
        outside = self.outside(x)
        inside = np.where(outside, 0.5, x)
        return np.where(outside, -np.inf, -np.log(inside) - np.log1p(-inside))

    def log_partition(self, eta: Array) -> Array:
        return _log_partition(eta)

    def natural(self, parameters: BetaParameters) -> Array:
        return np.stack(np.broadcast_arrays(*parameters), axis=-1)

    def from_natural(self, eta: Array) -> BetaParameters:
        return BetaParameters(eta[..., 0], eta[..., 1])

    def expected(self, parameters: BetaParameters) -> Array:
        return _expected(self.natural(parameters))

    def from_mean(self, mean: Array) -> BetaParameters:
        """Shapes by Newton's method; data without spread have none (`DegenerateDataError`)."""
        return self.from_natural(dirichlet_shapes(mean))

    def log_density_inside(self, x: Array, parameters: BetaParameters) -> Array:
        return _log_density(np.stack([x, 1 - x], axis=-1), self.natural(parameters))

    def sample(self, parameters: BetaParameters, n: int, rng: np.random.Generator) -> Array:
        a, b = np.broadcast_arrays(*parameters)
        return np.clip(rng.beta(a, b, size=(n, *a.shape)), SMALLEST_DRAW, LARGEST_BETA_DRAW)

    def outside(self, x: Array) -> Array:
        x = np.asarray(x)
        return np.asarray((x <= 0) | (x >= 1))


@stored()
@dataclass(frozen=True)
class Dirichlet(Family):
    """p(x) = Γ(Σα) Π x_k^(α_k−1) / Γ(α_k);  T = log x,  η = α,  A = Σ log Γ(α_k) − log Γ(Σα),  b(x) = Π 1/x_k.

    Examples
    --------
    >>> from mercer.families import Dirichlet, DirichletParameters
    >>> shares = DirichletParameters(np.array([1.0, 2.0, 3.0]))
    >>> np.exp(Dirichlet().log_density([[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]], shares)).round(3)
    array([4.5 , 0.72])
    """

    name: ClassVar[str] = "dirichlet"
    parameters_type: ClassVar[type[DirichletParameters]] = DirichletParameters
    support: ClassVar[str] = "rows of numbers above 0 that sum to 1"
    vector: ClassVar[bool] = True

    @property
    def link(self) -> Link:
        return Map("inverse digamma", dirichlet_shapes, _expected)

    def sufficient(self, x: Array) -> Array:
        return log_or_minus_infinity(x)

    def log_base(self, x: Array) -> Array:
        outside = self.outside(x)
        return np.where(outside, -np.inf, -np.log(np.where(outside[..., None], 1.0, x)).sum(axis=-1))

    def log_partition(self, eta: Array) -> Array:
        return _log_partition(eta)

    def natural(self, parameters: DirichletParameters) -> Array:
        return np.asarray(parameters.alpha, dtype=float)

    def from_natural(self, eta: Array) -> DirichletParameters:
        return DirichletParameters(eta)

    def expected(self, parameters: DirichletParameters) -> Array:
        return _expected(self.natural(parameters))

    def from_mean(self, mean: Array) -> DirichletParameters:
        """Shapes by Newton's method; rows without spread have none (`DegenerateDataError`)."""
        return DirichletParameters(dirichlet_shapes(mean))

    def log_density_inside(self, x: Array, parameters: DirichletParameters) -> Array:
        return _log_density(x, self.natural(parameters))

    def sample(self, parameters: DirichletParameters, n: int, rng: np.random.Generator) -> Array:
        alpha = self.natural(parameters)
        size = (n, *alpha.shape)
        # log of a gamma draw of shape α through one of shape α + 1, as draws of small α underflow to 0
        logs = np.log(rng.standard_gamma(alpha + 1, size=size)) - rng.standard_exponential(size=size) / alpha
        return np.maximum(softmax(logs, axis=-1), SMALLEST_DRAW)

    def outside(self, x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        return np.asarray((x <= 0).any(axis=-1) | (np.abs(x.sum(axis=-1) - 1) > SUM_TOLERANCE))
