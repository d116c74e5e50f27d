"""Conjugate priors as imagined observations, and how these join the real ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mercer._stored import stored
from mercer._typing import Array

Parameters = Any  # a NamedTuple of arrays, one class per family


class SufficientStatistic(Protocol):
    """What a family needs to see of a statistic of `mercer.stats`: how much data, and the mean of T.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from mercer.families import Poisson
    >>> seen = SimpleNamespace(weight=np.array(4.0), mean=np.array([2.0]))  # four counts of mean 2
    >>> Poisson().fit(seen)
    PoissonParameters(rate=array(2.))
    >>> Poisson().fit(seen, Poisson().prior(4, rate=1.0))  # and four imagined ones of mean 1
    PoissonParameters(rate=array(1.5))
    """

    @property
    def weight(self) -> Array: ...

    @property
    def mean(self) -> Array: ...


@stored()
@dataclass(frozen=True)
class Prior:
    """A conjugate prior, as `strength` imagined observations that look like `parameters`.

    In mean parameters its density is exp(strength · (⟨η, τ⟩ − A(η))) with τ = E T under `parameters`, so the
    mode of the posterior is the maximum likelihood fit with the imagined observations added to the real ones.
    For a categorical this is Dirichlet(1 + strength · p): add-α smoothing over K levels is `strength = αK` at
    the uniform distribution, Dirichlet(1 + α).

    Examples
    --------
    >>> from mercer.families import Bernoulli, Poisson
    >>> Bernoulli().prior(2, probability=0.5)  # one success and one failure, as if they had been seen
    Prior(strength=2, parameters=BernoulliParameters(probability=array(0.5)))
    >>> Poisson().prior(4, rate=1.0).strength
    4
    """

    strength: float | Array
    parameters: Parameters

    def __post_init__(self) -> None:
        strength = np.asarray(self.strength)
        if not ((strength >= 0) & np.isfinite(strength)).all():
            raise ValueError(f"the strength of a prior is a number of observations, 0 or more; got {self.strength!r}.")


def imagined_share(weight: Array, prior: Prior) -> Array:
    """The imagined part of all observations; NaN where there are none at all."""
    strength = np.asarray(prior.strength, dtype=float)
    total = np.asarray(weight + strength)
    return np.asarray(np.divide(strength, total, out=np.full(total.shape, np.nan), where=total > 0))


def moments_with_prior(
    statistic: SufficientStatistic, spread: Array, prior: Prior | None, square: Callable[[Array], Array]
) -> tuple[Array, Array]:
    """Mean and centred second moments of the data and the imagined observations; NaN where there are neither.

    A prior joins in by the rule for merging moments; `square` is what second moments are of, d² or d dᵀ.
    """
    weight = np.asarray(statistic.weight, dtype=float)

    def beside(values: Array, moments: Array) -> Array:
        return values.reshape(values.shape + (1,) * (np.ndim(moments) - values.ndim))

    # a class without data has no moments, whatever the statistic reports
    mean, spread = (np.where(beside(weight, m) > 0, m, np.nan) for m in (statistic.mean, spread))
    if prior is None:
        return mean, spread
    share = imagined_share(weight, prior)
    of_mean, of_spread = beside(share, mean), beside(share, spread)
    centre, around = prior.parameters
    mean, spread = np.where(of_mean < 1, mean, 0.0), np.where(of_spread < 1, spread, 0.0)
    between = of_spread * (1 - of_spread) * square(mean - centre)
    return (1 - of_mean) * mean + of_mean * centre, (1 - of_spread) * spread + of_spread * around + between
