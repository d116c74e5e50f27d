"""Successes among independent trials: one trial (Bernoulli), or a given number of them (binomial)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import betaln, expit, logit

from mercer.families._base import Array, Family
from mercer.families._saddle import deviance, peak
from mercer.families.links import LOGIT, Link

#: weighted successes may exceed all weighted trials by this share, having been added up in another order
ROUNDING = 1e-9


class BernoulliParameters(NamedTuple):
    """Probability p of a success in one trial."""

    probability: Array


class _Trials(Family):
    """What both share, with the number of trials N left open."""

    parameters_type: ClassVar[type[BernoulliParameters]] = BernoulliParameters
    discrete: ClassVar[bool] = True

    @property
    @abstractmethod
    def n_trials(self) -> int: ...

    def sufficient(self, x: Array) -> Array:
        return np.asarray(x, dtype=float)[..., None]

    def log_base(self, x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        outside, n = self.outside(x), self.n_trials
        inside = np.where(outside, 0.0, x)
        return np.where(outside, -np.inf, -betaln(n - inside + 1, inside + 1) - np.log1p(n))

    def log_partition(self, eta: Array) -> Array:
        return np.asarray(self.n_trials * np.logaddexp(0.0, eta[..., 0]))

    def natural(self, parameters: BernoulliParameters) -> Array:
        return np.asarray(logit(parameters.probability))[..., None]

    def from_natural(self, eta: Array) -> BernoulliParameters:
        return BernoulliParameters(np.asarray(expit(eta[..., 0])))

    def expected(self, parameters: BernoulliParameters) -> Array:
        return np.asarray(self.n_trials * np.asarray(parameters.probability))[..., None]

    def from_mean(self, mean: Array) -> BernoulliParameters:
        p = mean[..., 0] / self.n_trials
        return BernoulliParameters(np.where(np.abs(p - 1) < ROUNDING, np.minimum(p, 1.0), p))

    def log_density_inside(self, x: Array, parameters: BernoulliParameters) -> Array:
        n, p = self.n_trials, np.asarray(parameters.probability, dtype=float)
        height = peak(x) + peak(n - x) - peak(np.asarray(n))
        return np.asarray(height - deviance(x, n * p) - deviance(n - x, n * (1 - p)))

    def sample(self, parameters: BernoulliParameters, n: int, rng: np.random.Generator) -> Array:
        p = np.asarray(parameters.probability)
        return rng.binomial(self.n_trials, p, size=(n, *p.shape))

    def outside(self, x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        return np.asarray((x < 0) | (x > self.n_trials) | (np.floor(x) < x))


@dataclass(frozen=True)
class Bernoulli(_Trials):
    """p(x) = pˣ(1−p)¹⁻ˣ;  T = x,  η = log p/(1−p),  A = log(1 + e^η),  b = 1."""

    name: ClassVar[str] = "bernoulli"
    support: ClassVar[str] = "0 and 1 (or False and True)"

    @property
    def n_trials(self) -> int:
        return 1

    @property
    def link(self) -> Link:
        return LOGIT


@dataclass(frozen=True)
class Binomial(_Trials):
    """p(x) = C(N,x) pˣ(1−p)ᴺ⁻ˣ;  T = x,  η = log p/(1−p),  A = N log(1 + e^η),  b = C(N,x)."""

    trials: int

    name: ClassVar[str] = "binomial"
    support: ClassVar[str] = "counts from 0 to the number of trials"

    def __post_init__(self) -> None:
        if not (self.trials >= 1 and self.trials == int(self.trials)):
            raise ValueError(f"a binomial needs a whole number of trials, at least 1; got {self.trials!r}.")

    @property
    def n_trials(self) -> int:
        return self.trials

    @property
    def link(self) -> Link:
        n = self.trials
        return LOGIT if n == 1 else Link(f"logit of μ/{n}", lambda mu: logit(mu / n), lambda eta: n * expit(eta))
