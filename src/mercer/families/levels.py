"""The categorical distribution: one of K levels, coded 0 … K−1. Its parameters are also those of other families."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import logsumexp, softmax

from mercer._stored import floats, stored
from mercer._typing import Array
from mercer.families.base import Family
from mercer.families.links import SOFTMAX, Link


@stored(lambda own: own.probabilities.ndim > 0 and own.probabilities.shape[-1] > 0, probabilities=floats())
class CategoricalParameters(NamedTuple):
    """Probabilities of the levels (categories, bins, words) on the last axis.

    Examples
    --------
    >>> from mercer.families import Categorical, CategoricalParameters
    >>> shares = Categorical(2).sufficient([0, 1, 1, 1]).mean(axis=0)
    >>> Categorical(2).from_mean(shares) == CategoricalParameters(shares)
    True
    >>> Categorical(2).from_mean(shares).probabilities
    array([0.25, 0.75])
    """

    probabilities: Array


class LevelFamily(Family):
    """Base class of the categorical, the multinomial and the histogram: η = log p,  A = log Σ e^η,  E T = p.

    Of the η that give the same p, `natural` returns the one with A = 0.
    """

    parameters_type: ClassVar[type[CategoricalParameters]] = CategoricalParameters

    @property
    def link(self) -> Link:
        return SOFTMAX

    def log_partition(self, eta: Array) -> Array:
        return np.asarray(logsumexp(eta, axis=-1))

    def natural(self, parameters: CategoricalParameters) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(parameters.probabilities))

    def from_natural(self, eta: Array) -> CategoricalParameters:
        return CategoricalParameters(np.asarray(softmax(eta, axis=-1)))

    def expected(self, parameters: CategoricalParameters) -> Array:
        return np.asarray(parameters.probabilities, dtype=float)

    def from_mean(self, mean: Array) -> CategoricalParameters:
        return CategoricalParameters(mean)


def one_hot(codes: Array, levels: int) -> Array:
    """Indicators of the levels on a new last axis; all 0 for a code outside 0 … K−1."""
    return np.asarray(np.asarray(codes)[..., None] == np.arange(levels), dtype=float)


def log_probability(codes: Array, parameters: CategoricalParameters) -> Array:
    """log p of each level, where codes broadcast against the leading axes of the probabilities."""
    probabilities = np.asarray(parameters.probabilities, dtype=float)
    *leading, levels = probabilities.shape
    rows = np.arange(int(np.prod(leading))).reshape(leading)
    rows, codes = np.broadcast_arrays(rows, np.nan_to_num(codes).astype(np.int64))
    with np.errstate(divide="ignore"):
        table = np.log(probabilities.reshape(-1, levels))
    return np.asarray(table[rows, np.clip(codes, 0, levels - 1)])


def draw(parameters: CategoricalParameters, n: int, rng: np.random.Generator) -> Array:
    """Draw `n` codes for each leading index; a level of probability 0 is never drawn."""
    cumulative = np.cumsum(parameters.probabilities, axis=-1, dtype=float)
    cumulative /= cumulative[..., -1:]
    leading = cumulative.shape[:-1]
    uniform = rng.random((n, *leading))
    codes = np.empty(uniform.shape, dtype=np.int64)
    for place in np.ndindex(leading):
        codes[:, *place] = np.searchsorted(cumulative[place], uniform[:, *place], side="right")
    return codes


@stored()
@dataclass(frozen=True)
class Categorical(LevelFamily):
    """p(x) = p_x for a code x = 0, …, K−1;  T = indicators of the levels,  η = log p,  A = log Σ e^η,  b = 1.

    The code −1 means missing. `levels` = K may be None, where the parameters or a statistic determine it.

    Examples
    --------
    >>> from mercer.families import Categorical, CategoricalParameters
    >>> die = CategoricalParameters(np.array([0.5, 0.3, 0.2]))
    >>> np.exp(Categorical(3).log_density([0, 2], die)).round(3)
    array([0.5, 0.2])
    """

    levels: int | None = None

    name: ClassVar[str] = "categorical"
    statistic: ClassVar[str] = "levels"
    support: ClassVar[str] = "codes 0, 1, …, K − 1 of its levels (−1 for missing)"
    discrete: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.levels is not None and not (self.levels >= 1 and self.levels == int(self.levels)):
            raise ValueError(f"a categorical needs a whole number of levels, at least 1; got levels={self.levels!r}.")

    def sufficient(self, x: Array) -> Array:
        if self.levels is None:
            raise ValueError("the indicators of a categorical need its number of levels: give Categorical(levels=K).")
        return one_hot(x, self.levels)

    def log_base(self, x: Array) -> Array:
        return np.where(self.outside(x), -np.inf, 0.0)

    def log_density_inside(self, x: Array, parameters: CategoricalParameters) -> Array:
        levels = np.shape(parameters.probabilities)[-1]
        return np.where(x < levels, log_probability(x, parameters), -np.inf)

    @property
    def known_dispersion(self) -> float | None:
        return 1.0

    def unit_variance(self, mean: Array) -> Array:
        """Variance of the indicators of the levels, on the last axis."""
        return np.asarray(mean * (1 - mean))

    def unit_deviance(self, y: Array, mean: Array) -> Array:
        """−2 log p of the level y, where the mean holds the probabilities of the levels on the last axis."""
        return -2 * log_probability(np.asarray(y, dtype=float), CategoricalParameters(mean))

    def at_mean(self, mean: Array, dispersion: float | Array = 1.0) -> CategoricalParameters:
        return CategoricalParameters(np.asarray(mean, dtype=float))

    @property
    def response_support(self) -> str:
        return "codes 0, 1, …, K − 1 of its levels"

    def outside_response(self, y: Array) -> Array:
        return np.asarray(self.outside(y) | (np.asarray(y) < 0))

    def cdf(self, x: Array, parameters: CategoricalParameters) -> Array:
        """P(code ≤ x)."""
        shares = np.minimum(np.cumsum(parameters.probabilities, axis=-1, dtype=float), 1.0)
        shares[..., -1] = 1.0
        x = np.asarray(x, dtype=float)
        below = x[..., None] >= np.arange(shares.shape[-1])
        return np.where(np.isnan(x), np.nan, np.where(below, shares, 0.0).max(axis=-1))

    def quantile(self, q: Array, parameters: CategoricalParameters) -> Array:
        shares = np.cumsum(parameters.probabilities, axis=-1, dtype=float)
        shares[..., -1] = np.inf  # a sum that rounds to less than 1 must not put q = 1 beyond the last level
        q = np.asarray(q, dtype=float)
        code = (shares < q[..., None]).sum(axis=-1).astype(float)
        return np.where((q >= 0) & (q <= 1), code, np.nan)

    def mean_of(self, parameters: CategoricalParameters) -> Array:
        """Mean of the indicators of the levels: their probabilities."""
        return parameters.probabilities

    def variance_of(self, parameters: CategoricalParameters) -> Array:
        return self.unit_variance(np.asarray(parameters.probabilities))

    def sample(self, parameters: CategoricalParameters, n: int, rng: np.random.Generator) -> Array:
        return draw(parameters, n, rng)

    def missing(self, x: Array) -> Array:
        return np.asarray(np.isnan(x) | (np.asarray(x) == -1))

    def outside(self, x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        highest = np.inf if self.levels is None else self.levels - 1
        return np.asarray((x < -1) | (x > highest) | np.isinf(x) | (np.floor(x) < x))
