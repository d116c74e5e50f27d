"""Successes among independent trials: one trial (Bernoulli), or a given number of them (binomial)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import betainc, betaln, expit, logit

from mercer._errors import FamilyError
from mercer._stored import floats, stored
from mercer._typing import Array
from mercer.families._saddle import deviance, peak
from mercer.families._support import whole_quantile
from mercer.families.base import Family
from mercer.families.links import LOGIT, Link, Map
from mercer.families.losses import RowLoss, ShareLoss

#: relative excess of weighted successes over weighted trials that rounding explains, as the two sums have other orders
EXCESS_OF_SUCCESSES = 1e-9


@stored(probability=floats())
class BernoulliParameters(NamedTuple):
    """Probability p of a success in one trial.

    Examples
    --------
    >>> from mercer.families import Bernoulli, BernoulliParameters
    >>> float(Bernoulli().natural(BernoulliParameters(0.75))[0].round(3))
    1.099
    """

    probability: Array


class _SuccessFamily(Family):
    """Base class of the Bernoulli and the binomial, of N trials."""

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
        return BernoulliParameters(np.where(np.abs(p - 1) < EXCESS_OF_SUCCESSES, np.minimum(p, 1.0), p))

    def log_density_inside(self, x: Array, parameters: BernoulliParameters) -> Array:
        n, p = self.n_trials, np.asarray(parameters.probability, dtype=float)
        height = peak(x) + peak(n - x) - peak(np.asarray(n))
        return np.asarray(height - deviance(x, n * p) - deviance(n - x, n * (1 - p)))

    @property
    def row_loss(self) -> RowLoss:
        return ShareLoss(self.n_trials)

    @property
    def response_link(self) -> Link:
        """Logit of the share μ/N: the links of a binomial response act on its share."""
        return LOGIT

    @property
    def known_dispersion(self) -> float | None:
        return 1.0

    def at_mean(self, mean: Array, dispersion: float | Array = 1.0) -> BernoulliParameters:
        return BernoulliParameters(np.asarray(mean, dtype=float) / self.n_trials)

    def cdf(self, x: Array, parameters: BernoulliParameters) -> Array:
        n, p = self.n_trials, np.asarray(parameters.probability, dtype=float)
        k = np.floor(np.asarray(x, dtype=float))
        inside = np.clip(k, 0, n - 1)
        at_most = betainc(n - inside, inside + 1, 1 - p)
        return np.where(k < 0, 0.0, np.where(k >= n, 1.0, at_most))

    def quantile(self, q: Array, parameters: BernoulliParameters) -> Array:
        mean, deviation = self.mean_of(parameters), np.sqrt(self.variance_of(parameters))
        return whole_quantile(lambda k: self.cdf(k, parameters), q, mean, deviation, float(self.n_trials))

    def mean_of(self, parameters: BernoulliParameters) -> Array:
        return np.asarray(self.n_trials * np.asarray(parameters.probability))

    def variance_of(self, parameters: BernoulliParameters) -> Array:
        p = np.asarray(parameters.probability)
        return np.asarray(self.n_trials * p * (1 - p))

    def sample(self, parameters: BernoulliParameters, n: int, rng: np.random.Generator) -> Array:
        p = np.asarray(parameters.probability)
        return rng.binomial(self.n_trials, p, size=(n, *p.shape))

    def outside(self, x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        return np.asarray((x < 0) | (x > self.n_trials) | (np.floor(x) < x))


@stored()
@dataclass(frozen=True)
class Bernoulli(_SuccessFamily):
    """p(x) = pˣ(1−p)¹⁻ˣ;  T = x,  η = log p/(1−p),  A = log(1 + e^η),  b = 1.

    Examples
    --------
    >>> from mercer.families import Bernoulli, BernoulliParameters
    >>> coin = Bernoulli()
    >>> coin.from_mean(coin.sufficient([1, 0, 1, 1]).mean(axis=0))
    BernoulliParameters(probability=array(0.75))
    >>> coin.log_density([0, 1, 2], BernoulliParameters(0.75)).round(3)
    array([-1.386, -0.288,   -inf])
    """

    name: ClassVar[str] = "bernoulli"
    support: ClassVar[str] = "0 and 1 (or False and True)"

    @property
    def n_trials(self) -> int:
        return 1

    @property
    def link(self) -> Link:
        return LOGIT

    @property
    def row_loss(self) -> RowLoss:
        return ShareLoss(1, binary=True)


@stored()
@dataclass(frozen=True, eq=False, repr=False)
class Binomial(_SuccessFamily):
    """p(x) = C(N,x) pˣ(1−p)ᴺ⁻ˣ;  T = x,  η = log p/(1−p),  A = N log(1 + e^η),  b = C(N,x).

    As the response of a model, `trials` may be an array with the number of trials of each row of the fit, or None where
    y has two columns, successes and failures; the model then describes shares.

    Examples
    --------
    >>> from mercer.families import BernoulliParameters, Binomial
    >>> np.exp(Binomial(3).log_density([0, 1, 2, 3], BernoulliParameters(0.5))).round(3)
    array([0.125, 0.375, 0.375, 0.125])
    """

    trials: Any = None

    name: ClassVar[str] = "binomial"
    support: ClassVar[str] = "counts from 0 to the number of trials"

    def __post_init__(self) -> None:
        if self.trials is None:
            return
        number = np.asarray(self.trials)
        if number.ndim == 0:
            if not (self.trials >= 1 and self.trials == int(self.trials)):
                raise ValueError(f"a binomial needs a whole number of trials, at least 1; got {self.trials!r}.")
            return
        if number.ndim != 1 or number.dtype.kind not in "iuf" or not np.isfinite(number).all() or (number < 0).any():
            raise ValueError(
                "trials is one whole number, or an array with a number of 0 or more for each row; got one of shape "
                f"{number.shape} and type {number.dtype}."
            )
        number = number.copy()
        number.flags.writeable = False
        object.__setattr__(self, "trials", number)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Binomial) and np.array_equal(self.trials, other.trials)

    def __hash__(self) -> int:
        return hash(("binomial", self.trials.tobytes() if isinstance(self.trials, np.ndarray) else self.trials))

    def __repr__(self) -> str:
        trials = f"<{len(self.trials)} numbers>" if isinstance(self.trials, np.ndarray) else repr(self.trials)
        return f"Binomial(trials={trials})"

    @property
    def n_trials(self) -> int:
        if self.trials is None or isinstance(self.trials, np.ndarray):
            raise FamilyError(
                f"{self!r} has no single number of trials, which only the response of a GLM can do without; give "
                "Binomial(trials=n)."
            )
        return int(self.trials)

    @property
    def response_support(self) -> str:
        return f"numbers from 0 to {self.n_trials}, the number of trials"

    def outside_response(self, y: Array) -> Array:
        return np.asarray((np.asarray(y) < 0) | (np.asarray(y) > self.n_trials))

    @property
    def link(self) -> Link:
        n = self.n_trials
        return LOGIT if n == 1 else Map(f"logit of μ/{n}", lambda mu: logit(mu / n), lambda eta: n * expit(eta))
