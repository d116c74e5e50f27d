"""The negative binomial distribution: counts whose variance exceeds that of a Poisson."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from scipy.special import betainc, betaln, gammaincc, pdtr

from mercer._stored import floats, stored
from mercer._typing import Array
from mercer.families._counts import CountFamily
from mercer.families._dispersion import dispersion
from mercer.families._saddle import deviance, peak
from mercer.families._support import whole_quantile
from mercer.families.base import Prior, SufficientStatistic, mean_with_prior
from mercer.families.links import LOG, Link, LogOdds
from mercer.families.losses import OverdispersedLoss, RowLoss

#: imagined counts up to this one are kept singly
LAST_SINGLE_COUNT = 1_000
#: and those beyond in this number of runs, or a mean of thousands would have millions of imagined counts
RUNS_OF_COUNTS = 500


@stored(mean=floats(), r=floats())
class NegativeBinomialParameters(NamedTuple):
    """Mean μ and dispersion r: the variance is μ + μ²/r, and r = ∞ is the Poisson.

    Examples
    --------
    >>> from mercer.families import NegativeBinomial, NegativeBinomialParameters
    >>> float(NegativeBinomial(2.0).variance_of(NegativeBinomialParameters(4.0, 2.0)))
    12.0
    """

    mean: Array
    r: Array


class ValueStatistic(SufficientStatistic, Protocol):
    """A histogram of the counts of each group and column."""

    def histogram(self, group: int, column: int) -> tuple[Array, Array]: ...


@stored()
@dataclass(frozen=True)
class NegativeBinomial(CountFamily):
    """p(x) = Γ(x+r)/Γ(r)x! · (1−q)ʳ qˣ, q = μ/(μ+r);  T = x,  η = log q,  A = −r log(1−e^η),  b = Γ(x+r)/Γ(r)x!.

    An exponential family for a given `r`; with `r` None it is estimated for each group and column from the counts of
    distinct values, and is ∞ (a Poisson) where their variance does not exceed their mean.

    Examples
    --------
    >>> from mercer.families import NegativeBinomial, NegativeBinomialParameters, Poisson, PoissonParameters
    >>> float(NegativeBinomial(2.0).log_density(10, NegativeBinomialParameters(3.0, 2.0)).round(2))
    -4.54
    >>> float(Poisson().log_density(10, PoissonParameters(3.0)).round(2))  # thinner tails
    -7.12
    """

    r: float | None = None

    name: ClassVar[str] = "negative_binomial"
    parameters_type: ClassVar[type[NegativeBinomialParameters]] = NegativeBinomialParameters

    def __post_init__(self) -> None:
        if self.r is not None and not 0 < self.r < np.inf:
            raise ValueError(f"a negative binomial needs a finite r above 0; got {self.r!r}.")

    @property
    def exponential(self) -> bool:
        return self.r is not None

    @property
    def _known_r(self) -> float:
        """The known r, or an error: the formulas of an exponential family need it."""
        if self.r is None:
            raise ValueError("without r a negative binomial is not an exponential family; give NegativeBinomial(r=…).")
        return self.r

    @property
    def link(self) -> Link:
        """log μ/(μ+r), or log μ where r is unknown."""
        if self.r is None:
            return LOG
        return LogOdds(self.r)

    def log_base(self, x: Array) -> Array:
        outside = self.outside(x)
        counts = np.where(outside, 0.0, x)
        return np.where(outside, -np.inf, -betaln(counts + 1, self._known_r) - np.log(counts + self._known_r))

    def log_partition(self, eta: Array) -> Array:
        return np.asarray(-self._known_r * np.log(-np.expm1(eta[..., 0])))

    def natural(self, parameters: NegativeBinomialParameters) -> Array:
        with np.errstate(divide="ignore"):
            return -np.log1p(self._known_r / np.asarray(parameters.mean, dtype=float))[..., None]

    def from_natural(self, eta: Array) -> NegativeBinomialParameters:
        return self.from_mean(self._known_r / np.expm1(-eta))

    def expected(self, parameters: NegativeBinomialParameters) -> Array:
        return np.asarray(parameters.mean, dtype=float)[..., None]

    def from_mean(self, mean: Array) -> NegativeBinomialParameters:
        return NegativeBinomialParameters(mean[..., 0], np.full(mean.shape[:-1], self._known_r))

    def fit(self, statistic: Any, prior: Prior | None = None) -> NegativeBinomialParameters:
        """Mean of the counts, and r, known or estimated by maximum likelihood at that mean."""
        if self.r is not None:
            return self.from_mean(mean_with_prior(self, statistic, prior))
        return _fit_mean_and_r(statistic, prior)

    def log_density_inside(self, x: Array, parameters: NegativeBinomialParameters) -> Array:
        mean, r = (np.asarray(value, dtype=float) for value in parameters)
        poisson = peak(x) - deviance(x, mean)
        size = np.where(np.isinf(r), 1.0, r)
        total = size + x
        # probability of r successes among r + x trials of which the last is a success
        binomial = peak(size) + peak(x) - peak(total)
        binomial -= deviance(size, total * (size / (size + mean))) + deviance(x, total * (mean / (size + mean)))
        return np.where(np.isinf(r), poisson, binomial - np.log1p(x / size))

    @property
    def row_loss(self) -> RowLoss:
        return OverdispersedLoss(self._known_r)

    def at_mean(self, mean: Array, dispersion: float | Array = 1.0) -> NegativeBinomialParameters:
        return self.from_mean(np.asarray(mean, dtype=float)[..., None])

    def cdf(self, x: Array, parameters: NegativeBinomialParameters) -> Array:
        mean, r = (np.asarray(value, dtype=float) for value in parameters)
        k = np.floor(np.asarray(x, dtype=float))
        count, size = np.maximum(k, 0.0), np.where(np.isinf(r), 1.0, r)
        at_most = np.where(np.isinf(r), gammaincc(count + 1, mean), betainc(size, count + 1, size / (size + mean)))
        return np.where(k < 0, 0.0, np.where(np.isposinf(k), 1.0, at_most))

    def quantile(self, q: Array, parameters: NegativeBinomialParameters) -> Array:
        deviation = np.sqrt(self.variance_of(parameters))
        return whole_quantile(lambda k: self.cdf(k, parameters), q, parameters.mean, deviation)

    def mean_of(self, parameters: NegativeBinomialParameters) -> Array:
        return parameters.mean

    def variance_of(self, parameters: NegativeBinomialParameters) -> Array:
        return np.asarray(parameters.mean * (1 + parameters.mean / parameters.r))

    def sample(self, parameters: NegativeBinomialParameters, n: int, rng: np.random.Generator) -> Array:
        mean, r = np.broadcast_arrays(*parameters)
        size = np.where(np.isinf(r), 1.0, r)
        rate = rng.standard_gamma(size, size=(n, *mean.shape)) / size
        return rng.poisson(mean * np.where(np.isinf(r), 1.0, rate))


def _fit_mean_and_r(statistic: ValueStatistic, prior: Prior | None) -> NegativeBinomialParameters:
    shape = np.shape(statistic.weight)
    mean, r = np.full(shape, np.nan), np.full(shape, np.nan)
    for group, column in np.ndindex(*shape):
        values, weights = statistic.histogram(group, column)
        if prior is not None:
            strength, *parameters = (
                np.broadcast_to(field, shape)[group, column] for field in (prior.strength, *prior.parameters)
            )
            imagined, probabilities = _imagined_counts(NegativeBinomialParameters(*parameters))
            values = np.concatenate([values, imagined])
            weights = np.concatenate([weights, strength * probabilities])
        if np.sum(weights) > 0:
            mean[group, column] = np.average(values, weights=weights)
            r[group, column] = dispersion(values, weights)
    return NegativeBinomialParameters(mean, r)


def _imagined_counts(parameters: NegativeBinomialParameters) -> tuple[Array, Array]:
    """Counts and their probabilities, up to where the tail, which falls like (μ/(μ+r))ˣ, is negligible.

    Counts up to LAST_SINGLE_COUNT are single; beyond, a run of counts is represented by its middle.
    """
    mean, r = parameters
    last = np.ceil(mean + 40 * np.sqrt(mean + mean**2 / r) + 40 * (1 + mean / r))
    ends = np.arange(min(last, LAST_SINGLE_COUNT) + 1)
    if last > LAST_SINGLE_COUNT:
        runs = np.geomspace(LAST_SINGLE_COUNT + 1, last, RUNS_OF_COUNTS)
        ends = np.concatenate([ends, np.unique(runs.round())])
    at_most = pdtr(ends, mean) if np.isinf(r) else betainc(r, ends + 1, r / (r + mean))
    probabilities = np.diff(at_most, prepend=0.0)
    starts = np.concatenate([[0.0], ends[:-1] + 1])
    return np.floor((starts + ends) / 2), probabilities / probabilities.sum()
