"""Tweedie distributions: variance φ μᵖ. Normal, Poisson, gamma and inverse Gaussian are p = 0, 1, 2, 3.

For 1 < p < 2 they are sums of a Poisson number of gamma variables: a point mass at 0, and a density above
(rainfall, insurance claims).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import gammainc

from mercer._errors import NoDensityError
from mercer._stored import floats, stored
from mercer._typing import Array
from mercer.families._saddle import deviance, peak
from mercer.families._support import negative, positive_quantile
from mercer.families._tweedie_loops import TERMS_PER_DEVIATION, log_heights
from mercer.families.base import Family, Prior, check_not_degenerate, mean_with_prior
from mercer.families.gamma import Gamma
from mercer.families.gaussian import Gaussian
from mercer.families.inverse_gaussian import InverseGaussian
from mercer.families.links import Link, Map, power_link
from mercer.families.losses import PowerLoss, RowLoss, SquaredLoss
from mercer.families.negative_binomial import ValueStatistic
from mercer.families.poisson import Poisson

# Tweedie distributions of a power between 1 and 2: a Poisson number λ of gamma variables of shape α and scale τ,
#
#     λ = μ²⁻ᵖ/(φ(2−p)),    α = (2−p)/(p−1),    τ = φ(p−1)μᵖ⁻¹.
#
# Density and distribution function are sums over that number. Their terms are as smooth as a normal density whose
# standard deviation is √(λ/(1+α)): where that is large, four terms per standard deviation give the sum to all digits.

#: from here on two terms of Stirling's series are exact in float64
TWO_STIRLING_TERMS_FROM = 1000.0
#: terms of the distribution function are summed over this many standard deviations to each side of the middle
DEVIATIONS_SUMMED = 9.0
#: and over at least this many terms to each side
MIN_TERMS_PER_SIDE = 24
#: λ beyond which the sum grows like √λ to all digits, and beyond which steps would be lost in rounding
LARGEST_NUMBER_OF_TERMS = 1e14
#: values × terms of the distribution function that are computed at once, 2 MiB
TWEEDIE_TERMS_AT_ONCE = 1 << 18


class Compound(NamedTuple):
    """Parameters λ, α and τ of the Poisson sum of gamma variables, for each value."""

    number: Array
    shape: float
    scale: Array


def compound(mean: Array, dispersion: Array, power: float) -> Compound:
    """Return λ, α and τ for a mean μ, a dispersion φ and a power p."""
    number = np.power(mean, 2 - power) / (dispersion * (2 - power))
    return Compound(number, (2 - power) / (power - 1), dispersion * (power - 1) * np.power(mean, power - 1))


def log_density(x: Array, mean: Array, dispersion: Array, power: float) -> Array:
    """log p for x ≥ 0; at x = 0 the log probability of the point mass."""
    x, mean, dispersion = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in (x, mean, dispersion)))
    zero = x == 0
    inside = np.where((x > 0) & np.isfinite(x), x, 1.0)
    # p(x; μ) = p(x; x) exp(−d/2φ), so that the sum is needed only at μ = x, where nothing in it cancels
    lost = PowerLoss(power).deviance(inside, mean) / (2 * dispersion)
    number, shape, _ = compound(inside, dispersion, power)
    highest = np.empty(number.size)
    log_heights(np.ravel(np.minimum(number, LARGEST_NUMBER_OF_TERMS)), shape, _heights(shape), highest)
    excess = np.maximum(number / LARGEST_NUMBER_OF_TERMS, 1.0)
    best = highest.reshape(x.shape) + 0.5 * np.log(excess) - np.log(inside)
    return np.where(zero, -compound(mean, dispersion, power).number, best - lost)


@functools.lru_cache(maxsize=8)
def _heights(shape: float) -> Array:
    """log jα + peak(j) + peak(jα) for j = 0, 1, …, to where two terms of Stirling's series give both peaks."""
    j = np.arange(1.0, np.ceil(TWO_STIRLING_TERMS_FROM * max(1.0, 1 / shape)) + 1)
    return np.concatenate([[-np.inf], np.log(j * shape) + peak(j) + peak(j * shape)])


def cdf(x: Array, mean: Array, dispersion: Array, power: float) -> Array:
    """P(X ≤ x)."""
    x, mean, dispersion = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in (x, mean, dispersion)))
    number, shape, scale = (np.ravel(part) for part in compound(mean, dispersion, power))
    at = np.ravel(np.maximum(x, 0.0)) / scale

    def terms(j: Array, rows: Array) -> Array:
        weight = np.exp(peak(j) - deviance(j, number[rows, None]))
        return np.asarray(weight * gammainc(j * shape, at[rows, None]))

    total = np.exp(-number) + _sum(terms, number, np.sqrt(number), float(shape[0]))
    return np.where(x < 0, 0.0, np.minimum(total, 1.0).reshape(x.shape))


def _sum(terms: Callable[[Array, Array], Array], middle: Array, deviation: Array, shape: float) -> Array:
    """Σ terms(j) over j = 1, 2, … around `middle`, a block of values at a time."""
    step = np.maximum(1.0, np.floor(np.sqrt(middle / (1 + shape)) / TERMS_PER_DEVIATION))
    reach = np.where(np.isfinite(deviation), np.ceil(DEVIATIONS_SUMMED * deviation / step), 0) + MIN_TERMS_PER_SIDE
    result = np.empty(len(middle))
    order = np.argsort(reach)  # so that the values of one block need about the same number of terms
    start = 0
    while start < len(order):
        # the block ends where its widest value times its length would exceed the limit
        sizes = reach[order[start:]] * np.arange(1, len(order) - start + 1)
        stop = start + max(1, int(np.searchsorted(sizes, TWEEDIE_TERMS_AT_ONCE)))
        rows = order[start:stop]
        offsets = np.arange(-reach[rows[-1]], reach[rows[-1]] + 1)
        j = np.round(middle[rows])[:, None] + step[rows, None] * offsets
        values = np.where(j >= 1, terms(np.maximum(j, 1.0), rows), 0.0)
        result[rows] = step[rows] * values.sum(axis=1)
        start = stop
    return result


def quantile(q: Array, mean: Array, dispersion: Array, power: float) -> Array:
    """Smallest x with P(X ≤ x) ≥ q; 0 for q up to P(X = 0)."""
    q, mean, dispersion = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in (q, mean, dispersion)))
    result = np.where(q == 1, np.inf, np.where((q >= 0) & (q < 1), 0.0, np.nan))
    above = (q > np.exp(-compound(mean, dispersion, power).number)) & (q < 1)
    m, d = mean[above], dispersion[above]
    result[above] = positive_quantile(
        lambda x, rows: cdf(x, m[rows], d[rows], power),
        lambda x, rows: log_density(x, m[rows], d[rows], power),
        q[above],
        m,
    )
    return result


def sample(mean: Array, dispersion: Array, power: float, n: int, rng: np.random.Generator) -> Array:
    """Draw `n` sums of a Poisson number of gamma variables for each mean."""
    number, shape, scale = compound(mean, dispersion, power)
    count = rng.poisson(number, size=(n, *np.shape(mean)))
    return np.where(count > 0, rng.standard_gamma(np.maximum(count, 1) * shape) * scale, 0.0)


#: families that are Tweedie distributions, by their power
FAMILY_OF_POWER: dict[float, Family] = {0.0: Gaussian(), 1.0: Poisson(), 2.0: Gamma(), 3.0: InverseGaussian()}
#: the maximum likelihood estimate of log φ is searched this far to both sides of the moment estimate
LOG_DISPERSION_REACH = 12.0


@stored(mean=floats(), dispersion=floats())
class TweedieParameters(NamedTuple):
    """Mean μ and dispersion φ: the variance is φ μᵖ.

    Examples
    --------
    >>> from mercer.families import Tweedie, TweedieParameters
    >>> float(Tweedie(1.5).variance_of(TweedieParameters(4.0, 0.5)))
    4.0
    """

    mean: Array
    dispersion: Array


@stored()
@dataclass(frozen=True)
class Tweedie(Family):
    """p(x) = b(x, φ) exp((xθ − κ)/φ);  T = x,  η = θ/φ,  θ = μ¹⁻ᵖ/(1−p),  A = κ/φ,  κ = μ²⁻ᵖ/(2−p).

    An exponential family for a given `dispersion` φ (1 for the power 1, a Poisson); with None, φ is estimated by
    maximum likelihood. There is no Tweedie distribution of a power between 0 and 1; densities are implemented for the
    powers 0, 1 to 2, and 3.

    Examples
    --------
    >>> from mercer.families import Tweedie, TweedieParameters
    >>> claims = Tweedie(1.5)
    >>> float(np.exp(claims.log_density(0.0, TweedieParameters(2.0, 1.0))).round(3))  # P(X = 0)
    0.059
    """

    power: float = 1.5
    dispersion: float | None = None

    name: ClassVar[str] = "tweedie"
    parameters_type: ClassVar[type[TweedieParameters]] = TweedieParameters

    def __post_init__(self) -> None:
        if not np.isfinite(self.power) or 0 < self.power < 1:
            raise ValueError(
                f"no Tweedie distribution has the power {self.power!r}; use 0 or less, or 1 or more "
                "(1 to 2 for amounts with zeros)."
            )
        if self.dispersion is not None and not 0 < self.dispersion < np.inf:
            raise ValueError(f"a known dispersion is a finite number above 0; got {self.dispersion!r}.")
        if self.power == 1 and self.dispersion not in (None, 1.0):
            raise ValueError("a Tweedie distribution of power 1 is a Poisson, of dispersion 1.")

    @property
    def support(self) -> str:  # type: ignore[override]
        if self.power <= 0:
            return "finite numbers"
        if self.power == 1:
            return Poisson.support
        return "numbers from 0 upwards" if self.power < 2 else "numbers above 0"

    @property
    def discrete(self) -> bool:  # type: ignore[override]
        return self.power == 1

    @property
    def exponential(self) -> bool:
        return self.known_dispersion is not None

    @property
    def known_dispersion(self) -> float | None:
        return 1.0 if self.power == 1 else self.dispersion

    @property
    def _known(self) -> float:
        """The known φ, or an error: the formulas of an exponential family need it."""
        if (dispersion := self.known_dispersion) is None:
            raise ValueError(
                "without φ a Tweedie distribution is not an exponential family; give Tweedie(power, dispersion=…)."
            )
        return dispersion

    @property
    def link(self) -> Link:
        """θ/φ as a function of the mean, or θ where φ is unknown."""
        p, scale = self.power, self.known_dispersion or 1.0
        if p == 1:
            return FAMILY_OF_POWER[1.0].link
        return Map(f"θ of power {p:g}", lambda mu: _theta(mu, p) / scale, lambda eta: _mean(eta * scale, p))

    @property
    def response_link(self) -> Link:
        """μ¹⁻ᵖ, canonical up to a factor."""
        return power_link(1 - self.power)

    def sufficient(self, x: Array) -> Array:
        return np.asarray(x, dtype=float)[..., None]

    def log_base(self, x: Array) -> Array:
        # log b = log p − (xη − A) at μ = 1, where θ = 1/(1−p) and κ = 1/(2−p), or their limits
        outside = self.outside(x)
        x = np.where(outside, 1.0, x)
        at_one = self.from_mean(np.ones((*np.shape(x), 1)))
        eta = self.natural(at_one)
        exponent = x * eta[..., 0] - self.log_partition(eta)
        return np.where(outside, -np.inf, self.log_density_inside(x, at_one) - exponent)

    def log_partition(self, eta: Array) -> Array:
        mean = _mean(eta[..., 0] * self._known, self.power)
        return np.asarray(_kappa(mean, self.power) / self._known)

    def natural(self, parameters: TweedieParameters) -> Array:
        mean = np.asarray(parameters.mean, dtype=float)
        return np.asarray(_theta(mean, self.power) / self._known)[..., None]

    def from_natural(self, eta: Array) -> TweedieParameters:
        return self.from_mean(_mean(eta * self._known, self.power))

    def expected(self, parameters: TweedieParameters) -> Array:
        return np.asarray(parameters.mean, dtype=float)[..., None]

    def from_mean(self, mean: Array) -> TweedieParameters:
        return TweedieParameters(mean[..., 0], np.full(mean.shape[:-1], self._known))

    def fit(self, statistic: Any, prior: Prior | None = None) -> TweedieParameters:
        """Mean of the data, and φ, known or estimated by maximum likelihood at that mean."""
        if self.exponential:
            return self.from_mean(mean_with_prior(self, statistic, prior))
        if prior is not None:
            raise ValueError("a prior needs a known φ: give Tweedie(power, dispersion=…).")
        return self._fit_both(statistic)

    def _fit_both(self, statistic: ValueStatistic) -> TweedieParameters:
        shape = np.shape(statistic.weight)
        mean, dispersion = np.full(shape, np.nan), np.full(shape, np.nan)
        for place in np.ndindex(*shape):
            values, weights = statistic.histogram(*place)
            if np.sum(weights) > 0:
                mean[place] = np.average(values, weights=weights)
                dispersion[place] = self._likeliest(values, weights, float(mean[place]))
        check_not_degenerate("a Tweedie", "data without spread", dispersion == 0)
        return TweedieParameters(mean, dispersion)

    def _likeliest(self, values: Array, weights: Array, mean: float) -> float:
        from scipy.optimize import minimize_scalar

        variance = np.average(np.square(values - mean), weights=weights)
        if not variance > 0:
            return 0.0
        start = float(np.log(variance) - self.power * np.log(mean)) if self.power else float(np.log(variance))

        def loss(log_dispersion: float) -> float:
            parameters = TweedieParameters(np.array(mean), np.exp(log_dispersion))
            return -float(weights @ self.log_density(values, parameters))

        bounds = (start - LOG_DISPERSION_REACH, start + LOG_DISPERSION_REACH)
        return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-9}).x))

    def _named_family(self, parameters: TweedieParameters) -> tuple[Family, Any]:
        """Return the family of power 0, 1, 2 or 3 with its parameters; `NoDensityError` for other powers."""
        if (family := FAMILY_OF_POWER.get(float(self.power))) is None:
            raise NoDensityError(
                f"a Tweedie distribution of power {self.power:g} has no density in closed form; "
                "the loss and the mean are known, for probabilities use a power of 0, from 1 to 2, or 3."
            )
        return family, family.at_mean(*np.broadcast_arrays(*parameters))

    @property
    def _compound(self) -> bool:
        return 1 < self.power < 2

    def log_density_inside(self, x: Array, parameters: TweedieParameters) -> Array:
        if self._compound:
            return log_density(x, parameters.mean, parameters.dispersion, self.power)
        family, own = self._named_family(parameters)
        return family.log_density_inside(x, own)

    @property
    def row_loss(self) -> RowLoss:
        return SquaredLoss() if self.power == 0 else PowerLoss(float(self.power))

    @property
    def response_support(self) -> str:
        return "numbers from 0 upwards" if self.power == 1 else self.support

    def outside_response(self, y: Array) -> Array:
        return FAMILY_OF_POWER[1.0].outside_response(y) if self.power == 1 else self.outside(y)

    def at_mean(self, mean: Array, dispersion: float | Array = 1.0) -> TweedieParameters:
        mean = np.asarray(mean, dtype=float)
        return TweedieParameters(mean, np.array(np.broadcast_to(dispersion, mean.shape), dtype=float))

    def cdf(self, x: Array, parameters: TweedieParameters) -> Array:
        if self._compound:
            return cdf(x, parameters.mean, parameters.dispersion, self.power)
        family, own = self._named_family(parameters)
        return family.cdf(x, own)

    def quantile(self, q: Array, parameters: TweedieParameters) -> Array:
        if self._compound:
            return quantile(q, parameters.mean, parameters.dispersion, self.power)
        family, own = self._named_family(parameters)
        return family.quantile(q, own)

    def mean_of(self, parameters: TweedieParameters) -> Array:
        return parameters.mean

    def variance_of(self, parameters: TweedieParameters) -> Array:
        return np.asarray(parameters.dispersion * np.power(parameters.mean, self.power))

    def sample(self, parameters: TweedieParameters, n: int, rng: np.random.Generator) -> Array:
        if self._compound:
            mean, dispersion = np.broadcast_arrays(*parameters)
            return sample(mean, dispersion, self.power, n, rng)
        family, own = self._named_family(parameters)
        return family.sample(own, n, rng)

    def outside(self, x: Array) -> Array:
        if self._compound:
            return negative(x)
        if self.power <= 0:
            return np.isinf(x)
        return FAMILY_OF_POWER[1.0 if self.power == 1 else 2.0].outside(x)


def _theta(mean: Array, power: float) -> Array:
    """Canonical parameter θ of a mean: ∂θ/∂μ = μ⁻ᵖ."""
    mean = np.asarray(mean, dtype=float)
    with np.errstate(divide="ignore"):
        return np.log(mean) if power == 1 else np.power(mean, 1 - power) / (1 - power)


def _mean(theta: Array, power: float) -> Array:
    """Mean of a canonical parameter θ, the inverse of `_theta`."""
    if power == 0:
        return np.asarray(theta)
    return np.asarray(np.exp(theta) if power == 1 else np.power((1 - power) * theta, 1 / (1 - power)))


def _kappa(mean: Array, power: float) -> Array:
    """Cumulant function κ at a mean: ∂κ/∂μ = μ¹⁻ᵖ."""
    return np.asarray(np.log(mean) if power == 2 else np.power(mean, 2 - power) / (2 - power))
