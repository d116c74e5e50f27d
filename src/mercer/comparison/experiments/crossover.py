"""From how many rows on the discriminative half of a pair is the better one."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mercer._typing import Array

#: resamples of the repeats for an interval
RESAMPLES = 1000
#: shares of them below and above it
BELOW, ABOVE = 0.025, 0.975
#: stands for an infinite difference, of which means can be taken
INFINITE = 1e200
#: mean difference, in units of the differences, that comes of rounding: such curves have met, and none is ahead
ROUNDING = 1e-12


class Crossover(NamedTuple):
    """The size of the training set from which the second model stays ahead of the first.

    `size` is infinite if it is behind at the largest size, `least` if it is ahead at every size. `low` and `high` hold
    95% of the sizes found from resampled repeats; a single repeat has none (NaN).
    """

    size: float
    low: float
    high: float
    #: the smallest and the largest size at which both models were fitted
    least: int
    most: int
    #: whether the second model is behind at every smaller size
    once: bool = True

    @property
    def found(self) -> bool:
        """Whether the curves cross between the smallest and the largest size."""
        return self.least < self.size < math.inf

    def __str__(self) -> str:
        if self.size == math.inf:
            return f"none up to {self.most:,}"
        if self.size <= self.least:
            return f"before {self.least:,}"
        if math.isnan(self.low):
            return f"{self.size:,.0f}"
        low = f"before {self.least:,}" if self.low <= self.least else f"{self.low:,.0f}"
        high = f"none up to {self.most:,}" if self.high == math.inf else f"{self.high:,.0f}"
        return f"{self.size:,.0f} ({low} to {high})"


def crossover_of(sizes: Array, first: Array, second: Array) -> Crossover:
    """From what both models lost, (sizes, repeats): where the mean difference changes its sign for the last time.

    Sizes at which a model failed in every repeat are left out. An infinite loss counts as more than any other.

    Examples
    --------
    >>> first, second = np.array([[0.2], [0.2], [0.2]]), np.array([[0.4], [0.3], [0.1]])
    >>> print(crossover_of(np.array([10, 100, 1000]), first, second))
    316
    """
    with np.errstate(invalid="ignore"):  # ∞ − ∞, of which nobody knows who is ahead
        ahead = np.clip(first - second, -INFINITE, INFINITE)
    compared = ~np.isnan(ahead).all(axis=1)
    if compared.any():
        sizes, ahead = sizes[compared], ahead[compared]
    mean = _means(ahead[:, None, :])[:, 0]
    size = _crossing(sizes, mean)
    low, high = _interval(sizes, ahead) if ahead.shape[1] > 1 else (math.nan, math.nan)
    return Crossover(size, low, high, int(sizes[0]), int(sizes[-1]), not (mean[sizes < size] > 0).any())


def _interval(sizes: Array, ahead: Array) -> tuple[float, float]:
    """Of the sizes found from repeats that are drawn anew."""
    rng = np.random.default_rng(0)
    draws = rng.integers(ahead.shape[1], size=(RESAMPLES, ahead.shape[1]))
    means = _means(ahead[:, draws])  # (sizes, resamples)
    found = np.array([_crossing(sizes, mean) for mean in means.T])
    # a quantile between two finite sizes must not become infinite: take one of them
    low, high = np.quantile(found, [BELOW, ABOVE], method="inverted_cdf")
    return float(low), float(high)


def _means(ahead: Array) -> Array:
    """Means over the last axis of what is there; NaN where there is nothing."""
    known = ~np.isnan(ahead)
    there = np.where(known, ahead, 0.0)
    total = there.sum(axis=-1)
    total = np.where(np.abs(total) <= ROUNDING * np.abs(there).sum(axis=-1), 0.0, total)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / known.sum(axis=-1))


def _crossing(sizes: Array, ahead: Array) -> float:
    known = ~np.isnan(ahead)
    sizes, ahead = sizes[known], ahead[known]
    behind = np.flatnonzero(ahead <= 0)
    if not len(ahead) or (len(behind) and behind[-1] == len(ahead) - 1):
        return math.inf
    if not len(behind):
        return float(sizes[0])
    i = int(behind[-1])
    share = ahead[i] / (ahead[i] - ahead[i + 1])
    return float(sizes[i] ** (1 - share) * sizes[i + 1] ** share)
