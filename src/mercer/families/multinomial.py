"""The multinomial distribution: counts of V words in a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import gammaln

from mercer._stored import stored
from mercer._typing import Array
from mercer.families._saddle import deviance, peak
from mercer.families.base import Prior, SufficientStatistic, mean_with_prior
from mercer.families.levels import CategoricalParameters, LevelFamily


class _PerTrial(NamedTuple):
    """Statistic per trial of rows of any length: the number of trials, and the share of each word."""

    weight: Array
    mean: Array


@stored()
@dataclass(frozen=True)
class Multinomial(LevelFamily):
    """p(x) = N! Π p_wˣ / x_w!;  T = x,  η = log p,  A = N log Σ e^η,  b = Γ(N+1) / Π Γ(x_w+1).

    Factorials are Γ functions, so that counts may be fractional. With `trials` None the density is conditional on the
    length N of the row; T, A, the mean parameter and the strength of a prior are then per trial (word), not per row.

    Examples
    --------
    >>> from mercer.families import CategoricalParameters, Multinomial
    >>> words = CategoricalParameters(np.array([0.5, 0.3, 0.2]))
    >>> np.exp(Multinomial().log_density([[1, 1, 0], [2, 0, 0]], words)).round(3)
    array([0.3 , 0.25])
    """

    trials: int | None = None

    name: ClassVar[str] = "multinomial"
    support: ClassVar[str] = "rows of counts, 0 or more (summing to `trials` where these are given)"
    vector: ClassVar[bool] = True
    discrete: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.trials is not None and not (self.trials >= 1 and self.trials == int(self.trials)):
            raise ValueError(f"a multinomial needs a whole number of trials, at least 1; got trials={self.trials!r}.")

    def sufficient(self, x: Array) -> Array:
        return np.asarray(x, dtype=float)

    def log_base(self, x: Array) -> Array:
        outside = self.outside(x)
        counts = np.where(outside[..., None], 0.0, x)
        return np.where(outside, -np.inf, gammaln(counts.sum(axis=-1) + 1) - gammaln(counts + 1).sum(axis=-1))

    def log_partition(self, eta: Array) -> Array:
        return np.asarray((self.trials or 1) * LevelFamily.log_partition(self, eta))

    def expected(self, parameters: CategoricalParameters) -> Array:
        return np.asarray((self.trials or 1) * np.asarray(parameters.probabilities, dtype=float))

    def from_mean(self, mean: Array) -> CategoricalParameters:
        return CategoricalParameters(np.asarray(mean / mean.sum(axis=-1, keepdims=True)))

    def fit(self, statistic: SufficientStatistic, prior: Prior | None = None) -> CategoricalParameters:
        """Shares of the words among all words, the imagined words of a prior included."""
        if self.trials is not None:
            return self.from_mean(mean_with_prior(self, statistic, prior))
        mean = np.asarray(statistic.mean, dtype=float)
        length = np.where(np.asarray(statistic.weight) > 0, mean.sum(axis=-1), 0.0)
        shares = np.divide(mean, length[..., None], out=np.zeros(mean.shape), where=length[..., None] > 0)
        return CategoricalParameters(mean_with_prior(self, _PerTrial(statistic.weight * length, shares), prior))

    def log_density_inside(self, x: Array, parameters: CategoricalParameters) -> Array:
        length = x.sum(axis=-1)
        terms = peak(x) - deviance(x, length[..., None] * np.asarray(parameters.probabilities, dtype=float))
        return np.asarray(terms.sum(axis=-1) - peak(length))

    def sample(
        self,
        parameters: CategoricalParameters,
        n: int,
        rng: np.random.Generator,
        *,
        length: int | Array | None = None,
    ) -> Array:
        """Draw `n` rows; without `trials`, of the given `length` (one number, or one for each row)."""
        length = self.trials if length is None else length
        if length is None:
            raise ValueError("a multinomial without `trials` needs the length of the rows to sample: give `length`.")
        p = np.asarray(parameters.probabilities, dtype=float)
        p = p / p.sum(axis=-1, keepdims=True)
        leading = (n, *p.shape[:-1])
        lengths = np.reshape(length, np.shape(length) + (1,) * (len(leading) - np.ndim(length)))
        return rng.multinomial(np.broadcast_to(lengths, leading), p, size=leading)

    def outside(self, x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        bad = (x < 0).any(axis=-1) | np.isinf(x).any(axis=-1)
        return np.asarray(bad if self.trials is None else bad | (x.sum(axis=-1) != self.trials))
