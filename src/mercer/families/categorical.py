"""The categorical distribution: one of K levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer._stored import stored
from mercer._typing import Array
from mercer.families._levels import CategoricalParameters, LevelFamily, draw, log_probability, one_hot


@stored()
@dataclass(frozen=True)
class Categorical(LevelFamily):
    """p(x) = p_x for a code x = 0, …, K−1;  T = indicators of the levels,  η = log p,  A = log Σ e^η,  b = 1.

    The code −1 means missing. `levels` = K may be left open until parameters or a statistic say it.

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
            raise ValueError("the indicators of a categorical need its number of levels: say Categorical(levels=K).")
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
        """Of the indicators of the levels, last."""
        return np.asarray(mean * (1 - mean))

    def unit_deviance(self, y: Array, mean: Array) -> Array:
        """−2 log p of the level seen, where the mean is the probabilities of the levels, last."""
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
        shares[..., -1] = np.inf  # rounding must not put a probability of 1 behind the last
        q = np.asarray(q, dtype=float)
        code = (shares < q[..., None]).sum(axis=-1).astype(float)
        return np.where((q >= 0) & (q <= 1), code, np.nan)

    def mean_of(self, parameters: CategoricalParameters) -> Array:
        """Of the indicators of the levels: their probabilities."""
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
