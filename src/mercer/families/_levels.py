"""One of K levels, coded 0 … K−1: what the categorical, the multinomial and the histogram share."""

from __future__ import annotations

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
    """η = log p,  A = log Σ e^η,  E T = p: the natural parameter with A = 0 among those that give the same p."""

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
    """Indicators of the levels on a new last axis; all 0 for a code that is none of them."""
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
    """`n` codes for each leading index; a level of probability 0 is never drawn."""
    cumulative = np.cumsum(parameters.probabilities, axis=-1, dtype=float)
    cumulative /= cumulative[..., -1:]
    leading = cumulative.shape[:-1]
    uniform = rng.random((n, *leading))
    codes = np.empty(uniform.shape, dtype=np.int64)
    for place in np.ndindex(leading):
        codes[:, *place] = np.searchsorted(cumulative[place], uniform[:, *place], side="right")
    return codes
