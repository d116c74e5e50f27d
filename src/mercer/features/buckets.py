"""Which bucket a number lies in (lecture 1: saturation by discretisation), and where buckets begin."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mercer._stored import floats, stored
from mercer._typing import Array


def decades(x: Array) -> Array:
    """0, 10, 100, …, beyond the largest value; as many below 0 as the smallest one needs.

    Examples
    --------
    >>> decades(np.array([3.0, 250.0])).tolist()
    [0.0, 10.0, 100.0, 1000.0]
    """
    lowest, highest = (float(x.min()), float(x.max())) if len(x) else (0.0, 0.0)
    up = _powers_to(highest)
    return np.concatenate([-_powers_to(-lowest)[::-1], [0.0], up]) if lowest < 0 else np.append(0.0, up)


def _powers_to(most: float) -> Array:
    """10, 100, …, up to the first that is larger, or to the largest that is a number."""
    powers = 10.0 ** np.arange(1, 309)
    return powers[: int(np.searchsorted(powers, most, side="right")) + 1]


def quantiles(x: Array, count: int) -> Array:
    """Edges of as many buckets with as many values in each; fewer where many values are equal."""
    if not len(x):
        return np.zeros(1)
    x, unit = halved(x)
    # in percent, as scikit-learn counts: the third of five quantiles is 0.6, and not 0.6 and a rounding
    levels = np.linspace(0.0, 100.0, count + 1)
    return np.unique(np.percentile(x, levels, method="averaged_inverted_cdf") * unit)


def equal_widths(x: Array, count: int) -> Array:
    """Edges of as many buckets of one width between the smallest and the largest value."""
    if not len(x):
        return np.zeros(1)
    x, unit = halved(x)
    return np.unique(np.linspace(x.min(), x.max(), count + 1) * unit)


def halved(x: Array) -> tuple[Array, float]:
    """Values whose differences are numbers, which may take a unit of 2."""
    x = x.astype(np.float64, copy=False)
    return (x, 1.0) if np.abs(x).max() < 1e307 else (x / 2, 2.0)


@stored(edges=floats("e", order="rising"))
@dataclass(frozen=True, eq=False)
class Buckets:
    """[e₀, e₁), [e₁, e₂), … of one column, by their edges; the first and the last reach to infinity.

    Examples
    --------
    >>> ages = Buckets(np.array([20.0, 30.0, 40.0, 50.0]))
    >>> ages.codes(np.array([12.0, 30.0, 49.0, 70.0, np.nan])).tolist()
    [0, 1, 2, 2, -1]
    >>> ages.names("age")
    ['age < 30', 'age in [30, 40)', 'age >= 40']
    """

    edges: Array

    @property
    def inner(self) -> Array:
        """The edges between two buckets."""
        return self.edges[1:-1]

    @property
    def count(self) -> int:
        """How many buckets there are."""
        return len(self.inner) + 1

    def codes(self, x: Array) -> Array:
        """The bucket of each value, from 0 on; −1 where it is missing."""
        codes = np.searchsorted(self.inner, x, side="right").astype(np.int32)
        codes[np.isnan(x)] = -1
        return codes

    def names(self, column: str) -> list[str]:
        """What a value of the column is like in each bucket."""
        at = told_apart(self.inner)
        if not at:
            return [f"{column} in (-inf, inf)"]
        between = [f"{column} in [{low}, {high})" for low, high in pairwise(at)]
        return [f"{column} < {at[0]}", *between, f"{column} >= {at[-1]}"]


def told_apart(numbers: Array) -> list[str]:
    """Numbers with six digits, or as many more as tell them apart; whole ones as they are."""
    values = numbers.tolist()
    for digits in range(6, 18):
        texts = [f"{v:.0f}" if v == int(v) and abs(v) < 1e15 else f"{v:.{digits}g}" for v in values]
        if len(set(texts)) == len(texts):
            break
    return texts
